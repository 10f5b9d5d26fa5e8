"""Threads that work on one result together: lanes of a warp by shuffles, warps by shared memory.

Partial results are joined in a fixed tree: lane k joins lane k xor 16, 8, 4, 2, 1, then the warps
of a block in order. All threads of a team get the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.gpu.launching import Launch, only_if
from ted.gpu.points import below, plus, times
from ted.linalg.contractions import element_strides
from ted.machine import ACCESS_BYTES, WARP
from ted.mlir import arith, gpu, ir, memref, nvvm
from ted.mlir.building import constant
from ted.mlir.combining import Combiner
from ted.mlir.scalars import byte_width
from ted.records import dataclass

SHARED = "#gpu.address_space<workgroup>"
OWN_MEETINGS = 8  # those of a kernel that have memory of their own
Values = list[ir.Value]


@dataclass(frozen=True)
class Team:
    """Threads of a block that work together: all of them, or one warp of several."""

    kernel: Launch
    parts: int = 1  # teams of the block; more than one: each is a warp

    @property
    def threads(self) -> int:
        """Threads of the team."""
        return self.kernel.threads // self.parts

    @property
    def thread(self) -> ir.Value:
        """Number of the thread in its team."""
        if self.parts == 1:
            return self.kernel.thread
        return arith.RemUIOp(self.kernel.thread, constant(WARP)).result

    @property
    def number(self) -> ir.Value:
        """Number of the team in the grid."""
        if self.parts == 1:
            return self.kernel.block
        warp = arith.DivUIOp(self.kernel.thread, constant(WARP)).result
        return plus(times(self.kernel.block, self.parts), warp)

    def wait(self) -> None:
        """What the team has written to shared memory is there for all of the team."""
        if self.parts == 1:
            gpu.BarrierOp()
            return
        everyone = arith.ConstantOp(ir.IntegerType.get_signless(32), -1).result
        nvvm.SyncWarpOp(everyone)

    def joined(self, accumulators: Values, combiners: Sequence[Combiner]) -> Values:
        """What all threads of the team accumulated, joined, in each of them."""
        accumulators = joined_in_warp(accumulators, combiners, WARP)
        warps = self.threads // WARP
        if warps == 1:
            return accumulators
        memories = self._meeting(warps, [c.kind for c in combiners])
        lane = arith.RemUIOp(self.thread, constant(WARP)).result
        warp = arith.DivUIOp(self.thread, constant(WARP)).result
        first = arith.CmpIOp(arith.CmpIPredicate.eq, lane, constant(0)).result
        with only_if(first):
            for total, memory in zip(accumulators, memories, strict=True):
                memref.StoreOp(total, memory, [warp])
        self.wait()
        results = []
        for combiner, memory in zip(combiners, memories, strict=True):
            total = memref.LoadOp(memory, [constant(0)]).result
            for k in range(1, warps):
                total = combiner.join(total, memref.LoadOp(memory, [constant(k)]).result)
            results.append(total)
        return results

    def _meeting(self, warps: int, elements: Sequence[ir.Type]) -> Values:
        """Memory for a partial result of each warp, for each of some that meet at once.

        After many meetings it is that of an earlier one like this. All threads have read that,
        since they waited in the meetings between; in a loop, in its first one, which is left alone.
        """
        earlier = self.kernel.meetings
        wanted = [ir.MemRefType.get([warps], e, memory_space=_shared_space()) for e in elements]
        latest = earlier[-OWN_MEETINGS:]
        free = [
            memories
            for memories in earlier[OWN_MEETINGS:]
            if not any(memories is other for other in latest)
            and [memory.type for memory in memories] == wanted
            # Memory itself is there everywhere in the kernel, a view of it is not.
            and all(isinstance(memory.owner, ir.Block) for memory in memories)
        ]
        chosen = free[0] if free else [self.shared([warps], e) for e in elements]
        earlier.append(chosen)
        return chosen

    def shared(self, shape: Sequence[int], element: ir.Type) -> ir.Value:
        """Memory that the team shares; to be written and waited for before use."""
        space = _shared_space()
        # Whole units of 16 bytes, since the code generator reads what is aligned as a whole.
        size, unit = prod(shape), max(1, ACCESS_BYTES // byte_width(element))
        padded = -(-size // unit) * unit
        flat = self._part(ir.MemRefType.get([padded], element, memory_space=space))
        if padded > size:
            self._clear(flat, size, padded)
        if list(shape) == [padded]:
            return flat
        wanted = ir.MemRefType.get(shape, element, memory_space=space)
        return ir.Operation.create(
            "memref.reinterpret_cast",
            results=[wanted],
            operands=[flat],
            attributes={
                "static_offsets": ir.DenseI64ArrayAttr.get([0]),
                "static_sizes": ir.DenseI64ArrayAttr.get(list(shape)),
                "static_strides": ir.DenseI64ArrayAttr.get(element_strides(wanted) or []),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
            },
        ).results[0]

    def _part(self, kind: ir.MemRefType) -> ir.Value:
        if self.parts == 1:
            return self.kernel.attribution(kind)
        size = prod(kind.shape) * byte_width(kind.element_type)
        byte = ir.IntegerType.get_signless(8)
        space = kind.memory_space
        whole = ir.MemRefType.get([self.parts * size], byte, memory_space=space)
        warp = arith.DivUIOp(self.kernel.thread, constant(WARP)).result
        return memref.ViewOp(kind, self.kernel.attribution(whole), times(warp, size), []).result

    def _clear(self, memory: ir.Value, begin: int, end: int) -> None:
        """Zeros from one offset to another: what is read in a unit with elements is defined."""
        kind = ir.MemRefType(memory.type).element_type
        number = "0.0" if isinstance(kind, ir.FloatType) else "0"
        zero = ir.Attribute.parse(f"{number} : {kind}")
        with only_if(below(self.thread, end - begin)):
            value = ir.Operation.create(
                "arith.constant", results=[kind], attributes={"value": zero}
            ).results[0]
            memref.StoreOp(value, memory, [plus(self.thread, begin)])


def _shared_space() -> ir.Attribute:
    return ir.Attribute.parse(SHARED)


def joined_in_warp(accumulators: Values, combiners: Sequence[Combiner], lanes: int) -> Values:
    """What so many neighbouring lanes accumulated, joined, in each; the whole warp takes part."""
    offset = lanes // 2
    while offset:
        others = [shuffled(t, offset) for t in accumulators]
        accumulators = [
            c.join(t, o) for c, t, o in zip(combiners, accumulators, others, strict=True)
        ]
        offset //= 2
    return accumulators


def shuffled(value: ir.Value, offset: int, *, up: bool = False) -> ir.Value:
    """The value of the lane whose number differs in the bits of `offset`.

    With `up` it is that of the lane `offset` below; of the lane itself, where there is none.
    """
    kind = value.type
    i32, i64 = (ir.IntegerType.get_signless(w) for w in (32, 64))
    if isinstance(kind, (ir.F16Type, ir.BF16Type)):
        i16 = ir.IntegerType.get_signless(16)
        bits = arith.ExtUIOp(i32, arith.BitcastOp(i16, value).result).result
        moved = arith.TruncIOp(i16, _shuffle(bits, offset, up)).result
        return arith.BitcastOp(kind, moved).result
    if isinstance(kind, ir.F64Type):
        return arith.BitcastOp(
            kind, shuffled(arith.BitcastOp(i64, value).result, offset, up=up)
        ).result
    if kind == i64:
        low = _shuffle(arith.TruncIOp(i32, value).result, offset, up)
        shift = arith.ConstantOp(i64, 32).result
        high = _shuffle(arith.TruncIOp(i32, arith.ShRUIOp(value, shift).result).result, offset, up)
        above = arith.ShLIOp(arith.ExtUIOp(i64, high).result, shift).result
        return arith.OrIOp(above, arith.ExtUIOp(i64, low).result).result
    if isinstance(kind, ir.IntegerType) and kind.width < 32:
        return arith.TruncIOp(kind, _shuffle(arith.ExtUIOp(i32, value).result, offset, up)).result
    return _shuffle(value, offset, up)


def _shuffle(value: ir.Value, offset: int, up: bool) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    distance, width = (arith.ConstantOp(i32, n).result for n in (offset, WARP))
    mode = gpu.ShuffleMode.UP if up else gpu.ShuffleMode.XOR
    return gpu.ShuffleOp(value, distance, width, mode).results[0]
