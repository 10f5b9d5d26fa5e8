"""Recurrences and their gradients as kernels, against the reference interpreter."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import ted
from support.ptx_programs import run_manifest
from sweeps import swept
from ted import nn
from ted.api.cuda_functions import CudaFunction
from ted.codegen.manifest import Copy, Launch, Loop, walk
from ted.frontend import sorting
from ted.ir.equations import System
from ted.testing.tracing import interpreted, nodes
from unit.gpu.cuda_programs import manifest_of, manifest_of_system, run
from unit.recurrence_programs import by_data

RNG = np.random.default_rng(9)


def scanned(x, w):
    def step(h, row):
        return ted.tanh(ted.take(h, ted.argmax(row), 0) + h @ w + row), h

    return ted.scan(step, x[0], x)[1]


def looped(x, w):
    def body(h):
        return ted.cond(h[0] > 0, lambda h: ted.tanh(h @ w) - 0.5, lambda h: h + 0.5, h)

    return ted.while_loop(lambda h: ted.sum(h) < 1.0, body, x, 4, truncate=True)


def turned(x, shift=16):
    """Each point reads another one of the step before, in another warp."""
    last = x.shape[1] - shift

    def place(h, t, i):
        row = ted.where(i < last, h[t - 1, i + shift], h[t - 1, (i + shift) % x.shape[1]])
        return ted.where(t >= 1, row * x[t, i] + x[t, i], x[t, i])

    return ted.recurrence(x.shape, place, x.dtype)


def turned_round(x):
    """The same by one subscript, of which loops over scalars are made."""
    n = x.shape[1]

    def place(h, t, i):
        return ted.where(t >= 1, h[t - 1, (i + n // 2) % n] * x[t, i] + x[t, i], x[t, i])

    return ted.recurrence(x.shape, place, x.dtype)


CASES = {
    "cumsum": (lambda x: ted.cumsum(x, 0), [(5, 3)]),
    "cumprod": (lambda x: ted.cumprod(x, 1, True), [(5, 3)]),
    "solve": (ted.solve_triangular, [(5, 5), (5, 2)]),
    "rnn": (nn.rnn, [(4, 2, 3), (3, 3), (3, 3)]),
    "cholesky": (ted.cholesky, [(5, 5)]),
    "lstm": (lambda *a: nn.lstm(*a)[0], [(4, 2, 3), (3, 12), (3, 12)]),
    "gru": (nn.gru, [(4, 2, 3), (3, 9), (3, 9)]),
    "by_data": (by_data, [(5, 3)]),
    "scan": (scanned, [(5, 3), (3, 3)]),
    "loop": (looped, [(3,), (3, 3)]),
    "turned": (turned, [(3, 33)]),
    "turned round": (turned_round, [(3, 33)]),
}
FAST = ("cumsum", "solve", "rnn", "turned round")


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "case", [c if c in FAST else pytest.param(c, marks=pytest.mark.slow) for c in CASES]
)
@pytest.mark.parametrize(
    ("dtype", "chip", "tolerance"),
    [("float64", "sm_80", 1e-10), pytest.param("float32", "sm_90a", 1e-5, marks=pytest.mark.slow)],
)
def test_steps_compute_what_the_equations_say(
    case: str, dtype: str, chip: str, tolerance: float
) -> None:
    function, shapes = CASES[case]
    inputs = [ted.placeholder(s, dtype, name=f"x{k}") for k, s in enumerate(shapes)]
    result = function(*inputs)
    head = ted.placeholder(result.shape, dtype, name="head")
    gradients = ted.differentiate(result, inputs, head)
    arrays = [RNG.normal(size=s) / 4 for s in (*shapes, result.shape)]
    for array in arrays:
        if array.ndim == 2 and array.shape[0] == array.shape[1]:
            array += 2 * np.eye(len(array))
    arrays = [array.astype(dtype) for array in arrays]
    given, wanted = nodes([*inputs, head], "test"), nodes([result, *gradients], "test")
    manifest = manifest_of_system(System(tuple(given), tuple(wanted)), chip)
    expected = interpreted(given, wanted)(*arrays)
    results = run_manifest(manifest, arrays, order="random", seed=6)
    for found, want in zip(results, expected, strict=True):
        scale = max(1.0, np.abs(want).max())
        np.testing.assert_allclose(found, want, rtol=0, atol=tolerance * scale)


def test_pieces_pass_fills_that_have_kernels_of_their_own() -> None:
    """What is chosen stands at the fills when the kernels are made, and changes nothing."""
    start, rows, head = (ted.placeholder(s, "float64") for s in ((3,), (3, 3), (3,)))
    y = ted.scan(lambda h, row: (row + h, h), start, rows, reverse=True)[0]
    slope = ted.differentiate(ted.cbrt(y * y + 0.5), [start], head)
    arrays = [RNG.normal(size=s) for s in ((3,), (3, 3), (3,))]
    found = run_manifest(manifest_of([start, rows, head], slope), arrays)[0]
    total = arrays[0] + arrays[1].sum(0)
    wanted = arrays[2] * 2 * total / (3 * np.cbrt(total * total + 0.5) ** 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_running_sums_are_not_launched_step_by_step() -> None:
    x = ted.placeholder((50, 6), name="x")
    manifest = manifest_of([x], [ted.cumsum(x, 0)])
    assert len(manifest.steps) <= 2
    a = RNG.normal(size=(50, 6)).astype(np.float32)
    np.testing.assert_allclose(run_manifest(manifest, [a])[0], np.cumsum(a, 0), rtol=0, atol=1e-4)


def test_gradients_of_linear_recurrences_are_not_launched_step_by_step() -> None:
    a, b, head = (ted.placeholder((20, 6), "float64") for _ in range(3))
    start = ted.placeholder((6,), "float64")
    _, y = ted.scan(lambda h, x: (x[0] * h + x[1],) * 2, start, (a, b))
    gradients = ted.differentiate(y, [a, b, start], head)
    manifest = manifest_of([a, b, start, head], gradients)
    assert not any(isinstance(step, Loop) for step in manifest.steps)
    arrays = [RNG.normal(size=s) for s in ((20, 6), (20, 6), (6,), (20, 6))]
    total, states = arrays[2], []
    for k in range(20):
        states.append(total)
        total = arrays[0][k] * total + arrays[1][k]
    back, slopes = np.zeros(6), np.zeros((20, 6))
    for k in reversed(range(20)):
        slopes[k] = back + arrays[3][k]
        back = slopes[k] * arrays[0][k]
    wanted = (slopes * np.array(states), slopes, back)
    for found, want in zip(run_manifest(manifest, arrays), wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


def traffic(function, shapes) -> tuple[int, int]:
    """Bytes copied, and threads launched, by a gradient."""
    inputs = [ted.placeholder(s, name=f"x{k}") for k, s in enumerate(shapes)]
    result = function(*inputs)
    head = ted.placeholder(result.shape, name="head")
    manifest = manifest_of([*inputs, head], ted.differentiate(result, inputs, head))
    steps = [step for step, _ in walk(manifest.steps)]
    launched = [manifest.kernel(s.kernel) for s in steps if isinstance(s, Launch)]
    copied = sum(s.bytes for s in steps if isinstance(s, Copy))
    return copied, sum(prod(k.grid) * prod(k.block) for k in launched)


@swept(("case", "gates"), [("rnn", 1), ("lstm", 4), ("gru", 3)], [("rnn", 1)])
def test_a_step_of_a_gradient_moves_a_step(case: str, gates: int) -> None:
    function, hidden = CASES[case][0], 64
    shapes = [(8, hidden), (hidden, gates * hidden), (hidden, gates * hidden)]
    short, long = (traffic(function, [(steps, *shapes[0]), *shapes[1:]]) for steps in (16, 32))
    for some, many in zip(short, long, strict=True):
        assert many <= 2.2 * some, "twice the steps, twice the traffic"


@ted.custom_vjp
def cube(x):
    """A function with a derivative of its own."""
    return x * x * x


cube.defvjp(lambda inputs, outputs, heads: 7 * inputs[0] * heads[0] + outputs[0] * heads[0] / 2)


def test_batched_gradients_of_scans_read_only_what_was_written() -> None:
    def loss(start, xs, w):
        def step(c, x):
            after = cube(ted.tanh(c @ w + x))
            return after, ted.sin(after)

        h, ys = ted.scan(step, start, xs)
        return ted.sum(h * h) + ted.sum(ys * ys * xs)

    gradient = ted.vmap(ted.grad(loss, (0, 2)), (0, None, None))
    arrays = [RNG.normal(size=s) / 2 for s in ((2, 3), (4, 3), (3, 3))]
    compiled = ted.function(gradient, target="cuda:sm_80").compiled(*arrays)
    assert isinstance(compiled, CudaFunction)
    found = run_manifest(compiled.manifest, arrays)
    for got, want in zip(found, gradient(*arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_a_network_sorts_keys_that_hold_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products and sums are contracted here, which must not change what a key is read as."""
    monkeypatch.setattr(sorting, "_COUNTED", 1)
    values = np.array([2, -1, np.inf, 0, 2, np.nan, -0.0, 3e-42, -1, -np.inf, 2], np.float32)
    x = ted.placeholder(values.shape, name="x")
    (order,) = run([x], [ted.argsort(x)], [values])
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
