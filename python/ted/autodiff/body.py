"""Reverse mode over one scalar body, with path conditions.

The adjoint of a node is a sum of (condition, value) terms.  Conditions stay outside the derivative
arithmetic, so where(x > 0, sqrt(x), 0) has derivative 0, not NaN, at 0: nothing is ever multiplied
by a masked infinity.  A node whose uses are all known passes on one term, a value under the
condition that any of its uses is made, so that expressions grow with the body and not faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from ted.autodiff.rules import contributions, under
from ted.errors import SourceLocation
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.paths import choices
from ted.ir.scalar import FALSE, TRUE, add, apply, const, is_const, land, lnot, lor, mul, select

_Adjoint = dict[Expr, Expr]  # condition -> value


def read_adjoints(
    body: Expr,
    seed: Expr,
    active: Callable[[Tensor], bool],
    location: SourceLocation | None = None,
    condition: Expr = TRUE,
) -> list[tuple[Expr, Expr]]:
    """The adjoints of the active reads of `body`, as (read, adjoint expression).

    The adjoint of the body itself is `seed` where the condition holds, else zero.
    """
    order = postorder(body)
    varied = _varied(order, active)
    adjoints: dict[Expr, _Adjoint] = {body: {condition: seed}}
    found: list[tuple[Expr, Expr]] = []
    made: set[Expr] = set()
    tails = {node for node in order if node.op in _SMALL}
    for node in reversed(order):
        terms = adjoints.get(node)
        if not terms or node not in varied:
            continue
        terms = _choices_joined(terms)
        if node.op == "load":
            found.append((node, _sum(terms)))
            continue
        condition, g = _one_term(terms)
        for contribution in contributions(node, g, location):
            position, where, value = under(condition, contribution)
            argument = node.args[position]
            if argument in varied:
                value = _made_before(_regrouped(value, tails), made)
                _accumulate(adjoints.setdefault(argument, {}), where, value)
    found.reverse()
    return found


def _varied(order: Sequence[Expr], active: Callable[[Tensor], bool]) -> set[Expr]:
    """The float nodes whose value depends on an active tensor."""
    varied: set[Expr] = set()
    for node in order:
        if not node.dtype.is_float:
            continue
        if active(node.attr) if node.op == "load" else any(a in varied for a in node.args):
            varied.add(node)
    return varied


def _accumulate(terms: _Adjoint, condition: Expr, value: Expr) -> None:
    if not is_const(value, 0):
        terms[condition] = add(terms[condition], value) if condition in terms else value


def _made_before(value: Expr, made: set[Expr]) -> Expr:
    """A product as it was made before with its factors in the same order: (g*x)*x is g*(x*x)."""
    if value.op == "mul" and value.args[0].op == "mul":
        (first, second), third = value.args[0].args, value.args[1]
        other = mul(first, mul(second, third))
        value = other if other in made else value
    made.add(value)
    return value


_SMALL = ("div", "rsqrt")  # whose value is small where what they divide by is large


_SHARES = 4  # products that one slope is multiplied into


def _regrouped(value: Expr, tails: set[Expr]) -> Expr:
    """(g*y)*d as g*(y*d), where y is a quotient, or such a product, and d the slope of its divisor.

    The adjoint of the divisor u of y = a / u is -(g/u)*y. Where u is large, that can be too small
    for its type, and y*d, a share, is not. A sum of such adjoints is taken apart for it.
    """
    if value.op != "mul":
        return value
    adjoint, slope = value.args
    if _is_tail(slope, tails) or _count(adjoint, tails) > _SHARES:
        return value
    return _shared(adjoint, slope, tails)


def _count(adjoint: Expr, tails: set[Expr]) -> int:
    """How many products with a tail an adjoint is the sum of; more than can be if it is no such."""
    if adjoint.op in ("add", "sub", "neg"):
        return sum(_count(a, tails) for a in adjoint.args)
    is_product = adjoint.op == "mul" and _is_tail(adjoint.args[1], tails)
    return 1 if is_product else _SHARES + 1


def _shared(adjoint: Expr, slope: Expr, tails: set[Expr]) -> Expr:
    if adjoint.op != "mul":
        return apply(adjoint.op, *(_shared(a, slope, tails) for a in adjoint.args))
    share = mul(adjoint.args[1], slope)
    tails.add(share)
    return mul(adjoint.args[0], share)


def _is_tail(e: Expr, tails: set[Expr]) -> bool:
    return e in tails or (e.op == "div" and is_const(e.args[0]))


def _choices_joined(terms: _Adjoint) -> _Adjoint:
    """The terms with those under `p and c` and under `p and not c` made a choice under `p`."""
    joined, waiting = dict(terms), list(terms)
    while waiting:
        condition = waiting.pop()
        for before, last in choices(condition):
            opposite = land(before, lnot(last))
            if condition in joined and opposite in joined:
                value = select(last, joined.pop(condition), joined.pop(opposite))
                _accumulate(joined, before, value)
                waiting.append(before)
    return joined


def _one_term(terms: _Adjoint) -> tuple[Expr, Expr]:
    """All terms as one, under the condition that holds where any of theirs does."""
    condition = FALSE
    for each in terms:
        condition = lor(condition, each)
    return condition, next(iter(terms.values())) if len(terms) == 1 else _sum(terms)


def _sum(terms: _Adjoint) -> Expr:
    """The sum of the terms, each zero where its condition does not hold."""
    return reduce(add, (select(c, value, const(0, value.dtype)) for c, value in terms.items()))
