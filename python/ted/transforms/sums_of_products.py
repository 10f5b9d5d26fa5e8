"""A body as a sum of products: the factors of each value that is added.

Before: (a[i, r] * b[r, j] - c[i, r] * d[r, j]) / s[i]     summed over r
After:  a[i, r], b[r, j], 1 / s[i]   and   -1, c[i, r], d[r, j], 1 / s[i]

A product is distributed over a sum only by what does not depend on the dims that are summed over,
so a square of a difference stays one: its three parts would cancel.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.ir.expressions import Expr
from ted.ir.scalar import add, const, div, is_const, mul

Factors = tuple[Expr, ...]
MOST = 16  # values that are added, and factors of one of them; a shared body may have very many


def summands(body: Expr, summed: frozenset[int]) -> list[Factors]:
    """The factors of each value that is added; the body alone where there are too many."""
    found = _summands(body, summed)
    return found if len(found) <= MOST and all(len(f) <= MOST for f in found) else [(body,)]


def factors(body: Expr) -> Factors:
    """The factors of a product; the body alone where there are too many."""
    found = _factors(body)
    return found if len(found) <= MOST else (body,)


def product(values: Sequence[Expr]) -> Expr:
    """The product of values, those that divide by something at the end."""
    ordered = sorted(values, key=_is_reciprocal)
    result = ordered[0]
    for value in ordered[1:]:
        result = div(result, value.args[1]) if _is_reciprocal(value) else mul(result, value)
    return result


def collected(terms: Sequence[Factors]) -> list[Factors]:
    """The products with common factors taken out: a * b + a * c as a * (b + c).

    Only where what is left is over the same dims, so that the sum has no more points than they.
    """
    result: list[Factors] = []
    for term in terms:
        for k, other in enumerate(result):
            joined = _joined(other, term)
            if joined is not None:
                result[k] = joined
                break
        else:
            result.append(term)
    return result


def _joined(one: Factors, other: Factors) -> Factors | None:
    common = next((f for f in one if f.dims and f in other), None)
    if common is None:
        return None
    left, right = (_product_without(term, common) for term in (one, other))
    if left is None or right is None or left.dims != right.dims:
        return None
    return common, add(left, right)


def _product_without(term: Factors, common: Expr) -> Expr | None:
    place = term.index(common)
    rest = (*term[:place], *term[place + 1 :])
    return product(rest) if rest else None


def _is_reciprocal(value: Expr) -> bool:
    return value.op == "div" and is_const(value.args[0], 1)


def _summands(body: Expr, summed: frozenset[int]) -> list[Factors]:
    if body.op in ("add", "sub"):
        left, right = (_summands(a, summed) for a in body.args)
        if len(left) + len(right) > MOST:
            return [(body,)]
        return [*left, *(right if body.op == "add" else map(_negative, right))]
    if body.op == "neg":
        return [_negative(term) for term in _summands(body.args[0], summed)]
    if body.op == "mul":
        for one, other in (body.args, body.args[::-1]):
            if not one.dims & summed:
                return [(*term, *factors(one)) for term in _summands(other, summed)]
    if body.op == "div" and not body.args[1].dims & summed:
        inverse = div(const(1, body.dtype), body.args[1])
        return [(*term, inverse) for term in _summands(body.args[0], summed)]
    return [factors(body)]


def _negative(term: Factors) -> Factors:
    return (const(-1, term[0].dtype), *term)


def _factors(body: Expr) -> Factors:
    if body.op == "neg":
        return _negative(factors(body.args[0]))
    if body.op != "mul":
        return (body,)
    left, right = (_factors(a) for a in body.args)
    return (*left, *right) if len(left) + len(right) <= MOST else (body,)
