"""Which sizes are batches, and what a program says that keeps one from being one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import ted
from ted.domain import parameters, sets
from ted.frontend.systems import system_of
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, System, Tensor
from ted.ir.scalar import const, dim, index, load
from ted.ir.specialising import sizes_of
from ted.transforms.row_independence import refusal

N = ted.size("n", min=2)
SYMBOL = N.symbols[0]


def _x() -> Any:
    return ted.placeholder((N, 4), "float64", name="x")


def _refusal(*outputs: Any, inputs: Any) -> str | None:
    return refusal(system_of(inputs, outputs), SYMBOL)


ROWS: dict[str, Callable[[Any], Any]] = {
    "map": lambda x: ted.tanh(x) * 2,
    "softmax": ted.nn.softmax,
    "mean of all rows": ted.mean,
    "batch norm": lambda x: x - ted.mean(x, axis=0),
    "maximum of all rows": lambda x: ted.max(x, axis=0),
    "part of each row": lambda x: x[:, 1:] * x[:, :-1],
    "condition on other dims": lambda x: ted.cumsum(x, axis=1),
    "row of each batch turned": lambda x: ted.flip(x, axis=1) @ ted.eye(4, dtype="float64"),
    "rows in another place": lambda x: ted.sum(x.T * x.T, axis=0),
    "size as a number": lambda x: x / ted.cast(N, "float64"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_are_computed_alone_are_a_batch(name: str) -> None:
    x = _x()
    assert _refusal(ROWS[name](x), inputs=[x]) is None


@pytest.mark.parametrize("name", [n for n in ROWS if not n.startswith("maximum")])
def test_gradients_of_a_batch_are_of_a_batch(name: str) -> None:
    x = _x()
    value = ted.sum(ted.sin(ROWS[name](x)))
    assert _refusal(value, *ted.differentiate(value, [x]), inputs=[x]) is None


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "neighbours": (lambda x: x[1:] * x[:-1], r"has the extent n - 1 in dim 0, which is not n"),
    "one row": (lambda x: x[0] * 2, "reads x.* at row 0"),
    "reversed rows": (lambda x: ted.flip(x, axis=0), "number of the row in n"),
    "pairs of rows": (lambda x: x @ x.T, "has the extent n in more than one dim"),
    "number of the row": (
        lambda x: ted.compute((N,), lambda i: x[i, 0] * i), "computes with the number of the row",
    ),
    "running sum": (lambda x: ted.cumsum(x, axis=0), "cumsum.* is a recurrence over the rows"),
    "rows before one": (
        lambda x: ted.compute((N,), lambda i: ted.where(i > 1, x[i, 0], 0.0)), "number of the row",
    ),
    "best row": (lambda x: ted.argmax(x, axis=0), "is made of all rows by argmax"),
    "flat": (lambda x: ted.flatten(x), r"has the extent 4\*n in dim 0"),
    "comparison with the size": (
        lambda x: ted.compute((N, 4), lambda i, j: ted.where(j < N, x[i, j], 0.0)),
        "the size n itself|depend on n",
    ),
    "no rows given": (lambda x: ted.zeros((N,)), "no input has n rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_more_than_one_row_is_refused_with_the_reason(name: str) -> None:
    function, reason = REFUSED[name]
    x = _x() if name != "no rows given" else ted.placeholder((4,), name="x")
    found = _refusal(function(x), inputs=[x])
    assert found is not None

    assert re.search(reason, found), found


def test_the_gradient_of_a_maximum_of_all_rows_needs_the_number_of_a_row() -> None:
    x = _x()
    gradients = ted.differentiate(ted.sum(ted.max(x, axis=0)), [x])
    assert "is made of all rows by argmax" in str(_refusal(*gradients, inputs=[x]))


def test_rows_that_are_elements_apart_are_refused() -> None:
    x = ted.placeholder((4, N), name="x")
    assert "innermost" in str(_refusal(x * 2, inputs=[x]))


def test_a_recurrence_within_rows_is_a_batch_and_one_that_needs_all_rows_is_not() -> None:
    x = ted.placeholder((3, N, 2), "float64", name="x")
    start = ted.zeros((N, 2), "float64")
    own, _ = ted.scan(lambda h, row: (ted.tanh(h + row), h), start, x)
    assert _refusal(own, inputs=[x]) is None
    mixed, _ = ted.scan(lambda h, row: (ted.tanh(h - ted.mean(h, axis=0) + row), h), start, x)
    assert "the recurrence of" in str(_refusal(mixed, inputs=[x]))


def test_the_other_sizes_of_a_program_may_be_anything() -> None:
    m = ted.size("m")
    x = ted.placeholder((N, m), name="x")
    system = system_of([x], [x[:, 1:] * x[:, :-1]])
    assert [s.name for s in sizes_of(system) if refusal(system, s) is None] == ["n"]


def _of(tensor_shape: tuple[Any, ...], *equations: Equation) -> str | None:
    node = Tensor("y", tensor_shape, FLOAT64, 0, equations)
    return refusal(System((_ROWS,), (node,)), SYMBOL)


_ROWS = Tensor("x", (N,), FLOAT64)
_ALL = parameters.box((N,))
_ROW = load(_ROWS, (dim(0),))


def _over(write: Any, domain: Any = _ALL, combiner: str = "add", body: Any = _ROW) -> Equation:
    return Equation((N,), len(write), domain, write, combiner, body)


def test_rows_are_written_where_they_are_read() -> None:
    assert _of((N,), _over((dim(0),))) is None
    assert "is written at another row" in str(_of((N,), _over((index(0),))))
    assert "is written at the number of the row" in str(_of((4,), _over((dim(0),))))
    first = Equation((1,), 1, parameters.box((1,)), (dim(0),), "add", const(1.0, FLOAT64))
    assert "has an equation for some rows only" in str(_of((N,), first))
    twice = Tensor("z", (N, 4), FLOAT64, 0, (_over((dim(0), dim(0))),))
    assert "number of the row" in str(refusal(System((_ROWS,), (twice,)), SYMBOL))


def test_points_that_take_part_are_those_of_every_row() -> None:
    later = _ALL.intersect(sets.box([2]).complement())
    assert "depend on the number of the row" in str(_of((N,), _over((dim(0),), later)))
    assert "depend on the number of the row" in str(_of((), _over((), later)))
    many = _ALL.intersect_params(parameters.box((N - 4,)).params())
    assert _of((), _over((), many)) is not None


def test_a_total_has_one_combiner_from_its_first_rows_to_its_last() -> None:
    plain = Equation((), 0, parameters.box(()), (), "mul", const(2.0, FLOAT64))
    add, most = _over(()), _over((), combiner="max")
    assert _of((), add, add) is None
    assert _of((), plain, add, plain) is None
    assert "is made of all rows by add, max" in str(_of((), add, most))
    assert "is made of all rows by add, mul" in str(_of((), add, plain, add))


def _image() -> Any:
    return ted.placeholder((N, 4, 4, 2), name="x")


OPERATORS: dict[str, Callable[[], tuple[list[Any], Any]]] = {
    "convolution": lambda: (
        [x := _image(), w := ted.placeholder((3, 3, 2, 2), name="w")],
        ted.nn.conv2d(x, w, stride=2, padding=1),
    ),
    "pool": lambda: ([x := _image()], ted.nn.max_pool2d(x, 2)),
    "dense layer of images": lambda: (
        [x := _image(), w := ted.placeholder((32, 3), name="w")], ted.nn.flatten(x) @ w,
    ),
    "attention": lambda: (
        [x := ted.placeholder((N, 2, 4, 3), name="x")], ted.nn.attention(x, x, x, causal=True),
    ),
    "cross entropy": lambda: (
        [x := _x(), y := ted.placeholder((N,), "int64", name="y")], ted.nn.cross_entropy(x, y),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_their_gradients_are_of_a_batch(name: str) -> None:
    inputs, y = OPERATORS[name]()
    gradients = ted.differentiate(ted.sum(y * y), [t for t in inputs if t.dtype.is_float])
    assert _refusal(y, *gradients, inputs=inputs) is None
