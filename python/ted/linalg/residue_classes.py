"""Divisions that couple dims -> subdomains over residue classes, in which nothing is divided.

Before: `C[i] += A[(i - r) floordiv 2] * W[r]` on `(i - r) mod 2 == 0`.
After: a subdomain on i = 2i', r = 2r' that reads `A[i' - r']` and one on i = 2i' + 1, r = 2r' + 1;
the other two classes have no points. Writes become strided, reads plain, and the rest of the
lowering sees dense boxes. Divisions of one dim alone are dims of their own already (`ted-split-
dims`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import lcm, prod

from ted.domain.affine import Aff, Floor
from ted.linalg.domain_forms import from_plain, to_plain
from ted.linalg.subdomain import Constraint, Read, Subdomain
from ted.mlir import ir

MOST_CLASSES, MOST_PIECES = 256, 24


def residue_subdomains(subdomain: Subdomain) -> list[Subdomain]:
    """Disjoint subdomains without coupled divisions; itself when they would be too many."""
    if subdomain.writes_at_data:
        return [subdomain]
    moduli = _moduli(subdomain)
    if all(m == 1 for m in moduli) or prod(moduli) > MOST_CLASSES:
        return [subdomain]
    found = []
    for classes in product(*(range(m) for m in moduli)):
        part = _of_class(subdomain, moduli, classes)
        if part is not None:
            found.append(part)
            if len(found) > MOST_PIECES:
                return [subdomain]
    if len(found) > 1:
        found = [replace(part, unordered=True) for part in found]
    return found


def _moduli(subdomain: Subdomain) -> list[int]:
    """For each dim the number of its residue classes, 1 if it stays whole."""
    moduli = [1] * subdomain.rank
    for expr in _expressions(subdomain):
        for floor in _coupled(to_plain(expr)):
            for factor, term in floor.inner.terms:
                if isinstance(term, int) and factor % floor.divisor:
                    moduli[term] = lcm(moduli[term], floor.divisor)
    return moduli


def _expressions(subdomain: Subdomain) -> Iterator[ir.AffineExpr]:
    yield from (c.expr for c in subdomain.domain)
    for read in subdomain.reads:
        if read is not None:
            yield from read.subscripts
            yield from (c.expr for c in read.guard)


def _coupled(value: Aff) -> Iterator[Floor]:
    """The divisions of sums of two or more dims in an expression, the inner ones too."""
    for _, term in value.terms:
        if isinstance(term, Floor):
            if len(term.inner.dims) > 1:
                yield term
            yield from _coupled(term.inner)


def _of_class(
    subdomain: Subdomain, moduli: list[int], classes: tuple[int, ...]
) -> Subdomain | None:
    extents = tuple(
        -(-(extent - c) // m)
        for extent, m, c in zip(subdomain.extents, moduli, classes, strict=True)
    )
    if min(extents, default=1) <= 0:
        return None
    exprs = [ir.AffineExpr.get_dim(k) * m + c
             for k, (m, c) in enumerate(zip(moduli, classes, strict=True))]  # fmt: skip
    part = _divided(subdomain.substituted(exprs, extents)).settled()
    return None if part.is_empty else part


def _divided(subdomain: Subdomain) -> Subdomain:
    """The subdomain with divisions carried out where multiples of the divisor allow it."""
    return replace(
        subdomain,
        domain=tuple(map(_constraint, subdomain.domain)),
        reads=tuple(r and _read(r) for r in subdomain.reads),
    )


def _read(read: Read) -> Read:
    subscripts = tuple(from_plain(to_plain(e)) for e in read.subscripts)
    return replace(read, subscripts=subscripts, guard=tuple(map(_constraint, read.guard)))


def _constraint(constraint: Constraint) -> Constraint:
    return replace(constraint, expr=from_plain(to_plain(constraint.expr)))
