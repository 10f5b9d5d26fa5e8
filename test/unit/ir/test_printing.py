"""Expressions, equations and systems as text."""

from __future__ import annotations

import pytest

from ted.ir.dtypes import (
    FLOAT64,
)  # fmt: skip
from ted.ir.equations import (
    System,
)  # fmt: skip
from ted.ir.expressions import format_expr
from ted.ir.printing import format_equation, format_system
from ted.ir.scalar import (
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    div,
    floordiv,
    index,
    land,
    load,
    lor,
    mod,
    mul,
    neg,
    select,
    sub,
)  # fmt: skip
from unit.autodiff.systems import defined
from unit.transforms.recurrences import equation, given

i, j, r = dim(0), dim(1), dim(2)


X, A, B = given("x", 4), given("a", 4, 3), given("b", 3, 5)


x = load(X, [i])


PRODUCT = equation((4, 5, 3), mul(load(A, [i, r]), load(B, [r, j])), "add", 2)


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (mul(add(x, x), x), "(x[i] + x[i])*x[i]"),
        (sub(x, sub(x, mul(x, x))), "x[i] - (x[i] - x[i]*x[i])"),
        (div(x, mul(x, x)), "x[i]/(x[i]*x[i])"), (mul(neg(x), x), "(-x[i])*x[i]"),
        (neg(add(x, x)), "-(x[i] + x[i])"),
        (add(x, neg(mul(x, x))), "x[i] - x[i]*x[i]"), (cast(i, FLOAT64), "float64(i)"),
        (select(land(compare("lt", i, j), compare("ne", j, r)), x, const(0.5, FLOAT64)),
         "where(i < j and j != d2, x[i], 0.5)"),
        (select(land(lor(compare("le", i, j), compare("eq", i, r)), compare("lt", i, j)), x, x),
         "x[i]"),
        (load(X, [mod(floordiv(i, index(2)), index(3))]), "x[i//2 % 3]"),
        (load(X, [floordiv(i, floordiv(j, index(2)))]), "x[i//(j//2)]"),
    ],
)  # fmt: skip
def test_expressions_as_text(e: object, text: str) -> None:
    assert format_expr(e, ("i", "j")) == text  # type: ignore[arg-type]


def test_long_expressions_are_cut() -> None:
    e = x
    for _ in range(10):
        e = apply("exp", add(e, e))
    text = format_expr(e, ("i",))
    assert "..." in text
    assert len(text) < 2000


def test_equations_as_text() -> None:
    y = defined("y", (4, 5), PRODUCT)
    assert format_equation(y, PRODUCT) == "y[i, j] += a[i, r]*b[r, j]  for r < 3"
    lower = equation((4, 3), load(A, [i, j]), "max", 1, compare("lt", j, i))
    assert (
        format_equation(y, lower) == "y[i] = max(a[i, r])  for i < 4, r < 3  where i - r - 1 >= 0"
    )
    scatter = equation((4,), x, "add", 0, write=(floordiv(i, index(2)),))
    assert format_equation(y, scatter) == "y[r//2] += x[r]  for r < 4  (scatter)"
    z = defined("z", (4,), equation((4,), x, "mul"), fill=1)
    assert format_system(System((X,), (z,))) == (
        "x: float64[4] input\nz: float64[4]\n  z = 1\n  z[i] *= x[i]"
    )
