"""A proof that no point of a kernel reads what another point of it has overwritten.

`memory_places.py` knows which tensor memory has when an equation is emitted. That is enough for
equations one after the other; of one that reads memory which it writes, and of equations in one
loop, turn after turn, it is not: there each reads at its own place, or at its row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod

from ted.errors import PassFailed
from ted.linalg.subdomain import Read, Subdomain
from ted.mlir import ir
from ted.mlir.aliasing import whole
from ted.mlir.locations import source_location, user_name
from ted.mlir.scalars import shape_of

Written = Mapping[ir.Value, "ir.Value | None"]


def check_reads(
    subdomain: Subdomain, at_data: Iterable[ir.Value], written: Written, rows: Sequence[int]
) -> None:
    """Check an equation on memory, in loops of a kernel that writes some memory: by the view that
    is given for it, at the row of a turn, or at other places where there is None. The `rows` are
    the dims of the equation that the loops count.

    Raises: PassFailed for memory that the kernel writes, and the equation reads elsewhere.
    """
    own = {whole(init) for init in subdomain.inits}
    reads = [r for r in subdomain.reads if r is not None and whole(r.tensor) in written]
    if any(whole(memory) in written for memory in at_data) or not all(
        is_at_row(read.subscripts, rows)
        and (view := written[whole(read.tensor)]) is not None
        and read.tensor == view
        and (whole(read.tensor) not in own or _is_own(subdomain, read))
        for read in reads
    ):
        raise _refusal(subdomain.location)


def check_steps(read: Iterable[ir.Value], written: Collection[ir.Value], at: ir.Location) -> None:
    """Check a recurrence, whose steps read this memory from outside.

    Raises: PassFailed for memory that the steps write.
    """
    if any(whole(memory) in written for memory in read):
        raise _refusal(at)


def is_at_row(subscripts: Sequence[ir.AffineExpr], rows: Sequence[int]) -> bool:
    """Whether an access begins with these dims, which loops count."""
    return list(subscripts[: len(rows)]) == [ir.AffineExpr.get_dim(k) for k in rows]


def _is_own(subdomain: Subdomain, read: Read) -> bool:
    """Whether each point reads the element that it writes, and nothing writes it before."""
    if subdomain.reduction_dims or subdomain.writes_at_data or subdomain.domain or read.guard:
        return False
    (start,) = [s for s, init in zip(subdomain.starts, subdomain.inits, strict=True)
                if init == read.tensor]  # fmt: skip
    is_whole = prod(subdomain.extents) == prod(shape_of(read.tensor))
    is_set = subdomain.combiner == "set" and is_whole
    is_first = start is None or start.value is None or is_set
    return is_first and read.subscripts == subdomain.write


def _refusal(at: ir.Location) -> PassFailed:
    return PassFailed(
        "ted-emit-kernels: memory has what is read from it, got what the same kernel has written "
        f"over in {user_name(at) or 'an equation'}",
        source_location(at),
    )
