"""A plan: the template and its tile sizes for one contraction, and how blocks share the work."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from ted.gpu.templates import integers
from ted.gpu.templates.integers import Number
from ted.gpu.templates.kernels import Memory
from ted.gpu.templates.problem import ELEMENT_BYTES, Gemm, Layout
from ted.gpu.templates.results import MatrixView, Target
from ted.gpu.templates.tiles import Limit, Source
from ted.records import dataclass

# Rows of tiles that run one after the other along n, so that their operands stay in the L2 cache.
RASTER_GROUP = 8


@dataclass(frozen=True)
class Tiling:
    """A block computes `rows` x `columns` of C, `depth` products at a time.

    `warps` along m and n; each thread of a SIMT warp computes `thread` rows and columns.
    """

    rows: int
    columns: int
    depth: int
    warps: tuple[int, int]
    thread: tuple[int, int] = (0, 0)
    stages: int = 2

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * prod(self.warps)

    @property
    def warp_rows(self) -> int:
        """Rows of one warp."""
        return self.rows // self.warps[0]

    @property
    def warp_columns(self) -> int:
        """Columns of one warp."""
        return self.columns // self.warps[1]


@dataclass(frozen=True)
class Plan:
    """Everything `emit` needs; `template` is 'simt', 'mma_sync' or 'wgmma'."""

    template: str
    chip: str
    gemm: Gemm
    tiling: Tiling
    splits: int = 1
    tf32: bool = False

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles along m and n."""
        gemm, tiling = self.gemm, self.tiling
        return ceil(gemm.m / tiling.rows), ceil(gemm.n / tiling.columns)

    @property
    def steps(self) -> int:
        """Tiles along k of all splits together."""
        return ceil(self.gemm.k / self.tiling.depth)

    @property
    def steps_per_split(self) -> int:
        """Tiles along k of one block; the last split may have fewer, never none."""
        return ceil(self.steps / self.splits)

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return prod(self.tiles) * self.gemm.batches * self.splits

    @property
    def workspace_bytes(self) -> int:
        """Device memory for partial sums; 0 without splits."""
        if self.splits == 1:
            return 0
        gemm = self.gemm
        element = ELEMENT_BYTES[gemm.accumulator]
        return self.splits * gemm.batches * gemm.m * gemm.n * element


@dataclass(frozen=True)
class Share:
    """What one block computes: its first row and column, its batch, its split."""

    row: Number
    column: Number
    batch: Number
    split: Number


def share_of(plan: Plan, number: Number) -> Share:
    """Decode the number of a block, or of a tile where a block takes several."""
    tiles_m, tiles_n = plan.tiles
    outer = integers.divide(number, tiles_m * tiles_n)
    outer = outer if plan.blocks > tiles_m * tiles_n else 0
    tile_m, tile_n = _raster(integers.remainder(number, tiles_m * tiles_n), tiles_m, tiles_n)
    return Share(
        integers.scale(tile_m, plan.tiling.rows),
        integers.scale(tile_n, plan.tiling.columns),
        integers.remainder(outer, plan.gemm.batches),
        integers.divide(outer, plan.gemm.batches) if plan.splits > 1 else 0,
    )


def _raster(number: Number, tiles_m: int, tiles_n: int) -> tuple[Number, Number]:
    """The tile of a number: column by column inside groups of `RASTER_GROUP` rows of tiles."""
    group = max(size for size in range(1, RASTER_GROUP + 1) if tiles_m % size == 0)
    if tiles_m <= RASTER_GROUP:
        group = tiles_m
    inside = integers.remainder(number, group * tiles_n)
    first = integers.scale(integers.divide(number, group * tiles_n), group)
    first = first if tiles_m > group else 0
    return (
        integers.add(first, integers.remainder(inside, group)),
        integers.divide(inside, group) if tiles_n > 1 else 0,
    )


def sources(plan: Plan, share: Share, a: Memory, b: Memory) -> tuple[Source, Source]:
    """A and B of the block's batch."""
    return _source(plan, share, "a", a), _source(plan, share, "b", b)


def _source(plan: Plan, share: Share, side: str, memory: Memory) -> Source:
    gemm = plan.gemm
    overshoots = plan.splits * plan.steps_per_split > plan.steps
    batch, outer, inner = gemm.layouts(side)
    rows, reduction = (outer, inner) if side == "a" else (inner, outer)
    base = integers.add(gemm.memory(side).offset, integers.offset(share.batch, batch))
    limits = tuple(
        Limit(
            integers.add(found.offset, integers.offset(share.batch, found.batch)),
            found.rows, found.reduction, found.extent,
        )
        for found in gemm.coordinates(side)
    )  # fmt: skip
    count = gemm.m if side == "a" else gemm.n
    return Source(memory, base, rows, reduction, count, gemm.k, overshoots, limits)


def target(plan: Plan, share: Share, memories: Sequence[Memory], *, partial: bool) -> Target:
    """C of the block's batch and the inputs of the epilogue, or its part of the workspace."""
    gemm = plan.gemm
    if not partial:
        return final_target(plan, share.batch, memories)
    number = integers.add(integers.scale(share.split, gemm.batches), share.batch)
    rows, columns = Layout(((gemm.m, gemm.n),)), Layout(((gemm.n, 1),))
    base = integers.scale(number, gemm.m * gemm.n)
    width = 16 // ELEMENT_BYTES[gemm.accumulator]
    while gemm.n % width:
        width //= 2
    return Target(MatrixView(memories[0], base, rows, columns, width), gemm.m, gemm.n)


def final_target(plan: Plan, batch: Number, memories: Sequence[Memory]) -> Target:
    """C and the inputs of the epilogue, of one batch."""
    gemm = plan.gemm
    operands: tuple[str | int, ...] = ("c", *range(len(memories) - 1))
    c, *inputs = (
        _view(gemm, operand, batch, memory)
        for operand, memory in zip(operands, memories, strict=True)
    )
    body = "" if gemm.epilogue is None else gemm.epilogue.body
    return Target(c, gemm.m, gemm.n, gemm.accumulate, body, tuple(inputs))


def _view(gemm: Gemm, operand: str | int, batch: Number, memory: Memory) -> MatrixView:
    outer, rows, columns = gemm.layouts(operand)
    base = integers.add(gemm.memory(operand).offset, integers.offset(batch, outer))
    return MatrixView(memory, base, rows, columns, gemm.width(operand, inner=True))


def steps_of_split(plan: Plan, split: Number) -> tuple[Number, Number]:
    """First tile along k and the one after the last of a block."""
    if plan.splits == 1:
        return 0, plan.steps
    first = integers.scale(split, plan.steps_per_split)
    last = integers.add(first, plan.steps_per_split)
    return first, last if plan.steps % plan.steps_per_split == 0 else integers.minimum(
        last, plan.steps
    )
