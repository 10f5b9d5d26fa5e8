"""Which dims of a map are checked by what it reads, where its body stands in place of a read of it.

Before: t[c] = x[c] * 2;  y[j] = t[i[j]]      After: y[j] = x[i[j]] * 2, if x is as long as t

An index that is data is checked when the program runs, against the extent of what is read. If t
were x[c + 1], or 2 * c, an index outside of t would give a number.
"""

from __future__ import annotations

from collections.abc import Mapping

from ted.ir.accesses import checked_dims, conjunction
from ted.ir.equations import Equation, Tensor
from ted.ir.expressions import Expr
from ted.ir.paths import path_conditions
from ted.ir.scalar import TRUE, loads, reads_data


def checked_reads(equation: Equation) -> dict[Expr, tuple[int, ...]]:
    """The reads of a body with dims whose index is data and not proved to be inside."""
    reads = [read for read in loads(equation.body) if reads_data(*read.args)]
    if not reads:
        return {}
    paths = path_conditions(equation.body)
    return {
        read: checked_dims(read.args, read.attr.shape, conjunction(paths[read]), equation.domain)
        for read in reads
    }


def carried_dims(
    tensor: Tensor, fused: Mapping[Tensor, frozenset[int]] | None = None
) -> frozenset[int]:
    """The dims of a map at which it reads a tensor as long at every point.

    `fused` are tensors that will not be read, but computed in place, with dims that they carry.
    """
    (equation,) = tensor.equations
    paths = path_conditions(equation.body)
    found: set[int] = set()
    for read in loads(equation.body):
        if paths[read] is not TRUE:
            continue
        kept = (fused or {}).get(read.attr)
        for place, (subscript, extent) in enumerate(zip(read.args, read.attr.shape, strict=True)):
            if subscript.op == "dim" and (kept is None or place in kept):
                dim = subscript.attr
                if dim < len(tensor.shape) and tensor.shape[dim] == extent:
                    found.add(dim)
    return frozenset(found)
