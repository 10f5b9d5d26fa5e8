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
from ted.ir.recurrences import history_reads, is_causal, may_meet, spread_times
from ted.ir.scalar import compare, const, dim, select, substitute


def written_at_data(operand: Tensor, summand: Equation) -> bool:
    """Whether an equation writes into a recurrence at a time that is data."""
    return operand.time is not None and not is_affine(summand.write[operand.time], summand.domain)


def in_steps(operand: Tensor, summand: Equation, reader: Tensor, equation: Equation) -> Equation:
    """The part of an adjoint that comes from a read in the same recurrence, at times of its own."""
    if not written_at_data(operand, summand):
        return summand
    assert operand.time is not None, "as has been asked"
    assert reader.time is not None, f"{reader}: has a time dim"
    later = [dim(d + 1) for d in range(summand.rank)]
    body, now, *write = substitute(
        [summand.body, equation.write[reader.time], *summand.write], later
    )
    taken = compare("eq", dim(0), write[operand.time])
    write[operand.time] = dim(0)
    extents = (operand.shape[operand.time], *summand.extents)
    inner = [sets.dim_aff(len(extents), d + 1) for d in range(summand.rank)]
    box = sets.preimage(summand.domain, len(extents), inner).intersect(parameters.box(extents))
    same = any(
        may_meet(reader, equation, read, points)
        for read, points in history_reads(equation, [operand])
    )
    order = (now, dim(0)) if operand.reverse else (dim(0), now)
    causal = condition_set(compare("le" if same else "lt", *order), box)
    return replace(
        summand, extents=extents, domain=box.intersect(causal), write=tuple(write),
        body=select(taken, body, const(0, body.dtype)), dim_names=(),
    )  # fmt: skip


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
