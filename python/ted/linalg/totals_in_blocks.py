"""Maps of a contraction's totals that are stored in another type, a block of them at a time.

Before: totals of 1024 x 1024 in f32, 4 MB, then 1024 x 1024 numbers of bf16, each rounded
After: `scf.forall (%i, %j)` with the totals of 512 x 128, and these numbers rounded

The totals of a block stay in the second cache until they are rounded, and rows of A that it reads
while columns of B go by. That matters where products of matrices are as fast as memory (AMX).
"""

from __future__ import annotations

from math import ceil, prod

from ted.linalg import padded_blocks
from ted.linalg.contractions import ELEMENT_BYTES, MARK
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.generic import generic_of
from ted.mlir.matrix_registers import SIDE
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of
from ted.mlir.strategies import GROUP, Declined, asked_for
from ted.records import dataclass

# Columns of a block, each of whose panels is laid out for so many rows at most.
COLUMNS, ROWS = 128, 512
# Totals of a block at least, so that what is laid out for it is used often.
LEAST = 1 << 14
_ALONE = {"name": "alone"}


@dataclass(frozen=True)
class TotalBlocks:
    """What a block has of every dim: rows, and columns of the last dim."""

    rows: int
    columns: int
    sizes: tuple[int, ...]


def planned(op: ir.Operation, cpu: Cpu) -> TotalBlocks | Declined:
    """The blocks of a map."""
    if not cpu.multiplies_matrices:
        return Declined("products take longer than memory does")
    found = contractions_of(op)
    if not found:
        return Declined("it is no map of totals of a claimed contraction that it alone reads")
    if any(isinstance(padded_blocks.planned(c, cpu), padded_blocks.Blocks) for c in found):
        return Declined("the contraction reads padding in blocks of its own")
    total, shape = element_type(found[0].results[0]), shape_of(op.results[0])
    if total == element_type(op.results[0]):
        return Declined("totals have the type of the result, and its memory")
    if 2 * prod(shape) * ELEMENT_BYTES[str(total)] <= cpu.second_cache.size:
        return Declined("the second cache holds the totals")
    sizes = _sizes(shape)
    if prod(sizes) < LEAST:
        return Declined("there are no equal blocks that fill registers")
    return TotalBlocks(prod(sizes[:-1]), sizes[-1], sizes)


def contractions_of(op: ir.Operation) -> list[ir.Operation]:
    """The claimed contractions whose totals a map alone reads, each at the point of its result."""
    generic = generic_of(op)
    if generic is None or not generic.is_map or len(op.results) != 1 or generic.asks_where:
        return []
    identity = ir.AffineMap.get_identity(generic.rank)
    if generic.maps[-1] != identity:
        return []
    makers = [defining(v) for v, m in zip(generic.inputs, generic.maps, strict=False)
              if m == identity]  # fmt: skip
    return [m for m in makers if m is not None and _is_its_own(m)]


def _is_its_own(op: ir.Operation) -> bool:
    """Whether a claimed contraction has one reader, and asks for no loop of its own."""
    if MARK not in op.attributes or len(list(op.results[0].uses)) > 1:
        return False
    return (asked_for(op, GROUP) or _ALONE) == _ALONE


def _sizes(shape: tuple[int, ...]) -> tuple[int, ...]:
    *outer, last = shape
    sizes, left = [_part(last, COLUMNS)], ROWS
    for extent in reversed(outer):
        sizes.insert(0, _part(extent, left))
        left //= sizes[0]
    return tuple(sizes)


def _part(extent: int, most: int) -> int:
    """Of equal parts that are not larger the one that fills pairs of registers best."""
    parts = [n for n in range(1, min(extent, most) + 1) if extent % n == 0]
    return max(parts, key=lambda n: (n / ceil(n / (2 * SIDE)), n))
