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
from ted.ir.expressions import Expr, postorder
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
    select,
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


def _is_not(x: Expr, value: float) -> Expr:
    """Whether x is another number, or NaN."""
    return compare("ne", x, _number(x, value))


def _square(x: Expr) -> Expr:
    return mul(x, x)


def _one_plus(x: Expr) -> Expr:
    return add(_number(x, 1.0), x)


def _one_minus(x: Expr) -> Expr:
    return sub(_number(x, 1.0), x)


def _one_minus_square(x: Expr) -> Expr:
    """1 - x*x, away from 0 as a product, which loses no digits near 1, as a sum does not near 0."""
    small = compare("lt", apply("abs", x), _number(x, 0.5))
    return select(small, _one_minus(_square(x)), mul(_one_minus(x), _one_plus(x)))


_LARGE = 1e9  # beside whose square 1 is nothing in any type


def _root_one_plus_square(x: Expr) -> Expr:
    """sqrt(1 + x*x), which is |x| long before its square overflows."""
    size = apply("abs", x)
    root = apply("sqrt", _one_plus(_square(x)))
    return select(compare("lt", _number(x, _LARGE), size), size, root)


def _root_square_minus_one(x: Expr) -> Expr:
    """sqrt(x*x - 1) without a square."""
    return mul(apply("sqrt", sub(x, _number(x, 1.0))), apply("sqrt", _one_plus(x)))


def _scaled(x: Expr, factor: float) -> Expr:
    return mul(_number(x, factor), x)


def _mul(node: Expr, g: Expr) -> list[Contribution]:
    a, b = node.args
    return [(0, TRUE, mul(g, b)), (1, TRUE, mul(g, a))]


def _div(node: Expr, g: Expr) -> list[Contribution]:
    quotient = div(g, node.args[1])
    return [(0, TRUE, quotient), (1, TRUE, neg(mul(quotient, node)))]


def _rsqrt(node: Expr, g: Expr) -> list[Contribution]:
    """-y**3 / 2, whose last factor y is multiplied by what comes next (`body.py`)."""
    return [(0, TRUE, mul(mul(_scaled(g, -0.5), _square(node)), node))]


def _atan(node: Expr, g: Expr) -> list[Contribution]:
    """1 / (1 + x*x) as r * r / (r*r + (x*r)**2), r the inverse of the larger of 1 and |x|."""
    (x,) = node.args
    one = _number(node, 1.0)
    size = apply("stop_gradient", apply("maximum", one, apply("abs", x)))
    r = div(one, size)
    scaled = div(mul(g, r), add(_square(r), _square(mul(x, r))))
    inside = TRUE if _has_pole(x) else _is_not(size, math.inf)
    return [(0, inside, mul(scaled, r))]


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


def _logarithm(base: float) -> Rule:
    """The rule of a logarithm: its constant is a factor of `g`, as one of x could overflow."""
    return lambda node, g: [(0, TRUE, div(_scaled(g, 1.0 / math.log(base)), node.args[0]))]


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
    "rsqrt": _rsqrt,
    "cbrt": _quotient(lambda _, y: _scaled(_square(y), 3.0)),
    "exp": _unary(lambda _, y: y),
    "exp2": _unary(lambda _, y: _scaled(y, math.log(2.0))),
    "expm1": _unary(lambda _, y: _one_plus(y)),
    "log": _quotient(lambda x, _: x),
    "log2": _logarithm(2.0),
    "log10": _logarithm(10.0),
    "log1p": _quotient(lambda x, _: _one_plus(x)),
    "sin": _unary(lambda x, _: apply("cos", x)),
    "cos": _unary(lambda x, _: neg(apply("sin", x))),
    "tan": _unary(lambda _, y: _one_plus(_square(y))),
    "asin": _unary(lambda x, _: apply("rsqrt", _one_minus_square(x))),
    "acos": _unary(lambda x, _: neg(apply("rsqrt", _one_minus_square(x)))),
    "atan": _atan,
    "fmod": _fmod,
    "atan2": _atan2,
    "sinh": _unary(lambda x, _: apply("cosh", x)),
    "cosh": _unary(lambda x, _: apply("sinh", x)),
    "tanh": _unary(lambda _, y: _one_minus(_square(y))),
    "asinh": _quotient(lambda x, _: _root_one_plus_square(x)),
    "acosh": _quotient(lambda x, _: _root_square_minus_one(x)),
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
    found = rule(node, g)
    if node.op not in SATURATING:
        return found
    position, limit = SATURATING[node.op]
    argument = node.args[position]
    if not can_overflow(argument):
        return found
    inside = limit(argument)
    return [under(inside, c) if c[0] == position else c for c in found]


# ------------------------------------------------------------------ what overflows

GROWING = frozenset({"exp", "exp2", "expm1", "sinh", "cosh"})
# A sum or a quotient of what has a pole can have any slope where that is infinite.
_POLES = frozenset(
    {"div", "rsqrt", "log", "log2", "log10", "log1p", "pow", "tan", "atanh", "fmod", "acosh"}
)


def can_overflow(e: Expr) -> bool:
    """Whether an expression is infinite where what it is made of is large, and nowhere else."""
    if e.op in ("load", "const"):
        return False
    nodes = [n for n in postorder(e) if n.dtype.is_float]
    grows = any(n.op in GROWING and not _is_minus_size(n.args[0]) for n in nodes)
    return (grows or _is_power_of_power(e)) and not _has_pole(e)


def _has_pole(e: Expr) -> bool:
    return any(n.op in _POLES for n in postorder(e))


def _is_minus_size(e: Expr) -> bool:
    """Whether it is -|x|, also as the choice `where(0 <= x, -x, x)`."""
    if e.op != "select":
        return e.op == "neg" and e.args[0].op == "abs"
    condition, a, b = e.args
    chosen = condition.op in ("le", "lt") and is_const(condition.args[0], 0)
    return chosen and condition.args[1] is b and a is neg(b)


def _is_power_of_power(e: Expr) -> bool:
    """Whether a product has a product of data as a factor: its slope has an infinite one."""
    products = [n for n in postorder(e) if n.op == "mul" and not any(map(is_const, n.args))]
    return any(n.op == "mul" and n in products for p in products for n in p.args)


def _finite(x: Expr) -> Expr:
    return _is_not(apply("abs", x), math.inf)


def _above_minus_infinity(x: Expr) -> Expr:
    return _is_not(x, -math.inf)


# Operation -> the argument that it is flat in far out, and the condition that this is not infinite.
# There a slope of 0 meets an infinite one, and adds nothing: it is selected away.
SATURATING: dict[str, tuple[int, Callable[[Expr], Expr]]] = {
    "div": (1, _finite),
    **dict.fromkeys(("rsqrt", "tanh", "erf", "erfc", "atan"), (0, _finite)),
    **dict.fromkeys(("exp", "exp2", "expm1"), (0, _above_minus_infinity)),
}


def under(condition: Expr, contribution: Contribution) -> Contribution:
    """The contribution restricted to a further condition."""
    position, own, value = contribution
    return position, land(condition, own), value
