"""The derivative table: complete, closed, and right at first and second order."""

from __future__ import annotations

import math

import pytest

from ted.autodiff.body import read_adjoints
from ted.autodiff.rules import RULES, contributions, under
from ted.errors import DerivativeError
from ted.ir.dtypes import FLOAT32, FLOAT64, INT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.operations import OPERATIONS
from ted.ir.scalar import apply, cast, compare, const, load, mul, select

X = Tensor("x", (), FLOAT64)
Y = Tensor("y", (), FLOAT64)
x, y = load(X, ()), load(Y, ())
FUNCTIONS = {
    **{n: getattr(math, n) for n in (
        "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "asin",
        "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "atan2",
        "fmod", "pow", "floor", "ceil", "trunc",
    )},
    "exp2": lambda a: 2.0**a, "rsqrt": lambda a: a**-0.5, "cbrt": lambda a: a ** (1 / 3),
    "round": round, "abs": abs, "neg": lambda a: -a, "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "maximum": max, "minimum": min, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "and": lambda a, b: a and b,
    "or": lambda a, b: a or b, "not": lambda a: not a, "stop_gradient": lambda a: a,
    "cast": lambda a: a, "select": lambda c, a, b: a if c else b,
}  # fmt: skip


def value(root: Expr, point: dict[Tensor, float]) -> float:
    """The value of a scalar expression, unused sides of selects left unevaluated."""
    if root.op == "const":
        return root.attr
    if root.op == "load":
        return point[root.attr]
    if root.op == "select":
        return value(root.args[1 if value(root.args[0], point) else 2], point)
    return FUNCTIONS[root.op](*(value(a, point) for a in root.args))


def gradient(root: Expr, by: Tensor) -> Expr:
    pairs = dict(read_adjoints(root, const(1.0, FLOAT64), lambda t: t is by))
    return pairs.get(load(by, ()), const(0.0, FLOAT64))


def slope(root: Expr, by: Tensor, point: dict[Tensor, float], h: float = 1e-4) -> float:
    at = [value(root, {**point, by: point[by] + k * h}) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


def samples() -> list[tuple[str, Expr, float]]:
    rows = []
    for name, row in OPERATIONS.items():
        if row.rule != "same" or "float" not in row.kinds or name == "stop_gradient":
            continue
        args = (x, y)[: row.arity]
        rows.append((name, apply(name, *args), 1.3 if name == "acosh" else 0.4))
    return rows


def test_every_operation_has_a_rule() -> None:
    assert set(RULES) == set(OPERATIONS)


def test_rules_emit_only_operations_that_have_rules() -> None:
    for name, root, _ in samples():
        for _, condition, emitted in contributions(root, y, None):
            used = {n.op for n in postorder(condition, emitted)} - {"const", "load", "dim"}
            assert used <= set(RULES), name


@pytest.mark.parametrize(
    ("name", "root", "at"), samples(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_first_and_second_derivatives_match_differences(name: str, root: Expr, at: float) -> None:
    point = {X: at, Y: 0.7}
    for by in (X, Y):
        first = gradient(root, by)
        assert value(first, point) == pytest.approx(slope(root, by, point), rel=1e-7, abs=1e-9)
        second = gradient(first, by)
        assert value(second, point) == pytest.approx(slope(first, by, point), rel=1e-6, abs=1e-8)


def test_unknown_operation_names_itself_and_the_way_out() -> None:
    strange = Expr()
    strange.op, strange.args, strange.attr, strange.dtype = "strange", (x,), None, FLOAT64
    with pytest.raises(DerivativeError, match=r"strange: no derivative rule.*ted\.autodiff\.rules"):
        contributions(strange, y, None)


def test_guarded_square_root_has_zero_not_nan_slope_at_zero() -> None:
    zero = const(0.0, FLOAT64)
    root = select(compare("lt", zero, x), apply("sqrt", x), zero)
    assert value(gradient(root, X), {X: 0.0}) == 0.0


@pytest.mark.parametrize(
    ("name", "root", "point", "expected"),
    [
        ("abs at zero", apply("abs", x), {X: 0.0}, 0.0),
        ("maximum tie goes to the first", apply("maximum", x, y), {X: 1.0, Y: 1.0}, 1.0),
        ("pow(0, 0)", apply("pow", x, y), {X: 0.0, Y: 0.0}, 0.0),
        ("floor", apply("floor", x), {X: 1.5}, 0.0),
        ("stop_gradient", apply("stop_gradient", x), {X: 1.5}, 0.0),
    ],
)
def test_kinks(name: str, root: Expr, point: dict[Tensor, float], expected: float) -> None:
    assert value(gradient(root, X), point) == expected, name


SLOPES = [  # operation, x, y, its slopes by x and by y
    ("fmod", 7.5, 2.0, 1.0, -3.0), ("fmod", -7.5, 2.0, 1.0, 3.0), ("fmod", 7.5, -2.0, 1.0, 3.0),
    ("fmod", -5.5, -3.0, 1.0, -1.0), ("fmod", 1.3, 2.0, 1.0, 0.0), ("fmod", 5.9, 2.0, 1.0, -2.0),
    ("fmod", 0.7, 0.1, 1.0, -6.0), ("fmod", 1.2, 0.4, 1.0, -2.0), ("fmod", 2.1, 0.3, 1.0, -7.0),
    # (a - fmod(a, b)) / b is a little less than the whole quotient, then a little more.
    ("fmod", 34.1, 1.4, 1.0, -24.0), ("fmod", 41.3, -1.3, 1.0, 31.0),
    ("fmod", -16.4, 2.7, 1.0, 6.0), ("fmod", -9.3, -1.4, 1.0, -6.0),
    ("fmod", 35.7, 4.8, 1.0, -7.0), ("fmod", 37.4, -1.3, 1.0, 28.0),
    ("fmod", -38.5, 2.6, 1.0, 14.0), ("fmod", -42.8, 3.3, 1.0, 12.0),
    ("atan2", 3.0, 4.0, 4 / 25, -3 / 25), ("atan2", -3e200, 4e200, 4e-200 / 25, 3e-200 / 25),
    ("pow", 3.0, 2.0, 6.0, 9 * math.log(3)), ("pow", 0.0, 2.0, 0.0, 0.0),
    ("pow", -2.0, 3.0, 12.0, 0.0), ("pow", 2.0, 0.0, 0.0, math.log(2)),
    ("div", 3.0, 2.0, 0.5, -0.75), ("minimum", 1.0, 1.0, 1.0, 0.0), ("minimum", 2.0, 1.0, 0.0, 1.0),
    ("maximum", 1.0, 1.0, 1.0, 0.0), ("maximum", 1.0, 2.0, 0.0, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "a", "b", "by_x", "by_y"), SLOPES)
def test_slopes_of_functions_of_two(
    name: str, a: float, b: float, by_x: float, by_y: float
) -> None:
    root = apply(name, x, y)
    assert value(gradient(root, X), {X: a, Y: b}) == pytest.approx(by_x)
    assert value(gradient(root, Y), {X: a, Y: b}) == pytest.approx(by_y)


@pytest.mark.parametrize(("a", "b"), [(a, b) for a in (7.9, -7.9, 0.3) for b in (2.1, -0.7, 3.3)])
def test_the_slope_of_a_remainder_is_the_whole_quotient_everywhere(a: float, b: float) -> None:
    by_y = value(gradient(apply("fmod", x, y), Y), {X: a, Y: b})
    assert by_y == -float(math.trunc(a / b))


def test_only_contributions_of_floats_are_made() -> None:
    whole = Tensor("n", (), INT64)
    assert contributions(cast(load(whole, ()), FLOAT64), y, None) == []
    (position, condition, g) = contributions(apply("neg", x), y, None)[0]
    assert under(compare("lt", x, y), (position, condition, g))[1] == compare("lt", x, y)


def test_many_conditions_are_merged_not_lost() -> None:
    root = const(0.0, FLOAT64)
    for k in range(7):
        root = apply("add", root, select(compare("lt", const(k, FLOAT64), y), mul(x, x), x))
    assert value(gradient(root, X), {X: 3.0, Y: 3.5}) == 4 * 6.0 + 3


def test_casts_change_the_type_of_the_adjoint_back() -> None:
    root = cast(cast(x, FLOAT32), FLOAT64)
    ((_, adjoint),) = read_adjoints(root, y, lambda t: t is X)
    assert adjoint.dtype == FLOAT64
    assert cast(x, FLOAT64) is x
