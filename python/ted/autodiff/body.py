"""Reverse mode over one scalar body, with path conditions.

The adjoint of a node is a sum of (condition, value) terms.  Conditions stay outside the derivative
arithmetic, so where(x > 0, sqrt(x), 0) has derivative 0, not NaN, at 0: nothing is ever multiplied
by a masked infinity.
"""

from __future__ import annotations

from collections.abc import Callable

from ted.autodiff.rules import contributions, under
from ted.errors import SourceLocation
from ted.ir.equations import Tensor
from ted.ir.paths import common
from ted.ir.scalar import TRUE, Expr, add, const, is_const, lnot, postorder, select

MAX_CONDITIONS = 4  # more terms than this are merged by selecting early; bounds the expression

_Adjoint = dict[Expr, Expr]  # condition -> value


def read_adjoints(
    body: Expr,
    seed: Expr,
    active: Callable[[Tensor], bool],
    location: SourceLocation | None = None,
) -> list[tuple[Expr, Expr]]:
    """The adjoints of the active reads of `body`, as (read, adjoint expression)."""
    order = postorder(body)
    varied = _varied(order, active)
    adjoints: dict[Expr, _Adjoint] = {body: {TRUE: seed}}
    found: list[tuple[Expr, Expr]] = []
    for node in reversed(order):
        terms = adjoints.get(node)
        if terms is None or node not in varied:
            continue
        if node.op == "load":
            found.append((node, _merged(terms)))
            continue
        for condition, g in list(terms.items()):
            for contribution in contributions(node, g, location):
                position, where, value = under(condition, contribution)
                argument = node.args[position]
                if argument in varied:
                    _accumulate(adjoints.setdefault(argument, {}), where, value)
    found.reverse()
    return found


def _varied(order: list[Expr], active: Callable[[Tensor], bool]) -> set[Expr]:
    """The float nodes whose value depends on an active tensor."""
    varied: set[Expr] = set()
    for node in order:
        if not node.dtype.is_float:
            continue
        if active(node.attr) if node.op == "load" else any(a in varied for a in node.args):
            varied.add(node)
    return varied


def _accumulate(terms: _Adjoint, condition: Expr, value: Expr) -> None:
    if is_const(value, 0):
        return
    if condition not in terms and len(terms) >= MAX_CONDITIONS:
        value = _selected(condition, value)
        condition = common([*terms, condition])  # what the node reads may be read only there
    terms[condition] = add(terms[condition], value) if condition in terms else value


def _selected(condition: Expr, value: Expr) -> Expr:
    return select(condition, value, const(0, value.dtype))


def _merged(terms: _Adjoint) -> Expr:
    """The sum of the terms; two under opposite conditions are one choice."""
    total: Expr | None = None
    left = dict(terms)
    while left:
        condition = next(iter(left))
        value, opposite = left.pop(condition), left.pop(lnot(condition), None)
        part = _selected(condition, value)
        if opposite is not None:
            part = select(condition, value, opposite)
        total = part if total is None else add(total, part)
    assert total is not None, "an adjoint has at least one term"
    return total
