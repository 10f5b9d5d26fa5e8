"""Small programs of every kind: machine code gives what the reference interpreter gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError
from ted.frontend.tensors import Tensor
from ted.testing.tracing import interpreted, numpy_type

RANDOM = np.random.default_rng(7)
X = ted.placeholder((7, 5), "float32", name="x")
Y = ted.placeholder((5, 6), "float32", name="y")
V = ted.placeholder((24,), "float32", name="v")
N = ted.placeholder((7,), "int32", name="n")
INPUTS = [X, Y, V, N]
NUMBERS = [
    RANDOM.normal(size=(7, 5)).astype("float32"), RANDOM.normal(size=(5, 6)).astype("float32"),
    RANDOM.normal(size=24).astype("float32"), np.array([0, 4, -1, 2, 6, 1, 9], "int32"),
]  # fmt: skip


def check(outputs: Sequence[Tensor], tolerance: float = 1e-5) -> None:
    found = ted.compile(INPUTS, outputs)(*NUMBERS)
    expected = interpreted(INPUTS, outputs)(*NUMBERS)
    for output, one, other in zip(outputs, found, expected, strict=True):
        np.testing.assert_allclose(
            one, other, rtol=tolerance, atol=tolerance, err_msg=output.name, equal_nan=True
        )


def on_target(
    target: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], *arrays: Any
) -> list[Any]:
    f = ted.compile(inputs, outputs, target)
    if target == "cpu":
        return list(f(*arrays))
    with ted.testing.emulated_gpu():
        return [y.numpy() for y in f(*[ted.cuda.asarray(a) for a in arrays])]


def scan(step: Callable[[Any, Any, Any], Any], start: float, reverse: bool = False) -> Tensor:
    """`h[t] = step(h[t - 1], v[t], t)`."""

    def element(h: Any, t: Any) -> Any:
        first, before = (t == 23, t + 1) if reverse else (t == 0, t - 1)
        return step(ted.where(first, start, h[before]), V[t], t)

    return ted.recurrence((24,), element, dtype="float32", reverse=reverse)


def test_recurrences_with_conditions_on_time() -> None:
    check([
        scan(lambda h, v, t: h * 0.5 + v, 1.0),
        scan(lambda h, v, t: h * 0.5 + v, 2.0, reverse=True),
        scan(lambda h, v, t: ted.where(t % 3 == 1, v, h + v), 0.0),
        scan(lambda h, v, t: ted.where(t < 5, ted.maximum(h, v), ted.minimum(h, v)), 0.0),
        scan(lambda h, v, t: ted.tanh(h + v), 0.25)[20:],
        ted.recurrence((24,), lambda h, t: ted.where(t < 3, V[t], h[t - 3] + 0.5 * h[t - 2]),
                       dtype="float32"),
    ])  # fmt: skip


def test_scans_of_carries_and_their_gradients() -> None:
    def step(h: Any, row: Any) -> tuple[Any, Any]:
        new = ted.tanh(h + row)
        return new, ted.sum(new * row)

    start = ted.compute((5,), lambda i: Y[i, 0], name="start")
    last, sums = ted.scan(step, start, X)
    back, _ = ted.scan(lambda h, row: (h * 0.5 + row, None), start, X, reverse=True)
    dx, dy = ted.differentiate(ted.sum(last) + ted.sum(sums), [X, Y])
    check([last, sums, back, dx, dy])


def test_products_of_every_layout_with_guards_and_steps() -> None:
    r, q = ted.reduce_axis(5, name="r"), ted.reduce_axis(3, name="q")
    check([
        X @ Y, ted.transpose(Y) @ ted.transpose(X),
        ted.compute((7, 6), lambda i, j: ted.sum(X[i, r] * Y[r, j], axis=r, where=r <= i)),
        ted.compute((7, 6), lambda i, j: ted.sum(
            ted.where(r <= i, X[i, r], 0.0) * Y[r, j], axis=r)),
        ted.compute((9, 6), lambda i, j: ted.sum(
            ted.where((i >= 1) & (i < 8), X[i - 1, r], 0.0) * Y[r, j], axis=r)),
        ted.compute((7, 6), lambda i, j: ted.sum(X[6 - i, 4 - r] * Y[r, 5 - j], axis=r)),
        ted.compute((7, 4), lambda i, j: ted.sum(
            ted.where(i + q < 7, X[i + q, j], 0.0) * Y[q, j], axis=q)),
        ted.compute((7, 6), lambda i, j: ted.sum(X[i, r] * Y[r, j], axis=r) + X[i, 0]),
    ])  # fmt: skip


def test_boxes_triangles_residues_and_divisions() -> None:
    k = ted.reduce_axis(24, name="k")
    check([
        ted.compute((12,), lambda i: ted.sum(V[k], axis=k, where=(k >= i) & (k < 2 * i + 1))),
        ted.compute((24,), lambda i: V[i // 2] + V[i % 7] * V[(5 * i) % 24]),
        ted.compute((8, 3), lambda i, j: V[3 * i + j]), ted.flip(V), V[1::5], V[::-2],
        ted.compute((24,), lambda i: ted.where(i % 2 == 0, V[i], V[23 - i])),
        ted.compute((24,), lambda i: ted.where((i > 3) & (i < 20), V[i - 4] + V[i + 3], V[i])),
        ted.differentiate(ted.sum(V[1::5] ** 2) + ted.sum(V[::-2]), [V])[0],
        ted.differentiate(ted.sum(ted.compute((24,), lambda i: V[i // 2] ** 2)), [V])[0],
        ted.concatenate([V[:5], V[19:], V[3:4]]), ted.reshape(X, (5, 7)) * 2.0,
        ted.compute((7, 1, 5), lambda i, o, j: X[i, j] + 1.0), ted.sum(X, axis=(0, 1)),
    ])  # fmt: skip


def test_conditions_that_are_decided_in_part() -> None:
    flags = ted.placeholder((7, 5), "bool", name="flags")
    positive = X > 0.0
    outputs = [
        ted.compute((7, 5), lambda i, j: ted.where((i < 9) & (X[i, j] > 0), X[i, j], 2.0)),
        ted.compute((7, 5), lambda i, j: ted.where((i > 9) | (X[i, j] > 0), X[i, j], 2.0)),
        ted.compute((7, 5), lambda i, j: ted.where((i < 9) | (X[i, j] > 0), X[i, j], 2.0)),
        ted.compute((7, 5), lambda i, j: ted.where((i > 9) & (X[i, j] > 0), X[i, j], 2.0)),
        ted.compute((7, 5), lambda i, j: ted.where((i == 3) & (X[i, j] > 0), X[i, j], 2.0)),
        ted.where(flags, X, -X), ted.where(flags, 1.0, 0.0), positive, positive & flags,
    ]  # fmt: skip
    arrays = [NUMBERS[0], RANDOM.normal(size=(7, 5)) > 0]
    found = ted.compile([X, flags], outputs)(*arrays)
    for one, other in zip(found, interpreted([X, flags], outputs)(*arrays), strict=True):
        np.testing.assert_array_equal(one, other)


def test_reductions_of_every_combiner() -> None:
    wide = ted.compute((3, 90), lambda i, j: V[(7 * i + 5 * j) % 24], name="wide")
    check([
        ted.sum(X, axis=0), ted.sum(X, axis=1), ted.prod(X, axis=1), ted.max(X, axis=0),
        ted.min(X, axis=1), ted.argmax(X, axis=1), ted.argmin(X, axis=0), ted.argmax(wide, axis=1),
        ted.argmin(wide, axis=1), ted.max(wide, axis=1), ted.mean(wide, axis=1),
        ted.any(X > 1.0, axis=1), ted.all(X > -3.0, axis=0), ted.cumsum(V, 0),
        ted.nn.softmax(X), ted.differentiate(ted.sum(ted.max(X, axis=1) ** 2), [X])[0],
    ])  # fmt: skip


@pytest.mark.parametrize("points", [4, 40], ids=["short", "long"])
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_the_first_of_conditions_is_where_one_holds(points: int, target: str) -> None:
    x = ted.placeholder((2, points), "float64", name="x")
    outputs = [f(x > 0, axis=1) for f in (ted.argmax, ted.argmin, ted.max, ted.min)]
    array = np.random.default_rng(1).normal(size=(2, points))
    array[:, 0] = -1, 1
    expected = [getattr(np, f)(array > 0, 1) for f in ("argmax", "argmin", "max", "min")]
    for one, other in zip(on_target(target, [x], outputs, array), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_values_of_indices_are_those_of_python(target: str) -> None:
    def at(i: Any) -> list[Any]:
        return [abs(i - 3), (i - 3) // -2, (i - 3) % -4, (3 - i) % 2, abs(i - 3) * (1 - i) // 4]

    outputs = [ted.compute((7,), lambda i, k=k: at(i)[k]) for k in range(5)]
    expected = [[at(i)[k] for i in range(7)] for k in range(5)]
    np.testing.assert_array_equal(on_target(target, [], outputs), expected)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_shifts_by_any_count_are_those_of_numpy(target: str) -> None:
    values, counts = (ted.placeholder((6,), "int64", name=n) for n in "vc")
    arrays = np.full(6, -7), np.array([-(2**63), -1, 2**32, 2**32 + 1, 64, 3])
    found = on_target(target, [values, counts], [values << counts, values >> counts], *arrays)
    np.testing.assert_array_equal(found, [arrays[0] << arrays[1], arrays[0] >> arrays[1]])


def test_reads_and_writes_at_data() -> None:
    clipped = ted.clip(N, 0, 6)
    known = ted.compute(
        (7,), lambda i: ted.where((N[i] >= 0) & (N[i] < 7), X[N[i], 2], -1.0), name="known"
    )
    check([
        known, ted.compute((7,), lambda i: X[ted.minimum(ted.maximum(N[i], 0), 6), 1]),
        ted.index_add(V, 0, clipped, ted.compute((7,), lambda i: X[i, 0])),
        ted.differentiate(ted.sum(known**2), [X])[0], ted.cast(N, "float32") * V[:7],
    ])  # fmt: skip
    outside = ted.compute((7,), lambda i: X[N[i], 0], name="outside")
    with pytest.raises(ExecutionError, match=r"outside|index"):
        ted.compile([X, N], [outside])(NUMBERS[0], NUMBERS[3])


FUNCTIONS = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "erf", "erfc", "floor",
    "ceil", "trunc", "round", "abs", "negative",
]  # fmt: skip


@pytest.mark.fast(1)
@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 2e-6), ("float64", 1e-13),
                                                ("bfloat16", 1e-2), ("float16", 2e-3)])  # fmt: skip
def test_functions_of_every_float_type(kind: str, tolerance: float) -> None:
    x = ted.placeholder((40,), kind, name="x")
    outputs = [getattr(ted, name)(x) for name in FUNCTIONS if hasattr(ted, name)]
    outputs += [x**2.5, ted.atan2(x, x + 0.5), ted.fmod(x, 0.3), x**3.0, ted.maximum(x, 0.4)]
    values = np.linspace(0.02, 0.97, 40)
    array = values.astype(numpy_type(kind))
    found = ted.compile([x], outputs)(array)
    for output, one, other in zip(outputs, found, interpreted([x], outputs)(array), strict=True):
        np.testing.assert_allclose(
            one.astype("float64"), other.astype("float64"), rtol=tolerance, atol=tolerance,
            err_msg=output.name,
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["int8", "int32", "int64"])
def test_integers_wrap_and_divide_downwards(kind: str) -> None:
    a, b = (ted.placeholder((6,), kind, name=name) for name in "ab")
    values = [np.array([7, -7, 100, -128, 0, 5], kind), np.array([2, 2, 3, 5, -3, -3], kind)]
    outputs = [
        a + b, a - b, a * b, a // b, a % b, ted.maximum(a, b), ted.minimum(a, b), ted.abs(a), -a,
        ted.sum(a), ted.prod(b), ted.max(a), ted.argmin(a), a & b, a | b, a ^ b, a < b, a == b,
        ted.where(a > b, a, b), ted.cast(a, "float64") / 3.0, a / b,
    ]  # fmt: skip
    found = ted.compile([a, b], outputs)(*values)
    for one, other in zip(found, interpreted([a, b], outputs)(*values), strict=True):
        np.testing.assert_array_equal(one, other)


def test_loops_whose_points_write_apart_are_marked_parallel() -> None:
    k = ted.reduce_axis(24, name="k")
    total = ted.compute((12,), lambda i: ted.sum(V[k], axis=k, where=(k >= i) & (k < 2 * i + 1)))
    text = ted.compile([V], [total]).ir("linalg")
    assert text.count("scf.for") == 2
    assert text.count("{ted.parallel}") == 1


def test_factors_that_are_computed_for_products_have_memory_of_their_own() -> None:
    x = ted.placeholder((4, 4), "float16", name="x")
    head = ted.placeholder((4,), "float16", name="head")
    products = ted.einsum("ab,ad->d", x @ x, x)
    (dx,) = ted.differentiate(products, [x], head=head)
    numbers = [RANDOM.integers(-2, 3, shape).astype("float16") for shape in ((4, 4), (4,))]
    found = ted.compile([x, head], dx)(*numbers)
    assert found.tolist() == interpreted([x, head], [dx])(*numbers)[0].tolist()


@pytest.mark.parametrize(("size", "passes"), [(3, 1), (4, 2), (7, 2)])
def test_the_place_of_a_maximum_of_many_points_takes_two_passes(size: int, passes: int) -> None:
    x, r, s = ted.placeholder((12, 20)), ted.reduce_axis(size), ted.reduce_axis(size)
    y = ted.compute((13 - size, 21 - size), lambda i, j: ted.argmax(x[i + r, j + s], axis=(r, s)))
    f = ted.compile([x], y)
    assert f.ir("linalg").count('"reduction", "reduction"') == passes
    values = RANDOM.integers(-9, 9, (12, 20)).astype(np.float32)  # many equal ones: the first wins
    windows = np.lib.stride_tricks.sliding_window_view(values, (size, size))
    np.testing.assert_array_equal(f(values), windows.reshape(*windows.shape[:2], -1).argmax(-1))
