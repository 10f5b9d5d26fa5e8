"""Rows of element-wise operations."""

from __future__ import annotations

from fuzz.pool import Pool, Unsuitable, broadcast, type_name
from fuzz.programs import FLOATS, INTEGERS
from fuzz.rows.row import Drawn, Row, row


def one(pool: Pool) -> Drawn:
    """A float."""
    return Drawn((pool.floating(),), {})


def two(pool: Pool) -> Drawn:
    """Two floats of one type that broadcast, maybe the same twice."""
    x = pool.floating()
    return Drawn((x, pool.like(x)), {})


def integers(pool: Pool) -> Drawn:
    """Two integers of one type."""
    x = pool.integral()
    return Drawn((x, pool.like(x)), {"k": pool.integer(2, 5)})


def constant(pool: Pool) -> Drawn:
    """A float and a number."""
    number = pool.choose((-2, -1, 2, 3) if pool.exact else (-2, 0.5, -0.75, 1.25, 3))
    return Drawn((pool.floating(),), {"c": number})


def condition(pool: Pool) -> Drawn:
    """A condition and two floats."""
    c = pool.pick(lambda v: type_name(v) == "bool")
    x = pool.floating()
    y = pool.like(x)
    if not all(broadcast(pool.values[c], pool.values[v]) for v in (x, y)):
        raise Unsuitable
    return Drawn((c, x, y), {})


def converted(pool: Pool) -> Drawn:
    """A value and another type."""
    x = pool.pick()
    old = type_name(pool.values[x])
    types = [t for t in (*FLOATS, *INTEGERS) if t != old]
    return Drawn((x,), {"t": pool.choose(types)})


def bools(pool: Pool) -> Drawn:
    """Two conditions."""
    x = pool.pick(lambda v: type_name(v) == "bool")
    return Drawn((x, pool.like(x)), {})


def _same(name: str, text: str, draw=two, exact: bool = False, weight: float = 1.0) -> Row:
    return row(name, draw, text, text, exact, weight=weight, jax=text)


# Operators are written alike everywhere.
OPERATORS = (
    _same("add", "{x} + {y}", exact=True, weight=2), _same("sub", "{x} - {y}", exact=True),
    _same("mul", "{x} * {y}", exact=True, weight=3), _same("neg", "-{x}", one, exact=True),
    _same("div", "{x} / ({y} * {y} + 0.5)"), _same("times", "{x} * {c}", constant, exact=True),
    _same("plus", "{c} + {x}", constant, exact=True), _same("from", "{c} - {x}", constant, True),
    _same("cube", "{x} ** 3", one, exact=True),
)  # fmt: skip

# One name, one operand; what stands before the bar is the argument that is safe.
_SMOOTH = (
    "exp(0.5 * {x})", "tanh({x})", "sigmoid({x})", "sin({x})", "cos({x})", "erf({x})", "atan({x})",
    "sqrt({x} * {x} + 0.5)", "log({x} * {x} + 0.25)", "rsqrt({x} * {x} + 0.5)", "expm1(0.5 * {x})",
    "log1p({x} * {x})", "asinh({x})", "square({x})", "sinh(0.5 * {x})", "exp2({x})",
    "tan(0.1 * {x})", "cosh(0.5 * {x})", "log2({x} * {x} + 0.25)", "acosh({x} * {x} + 1.5)",
    "atanh(0.5 * {x} / ({x} * {x} + 1))",
    "asin(0.5 * {x} / ({x} * {x} + 1))", "acos(0.5 * {x} / ({x} * {x} + 1))",
    "reciprocal({x} * {x} + 0.5)", "erfc({x})",
)  # fmt: skip
_JAX = {
    "sigmoid": "jax.nn.",
    "erf": "jax.scipy.special.",
    "rsqrt": "jax.lax.",
    "erfc": "jax.scipy.special.",
}
SMOOTH = tuple(
    row(
        text.partition("(")[0], one, f"ted.{text}", f"torch.{text}",
        jax=_JAX.get(text.partition("(")[0], "jnp.") + text,
    )
    for text in _SMOOTH
)  # fmt: skip

KINKED = (
    row("lgamma", one, "ted.lgamma({x} * {x} + 0.5)", "lgamma({x} * {x} + 0.5)",
        jax="jax.lax.lgamma({x} * {x} + 0.5)"),
    row("abs", one, "ted.abs({x})", "torch.abs({x})", True, "{x}", jax="jnp.abs({x})"),
    row("relu", one, "ted.relu({x})", "torch.relu({x})", True, "{x}", jax="jax.nn.relu({x})"),
    row("maximum", two, "ted.maximum({x}, {y})", "maximum({x}, {y})", True, "{x} - {y}"),
    row("minimum", two, "ted.minimum({x}, {y})", "minimum({x}, {y})", True, "{x} - {y}"),
    row("clip", one, "ted.clip({x}, -1.5, 1.5)", "torch.clamp({x}, -1.5, 1.5)", False,
        "{x}.abs() - 1.5"),
    row("sign", one, "ted.sign({x})", "sign({x})", True, "{x}", 0.3),
    row("floor", one, "ted.floor({x})", "torch.floor({x})", True, "{x} - {x}.round()", 0.3),
    row("ceil", one, "ted.ceil({x})", "torch.ceil({x})", True, "{x} - {x}.round()", 0.3),
    row("trunc", one, "ted.trunc({x})", "torch.trunc({x})", True, "{x} - {x}.round()", 0.3),
    row("round", one, "ted.round({x})", "torch.round({x})", True,
        "2 * {x} - (2 * {x}).round()", 0.3),
    row("remainder", one, "{x} % 1.7", "torch.remainder({x}, 1.7)", False,
        "{x} / 1.7 - ({x} / 1.7).round()", 0.5),
    row("fmod", one, "ted.fmod({x}, 1.7)", "torch.fmod({x}, 1.7)", False,
        "{x} / 1.7 - ({x} / 1.7).round()", 0.5),
    row("floor_divide", one, "{x} // 1.7", "torch.floor_divide({x}, 1.7)", False,
        "{x} / 1.7 - ({x} / 1.7).round()", 0.3),
    row("greater", two, "{x} > {y}", "{x} > {y}", True, "{x} - {y}"),
    row("at_most", two, "{x} <= {y}", "{x} <= {y}", True, "{x} - {y}"),
    row("equal", integers, "{x} == {y}", "{x} == {y}", True),
    row("where", condition, "ted.where({x}, {y}, {z})", "torch.where({x}, {y}, {z})", True,
        weight=3, jax="jnp.where({x}, {y}, {z})"),
    row("guarded", one, "ted.where({x} > 0.1, ted.sqrt(ted.where({x} > 0.1, {x}, 1.0)), 0.0)",
        "torch.where({x} > 0.1, torch.sqrt(torch.where({x} > 0.1, {x}, 1.0)), 0.0)", False,
        "{x} - 0.1"),
    row("power", two, "ted.power({x} * {x} + 0.5, {y})", "torch.pow({x} * {x} + 0.5, {y})"),
    row("atan2", two, "ted.atan2({x}, {y} * {y} + 0.5)", "torch.atan2({x}, {y} * {y} + 0.5)"),
    row("hypot", two, "ted.hypot({x}, {y} * {y} + 0.5)", "torch.hypot({x}, {y} * {y} + 0.5)"),
    row("softplus", one, "ted.softplus({x})", "F.softplus({x})"),
    row("cbrt", one, "ted.cbrt({x} * {x} + 0.5)", "torch.pow({x} * {x} + 0.5, 1 / 3)"),
    row("stop_gradient", one, "ted.stop_gradient({x})", "{x}.detach()", True, weight=0.3),
)  # fmt: skip

ON_INTEGERS = (
    row("integer_add", integers, "{x} + {y}", "{x} + {y}", True),
    row("integer_mul", integers, "{x} * {y} - {x}", "{x} * {y} - {x}", True),
    row("integer_div", integers, "{x} // {k}", "torch.div({x}, {k}, rounding_mode='floor')", True),
    row("integer_mod", integers, "{x} % {k}", "torch.remainder({x}, {k})", True),
    row("integer_max", integers, "ted.maximum({x}, {y})", "torch.maximum({x}, {y})", True),
    row("integer_and", integers, "{x} & {y}", "{x} & {y}", True, weight=0.5),
    row("integer_xor", integers, "{x} ^ ~{y}", "{x} ^ ~{y}", True, weight=0.5),
    row("integer_shift", integers, "({x} << {k}) >> 1", "({x} << {k}) >> 1", True, weight=0.5),
    row("integer_less", integers, "{x} < {y}", "{x} < {y}", True),
    row("bool_and", bools, "{x} & {y}", "{x} & {y}", True, weight=0.5),
    row("bool_or", bools, "{x} | ~{y}", "{x} | ~{y}", True, weight=0.5),
    row("cast", converted, "ted.cast({x}, '{t}')", "cast({x}, '{t}')", True,
        "torch.where({x} == {x}.round(), 1.0, {x} - {x}.round())"),
)  # fmt: skip

ROWS: tuple[Row, ...] = (*OPERATORS, *SMOOTH, *KINKED, *ON_INTEGERS)
