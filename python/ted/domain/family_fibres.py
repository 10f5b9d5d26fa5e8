"""Fibres of index maps with symbolic sizes: solve for all sizes at once, and read the answer back.

Before: `out[i + k] += body(i, k)` over `i < n - 2, k < 3`: n is a parameter.
As a family: `out[n, i + k] += body(n, i, k)` over the same points and all n: n is a dim.
After:  `out[q] += body(q - 2 + t, 2 - t)` over `q < n, t < 3 where ...`: n is a parameter again.

A piece that needs a condition on the sizes (`n` even) has it in its domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.domain import affine, conversion, isl, sets
from ted.domain.affine import Aff
from ted.domain.budget import BudgetExhausted, required
from ted.domain.parameters import Family, family_of, largest
from ted.domain.pieces import Fibre
from ted.domain.sizes import GROWING, LARGEST, Extent
from ted.records import dataclass

Solver = Callable[[isl.Set, Sequence[isl.PwAff]], "tuple[Fibre, ...]"]


def has_parameters(domain: isl.Set, index: Sequence[isl.PwAff]) -> bool:
    """Whether a map or its domain mentions a symbolic size."""
    return any(part.dim(sets.PARAM) for part in (domain, *index))


def solve_family(domain: isl.Set, index: Sequence[isl.PwAff], solve: Solver) -> tuple[Fibre, ...]:
    """The fibres of `index` for all sizes, by a solver of bounded maps without parameters.

    Raises: BudgetExhausted, also where no extent of a piece can be given.
    """
    family = family_of(domain, *index)
    rank = len(family.names) + sets.rank_of(domain)
    values = [*family.identity(rank), *(family.lifted_value(value) for value in index)]
    pieces = solve(family.lifted(domain), values)
    return tuple(required(_at_parameters, piece, family) for piece in pieces)


@dataclass(frozen=True)
class _Change:
    """The dims of a piece over (parameters, remaining dims): which remain, and what each is."""

    remaining: tuple[int, ...]
    values: tuple[Aff, ...]


def _at_parameters(piece: Fibre, family: Family) -> Fibre:
    count = len(family.names)
    change = _solved(piece, count)
    rank = count + len(change.remaining)
    domain = sets.preimage(piece.domain, rank, [conversion.to_isl(v, rank) for v in change.values])
    for k in range(count):  # a class of sizes, say the even ones
        size = piece.write[k].substitute(change.values) - affine.dim(k)
        if not (size.is_constant and size.const == 0):
            equal = conversion.to_isl(size, rank).zero_basic_set()
            domain = domain.intersect(isl.Set.from_basic_set(equal))
    names = [affine.parameter(name) for name in family.names]
    plain = [*names, *(affine.dim(k) for k in range(len(change.remaining)))]
    values = [value.substitute(plain) for value in change.values]
    return Fibre(
        tuple(
            _extent(domain, family, count + k, piece.extents[old])
            for k, old in enumerate(change.remaining)
        ),
        sum(old < piece.parallel for old in change.remaining),
        family.lowered(domain.coalesce()).gist_params(_bounded(family)),
        tuple(value.substitute(values) for value in piece.write[count:]),
        tuple(value.substitute(values) for value in piece.point[count:]),
    )


def _solved(piece: Fibre, count: int) -> _Change:
    """The dims that the parameters decide, as functions of them; the others remain.

    Raises: BudgetExhausted where they are functions only in parts.
    """
    own = sorted(frozenset[int]().union(*(value.dims for value in piece.write[:count])))
    place = {dim: affine.dim(k) for k, dim in enumerate(own)}
    written = [
        conversion.to_piecewise(value.substitute(place), len(own)) for value in piece.write[:count]
    ]
    inverse = sets.index_map(sets.project(piece.domain, own), written).reverse()
    parts = sets.pieces_of(isl.PwMultiAff.from_map(inverse).coalesce())
    if len(parts) != 1:
        raise BudgetExhausted(f"gather form: sizes must decide one piece, got {len(parts)} parts")
    ((_, function),) = parts
    remaining = [k for k in range(len(piece.extents)) if k not in own]
    values = {dim: conversion.from_isl(function.get_aff(k)) for k, dim in enumerate(own)}
    values.update({dim: affine.dim(count + k) for k, dim in enumerate(remaining)})
    return _Change(tuple(remaining), tuple(values[k] for k in range(len(piece.extents))))


def _extent(domain: isl.Set, family: Family, dim: int, most: Extent) -> Extent:
    """The extent of a dim: a number where it does not grow with the sizes."""
    if isinstance(most, int) and most < GROWING:
        return most
    bound = largest(domain, family, dim)
    if bound is None:
        raise BudgetExhausted("gather form: every extent must be a function of sizes, got several")
    return bound + 1


def _bounded(family: Family) -> isl.Set:
    """The context that a family adds: parameters are at most LARGEST."""
    points = isl.Set.universe(sets.space(0, family.names))
    for k in range(len(family.names)):
        points = points.upper_bound_val(sets.PARAM, k, isl.Val(LARGEST))
    return points.params()
