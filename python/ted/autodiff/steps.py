"""Adjoints of what is read in the steps of a recurrence.

Before: dh[idx[t]] += dh[t] * w[t]  for t < T, where idx[t] < t
After:  dh[s] += where(s == idx[t], dh[t] * w[t], 0)  for s, t < T, where s < t

A step writes at its own time, so an adjoint whose time is data looks for what belongs to it. This
is the one place where a gradient visits more points than its primal: once for every earlier time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.domain import parameters, sets
from ted.errors import DerivativeError, VerifyError
from ted.ir.affine import condition_set, is_affine
from ted.ir.equations import Equation, Tensor, components, is_recurrence
from ted.ir.expressions import Expr
from ted.ir.recurrences import history_reads, is_causal, may_meet, spread_times
from ted.ir.scalar import TRUE, compare, const, dim, land, lnot, lor, select, substitute


def written_at_data(operand: Tensor, summand: Equation) -> list[int]:
    """The levels of a recurrence, outermost first, whose time an equation takes from data."""
    times = enumerate(operand.time_dims)
    return [k for k, at in times if not is_affine(summand.write[at], summand.domain)]


def in_steps(operand: Tensor, summand: Equation, reader: Tensor, equation: Equation) -> Equation:
    """The part of an adjoint that comes from a read in the same recurrence, at times of its own."""
    levels = written_at_data(operand, summand)
    if not levels:
        return summand
    count, rank = len(levels), summand.rank
    places = [operand.time_dims[k] for k in levels]
    later = [dim(d + count) for d in range(rank)]
    body, *exprs = substitute([*summand.expressions, *equation.write], later)
    write, now = exprs[: len(summand.write)], exprs[len(summand.write) :]
    taken = TRUE
    for d, at in enumerate(places):
        taken = land(taken, compare("eq", dim(d), write[at]))
        write[at] = dim(d)
    extents = (*(operand.shape[at] for at in places), *summand.extents)
    inner = [sets.dim_aff(len(extents), d + count) for d in range(rank)]
    box = sets.preimage(summand.domain, len(extents), inner).intersect(parameters.box(extents))
    times = [(write[a], now[b]) for a, b in zip(operand.time_dims, reader.time_dims, strict=False)]
    for level in (k for k in levels if k < len(times)):
        same = _may_be_same(operand, reader, equation, level)
        box = box.intersect(condition_set(_is_past(operand, times, level, same), box))
    return replace(
        summand, extents=extents, domain=box, write=tuple(write),
        body=select(taken, body, const(0, body.dtype)), dim_names=(),
    )  # fmt: skip


def _may_be_same(operand: Tensor, reader: Tensor, equation: Equation, level: int) -> bool:
    return any(
        may_meet(reader, equation, read, points, level)
        for read, points in history_reads(equation, [operand])
    )


def _is_past(operand: Tensor, times: Sequence[tuple[Expr, Expr]], level: int, same: bool) -> Expr:
    """Whether the time that is read at a level is no later one, where those around it are equal."""
    outer = TRUE
    for seen, now in times[:level]:
        outer = land(outer, compare("eq", seen, now))
    seen, now = times[level]
    order = (now, seen) if operand.clocks[level].reverse else (seen, now)
    return lor(lnot(outer), compare("le" if same else "lt", *order))


def settle_recurrences(roots: Sequence[Tensor]) -> None:
    """Give the tensors of a user's derivative inside a recurrence their place in a step.

    Raises: DerivativeError when no step can compute them, since they are a recurrence themselves.
    """
    try:
        spread_times(roots)
        bad = next((g for g in components(roots) if is_recurrence(g) and not is_causal(g)), None)
    except VerifyError as error:
        raise DerivativeError(f"override in a {error}") from None
    if bad is not None:
        raise DerivativeError(
            "override in a recurrence: its adjoints at a time depend on the head at that time, got "
            f"others in {', '.join(t.name for t in bad)}",
            bad[0].location,
        )
