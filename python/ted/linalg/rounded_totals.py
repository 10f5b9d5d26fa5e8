"""Maps of a contraction's totals that are stored in another type, a block of them at a time.

Before: totals of 1024 x 1024 in f32, 4 MB, then 1024 x 1024 numbers of bf16, each rounded
After: loops over blocks with the totals of 512 x 128, and these numbers rounded

The totals of a block stay in the second cache until they are rounded, and rows of A that it reads
while columns of B go by. That matters where products of matrices are as fast as memory (AMX).
"""

from __future__ import annotations

from math import ceil, prod

from ted.linalg.contraction_forms import is_contraction
from ted.linalg.equation_groups import EQUATION, Candidates, short
from ted.linalg.sliced_dims import parts_read
from ted.mlir import ir
from ted.mlir.matrix_registers import SIDE
from ted.mlir.queries import defining
from ted.mlir.scalars import byte_width, element_type
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


def total_blocks(op: ir.Operation, table: Candidates) -> TotalBlocks | Declined:
    """The blocks of a map."""
    if not table.cpu.multiplies_matrices:
        return Declined("products take longer than memory does")
    found = contractions_of(op, table)
    if not found:
        return Declined("it is no map of totals of a contraction that it alone reads")
    total, extents = element_type(found[0].results[0]), table.equations[op].extents
    if total == element_type(op.results[0]):
        return Declined("totals have the type of the result, and its memory")
    if 2 * prod(extents) * byte_width(total) <= table.cpu.second_cache.size:
        return Declined("the second cache holds the totals")
    sizes = _sizes(extents)
    if prod(sizes) < LEAST:
        return Declined("there are no equal blocks that fill registers")
    return TotalBlocks(prod(sizes[:-1]), sizes[-1], sizes)


def contractions_of(op: ir.Operation, table: Candidates) -> list[ir.Operation]:
    """The contractions whose totals a map alone reads, each at the point of its result."""
    subdomain = table.equations[op]
    dims = [ir.AffineExpr.get_dim(k) for k in range(subdomain.rank)]
    is_map = not subdomain.reduction_dims and subdomain.combiner == "set"
    if not is_map or short(subdomain.write, op.results[0]) != dims:
        return []
    if any(parts_read(subdomain, k) is None for k in range(subdomain.rank)):
        return []
    reads = (r for r in subdomain.reads if r is not None and short(r.subscripts, r.tensor) == dims)
    makers = (defining(r.tensor, EQUATION) for r in reads)
    return [m for m in makers if m is not None and _is_its_own(m, table)]


def _is_its_own(op: ir.Operation, table: Candidates) -> bool:
    """Whether a contraction has one reader, and asks for no loop of its own."""
    subdomain = table.equations[op]
    if op in table.padded or op in table.tested or not is_contraction(subdomain):
        return False
    if len(list(op.results[0].uses)) > 1 or (asked_for(op, GROUP) or _ALONE) != _ALONE:
        return False
    write = short(subdomain.write, op.results[0])
    rows = range(len(write))
    is_in_order = write == [ir.AffineExpr.get_dim(k) for k in rows]
    return is_in_order and all(parts_read(subdomain, k) is not None for k in rows)


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
