"""Derivatives of the scalar operations, as one table.

A rule maps a node and its adjoint `g` to contributions (argument position, condition, value): where
the condition holds, `value` is added to that argument's adjoint.  Keeping conditions apart from
values is what keeps gradients NaN-free: a value is selected, never multiplied by zero.  Operations
whose derivative is zero almost everywhere have an empty rule; an operation without a row is an
error, not a zero.  Every operation that a rule emits has a row itself (closure).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from ted.errors import DerivativeError, SourceLocation
from ted.ir.expressions import Expr
from ted.ir.scalar import (
    TRUE,
    add,
    apply,
    cast,
    compare,
    const,
    div,
    is_const,
    land,
    lnot,
    mul,
    neg,
    sub,
)

Contribution: TypeAlias = tuple[int, Expr, Expr]
Rule: TypeAlias = Callable[[Expr, Expr], "list[Contribution]"]


def _unary(derivative: Callable[[Expr, Expr], Expr]) -> Rule:
    """The rule of f(x) from `derivative(x, f(x))`."""
    return lambda node, g: [(0, TRUE, mul(g, derivative(node.args[0], node)))]


def _quotient(denominator: Callable[[Expr, Expr], Expr]) -> Rule:
    """The rule of f(x) whose derivative is 1 / `denominator(x, f(x))`."""
    return lambda node, g: [(0, TRUE, div(g, denominator(node.args[0], node)))]


def _number(like: Expr, value: float) -> Expr:
    return const(value, like.dtype)


def _square(x: Expr) -> Expr:
    return mul(x, x)


def _one_plus(x: Expr) -> Expr:
    return add(_number(x, 1.0), x)


def _one_minus(x: Expr) -> Expr:
    return sub(_number(x, 1.0), x)


def _one_minus_square(x: Expr) -> Expr:
    """1 - x*x as a product, which loses no digits near 1."""
    return mul(_one_minus(x), _one_plus(x))


def _scaled(x: Expr, factor: float) -> Expr:
    return mul(_number(x, factor), x)


def _mul(node: Expr, g: Expr) -> list[Contribution]:
    a, b = node.args
    return [(0, TRUE, mul(g, b)), (1, TRUE, mul(g, a))]


def _div(node: Expr, g: Expr) -> list[Contribution]:
    quotient = div(g, node.args[1])
    return [(0, TRUE, quotient), (1, TRUE, neg(mul(quotient, node)))]


def _extremum(first_wins: Callable[[Expr, Expr], Expr]) -> Rule:
    """maximum and minimum: all of the adjoint goes to the value taken, on a tie to the first."""

    def rule(node: Expr, g: Expr) -> list[Contribution]:
        taken = first_wins(*node.args)
        return [(0, taken, g), (1, lnot(taken), g)]

    return rule


def _abs(node: Expr, g: Expr) -> list[Contribution]:
    """g * sign(x), the sign as a difference of comparisons: casts are free, selects are not."""
    x, zero = node.args[0], _number(node, 0.0)
    above, below = compare("lt", zero, x), compare("lt", x, zero)
    return [(0, TRUE, mul(g, sub(cast(above, node.dtype), cast(below, node.dtype))))]


def _pow(node: Expr, g: Expr) -> list[Contribution]:
    """x**y: no contribution to x where y is 0, nor to y where x is not positive."""
    x, y = node.args
    zero = _number(x, 0.0)
    below = _number(y, y.attr - 1.0) if is_const(y) else sub(y, _number(y, 1.0))
    to_base = mul(g, mul(y, apply("pow", x, below)))
    to_exponent = mul(g, mul(node, apply("log", x)))
    return [(0, compare("ne", y, zero), to_base), (1, compare("lt", zero, x), to_exponent)]


def _fmod(node: Expr, g: Expr) -> list[Contribution]:
    """a - b * trunc(a / b): the whole quotient is (a - node) / b but for rounding."""
    a, b = node.args
    whole = apply("round", div(sub(a, node), b))
    return [(0, TRUE, g), (1, TRUE, neg(mul(g, whole)))]


def _atan2(node: Expr, g: Expr) -> list[Contribution]:
    """(x, -y) / (x*x + y*y), with both scaled by the larger: no square vanishes or overflows."""
    size = apply("maximum", *(apply("abs", a) for a in node.args))
    size = apply("stop_gradient", size)
    y, x = (div(a, size) for a in node.args)
    scaled = div(div(g, size), add(_square(y), _square(x)))
    return [(0, TRUE, mul(scaled, x)), (1, TRUE, neg(mul(scaled, y)))]


def _select(node: Expr, g: Expr) -> list[Contribution]:
    condition = node.args[0]
    return [(1, condition, g), (2, lnot(condition), g)]


def _cast(node: Expr, g: Expr) -> list[Contribution]:
    (source,) = node.args
    return [(0, TRUE, cast(g, source.dtype))] if source.dtype.is_float else []


def _nothing(node: Expr, g: Expr) -> list[Contribution]:
    del node, g
    return []


_ERF_SLOPE = 2.0 / math.sqrt(math.pi)

RULES: dict[str, Rule] = {
    "add": lambda _, g: [(0, TRUE, g), (1, TRUE, g)],
    "sub": lambda _, g: [(0, TRUE, g), (1, TRUE, neg(g))],
    "neg": lambda _, g: [(0, TRUE, neg(g))],
    "mul": _mul,
    "div": _div,
    "maximum": _extremum(lambda a, b: compare("le", b, a)),
    "minimum": _extremum(lambda a, b: compare("le", a, b)),
    "abs": _abs,
    "pow": _pow,
    "sqrt": _unary(lambda _, y: div(_number(y, 0.5), y)),
    "rsqrt": _unary(lambda _, y: _scaled(mul(y, _square(y)), -0.5)),
    "cbrt": _quotient(lambda _, y: _scaled(_square(y), 3.0)),
    "exp": _unary(lambda _, y: y),
    "exp2": _unary(lambda _, y: _scaled(y, math.log(2.0))),
    "expm1": _unary(lambda _, y: _one_plus(y)),
    "log": _quotient(lambda x, _: x),
    "log2": _quotient(lambda x, _: _scaled(x, math.log(2.0))),
    "log10": _quotient(lambda x, _: _scaled(x, math.log(10.0))),
    "log1p": _quotient(lambda x, _: _one_plus(x)),
    "sin": _unary(lambda x, _: apply("cos", x)),
    "cos": _unary(lambda x, _: neg(apply("sin", x))),
    "tan": _unary(lambda _, y: _one_plus(_square(y))),
    "asin": _unary(lambda x, _: apply("rsqrt", _one_minus_square(x))),
    "acos": _unary(lambda x, _: neg(apply("rsqrt", _one_minus_square(x)))),
    "atan": _quotient(lambda x, _: _one_plus(_square(x))),
    "fmod": _fmod,
    "atan2": _atan2,
    "sinh": _unary(lambda x, _: apply("cosh", x)),
    "cosh": _unary(lambda x, _: apply("sinh", x)),
    "tanh": _unary(lambda _, y: _one_minus(_square(y))),
    "asinh": _unary(lambda x, _: apply("rsqrt", _one_plus(_square(x)))),
    "acosh": _unary(lambda x, _: apply("rsqrt", mul(sub(x, _number(x, 1.0)), _one_plus(x)))),
    "atanh": _quotient(lambda x, _: _one_minus_square(x)),
    "erf": _unary(lambda x, _: _scaled(apply("exp", neg(_square(x))), _ERF_SLOPE)),
    "erfc": _unary(lambda x, _: _scaled(apply("exp", neg(_square(x))), -_ERF_SLOPE)),
    "select": _select,
    "cast": _cast,
    # Zero almost everywhere, or on types that have no derivative.
    **dict.fromkeys(
        ("floor", "ceil", "round", "trunc", "stop_gradient", "floordiv", "mod",
         "bitand", "bitor", "bitxor", "shiftleft", "shiftright",
         "unchecked", "lt", "le", "eq", "ne", "and", "or", "not"), _nothing,
    ),
}  # fmt: skip


def contributions(node: Expr, g: Expr, location: SourceLocation | None) -> list[Contribution]:
    """What the adjoint `g` of `node` adds to the adjoints of its arguments.

    Raises: DerivativeError when the operation has no rule.
    """
    rule = RULES.get(node.op)
    if rule is None:
        raise DerivativeError(
            f"{node.op}: no derivative rule for this operation; add a row to ted.autodiff.rules",
            location,
        )
    return rule(node, g)


def under(condition: Expr, contribution: Contribution) -> Contribution:
    """The contribution restricted to a further condition."""
    position, own, value = contribution
    return position, land(condition, own), value
