"""Histories of recurrences of which only the last slices are read: no more of them are kept."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ted
from support.same_values import check_machine_code
from ted import dialects, nn
from ted.cpu.pipeline import CPU_STAGES
from ted.frontend.systems import system_of
from ted.ir.pipelines import run_text, stage_text
from ted.ir.to_ops import to_module
from ted.mlir import ir
from ted.testing import check_grads

RNG = np.random.default_rng(4)
STEPS = 37  # an extent that nothing else has


def wave(x, reverse=False):
    one, two, far = (-1, -2, 1) if not reverse else (1, 2, STEPS - 2)

    def element(u, t, i):
        going = t > far if not reverse else t < far
        return ted.where(going, 1.1 * u[t + one, i] - u[t + two, 2 - i] * 0.3, x[t, i])

    return ted.recurrence((STEPS, 3), element, "float64", reverse=reverse)


def last_wave(x):
    return wave(x)[STEPS - 1]


def last_of_reverse_wave(x):
    return wave(x, reverse=True)[0]


def some_of_last_waves(x):
    u = wave(x)
    return ted.concatenate([u[STEPS - 3 :], u[STEPS - 1 :] * u[STEPS - 2 : STEPS - 1]])


def some_of_last_reverse_waves(x):
    return ted.tanh(wave(x, reverse=True)[:3])


def carries(x):
    def step(carry, row):
        a, b, count = carry
        return (b, ted.sin(a) + row * b, count + 1), None

    (a, b, count), _ = ted.scan(step, (x[0], x[1], ted.zeros((), "int64")), x)
    return a * b + ted.cast(count, "float64")


def delayed(x):
    return ted.scan(lambda h, row: ((row, h[0]), None), (x[0], x[1]), x * 2)[0][1]


def sum_from_a_history(x):
    """A carry that starts each step from a row of a tensor, and adds to it."""
    return ted.scan(lambda h, row: (row + 0.5 * h, None), ted.zeros((3,), "float64"), ted.sin(x))[0]


def guarded(x):
    return ted.recurrence(
        (STEPS, 3),
        lambda h, t, i: ted.where(
            (t > 2) & (i < 2),
            h[t - 1, i + 1] * 0.9 - ted.where(t % 5 == 3, h[t - 3, i], 0.25),
            x[t, i],
        ),
        "float64",
    )[STEPS - 1]


def product(x):
    h, _ = ted.scan(lambda h, row: (ted.tanh(h @ h + row), None), ted.eye(3, dtype="float64"), x)
    return h


def recurrent(x):
    y = nn.rnn(ted.reshape(x, (STEPS, 1, 3)), ted.eye(3, dtype="float64"), x[:3], reverse=True)
    return y[0]


def places(x):
    return ted.cast(ted.floor(ted.absolute(x) * 7), "int64") % 3


def at_data(x):
    """Reads at data of the step before, and of two before, in mode `check`."""
    p = places(x)

    def element(h, t, i):
        one, two = h[t - 1, p[t, i]], h[t - 2, p[t, 2 - i]]
        return ted.where(t > 1, one * 0.7 + ted.sin(two) + x[t, i], x[t, i])

    return ted.recurrence((STEPS, 3), element, "float64")[STEPS - 1]


def at_data_backwards(x):
    """A read at data of the step before, which is later, and one of the same step."""
    p = places(x)

    def first(h, g, t, i):
        return ted.where(t < STEPS - 1, g[t + 1, p[t, i]] * 0.5 + x[t, i], x[t, i])

    def second(h, g, t, i):
        return ted.sin(h[t, p[t, 2 - i]]) * x[t, i] + h[t, i]

    shapes = [(STEPS, 3)] * 2
    return ted.recurrence(shapes, [first, second], "float64", reverse=True)[1][0]


def last_at_data(x):
    """Last slices that are read at data."""
    u, p = wave(x), places(x)
    return ted.compute((3,), lambda i: u[STEPS - 1, p[0, i]] - u[STEPS - 2, p[1, i]])


def first_at_data(x):
    u, p = wave(x, reverse=True), places(x)
    return ted.compute((3,), lambda i: u[0, p[0, i]] - u[1, p[1, i]])


def at_some_time(x):
    """A read at data whose step is data, too: the history is kept."""
    p = places(x)
    return ted.recurrence(
        (STEPS, 3),
        lambda h, t, i: x[t, i] + ted.where(p[t, i] < t, h[p[t, i], i] / 2, 0.0),
        "float64",
    )[STEPS - 1]


def lagging(x):
    """So many slices are not moved: the history is kept."""
    return ted.recurrence(
        (STEPS, 3), lambda h, t, i: ted.where(t > 9, h[t - 10, i] / 2 + x[t, i], 1), "float64"
    )[STEPS - 1]


def greedy(x):
    """The positions that a step finds, and the values there, are those of the step."""

    def step(best, row):
        pairs = ted.sin(row[:, None] + best[None, :])
        places = ted.argmax(pairs, axis=1)
        return best + ted.take_along_axis(pairs, places[:, None], axis=1)[:, 0] / 9, None

    return ted.scan(step, x[0], x)[0]


def earlier_rows(x):
    r = ted.reduce_axis(STEPS)
    return ted.recurrence(
        (STEPS, 3),
        lambda h, t, i: ted.sum(h[r, i] * x[r, i] / 9, axis=r, where=r < t, init=x[t, i]),
        "float64",
    )[STEPS - 1]


FEW = [
    last_wave, last_of_reverse_wave, some_of_last_waves, some_of_last_reverse_waves, carries,
    delayed, sum_from_a_history, guarded, product, recurrent, at_data, at_data_backwards,
    last_at_data, first_at_data,
]  # fmt: skip
ALL = [lagging, earlier_rows, at_some_time]


def program(function, gradient: bool):
    x = ted.placeholder((STEPS, 3), "float64", name="x")
    result = function(x)
    head = ted.placeholder(result.shape, "float64", name="head")
    found = list(ted.differentiate(result, [x], head)) if gradient else []
    return ([x, head], [result, *found]) if gradient else ([x], [result])


@pytest.mark.fast(1)
@pytest.mark.parametrize("function", [*FEW, *ALL, greedy], ids=lambda f: f.__name__)
@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
def test_values_and_gradients_are_those_of_the_interpreter(function, gradient) -> None:
    inputs, outputs = program(function, gradient)
    arrays = [RNG.normal(size=i.shape) / 4 + 1 for i in inputs]
    check_machine_code(inputs, outputs, arrays)


@pytest.mark.fast(1)
@pytest.mark.parametrize("function", [last_of_reverse_wave, carries], ids=lambda f: f.__name__)
def test_second_derivatives_of_last_states_are_right(function) -> None:
    x = RNG.normal(size=(STEPS, 3)) / 4
    check_grads(lambda x: ted.sum(function(x) ** 2), [x], order=2, evaluate=ted.compile)


@pytest.mark.parametrize("function", FEW, ids=lambda f: f.__name__)
def test_no_history_is_kept_of_which_only_the_last_slices_are_read(function) -> None:
    assert not _histories(function)


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_a_history_is_kept_of_which_more_is_read(function) -> None:
    assert _histories(function)


def test_what_a_step_searches_is_memory_of_the_step() -> None:
    assert f"alloc() : memref<{STEPS}x" not in _linalg(greedy)


def _histories(function) -> list[str]:
    """The memory with a time dim of which steps write slices."""
    return [kind for kind in _kept(function) if f"{STEPS}x" in kind]


def _linalg(function) -> str:
    inputs, outputs = program(function, gradient=False)
    with dialects.session():
        return stage_text(to_module(system_of(inputs, outputs)), CPU_STAGES, "linalg")


def _kept(function) -> list[str]:
    """The types of what a program allocates, but for tensors that are written as a whole."""
    text = _linalg(function)
    made = re.findall(r"(%\w+) = memref\.alloc\(\) : memref<(.*)>", text)
    return [kind for name, kind in made if f"outs({name} :" not in text]


def exchanged(x, w):
    """Carries that only change places, read after the steps too."""
    start = (x[0], x[0] * 2, x[0] * 3)
    (a, b, c), d = ted.scan(lambda h, row: ((h[1], h[2], h[0]), ted.sin(h[0]) + row), start, x)
    return (a @ w + b) * ted.sum(d, axis=0) - c


def read_beside(x, w):
    """The states before each step, and the last one, multiplied by the same matrix."""
    last, before = ted.scan(lambda h, row: (ted.tanh(h @ w + row), h), x[0], x)
    return last @ w + before[len(x) - 1] @ w


def twice(x, w):
    step = ted.checkpoint(lambda h, row: (ted.tanh(h @ w + row), h * h))
    middle, squares = ted.scan(step, x[0], x)
    return ted.scan(step, middle, x + ted.sum(squares, axis=0))[0]


@pytest.mark.fast(1)
@pytest.mark.parametrize("function", [exchanged, read_beside, twice], ids=lambda f: f.__name__)
@pytest.mark.parametrize("steps", [1, 2, 3, 6])
def test_scans_of_few_steps_give_what_the_interpreter_gives(function, steps) -> None:
    x, w = ted.placeholder((steps, 3), "float64"), ted.placeholder((3, 3), "float64")
    result = function(x, w)
    outputs = [result, *ted.differentiate(ted.sum(result**2), [x, w])]
    arrays = [RNG.normal(size=(steps, 3)), RNG.normal(size=(3, 3))]
    check_machine_code([x, w], outputs, arrays)


SLICED = """
func.func @main(%x: tensor<6x2xf64>, %at: index) -> tensor<?x2xf64> {{
  %h = "ted.scan"(%x) ({{
  ^bb0(%outer: tensor<6x2xf64>):
    %step = "ted.compute"(%outer, %outer) ({{
    ^bb0(%a: f64):
      "ted.yield"(%a) : (f64) -> ()
    }}) {{
      extents = array<i64: 5, 2>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>, guards = [affine_set<(d0, d1) : (0 == 0)>],
      reads = [affine_map<(d0, d1) -> (d0 + 1, d1)>],
      write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "add"
    }} : (tensor<6x2xf64>, tensor<6x2xf64>) -> tensor<6x2xf64>
    "ted.yield"(%step) : (tensor<6x2xf64>) -> ()
  }}) {{steps = 6 : i64, times = array<i64: 0>, reverse = true}} : (tensor<6x2xf64>)
    -> tensor<6x2xf64>
  %s = tensor.extract_slice %h[{part}, 1] : tensor<6x2xf64> to tensor<{size}x2xf64>
  %r = tensor.cast %s : tensor<{size}x2xf64> to tensor<?x2xf64>
  func.return %r : tensor<?x2xf64>
}}
"""


@pytest.mark.parametrize(
    ("part", "size", "kept"),
    [
        ("%at, 0] [1, 2] [1", 1, 6), ("1, 0] [2, 2] [1", 2, 3), ("0, 0] [2, 2] [3", 2, 4),
        ("0, 0] [%at, 2] [1", "?", 6),
    ],
)  # fmt: skip
def test_a_slice_wants_all_times_that_it_may_be_at(part, size, kept) -> None:
    with dialects.session():
        module = ir.Module.parse(SLICED.format(part=part, size=size))
        text = str(run_text(module, "builtin.module(convert-ted-to-linalg)"))
    assert re.search(rf"iter_args\(.*\) -> \(tensor<{kept}x2xf64>\)", text)


def test_a_wave_keeps_three_slices_and_a_scan_one() -> None:
    for function, slices in ((last_wave, "3x3xf64"), (carries, "3xf64")):
        assert max(k for k in _kept(function) if k.endswith("3xf64")) == slices


def test_the_peak_of_a_scan_for_its_last_carry_does_not_grow_with_the_steps() -> None:
    h = ted.placeholder((1 << 15,), "float64", name="h")

    def peak(steps: int) -> int:
        last, _ = ted.scan(lambda c, _: (ted.sin(ted.exp(-c * c)), None), h, length=steps)
        f = ted.compile([h], last)
        f(np.zeros(1 << 15))
        return f.peak_bytes

    few = peak(10)
    assert peak(300) == few <= 12 * 8 << 15
