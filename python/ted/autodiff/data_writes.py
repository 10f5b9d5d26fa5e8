"""Where an adjoint is written at an index that is data, and was read under a condition.

Before: dA[idx[i]] += where(0 <= idx[i], g, 0)
After:  dA[where(0 <= idx[i], idx[i], 0)] += where(0 <= idx[i], g, 0)

A read under a condition need not be inside elsewhere, so neither may the write of its adjoint be
made there: it adds nothing to the first element instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.domain.sizes import Extent
from ted.ir.equations import Equation
from ted.ir.expressions import Expr
from ted.ir.paths import path_conditions
from ted.ir.scalar import TRUE, index, is_trusted, reads_data, select, unchecked
from ted.ir.unknowns import is_inside


def guarded_writes(equation: Equation, reads: Sequence[Expr]) -> list[tuple[Expr, ...]]:
    """The subscripts at which adjoints of reads in the body of an equation are written."""
    if not any(reads_data(*read.args) for read in reads):
        return [read.args for read in reads]
    conditions = path_conditions(equation.body)
    return [_write(read, conditions[read], equation.domain) for read in reads]


def _write(read: Expr, condition: Expr, domain: Any) -> tuple[Expr, ...]:
    if condition is TRUE:
        return read.args
    pairs = zip(read.args, read.attr.shape, strict=True)
    return tuple(_guarded(e, n, condition, domain) for e, n in pairs)


def _guarded(e: Expr, extent: Extent, condition: Expr, domain: Any) -> Expr:
    if not reads_data(e) or is_inside(e, extent, TRUE, domain):
        return e
    guarded = select(condition, e, index(0))
    return unchecked(guarded) if is_trusted(e) else guarded
