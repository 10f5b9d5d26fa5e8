"""MLIR maps and sets, quasi-affine values and index expressions say the same numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import islpy as isl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ted import dialects
from ted.domain import affine
from ted.domain.affine import Aff, Constraint
from ted.errors import VerifyError
from ted.ir import scalar
from ted.ir.affine_attributes import (
    aff_from_mlir,
    aff_to_mlir,
    conjunction_to_expr,
    constraints_from_mlir,
    constraints_to_mlir,
    expr_to_aff,
    mlir_to_expr,
    set_from_mlir,
)
from ted.mlir import integer_set, ir

POINTS = list(itertools.product(range(-7, 8, 2), range(-3, 5)))


@pytest.fixture(scope="module", autouse=True)
def context() -> Iterator[ir.Context]:
    with dialects.make_context() as made:
        yield made


def evaluate(e: scalar.Expr, point: tuple[int, ...]) -> Any:
    operations = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "neg": lambda a: -a, "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
        "le": lambda a, b: a <= b, "eq": lambda a, b: a == b, "and": lambda a, b: a and b,
    }  # fmt: skip
    if e.op == "dim":
        return point[e.attr]
    return e.attr if e.op == "const" else operations[e.op](*(evaluate(a, point) for a in e.args))


def affs() -> st.SearchStrategy[Aff]:
    leaves = st.one_of(
        st.builds(affine.constant, st.integers(-9, 9)), st.builds(affine.dim, st.integers(0, 1))
    )

    def grow(inner: st.SearchStrategy[Aff]) -> st.SearchStrategy[Aff]:
        return st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, k: a * k, inner, st.integers(-5, 5)),
            st.builds(lambda a, k: a // k, inner, st.integers(1, 7)),
            st.builds(lambda a, k: a % k, inner, st.integers(1, 7)),
        )

    return st.recursive(leaves, grow, max_leaves=6)


@given(affs())
def test_a_value_survives_mlir(value: Aff) -> None:
    expression = aff_to_mlir(value)
    back = aff_from_mlir(expression)
    assert back is not None
    text = ir.AffineMapAttr.get(ir.AffineMap.get(2, 0, [expression]))
    parsed = ir.AffineMapAttr(ir.Attribute.parse(str(text))).value.results[0]
    as_expr = mlir_to_expr(parsed)
    again = expr_to_aff(as_expr)
    assert again is not None
    for point in POINTS:
        wanted = value.evaluate(point)
        assert back.evaluate(point) == wanted
        assert evaluate(as_expr, point) == wanted
        assert again.evaluate(point) == wanted


@given(st.lists(st.builds(Constraint, affs(), st.booleans()), max_size=3))
def test_a_conjunction_survives_mlir(constraints: list[Constraint]) -> None:
    attribute = ir.IntegerSetAttr.get(constraints_to_mlir(2, constraints))
    parsed = integer_set(ir.Attribute.parse(str(attribute)))
    back = constraints_from_mlir(parsed)
    condition = conjunction_to_expr(back)
    points = set_from_mlir(parsed)
    for point in POINTS:
        wanted = all(c.holds(point) for c in constraints)
        assert all(c.holds(point) for c in back) == wanted
        assert evaluate(condition, point) == wanted
        assert isl.Set(f"{{ [{point[0]}, {point[1]}] }}").is_subset(points) == wanted


def test_remainders_are_written_as_remainders() -> None:
    value = affine.dim(0) % 3 * 2 + affine.dim(1)
    assert str(aff_to_mlir(value)) in ("d1 + (d0 mod 3) * 2", "(d0 mod 3) * 2 + d1")
    assert str(mlir_to_expr(aff_to_mlir(value))) == "d1 + d0 % 3*2"


def test_symbols_become_what_is_yielded() -> None:
    text = "affine_map<(d0)[s0] -> (s0 * 2 + d0, d0)>"
    results = ir.AffineMapAttr(ir.Attribute.parse(text)).value.results
    yielded = scalar.mul(scalar.dim(0), scalar.dim(0))
    shown = [str(mlir_to_expr(e, [yielded])) for e in results]
    assert shown[0] in ("d0*d0*2 + d0", "d0 + d0*d0*2")
    assert shown[1] == "d0"


@pytest.mark.parametrize(
    "e",
    [
        scalar.mul(scalar.dim(0), scalar.dim(1)),
        scalar.apply("minimum", scalar.dim(0), scalar.index(3)),
        scalar.floordiv(scalar.dim(0), scalar.dim(1)),
    ],
)
def test_what_is_not_affine_by_form_is_none(e: scalar.Expr) -> None:
    assert expr_to_aff(e) is None


@pytest.mark.parametrize("text", ["(d0 + 1) ceildiv 3", "(s0 + 1) ceildiv 3", "d0 + s0 floordiv 2"])
def test_divisions_of_data_are_those_of_dims(text: str) -> None:
    expression = ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<(d0)[s0] -> ({text})>")).value
    found = mlir_to_expr(expression.results[0], [scalar.dim(1)])
    python = text.replace("floordiv", "//").replace("(d0 + 1) ceildiv 3", "-(-(d0 + 1) // 3)")
    python = python.replace("(s0 + 1) ceildiv 3", "-(-(s0 + 1) // 3)")
    for point in POINTS:
        assert evaluate(found, point) == eval(python, {"d0": point[0], "s0": point[1]})


@pytest.mark.parametrize("text", ["d0 * s0 >= 0", "s0 floordiv 2 == 0"])
def test_a_condition_that_is_not_affine_is_refused(text: str) -> None:
    points = integer_set(ir.Attribute.parse(f"affine_set<(d0)[s0] : ({text})>"))
    with pytest.raises(VerifyError, match="conditions must be affine in dims and sizes"):
        constraints_from_mlir(points)
