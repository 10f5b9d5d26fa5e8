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
    found: list[Factors] = []
    stack: list[tuple[Expr, Factors]] = [(body, ())]  # values, and what they are multiplied by
    while stack:
        value, outer = stack.pop()
        if len(found) + len(stack) > MOST or len(outer) > MOST:
            return [(body,)]
        parts = _parts(value, summed)
        if parts is None:
            found.append((*factors(value), *outer))
        else:
            stack += [(part, (*own, *outer)) for part, own in reversed(parts)]
    return found


def _parts(value: Expr, summed: frozenset[int]) -> list[tuple[Expr, Factors]] | None:
    """What a value adds, and by what each part is multiplied; None for a product."""
    if value.op in ("add", "sub"):
        left, right = value.args
        return [(left, ()), (right, () if value.op == "add" else _minus(value))]
    if value.op == "neg":
        return [(value.args[0], _minus(value))]
    if value.op == "mul":
        for one, other in (value.args, value.args[::-1]):
            if not one.dims & summed:
                return [(other, factors(one))]
    if value.op == "div" and not value.args[1].dims & summed:
        return [(value.args[0], (div(const(1, value.dtype), value.args[1]),))]
    return None


def factors(body: Expr) -> Factors:
    """The factors of a product; the body alone where there are too many."""
    found: list[Expr] = []
    stack = [body]
    while stack:
        value = stack.pop()
        if len(found) + len(stack) > MOST:
            return (body,)
        if value.op == "mul":
            stack += value.args[::-1]
        elif value.op == "neg":
            stack += [value.args[0], *_minus(value)]
        else:
            found.append(value)
    return tuple(found)


def _minus(value: Expr) -> Factors:
    return (const(-1, value.dtype),)


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
