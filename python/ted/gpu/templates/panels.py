"""Tiles in shared memory in the order that tensor cores read: lines of 16-byte chunks, swizzled.

A panel is a ring of stages, each a tile stored along k (a line per row) or along rows (a line per
step of k). Inside a line the chunk c lies at c ^ key, where the key is part of the line's number:
eight lines that `ldmatrix` reads at one logical chunk then lie in eight different groups of banks,
and so do the chunks of one line. (Source: M. Andersch, V. Ratan, CUTLASS: shared memory layouts,
GTC 2020, S21745.)
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.gpu.templates import integers
from ted.gpu.templates.integers import Condition, Number
from ted.gpu.templates.kernels import Memory
from ted.gpu.templates.tiles import Fetch
from ted.mlir import arith, ir, nvgpu
from ted.records import dataclass

CHUNK_BYTES = 16
# cp.async moves 4, 8 or 16 bytes.
LEAST_ASYNC_BYTES = 4


@dataclass(frozen=True)
class Panel:
    """`stages` tiles of `rows` x `depth`; `spread` swizzles for reads of single elements."""

    memory: Memory
    rows: int
    depth: int
    along_k: bool
    spread: bool = False

    @property
    def line(self) -> int:
        """Elements of a line."""
        return self.depth if self.along_k else self.rows

    @property
    def chunk(self) -> int:
        """Elements of a chunk."""
        return CHUNK_BYTES // self.memory.bytes

    def stage(self, number: Number) -> Number:
        """The first element of a stage."""
        return integers.scale(number, self.rows * self.depth)

    def key(self, line: Number) -> Number:
        """What a line's chunk numbers are combined with."""
        chunks = self.line // self.chunk
        if self.spread:
            return integers.scale(integers.remainder(line, 4), 2)
        wide = min(chunks, 8)
        return integers.remainder(integers.divide(line, 8 // wide), wide)

    def offset(self, line: Number, element: Number, key: Number | None = None) -> Number:
        """The position of an element of a stage; the key, if it is known, saves its computation."""
        key = self.key(line) if key is None else key
        chunk = integers.exclusive_or(integers.divide(element, self.chunk), key)
        return integers.total(
            integers.scale(line, self.line),
            integers.scale(chunk, self.chunk),
            integers.remainder(element, self.chunk),
        )


class Filler:
    """How one thread fills stages: by asynchronous copies, or through registers.

    `offsets` is where each of its runs lies in a stage of `stage_elements`.
    """

    def __init__(
        self, fetch: Fetch, memory: Memory, offsets: Sequence[Number], stage_elements: int
    ):
        self.fetch = fetch
        self.memory = memory
        self.offsets = offsets
        self.stage_elements = stage_elements
        self.is_async = fetch.shape.width * memory.bytes >= LEAST_ASYNC_BYTES

    def start(self, first_k: Number, stage: Number) -> list[ir.Value]:
        """Start to copy the tile at `first_k`; what comes back goes to `finish`."""
        if not self.is_async:
            return self.fetch.load(first_k)
        first = integers.scale(stage, self.stage_elements)
        for (position, inside), offset in zip(
            self.fetch.positions(first_k), self.offsets, strict=True
        ):
            self._copy(position, inside, integers.add(first, offset))
        return []

    def finish(self, runs: Sequence[ir.Value], stage: Number) -> None:
        """Write the registers of `start`, if any, to the stage."""
        first = integers.scale(stage, self.stage_elements)
        for run, offset in zip(runs, self.offsets, strict=False):
            self.memory.store(run, integers.add(first, offset))

    def _copy(self, position: Number, inside: Condition, offset: Number) -> None:
        width = self.fetch.shape.width
        index = ir.IndexType.get()
        present = None
        if not isinstance(inside, bool):
            count = [arith.ConstantOp(index, value).result for value in (width, 0)]
            present = arith.SelectOp(inside, *count).result
        nvgpu.DeviceAsyncCopyOp(
            self.memory.value,
            [integers.index(offset)],
            self.fetch.source.memory.value,
            [integers.index(position)],
            ir.IntegerAttr.get(index, width),
            srcElements=present,
            bypassL1=width * self.memory.bytes == CHUNK_BYTES or None,
            results=[ir.Type.parse("!nvgpu.device.async.token")],
        )


def panel_filler(fetch: Fetch, panel: Panel) -> Filler:
    """What fills the stages of a panel."""
    offsets = [panel.offset(*((r, k) if panel.along_k else (k, r))) for r, k in fetch.places]
    return Filler(fetch, panel.memory, offsets, panel.rows * panel.depth)
