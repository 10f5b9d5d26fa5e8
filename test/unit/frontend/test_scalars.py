"""Types of scalar expressions: weak Python numbers, promotion, indices, exact simplifications."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import ted
from ted.ir.expressions import format_expr


def dtype(function, *dtypes) -> str:
    real = [d if d != "index" else "int64" for d in dtypes]
    tensors = [ted.placeholder((3,), d) for d in real]
    found = []

    def body(i):
        operands = [i if d == "index" else t[i] for t, d in zip(tensors, dtypes, strict=True)]
        found.append(function(*operands))
        return 0

    ted.compute((3,), body)
    return found[0].dtype.name


@pytest.mark.parametrize(
    ("function", "types", "expected"),
    [
        (lambda a: a + 1, ["float16"], "float16"),
        (lambda a: a + 1.5, ["float16"], "float16"),
        (lambda a: a + 1, ["int8"], "int8"),
        (lambda a: a + 1.5, ["int8"], "float32"),
        (lambda a: a * True, ["float64"], "float64"),
        (lambda a: a + 1, ["bool"], "int64"),
        (lambda a: a / 2, ["int32"], "float32"),
        (lambda a, b: a / b, ["int64", "int64"], "float32"),
        (lambda a: a // 2, ["int32"], "int32"),
        (lambda a: a // 2.0, ["float64"], "float64"),
        (lambda a, b: a + b, ["float16", "bfloat16"], "float32"),
        (lambda a, b: a + b, ["float32", "float64"], "float64"),
        (lambda a, b: a + b, ["int64", "float16"], "float16"),
        (lambda a, b: a * b, ["bool", "float32"], "float32"),
        (lambda i: i + 1, ["index"], "index"),
        (lambda i: i // 2 % 3, ["index"], "index"),
        (lambda i: i / 2, ["index"], "float32"),
        (lambda i, a: i + a, ["index", "int32"], "int64"),
        (lambda i, a: i * a, ["index", "float64"], "float64"),
        (lambda i: ted.exp(i), ["index"], "float32"),
        (lambda a: a == 1, ["float32"], "bool"),
        (lambda a: ted.where(a > 0, 1, 0.5), ["float32"], "float32"),
        (lambda a: a.astype("int8"), ["float32"], "int8"),
        (lambda a: a + np.float64(0.5), ["float32"], "float32"),
        (lambda a: abs(-a), ["int8"], "int8"),
        (lambda a: ted.floor(a), ["int32"], "int32"),
    ],
)
def test_result_types(function, types, expected):
    assert dtype(function, *types) == expected


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda a: a + 0, "a"),
        (lambda a: 1 * a, "a"),
        (lambda a: a**2, "a*a"),
        (lambda a: a**3, "a*a*a"),
        (lambda a: a**-1, "1/a"),
        (lambda a: a**0.5, "sqrt(a)"),
        (lambda a: a**0, "1"),
        (lambda a: a**2.5, "pow(a, 2.5)"),
        (lambda a: 2 - a, "2 - a"),
        (lambda a: 2 / a, "2/a"),
        (lambda a: a % 3, "fmod(a, 3) + where(fmod(a, 3) < 0, 3, 0)"),
        (lambda a: ted.relu(a), "maximum(0, a)"),
        (
            lambda a: ted.sigmoid(a),
            "where(0 <= a, 1, exp(where(0 <= a, -a, a)))/(1 + exp(where(0 <= a, -a, a)))",
        ),
        (lambda a: ted.clip(a, -1, 1), "minimum(maximum(a, -1), 1)"),
        (lambda a: ted.clip(a, None, 1), "minimum(a, 1)"),
        (lambda a: ted.where(~(a > 0), a, 2), "where(0 < a, 2, a)"),
    ],
)
def test_written_form(function, text):
    a = ted.placeholder((), name="a")
    found = []
    ted.compute((), lambda: found.append(function(a[()])) or 0)
    assert format_expr(found[0].expr).replace("a[]", "a") == text


def test_index_division_by_a_negative_constant_becomes_a_positive_one():
    found = []
    ted.compute((7,), lambda i: found.extend([i // -2, i % -2]) or 0)
    assert [format_expr(e.expr, ["i"] * 10**6) for e in found] == ["(-i)//2", "-((-i) % 2)"]


@pytest.mark.parametrize(
    ("function", "number"),
    [
        (lambda: ted.exp(0.0), 1.0),
        (lambda: ted.maximum(2, 3), 3),
        (lambda: ted.where(True, 1, 2), 1),
        (lambda: ted.sqrt(2.0), 2.0**0.5),
        (lambda: ted.erf(0.0), 0.0),
        (lambda: ted.rsqrt(4.0), 0.5),
        (lambda: ted.log(0.0), float("-inf")),
        (lambda: ted.sigmoid(0.0), 0.5),
        (lambda: ted.abs(-2), 2),
    ],
)
def test_functions_of_python_numbers_give_python_numbers(function, number):
    assert function() == number
    assert isinstance(function(), (int, float))


def test_a_rank_zero_tensor_beside_an_index_variable_is_its_element():
    s, a = ted.placeholder((), name="s"), ted.placeholder((3,), name="a")
    c = ted.compute((3,), lambda i: ted.tanh(s) * a[i] + s, name="C")
    assert [t.name for t in (s, a, c)] == ["s", "a", "C"]
    assert c.shape == (3,)


def test_a_choice_between_numbers_is_as_weak_as_the_numbers():
    x = ted.placeholder((3,), "float64", name="x")
    c = ted.compute((3,), lambda i: x[i] * ted.where(i > 0, 0.1, 1))
    assert c.dtype.name == "float64"
    assert format_expr(c.node.equations[0].body, "i") == "x[i]*where(0 < i, 0.1, 1)"


def test_long_and_shared_expressions_are_no_burden():
    x, r = ted.placeholder((4, 4), "float16", name="x"), ted.reduce_axis(4)

    def shared(i):
        value, total = x[i, r], ted.sum(x[i, r], axis=r)
        for k in range(60):  # 2 ** 60 paths through 60 nodes
            value, total = value * value + value, ted.where(x[i, 0] > k, total + 1, total * 2)
        return ted.sum(value, axis=r) + total

    assert ted.compute((4,), shared).shape == (4,)
    long = ted.compute((4,), lambda i: functools.reduce(lambda v, k: v + x[i, 0] * k, range(2000)))
    assert long.dtype.name == "float16"


def test_stop_gradient_leaves_integers_alone():
    a = ted.placeholder((3,), "int32")
    c = ted.stop_gradient(a)
    assert c.node.equations[0].body.op == "load"
