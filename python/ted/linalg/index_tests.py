"""Tests of indices that are data, ahead of an equation: the loops of the equation have none.

Before: for i, j: y[i, j] = idx[i] < 9 ? T[idx[i], j] : report(idx[i])
After:  for each block of i:
          any = false;  for i in the block: any |= idx[i] >= 9
          if any: for i in the block: if idx[i] >= 9: report(idx[i])
        for i, j: y[i, j] = T[min(idx[i], 8), j]

Only dims that an index or its predicate moves along are run through, in the order of the equation's
own loops, so what is reported first is what they would meet first. The first pass over a block is
a sum without branches, which LLVM vectorises; blocks may be run by several threads.

It reads the indices once more. Where each is used once, always, and by a body that does little, the
test stays at the access: nothing is gained by vectors there (`cpu/gathers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial, reduce
from math import ceil, prod

from ted.domain import sets
from ted.domain.loops import LoopBounds, LoopNest, loop_nests
from ted.ir.operations import OPERATIONS
from ted.ir.spelling import OPERATION_OF
from ted.linalg.bodies import copy_operation, read_value
from ted.linalg.data_reads import Access, checked_dims, load_access
from ted.linalg.domain_forms import all_hold, constraints_from, points
from ted.linalg.loop_order import loop_order
from ted.linalg.loops import PARALLEL, loop_bounds
from ted.linalg.subdomain import Subdomain
from ted.math.narrow_floats import computed
from ted.mlir import arith, ir, scf
from ted.mlir.affine_forms import dims_used
from ted.mlir.building import add, bounds_of_part, constant
from ted.mlir.queries import defining
from ted.mlir.scalars import affine_value, index
from ted.mlir.scalars import constant as truth
from ted.records import dataclass

BLOCK = 4096  # points: their indices stay in the first cache until they are used
# The least weight of the operations at a point that pays for a pass over indices used once: LLVM
# vectorises them behind it. Measured on AVX-512 and AVX2: a product of weight 5 does not, an
# exponential (16) takes a third.
WORK = 6
Values = list[ir.Value]


def with_tests(subdomain: Subdomain) -> Subdomain:
    """Emit loops that report each index that is data and outside, where that is worth a pass.

    Returns the subdomain, which says whether there are such loops.
    """
    tested = _Tested(subdomain)
    if not tested.pays():
        return replace(subdomain, ahead=False)
    dims = [d for d in loop_order(subdomain, windows=False) if d in tested.dims]
    visited = points(subdomain.extents, subdomain.domain)
    projected = visited if len(dims) == subdomain.rank else sets.project(visited, sorted(dims))
    place = {d: k for k, d in enumerate(sorted(dims))}
    for nest in loop_nests(projected, [place[d] for d in dims]):
        _Nest(tested, nest, tuple(sorted(dims))).emit()
    return subdomain


class _Tested:
    """What of a body decides where tests are made, and what they find."""

    def __init__(self, subdomain: Subdomain) -> None:
        self.subdomain = subdomain
        self.operations = [view.operation for view in subdomain.body.operations]
        self.loads = [op for op in self.operations if op.name == "ted.load" and checked_dims(op)]
        self.symbols = list(self.operations[-1].operands)[len(subdomain.inits) :]
        self.predicates = [op.operands[1] for op in self.loads]
        self.indices = [op.operands[2 + k] for op in self.loads for k in checked_dims(op)]
        self.indices += self.symbols if subdomain.tested_subscripts else []
        self.needed = _needed(subdomain.body, [*self.predicates, *self.indices])
        self.dims = self._dims(self.needed)
        self.dims |= dims_used(*(subdomain.write[k] for k in subdomain.tested_subscripts))

    def pays(self) -> bool:
        """Whether there is something to test, and a further pass over it costs less than it gains.

        Each index is used at several points, or LLVM vectorises what a body does, or does without
        jumps where a predicate holds for some points.
        """
        if not self.indices:
            return False
        points, body = self._points(range(self.subdomain.rank)), self.subdomain.body
        if all(self._points(self._dims(_needed(body, [i]))) < points for i in self.indices):
            return True
        if any(defining(p, "arith.constant") is None for p in self.predicates):
            return True
        own = [op for op in self.operations if not set(op.results) & self.needed]
        work = sum(OPERATIONS[OPERATION_OF[o.name]].weight for o in own if o.name in OPERATION_OF)
        return work >= WORK

    def _points(self, dims: Iterable[int]) -> int:
        return prod(self.subdomain.extents[d] for d in dims)

    def _dims(self, values: Iterable[ir.Value]) -> set[int]:
        """The dims along which some values of the body move."""
        subdomain = self.subdomain
        exprs: list[ir.AffineExpr] = []
        for value in values:
            op = defining(value, "ted.index")
            if op is not None:
                exprs.append(subdomain.coordinates[ir.IntegerAttr(op.attributes["dim"]).value])
            if isinstance(value, ir.BlockArgument):
                read = subdomain.reads[value.arg_number]
                exprs += [] if read is None else [*read.subscripts, *(c.expr for c in read.guard)]
        return dims_used(*exprs)

    def accesses(self, dims: Values) -> list[Access]:
        """What is tested at a point."""
        subdomain = self.subdomain
        known: dict[ir.Value, ir.Value] = {
            argument: computed(read_value(read, argument.type, dims))
            for argument, read in zip(subdomain.body.arguments, subdomain.reads, strict=True)
            if argument in self.needed
        }
        found = []
        for op in self.operations:
            if op in self.loads:
                found.append(load_access(op, [known.get(v, v) for v in op.operands]))
            if len(op.results) and op.results[0] in self.needed:
                copy_operation(op, subdomain, known, dims)
        if subdomain.tested_subscripts:
            symbols = [known.get(v, v) for v in self.symbols]
            place = tuple(affine_value(e, dims, symbols) for e in subdomain.write)
            found.append(Access(subdomain.inits[0], place, subdomain.tested_subscripts))
        return found


def _needed(block: ir.Block, roots: Sequence[ir.Value]) -> set[ir.Value]:
    """The values of a block that some are computed from, themselves included."""
    found: set[ir.Value] = set()
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        op = defining(value)
        if value in found or (op is not None and op.block != block):
            continue
        found.add(value)
        waiting += [] if op is None else list(op.operands)
    return {v for v in found if defining(v) is not None or v in list(block.arguments)}


@dataclass(frozen=True)
class _Loop:
    """A loop over a dim; its bounds follow from the values of the dims around it."""

    dim: int
    bounds: Callable[[Mapping[int, ir.Value]], tuple[ir.Value, ir.Value]]


@dataclass
class _Nest:
    """Loops over the dims that tests move along: dim k of the nest is `dims[k]`."""

    tested: _Tested
    nest: LoopNest
    dims: tuple[int, ...]
    known: dict[int, ir.Value] = field(default_factory=dict)

    def emit(self) -> None:
        """Loops over blocks, and each block."""
        outer, strip, inner = self._parts()
        block = [_Loop(b.dim, partial(loop_bounds, b)) for b in inner]
        loops = [_Loop(b.dim, partial(loop_bounds, b)) for b in outer]
        if strip is None:
            self._apart(loops, lambda: self._block(block))
            return
        bounds, size = strip
        low, high = bounds.lower[0].const, bounds.upper[0].const
        count = ceil((high - low) / size)
        blocks = _Loop(bounds.dim, lambda _: (index(0), index(count)))

        def one_block() -> None:
            first, last = bounds_of_part(self.known[bounds.dim], size, high - low)
            ends = constant(add(first, low)), constant(add(last, low))
            self._block([_Loop(bounds.dim, lambda _: ends), *block])

        self._apart([*loops, blocks], one_block)

    def _parts(self) -> tuple[list[LoopBounds], tuple[LoopBounds, int] | None, list[LoopBounds]]:
        """The loops around blocks, one that is cut into such strips, the loops in a block."""
        loops, size = list(self.nest.loops), BLOCK
        inner: list[LoopBounds] = []
        while loops and self._extent(loops[-1]) <= size:
            size //= max(self._extent(loops[-1]), 1)
            inner.insert(0, loops.pop())
        if not loops or size == 1 or not _is_constant(loops[-1]):
            return loops, None, inner
        return loops[:-1], (loops[-1], size), inner

    def _extent(self, loop: LoopBounds) -> int:
        return self.tested.subdomain.extents[self.dims[loop.dim]]

    def _apart(self, loops: list[_Loop], leaf: Callable[[], None]) -> None:
        """Loops whose iterations have nothing to do with each other."""

        def build(_: Values) -> Values:
            leaf()
            return []

        for loop in self._loops(loops, [], build)[1]:
            loop.attributes[PARALLEL] = ir.UnitAttr.get()

    def _loops(
        self, loops: Sequence[_Loop], carried: Values, leaf: Callable[[Values], Values]
    ) -> tuple[Values, list[ir.Operation]]:
        """The loops around `leaf`, which maps carried values to new ones."""
        if not loops:
            return leaf(carried), []
        first, *inner = loops
        around = self.known.get(first.dim)
        lower, upper = first.bounds(self.known)
        made = scf.ForOp(lower, upper, index(1), carried)
        with ir.InsertionPoint(made.body):
            self.known[first.dim] = made.induction_variable
            results, others = self._loops(inner, list(made.inner_iter_args), leaf)
            scf.YieldOp(results)
        self.known.pop(first.dim)
        if around is not None:
            self.known[first.dim] = around
        return list(made.results), [made.operation, *others]

    def _block(self, loops: Sequence[_Loop]) -> None:
        """Find out whether there is a bad index, and only then which."""
        (found,), _ = self._loops(loops, [_truth(0)], lambda bad: [self._any(bad[0])])
        branch = scf.IfOp(found)
        with ir.InsertionPoint(branch.then_block):
            self._loops(loops, [], self._report)
            scf.YieldOp([])

    def _any(self, before: ir.Value) -> ir.Value:
        accesses, inside = self._accesses()
        bad = reduce(_either, [a.is_bad(dim) for a in accesses for dim in a.tested])
        if inside is not None:
            bad = arith.AndIOp(inside, bad).result
        return _either(before, bad)

    def _report(self, _: Values) -> Values:
        accesses, inside = self._accesses()
        for access in accesses:
            replace(access, predicate=_both(inside, access.predicate)).report()
        return []

    def _accesses(self) -> tuple[list[Access], ir.Value | None]:
        """What is tested at the point of the loops, and whether it is a point of the nest."""
        subdomain = self.tested.subdomain
        anywhere = index(0)
        dims = [anywhere] * subdomain.rank
        for k, value in self.known.items():
            dims[self.dims[k]] = value
        guard = constraints_from(self.nest.guard)
        values = [self.known[k] for k in range(len(self.dims))]
        return self.tested.accesses(dims), all_hold(guard, values) if guard else None


def _is_constant(loop: LoopBounds) -> bool:
    ends = [*loop.lower, *loop.upper]
    return len(ends) == 2 and not any(end.terms for end in ends)


def _truth(value: int) -> ir.Value:
    return truth(ir.IntegerType.get_signless(1), value)


def _either(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.OrIOp(left, right).result


def _both(left: ir.Value | None, right: ir.Value | None) -> ir.Value | None:
    if left is None or right is None:
        return right if left is None else left
    return arith.AndIOp(left, right).result
