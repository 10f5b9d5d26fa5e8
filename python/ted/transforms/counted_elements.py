"""Sums that count the elements of a read, not steps from some other dim.

Before: dW[c, t] += dY[2*p - t + 1] * X[c, p - t + 1]    over p < 32, t < 3
After:  dW[c, t] += dY[2*q + t - 1] * X[c, q]            over q < 32, t < 3

A fibre has many coordinates, and which ones a solver finds says nothing about the reads.  A summed
dim becomes the subscript that it is part of where subscripts then name fewer dims, and its extent
does not grow: factors that do not share a dim any more are those of a contraction.  (Skewing, a
unimodular change of dims: M. Wolfe, Loop skewing: the wavefront method revisited, 1986.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from ted.domain import bounds, conversion, sets
from ted.domain.affine import Aff
from ted.domain.budget import BudgetExhausted, required
from ted.domain.sizes import is_symbolic, numbers
from ted.ir.affine import NotAffine, aff_to_expr, canonical_indices, single_piece
from ted.ir.equations import Equation
from ted.ir.expressions import Expr
from ted.ir.scalar import dims_used, reads_data, substitute
from ted.records import dataclass


@dataclass(frozen=True)
class _Skew:
    """The new dim in place of `dim` is `subscript - low`; `value` is the old one in terms of it."""

    dim: int
    value: Aff
    extent: int


def counting_elements(equation: Equation) -> Equation:
    """The equation with the dims of its sum as subscripts, as long as that makes it simpler."""
    if equation.combiner != "add" or equation.is_scatter or is_symbolic(equation.extents):
        return equation
    if not any(_is_mixed(s, equation) for read in equation.reads for s in read.args):
        return equation
    try:
        return _simplest(equation)
    except (NotAffine, BudgetExhausted):
        return equation


def _is_mixed(subscript: Expr, equation: Equation) -> bool:
    """Whether it names several dims, a summed one among them."""
    named = dims_used(subscript)
    return len(named) > 1 and not named.isdisjoint(equation.reduction_dims)


def _simplest(equation: Equation) -> Equation:
    named = _named_dims(equation)
    for skew in _skews(equation):
        made = _skewed(equation, skew)
        if _named_dims(made) < named:
            return _simplest(made)
    return equation


def _named_dims(equation: Equation) -> int:
    """How many dims the subscripts of all reads name; all of them where that is not known."""
    known = _subscripts(equation)
    return sum(equation.rank if aff is None else len(aff.dims) for aff in known)


def _subscripts(equation: Equation) -> list[Aff | None]:
    """The subscripts that are no data, None for those of several pieces."""
    found = (subscript for read in equation.reads for subscript in read.args)
    return [single_piece(s, equation.domain) for s in found if not reads_data(s)]


def _skews(equation: Equation) -> Iterator[_Skew]:
    """Each subscript of several dims, one of them summed and counted one by one."""
    for subscript, number in product(_subscripts(equation), equation.reduction_dims):
        if subscript is not None:
            factor = next((c for c, term in subscript.terms if term == number), 0)
            rest = subscript - Aff(((factor, number),))
            if abs(factor) == 1 and rest.dims and number not in rest.dims:
                limits = _limits(equation, subscript)
                if limits is not None and len(limits) <= numbers(equation.extents)[number]:
                    old = (Aff(((1, number),)) + limits.start - rest) * factor
                    yield _Skew(number, old, len(limits))


def _limits(equation: Equation, value: Aff) -> range | None:
    """From the least to the largest value at any point."""
    reached = bounds.image(equation.domain, [conversion.to_piecewise(value, equation.rank)])
    found = required(sets.dim_range, reached, 0)
    return None if found is None else range(found[0], found[1] + 1)


def _skewed(equation: Equation, skew: _Skew) -> Equation:
    """The same points in the new coordinates."""
    old = [Aff(((1, k),)) if k != skew.dim else skew.value for k in range(equation.rank)]
    affs = [conversion.to_isl(value, equation.rank) for value in old]
    domain = required(sets.preimage, equation.domain, equation.rank, affs)
    before, after = equation.extents[: skew.dim], equation.extents[skew.dim + 1 :]
    (body,) = substitute([equation.body], [aff_to_expr(value) for value in old])
    (body,) = canonical_indices([body], domain)
    extents = (*before, skew.extent, *after)
    return replace(equation, extents=extents, domain=domain, body=body)
