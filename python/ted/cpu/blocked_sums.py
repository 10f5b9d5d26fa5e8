"""Long sums of floats as sums of blocks, so that no total takes one term after another for long.

Before: `%out[j] += %a[i, j]` for 65536 rows
After: blocks of 1598 rows, in them of 39, each into totals of its own: `%out[j] += %block[j]`

The error of a chain grows with its length, since a total is rounded as often as it takes a term,
and with blocks as the length of the longest chain among them. Lanes of the innermost loop are
chains of their own, as are units of work. Source: N. J. Higham, Accuracy and Stability of Numerical
Algorithms, section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from ted.cpu.kernel_memory import STACK_BYTES, on_heap, on_stack
from ted.cpu.ted_annotate_latches import INTERLEAVED
from ted.cpu.ted_unroll_small_loops import UNROLLED_TRIPS
from ted.cpu.unit_slices import may_slice, slice_of, sliced
from ted.cpu.work import bytes_of
from ted.linalg.contractions import MARK
from ted.machine import Cpu
from ted.math.ted_outline_math import LONG_TRIPS
from ted.mlir import arith, ir, linalg, memref
from ted.mlir.affine_forms import dims_used
from ted.mlir.building import Index, add, carried_loop, constant, loop, scale
from ted.mlir.combining import Combiner, combiners
from ted.mlir.filling import build_fill
from ted.mlir.generic import Generic, empty_generic, generic_of
from ted.mlir.queries import defining, position
from ted.mlir.strategies import Declined
from ted.records import dataclass

# Terms that a total may take one after another. Of 4096 positive numbers in one chain the error is
# 15 units of the last place in the mean, of 128 it is 2.6, and as much in all where they are terms.
MOST_TERMS = 128
Values = list[ir.Value]


@dataclass(frozen=True)
class BlockedSums:
    """Chains of at most `most` terms."""

    most: int


def plan_blocks(op: ir.Operation, cpu: Cpu) -> BlockedSums | Declined:
    """Blocks for a sum whose totals would take more terms."""
    generic = generic_of(op)
    if generic is None or generic.is_map or MARK in op.attributes or generic.extents is None:
        return Declined("it is no sum over constant extents")
    joined = combiners(generic)
    if joined is None or any(c.operation != "arith.addf" for c in joined):
        return Declined("it adds no floats, or more than one value to a total")
    if not _may_cut(generic, generic.reductions.index(True)):
        return Declined("operands do not move along its loops by equal steps")
    terms = longest_chain(generic, cpu)
    if 2 * terms <= 3 * MOST_TERMS:
        return Declined(f"its totals take {terms} terms one after another", BlockedSums(MOST_TERMS))
    return BlockedSums(MOST_TERMS)


def longest_chain(generic: Generic, cpu: Cpu) -> int:
    """How many terms a total takes one after another in plain loops, some of them in lanes."""
    extents = generic.extents or ()
    inner = _innermost(generic)
    outer = prod(n for n, r in zip(extents[:inner], generic.reductions, strict=False) if r)
    if inner == generic.rank or not generic.reductions[inner]:
        return outer
    together = _together(generic, inner, cpu)
    # What fills no registers is added to the total alone.
    return outer * (extents[inner] // together + extents[inner] % together)


def _innermost(generic: Generic) -> int:
    """The loop whose points lanes hold: those in it are unrolled, if they add to other totals."""
    extents = generic.extents or ()
    loops = range(generic.rank - 1, -1, -1)
    found = (k for k in loops if generic.reductions[k] or extents[k] > UNROLLED_TRIPS)
    return next(found, generic.rank)


def _together(generic: Generic, inner: int, cpu: Cpu) -> int:
    """Points of a loop in as many chains, which the loop vectoriser of LLVM makes of long ones."""
    points = (generic.extents or ())[inner]
    lanes = min(cpu.lanes(_bytes(v)) for v in generic.outputs)
    if points >= LONG_TRIPS:
        return lanes * INTERLEAVED
    # Two lanes are not worth it to LLVM for few points.
    return 1 if points <= UNROLLED_TRIPS or lanes == 2 else lanes


def _bytes(value: ir.Value) -> int:
    return ir.FloatType(ir.MemRefType(value.type).element_type).width // 8


def _may_cut(generic: Generic, loop_cut: int) -> bool:
    """Whether loops up to one that is summed are ranges, and totals plain slices of results."""
    outputs = generic.maps[generic.count_inputs :]
    plain = all(isinstance(e, ir.AffineDimExpr) for m in outputs for e in m.results)
    is_total = loop_cut not in dims_used(*(e for m in outputs for e in m.results))
    return plain and is_total and all(may_slice(generic, k) for k in range(loop_cut + 1))


def emit_blocks(op: ir.Operation, most: int, cpu: Cpu) -> None:
    """Replace a sum; where its blocks are long still, they are cut along another loop."""
    generic = Generic(op)
    terms, extents = longest_chain(generic, cpu), generic.extents or ()
    summed = (k for k, n in enumerate(extents) if generic.reductions[k] and n > 1)
    cut = next(summed, None)
    if cut is None or not _may_cut(generic, cut):
        return
    whole = _together(generic, cut, cpu) if cut == _innermost(generic) else 1
    size = _size(extents[cut], extents[cut] * most / terms, whole)
    if size == extents[cut]:
        return
    blocks = _Blocks(generic, cut, size, most)
    with ir.InsertionPoint(op), op.location:
        blocks.emit()
    op.erase()
    for block in blocks.made:
        if size == 1:
            emit_blocks(block, most, cpu)


def _size(extent: int, wanted: float, whole: int) -> int:
    """Of equal blocks, a multiple; of up to half as much again or less, if none is left over."""
    count = max(1, round(wanted / whole))
    near = sorted(range(-(-2 * count // 3), 3 * count // 2 + 1), key=lambda n: abs(n - count))
    even = (n * whole for n in near if extent % (n * whole) == 0)
    return min(next(even, count * whole), extent)


class _Blocks:
    """Builds the loops around the blocks of one summed loop of a generic."""

    def __init__(self, generic: Generic, cut: int, size: int, most: int) -> None:
        self.generic, self.cut, self.size = generic, cut, size
        self.extents = list(generic.extents or ())
        self.around = [k for k in range(cut) if self.extents[k] > 1]
        joined = combiners(generic)
        assert joined is not None, "the row matched"
        self.joined = [Combiner(c.operation, c.kind) for c in joined]  # in this order
        self.made: list[ir.Operation] = []
        self.count = self.extents[cut] // size
        levels = next(n for n in range(1, 64) if most**n >= self.count)
        parts = ceil(self.count ** (1 / levels))
        # Of how many blocks a total is, of the first level and those above.
        self.spans = [parts**k for k in range(levels)]

    def emit(self) -> None:
        """Totals of each level, and the loops that use them."""
        totals = [[self._totals(k) for k in range(len(self.joined))] for _ in self.spans]
        self._loops(self.around, {}, totals)
        for memory in (m for level in totals for m in level):
            if defining(memory, "memref.alloc"):
                memref.DeallocOp(memory)

    def _totals(self, number: int) -> ir.Value:
        """Memory like the part of a result that the loops inside of those around write."""
        value = self.generic.outputs[number]
        kind = ir.MemRefType(value.type)
        amap = self.generic.maps[self.generic.count_inputs + number]
        shape = [1 if position(e) in self.around else n
                 for e, n in zip(amap.results, kind.shape, strict=True)]  # fmt: skip
        memory = ir.MemRefType.get(shape, kind.element_type)
        if bytes_of(memory) > STACK_BYTES:
            return on_heap(memory)
        return on_stack(memory, self.generic.op.block)

    def _loops(self, around: Sequence[int], at: dict[int, Index], totals: list[Values]) -> None:
        if around:
            first, *inner = around
            loop(0, self.extents[first], 1, lambda i: self._loops(inner, {**at, first: i}, totals))
            return
        results = self.generic.operands
        for k, start in at.items():
            results = self._slices(results, k, start, 1)
        operands, outs = self._split(results)
        self._level(len(totals) - 1, 0, self.count, at, operands, [*totals, outs])
        rest = self.extents[self.cut] % self.size
        if rest:
            self._block(self.count, rest, at, operands, totals[0], outs)

    def _level(
        self, level: int, first: Index, last: Index, at: dict[int, Index], operands: Values,
        totals: list[Values],
    ) -> None:  # fmt: skip
        """Blocks from the first to the last, in groups, and what they give to the next totals."""
        span = self.spans[level]

        def group(number: Index) -> None:
            if level == 0:
                self._block(number, self.size, at, operands, totals[0], totals[1])
                return
            end = add(number, span)
            if self.count % span:
                end = arith.MinSIOp(constant(end), constant(self.count)).result
            self._start(totals[level])
            self._level(level - 1, number, end, at, operands, totals)
            self._join(totals[level], totals[level + 1])

        carried_loop(first, last, span, (), lambda number, _: group(number) or ())

    def _block(
        self, number: Index, size: int, at: dict[int, Index], operands: Values, mine: Values,
        into: Values,
    ) -> None:  # fmt: skip
        first = scale(number, self.size)
        parts = self._slices([*operands, *mine], self.cut, first, size)
        self._start(mine)
        self.made.append(sliced(self.generic.op, parts, {**at, self.cut: first}))
        self._join(mine, into)

    def _slices(self, operands: Values, k: int, first: Index, size: int) -> Values:
        return [
            slice_of(v, m, k, first, size, self.extents[k])
            for v, m in zip(operands, self.generic.maps, strict=True)
        ]

    def _split(self, operands: Values) -> tuple[Values, Values]:
        count = self.generic.count_inputs
        return operands[:count], operands[count:]

    def _start(self, totals: Values) -> None:
        for memory, combiner in zip(totals, self.joined, strict=True):
            build_fill(combiner.identity(), memory)

    def _join(self, totals: Values, into: Values) -> None:
        for memory, out, combiner in zip(totals, into, self.joined, strict=True):
            _join(memory, out, combiner)


def _join(memory: ir.Value, out: ir.Value, combiner: Combiner) -> None:
    rank = len(ir.MemRefType(out.type).shape)
    op = empty_generic([memory], [out], [ir.AffineMap.get_identity(rank)] * 2, [False] * rank)
    with ir.InsertionPoint(op.regions[0].blocks[0]):
        new, old = op.regions[0].blocks[0].arguments
        linalg.YieldOp([combiner.join(old, new)])
