"""Programs and gradients with symbolic sizes: the same numbers as of the program of each size."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted import dialects, nn
from ted.domain.sizes import Extent
from ted.frontend.systems import system_of
from ted.ir.from_ops import from_module
from ted.ir.to_ops import to_module
from ted.testing.interpreter import interpret
from ted.transforms.ted_check_bounds import TedCheckBounds

Shapes = list[tuple[Extent, ...]]
SIZES = ({"n": 4, "m": 3, "k": 4}, {"n": 5, "m": 4, "k": 8})


def _rows(x: Any) -> Any:
    r = ted.reduce_axis(x.shape[0])
    return ted.compute((x.shape[0],), lambda i: ted.sum(x[i, r], axis=r, where=r <= i))


def _at(extent: Any, element: Callable[[Any], Any]) -> Any:
    return ted.compute((extent,), lambda i: element(i))


def _joined(x: Any, y: Any) -> Any:
    return ted.concatenate([x, y]) ** 2


# name -> shapes of the inputs in terms of (n, m, k), and the operator on tensors and sizes
CASES: dict[str, tuple[Callable[..., Shapes], Callable[..., Any]]] = {
    "matmul": (lambda n, m, k: [(n, m), (m, k)], lambda x, y, *_: ted.tanh(x @ y)),
    "softmax": (lambda n, m, k: [(n, m)], lambda x, *_: nn.softmax(x)),
    "mean": (lambda n, m, k: [(n, m)], lambda x, *_: ted.mean(x * x, axis=0)),
    "max": (lambda n, m, k: [(n, m)], lambda x, *_: ted.max(x)),
    "product": (lambda n, m, k: [(n, m)], lambda x, *_: ted.prod(x)),
    "slices": (lambda n, m, k: [(n, m)], lambda x, *_: x[1:, ::2] * x[:-1, ::2]),
    "halves": (lambda n, m, k: [(n,)], lambda x, n, *_: x[: n // 2] * x[n - n // 2 :]),
    "concatenate": (lambda n, m, k: [(n, m), (k, m)], lambda x, y, *_: _joined(x, y)),
    "reflect": (lambda n, m, k: [(n, m)], lambda x, *_: ted.pad(x, 2, mode="reflect") ** 2),
    "edge": (lambda n, m, k: [(n, m)], lambda x, *_: ted.pad(x, 2, mode="edge") ** 2),
    "roll": (lambda n, m, k: [(n, m)], lambda x, *_: ted.roll(x, -1, 0) * x),
    "flat": (lambda n, m, k: [(n, m)], lambda x, *_: x.reshape((-1,)) ** 2),
    "regrouped": (lambda n, m, k: [(n, m)], lambda x, n, m, k: x.reshape((m, n)) ** 2),
    "split by a divisor": (lambda n, m, k: [(k, m)], lambda x, n, m, k: x.reshape((k // 4, 4, m))),
    "repeat": (lambda n, m, k: [(n, m)], lambda x, *_: ted.repeat(x, 2, 0) ** 2),
    "triangle": (lambda n, m, k: [(n, n)], lambda x, *_: _rows(x)),
    "diagonal": (lambda n, m, k: [(n, n)], lambda x, n, *_: _at(n, lambda i: x[i, i] ** 2)),
    "size in a value": (lambda n, m, k: [(n,)], lambda x, n, *_: _at(n, lambda i: x[i] * i / n)),
    "strided convolution": (
        lambda n, m, k: [(1, n, k, 2), (3, 3, 2, 2)],
        lambda x, w, *_: nn.conv2d(x, w, stride=2, padding=1),
    ),
    "as many windows as steps": (
        lambda n, m, k: [(2, n, 3), (3, 3, 2)],
        lambda x, w, *_: nn.conv1d(x, w, stride=2, padding="same"),
    ),
    "max pool": (lambda n, m, k: [(1, n, k, 2)], lambda x, *_: nn.max_pool2d(x, 2)),
    "running sum": (lambda n, m, k: [(n, m)], lambda x, *_: ted.cumsum(x, axis=0)),
    "triangular solve": (
        lambda n, m, k: [(n, n), (n,)],
        lambda a, b, n, *_: ted.solve_triangular(ted.tril(a) + 4 * ted.eye(n), b),
    ),
}  # fmt: skip


def _program(name: str, sizes: tuple[Any, ...]) -> Any:
    shapes, operator = CASES[name]
    inputs = [ted.placeholder(s, "float64", name=f"x{i}") for i, s in enumerate(shapes(*sizes))]
    output = operator(*inputs, *sizes)
    head = ted.placeholder(output.shape, "float64", name="head")
    gradients = ted.differentiate(output, inputs, head=head)
    return system_of([*inputs, head], [output, *gradients])


def _symbolic() -> tuple[Any, ...]:
    return ted.size("n", min=4), ted.size("m", min=3), ted.size("k", min=4, multiple_of=4)


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_each_size(name: str) -> None:
    generator = np.random.default_rng(7)
    with dialects.session():
        symbolic = to_module(_program(name, _symbolic()))
        TedCheckBounds().run(symbolic)
        again = to_module(from_module(symbolic))
        assert str(to_module(from_module(again))) == str(again)
        for sizes in SIZES:
            system = _program(name, tuple(sizes.values()))
            arrays = [generator.standard_normal(t.static_shape) for t in system.inputs]
            expected = interpret(to_module(system), arrays)
            found = interpret(symbolic, arrays, sizes=sizes)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_compiled_functions_take_arrays_of_every_size(name: str) -> None:
    generator = np.random.default_rng(8)
    system = _program(name, _symbolic())
    wrapped = [ted.frontend.tensors.wrap(t) for t in (*system.inputs, *system.outputs)]
    f = ted.compile(wrapped[: len(system.inputs)], wrapped[len(system.inputs) :])
    for sizes in SIZES:
        own = _program(name, tuple(sizes.values()))
        arrays = [generator.standard_normal(t.static_shape) for t in own.inputs]
        with dialects.session():
            expected = interpret(to_module(own), arrays)
        for one, other in zip(f(*arrays), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["flat", "regrouped", "strided convolution", "product", "edge"])
def test_gradients_of_symbolic_programs_are_gathers(name: str) -> None:
    system = _program(name, _symbolic())
    assert not any(e.is_scatter for t in system.tensors() for e in t.equations)


def test_second_order_gradients_at_symbolic_sizes() -> None:
    n = ted.size("n", min=3)
    x = ted.placeholder((n,), "float64", name="x")
    y = ted.sum(ted.tanh(x[1:]) * x[:-1] ** 3)
    (first,) = ted.differentiate(y, [x])
    (second,) = ted.differentiate(ted.sum(first * first), [x])
    f = ted.compile([x], [first, second])
    for length in (3, 6):
        point = np.linspace(-1, 1, length)

        def slope(at: np.ndarray) -> np.ndarray:
            tanh, left = np.tanh(at[1:]), at[:-1]
            out = np.zeros_like(at)
            out[1:] += (1 - tanh**2) * left**3
            out[:-1] += 3 * left**2 * tanh
            return out

        eye = np.eye(length) * 1e-6
        expected = [
            (np.sum(slope(point + e) ** 2) - np.sum(slope(point - e) ** 2)) / 2e-6 for e in eye
        ]
        one, two = f(point)
        np.testing.assert_allclose(one, slope(point), rtol=1e-12)
        np.testing.assert_allclose(two, expected, rtol=1e-6, atol=1e-7)


def test_a_data_index_into_a_symbolic_extent_scatters() -> None:
    n, m = ted.size("n"), ted.size("m")
    table = ted.placeholder((n, 2), "float64", name="table")
    rows = ted.placeholder((m,), "int64", name="rows")
    y = ted.take(table, rows, axis=0)
    head = ted.placeholder((m, 2), "float64", name="head")
    (gradient,) = ted.differentiate(y, [table], head=head)
    f = ted.compile([table, rows, head], [y, gradient])
    values, index = np.arange(6.0).reshape(3, 2), np.array([2, 0, 2, 2])
    seed = np.arange(8.0).reshape(4, 2)
    expected = np.zeros((3, 2))
    np.add.at(expected, index, seed)
    taken, scattered = f(values, index, seed)
    np.testing.assert_array_equal(taken, values[index])
    np.testing.assert_array_equal(scattered, expected)
    with pytest.raises(ted.errors.ExecutionError, match="index 3"):
        f(values, np.array([0, 3, 1, 1]), seed)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_products_of_no_factors_have_gradients(axis: int | None) -> None:
    def program(*sizes: Extent) -> Any:
        x = ted.placeholder(sizes, "float64", name="x")
        y = ted.prod(x, axis=axis)
        head = ted.placeholder(y.shape, "float64", name="head")
        (first,) = ted.differentiate(y, [x], head=head)
        return system_of([x, head], [y, first, *ted.differentiate(ted.sum(first**2), [x, head])])

    with dialects.session():
        symbolic = to_module(program(ted.size("n", min=0), ted.size("m", min=0)))
        TedCheckBounds().run(symbolic)
        for sizes in ((0, 2), (2, 0), (0, 0), (3, 2)):
            plain = program(*sizes)
            arrays = [np.full(t.static_shape, 1.5) for t in plain.inputs]
            expected = interpret(to_module(plain), arrays)
            found = interpret(symbolic, arrays, sizes=dict(zip("nm", sizes, strict=True)))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
