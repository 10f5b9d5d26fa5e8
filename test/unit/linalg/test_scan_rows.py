"""Recurrences of rows by themselves: numbers for all counts of rows; why others go step by step."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import ted
from support.same_values import check_machine_code
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import topological
from ted.ir.pass_driver import run_pipeline
from ted.mlir import ir

T = 7  # steps


def p(*shape: int, name: str = "x") -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


def oscillator(n: int, shift: int = 0) -> Tensor:
    """Two states of each row that read each other, or those of another row."""
    x, w = p(n, T), p(T, n, name="w")

    def place(h: Tensor, i: ted.Index, t: ted.Index) -> ted.Scalar:
        follows = (t > 0) & (i >= shift) if shift else t > 0
        return ted.where(follows, h[i - shift, t - 1] * 0.5 + x[i, t], 1.0)

    a, b = ted.recurrence(
        [(n, T), (n, T)],
        [
            lambda a, b, i, t: place(b, i, t) * w[t, i],
            lambda a, b, i, t: a[i, t] - place(a, i, t),
        ],
        "float64",
        time_axis=1,
    )
    return a + b * 2.0


PROGRAMS: dict[str, Callable[[int], Tensor]] = {
    "sum": lambda n: ted.cumsum(p(n, T), 1),
    "from the end": lambda n: ted.cumsum(p(n, T)[:, ::-1], 1)[:, ::-1],
    "product": lambda n: ted.cumprod(p(n, T), 1),
    "of a transpose": lambda n: ted.cumsum(ted.transpose(p(T, n)), 1),
    "three dims": lambda n: ted.cumsum(p(n, 3, T), 2),
    "few behind": lambda n: ted.cumsum(p(n, T, 2), 1),
    "scaled": lambda n: ted.cumsum(p(n, T) * p(n, name="w")[:, None], 1) * 2.0,
    "two states": oscillator,
}


def inputs_of(*outputs: Tensor) -> list[Tensor]:
    return [wrap(t) for t in topological([o.node for o in outputs]) if t.is_input]


def form(*outputs: Tensor) -> list[str]:
    """What is said of recurrences: the row with its parameters, and why not the first one."""
    lines = ted.compile(inputs_of(*outputs), list(outputs)).explain().splitlines()
    found = [pair for pair in pairwise([*lines, ""]) if ", ted.scan" in pair[0]]
    return [f"{head.split('): ')[1]}{why if why.startswith(' ') else ''}" for head, why in found]


def compare(outputs: list[Tensor]) -> None:
    """Compiled numbers with those of the interpreter, which goes point by point."""
    inputs = inputs_of(*outputs)
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.5, 1.5, x.shape) for x in inputs]
    check_machine_code(inputs, outputs, arrays, 1e-13, 0.0)


@pytest.mark.fast(2)
@pytest.mark.parametrize("n", [9, 16, 17, 23])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_by_themselves_have_the_numbers_of_steps(name: str, n: int) -> None:
    y = PROGRAMS[name](n)
    assert form(y) == ["rows, block = 8"]
    compare([y])


def running(dtype: str, count: int, length: int) -> Tensor:
    """A running sum over rows of products of so many tensors."""
    tensors = [ted.placeholder((9, length), dtype, name=f"x{k}") for k in range(count)]
    return ted.cumsum(functools.reduce(operator.mul, tensors), 1)


@pytest.mark.fast(3)
@pytest.mark.parametrize(
    ("dtype", "count", "length", "block"),
    [
        ("float32", 1, 1024, 4),  # 4096 bytes: of 8 rows and as many results all lie together
        ("float32", 1, 1000, 8),
        ("float32", 1, 512, 8),  # two places of a page
        ("float64", 1, 512, 4),
        ("float64", 1, 3 * 512, 4),
        ("float16", 1, 1024, 8),
        ("float32", 3, 1024, 2),
        ("float32", 5, 1024, 2),
        ("float32", 6, 512, 2),
        ("float32", 6, 1000, 8),
    ],
)
def test_few_of_the_rows_that_begin_at_one_place_of_a_page_are_taken(
    dtype: str, count: int, length: int, block: int
) -> None:
    assert form(running(dtype, count, length)) == [f"rows, block = {block}"]


@pytest.mark.fast(1)
def test_of_every_second_row_or_of_columns_less_lies_together() -> None:
    x, y, w = p(18, 256), p(18, 256, name="y"), p(T, 512, 9, name="w")
    assert form(ted.cumsum(x[::2] * y[::2], 1)) == ["rows, block = 4"]
    assert form(ted.cumsum(x * y, 1)) == ["rows, block = 8"]
    of_columns = ted.cumsum(ted.transpose(w, (2, 0, 1))[:, :, 0], 1)  # rows are 8 bytes apart
    assert form(of_columns) == ["rows, block = 8"]


@pytest.mark.fast(1)
def test_blocks_of_four_have_the_numbers_of_steps() -> None:
    x = p(11, 512)
    compare([ted.cumsum(x, 1), ted.cumsum(x[:, ::-1], 1)])


def wide(reverse: bool, *rows: int) -> Tensor:
    """The last slices of two states, whose steps are of more elements than a first cache holds."""
    shape, axis = (*rows, T, 240), len(rows)
    x, step, size = p(*shape), 1 if reverse else -1, len(rows)
    end = T - 1 if reverse else 0

    def before(h: Tensor, at: tuple[ted.Index, ...]) -> ted.Scalar:
        row, t, j = at[:size], at[size], at[size + 1]
        begun = t < end if reverse else t > end
        return ted.where(begun & (j > 0), h[(*row, t + step, j - 1)] * 0.5, 1.0)

    a, b = ted.recurrence(
        [shape] * 2,
        [
            lambda a, b, *at: before(b, at) + x[at],
            lambda a, b, *at: a[at] * 0.25 - before(a, at),
        ],
        "float64", time_axis=axis, reverse=reverse,
    )  # fmt: skip
    last = (slice(None),) * size + (0 if reverse else T - 1,)
    return a[last] + b[last]


@pytest.mark.fast(1)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rows", [(9,), (3, 3)])
def test_rows_that_fill_a_cache_are_taken_one_by_one(rows: tuple[int, ...], reverse: bool) -> None:
    y = wide(reverse, *rows)
    assert form(y) == ["rows, block = 1"]
    compare([y])


def swept(shared: bool) -> Tensor:
    """The last of some states, each the sum of a part of what the row has, or of all."""
    x, w, r = p(600, 9, name="w") if shared else p(9, 600), p(9, name="c"), ted.reduce_axis(600)

    def state(h: Tensor, i: ted.Index, t: ted.Index) -> ted.Scalar:
        before = ted.where(t > 0, h[i, t - 1] * 1e-3, w[i])
        return ted.sum(x[r, t] * before if shared else x[i, r] * before, axis=r)

    return ted.recurrence((9, T), state, "float64", time_axis=1)[:, T - 1]


@pytest.mark.fast(1)
def test_rows_that_sum_much_of_their_own_are_taken_one_by_one() -> None:
    y = swept(shared=False)
    assert form(y) == ["rows, block = 1"]
    compare([y])
    assert form(swept(shared=True)) == ["steps  not rows: of a history only some slices are kept"]


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_so_have_their_gradients_alone_and_together(name: str) -> None:
    y = PROGRAMS[name](9)
    inputs = inputs_of(y)
    first = ted.differentiate(ted.sum(y * y), inputs)
    second = ted.differentiate(ted.sum(first[0] * first[0]), inputs)
    compare(list(first))
    compare([y, *first, *second])


def asked(n: int) -> Tensor:
    x = p(n, T)
    start = ted.compute((n,), lambda i: i * 1.0, dtype="float64")
    return ted.recurrence(
        (n, T),
        lambda h, i, t: ted.where(t > 0, h[i, t - 1], start[i]) + x[i, t] * (i % 3),
        "float64",
        time_axis=1,
    )


REASONS: dict[str, tuple[Callable[[], Tensor], str]] = {
    "time first": (lambda: ted.cumsum(p(T, 20), 0), "time is the first dim of a history"),
    "wide": (lambda: ted.cumsum(p(20, T, 16), 1), "a step has 16 elements of a row and more"),
    "few": (lambda: ted.cumsum(p(8, T), 1), "there are no more than 8 rows"),
    "last": (lambda: ted.cumsum(p(20, T), 1)[:, -1], "of a history only some slices are kept"),
    "shifted": (lambda: oscillator(20, 1), "rows read each other, or where they are"),
    "asked": (lambda: asked(20), "rows read each other, or where they are"),
}


@pytest.mark.parametrize("name", REASONS)
def test_others_go_step_by_step_and_say_why(name: str) -> None:
    make, reason = REASONS[name]
    y = make()
    assert form(y) == [f"steps  not rows: {reason}"]
    compare([y])


@pytest.mark.parametrize("target", ["cuda:sm_80"])
def test_a_gpu_takes_all_rows_at_once(target: str) -> None:
    x = p(20, T)
    said = ted.compile([x], ted.cumsum(x, 1), target=target).explain()
    assert "not rows: this target takes all rows at once" in said


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ('{name = "rows", block = 0 : i64}', "rows: a block has a row, got block = 0"),
        ('{name = "columns"}', "name is one of rows, steps, got columns"),
    ],
)
def test_a_wish_that_does_not_fit_is_refused(wish: str, message: str) -> None:
    x = p(20, T)
    text = ted.compile([x], ted.cumsum(x, 1)).ir("ted")
    assert text.count("times = array<i64: 1>") == 1
    text = text.replace("times = array<i64: 1>", f"ted.form = {wish}, times = array<i64: 1>")
    with make_context(), pytest.raises(ScheduleError, match=message):
        run_pipeline(ir.Module.parse(text), "convert-ted-to-linalg{rows=8}")
