"""Batches of any size by programs of few rows: against the program of each size, and numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept
from ted import nn
from ted.api import compiling, row_functions
from ted.api.cpu_functions import CompiledFunction
from ted.errors import ExecutionError

SIZES = (1, 7, 23, 100)
N = ted.size("n")


def _normal(rng: Any, *shape: int) -> Any:
    return rng.normal(size=shape)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The systems that are compiled while the test runs."""
    found: list[Any] = []

    def counted(program: Any, *args: Any) -> Any:
        found.append(program)
        return CompiledFunction(program, *args)

    monkeypatch.setattr(compiling, "CompiledFunction", counted)
    return found


def _perceptron() -> tuple[list[Any], list[Any]]:
    x = ted.placeholder((N, 5), "float64", name="x")
    w = ted.placeholder((5, 3), "float64", name="w")
    b = ted.placeholder((3,), "float64", name="b")
    labels = ted.placeholder((N,), "int64", name="labels")
    value = nn.cross_entropy(ted.tanh(x @ w) + b, labels)
    return [x, w, b, labels], [value, *ted.differentiate(value, [x, w, b])]


def _perceptron_arrays(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [
        _normal(rng, n, 5), _normal(rng, 5, 3), _normal(rng, 3), rng.integers(0, 3, n)
    ]  # fmt: skip


@pytest.mark.slow
def test_any_number_of_rows_gives_what_the_program_of_that_size_gives() -> None:
    f = ted.compile(*_perceptron())
    for n in SIZES:
        arrays = _perceptron_arrays(n)
        for found, expected in zip(f(*arrays), f.specialise(n=n)(*arrays), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_twenty_sizes_compile_as_many_programs_as_there_are_strips(compiled: list[Any]) -> None:
    f = ted.compile(*_perceptron())
    for n in range(1, 21):
        f(*_perceptron_arrays(n))
    kinds = {program.system.inputs[0].shape for program in compiled}
    assert len(compiled) <= 4
    assert {shape[0] for shape in kinds if len(shape) == 2} <= {1, 4, 16}


def _batch_norm() -> tuple[list[Any], list[Any]]:
    x = ted.placeholder((N, 3), "float64", name="x")
    scale = ted.placeholder((3,), "float64", name="scale")
    centred = x - ted.mean(x, axis=0)
    y = ted.tanh(centred * ted.rsqrt(ted.mean(centred * centred, axis=0) + 0.1) * scale)
    value = ted.sum(y * y)
    return [x, scale], [y, value, *ted.differentiate(value, [x, scale])]


def _embedding() -> tuple[list[Any], list[Any]]:
    table = ted.placeholder((7, 3), "float64", name="table")
    words = ted.placeholder((N, 2), "int64", name="words")
    y = ted.sum(nn.embedding(table, words), axis=1)
    value = ted.sum(ted.sin(y))
    return [table, words], [y, *ted.differentiate(value, [table])]


def _recurrent() -> tuple[list[Any], list[Any]]:
    x = ted.placeholder((4, N, 3), "float64", name="x")
    w = ted.placeholder((3, 3), "float64", name="w")
    _, ys = ted.scan(lambda h, row: (ted.tanh(h @ w + row), h), ted.zeros((N, 3), "float64"), x)
    return [x, w], [ys, *ted.differentiate(ted.sum(ys * ys), [x, w])]


def _extremes() -> tuple[list[Any], list[Any]]:
    x = ted.placeholder((N, 3), "float64", name="x")
    return [x], [
        ted.max(x, axis=0), ted.min(x), ted.prod(1 + x / 8, axis=0), ted.mean(x), ted.argmax(x, 1),
        ted.any(x > 1), ted.all(x > -9), x, x,
    ]  # fmt: skip


def _convolution() -> tuple[list[Any], list[Any]]:
    x = ted.placeholder((N, 5, 5, 2), "float64", name="x")
    w = ted.placeholder((3, 3, 2, 2), "float64", name="w")
    y = nn.max_pool2d(nn.relu(nn.conv2d(x, w, padding=1)), 2)
    return [x, w], [y, *ted.differentiate(ted.sum(y * y), [x, w])]


def _sizes_as_numbers() -> tuple[list[Any], list[Any]]:
    x = ted.placeholder((N,), "float64", name="x")
    n = ted.cast(N, "float64")
    return [x], [x / n, ted.sum(x) / (n * n + ted.cast(2 * N + 1, "float64"))]


def _started() -> tuple[list[Any], list[Any]]:
    x = ted.placeholder((N, 3), "float64", name="x")
    s = ted.placeholder((3,), "float64", name="s")
    return [x, s], [
        ted.sum(x, axis=0, init=s * 2),
        ted.max(x, axis=0, init=s),
        ted.min(x, init=0.1),
    ]


PROGRAMS: dict[str, tuple[Callable[[], Any], Callable[[Any, int], list[Any]]]] = {
    "started": (_started, lambda g, n: [_normal(g, n, 3), _normal(g, 3)]),
    "batch norm": (_batch_norm, lambda g, n: [_normal(g, n, 3), _normal(g, 3)]),
    "embedding": (_embedding, lambda g, n: [_normal(g, 7, 3), g.integers(0, 7, (n, 2))]),
    "recurrent": (_recurrent, lambda g, n: [_normal(g, 4, n, 3), _normal(g, 3, 3)]),
    "extremes": (_extremes, lambda g, n: [_normal(g, n, 3)]),
    "convolution": (_convolution, lambda g, n: [_normal(g, n, 5, 5, 2), _normal(g, 3, 3, 2, 2)]),
    "sizes as numbers": (_sizes_as_numbers, lambda g, n: [_normal(g, n)]),
}


@pytest.mark.fast(1)
@swept("name", PROGRAMS, fast=[n for n in PROGRAMS if n != "convolution"])
def test_phases_totals_and_data_are_those_of_each_size(name: str) -> None:
    program, draw = PROGRAMS[name]
    f = ted.compile(*program())
    assert "n is a batch" in f.explain()
    for n in (1, 22):
        arrays = draw(np.random.default_rng(n), n)
        for found, expected in zip(f(*arrays), f.specialise(n=n)(*arrays), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.fast(1)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "int32", "float32"])
def test_totals_of_small_types_are_rounded_once(dtype: str) -> None:
    import ml_dtypes

    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x = ted.placeholder((N, 2), dtype, name="x")
    f = ted.compile([x], [ted.sum(x, axis=0), x + x])
    array = np.random.default_rng(0).integers(-3, 4, (1000, 2)) / (1 if "int" in dtype else 8)
    for n in (1, 5, 1000):
        given = array[:n].astype(kind)
        total, doubled = f(given)
        np.testing.assert_array_equal(total, given.astype("f8").sum(axis=0).astype(total.dtype))
        np.testing.assert_array_equal(doubled, (given + given).astype(kind))


def test_no_rows_leave_totals_at_their_start() -> None:
    n = ted.size("n", min=0)
    x = ted.placeholder((n, 2), "float64", name="x")
    f = ted.compile([x], [x * 2, ted.sum(x, axis=0), ted.sum(x) + 1])
    rows, total, more = f(np.zeros((0, 2)))
    assert rows.shape == (0, 2)
    np.testing.assert_array_equal(total, [0, 0])
    assert more == 1
    np.testing.assert_array_equal(f(np.ones((3, 2)))[1], [3, 3])


def test_an_index_out_of_range_names_tensor_and_value_from_any_strip() -> None:
    f = ted.compile(*_embedding())
    words = np.zeros((70, 2), "i8")
    words[66, 1] = 9
    with pytest.raises(ExecutionError, match=r"tensor table has extent 7 in dim 0, got index 9"):
        f(np.ones((7, 3)), words)
    words[66, 1] = 6
    assert f(np.ones((7, 3)), words)[0].shape == (70, 3)


def test_results_go_into_given_arrays_that_may_overlap_inputs() -> None:
    x = ted.placeholder((N, 2), "float64", name="x")
    f = ted.compile([x], [x + 1, ted.sum(x)])
    memory = np.arange(202.0).reshape(101, 2)
    expected = memory[:100] + 1
    total = np.zeros(())
    total_before = memory[:100].sum()
    found = f(memory[:100], out=[memory[1:], total])
    assert np.shares_memory(found[0], memory)
    np.testing.assert_array_equal(memory[1:], expected)
    assert total == total_before
    strided = np.zeros((100, 4))
    f(expected, out=[strided[:, ::2], None])
    np.testing.assert_array_equal(strided[:, ::2], expected + 1)


def test_inputs_of_other_layouts_are_converted() -> None:
    x = ted.placeholder((N, 2), "float64", name="x")
    f = ted.compile([x], x * 2)
    array = np.arange(60.0).reshape(2, 30).T
    np.testing.assert_array_equal(f(array), array * 2)
    with pytest.raises(ExecutionError, match="argument 'x': expected dtype float64, got float32"):
        f(array.astype("f4"))


def test_donated_rows_and_weights_are_taken_over() -> None:
    x = ted.placeholder((N, 2), "float64", name="x")
    w = ted.placeholder((2,), "float64", name="w")
    f = ted.compile([x, w], [x * w, w - ted.sum(x, axis=0)], donate=[x, w])
    rows, weights = np.arange(40.0).reshape(20, 2), np.ones(2)
    expected = rows * weights, weights - rows.sum(axis=0)
    found = f(rows, weights)
    assert found[0] is rows
    assert found[1] is weights
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_sizes_are_compiled_each_and_rows_are_not(compiled: list[Any]) -> None:
    m = ted.size("m", min=2)
    x = ted.placeholder((N, m), "float64", name="x")
    f = ted.compile([x], x[:, 1:] - x[:, :-1])
    for n, columns in ((16, 3), (32, 3), (48, 3), (16, 4)):
        array = np.random.default_rng(0).normal(size=(n, columns))
        np.testing.assert_array_equal(f(array), np.diff(array))
    assert len(compiled) == 2


def test_forward_and_backward_share_residuals_of_any_batch(compiled: list[Any]) -> None:
    x = ted.placeholder((N, 3), "float64", name="x")
    w = ted.placeholder((3, 2), "float64", name="w")
    both = ted.forward_backward(ted.tanh(x @ w), [x, w])
    for n in (4, 8, 12):
        arrays = [np.random.default_rng(n).normal(size=s) for s in ((n, 3), (3, 2))]
        (y,), saved = both.forward(*arrays)
        dx, dw = both.backward(saved, np.ones((n, 2)))
        slope = 1 - np.tanh(arrays[0] @ arrays[1]) ** 2
        np.testing.assert_allclose(y, np.tanh(arrays[0] @ arrays[1]), rtol=1e-12)
        np.testing.assert_allclose(dx, slope @ arrays[1].T, rtol=1e-12)
        np.testing.assert_allclose(dw, arrays[0].T @ slope, rtol=1e-12)
    assert len(compiled) == 2


def test_what_is_no_batch_is_compiled_for_each_size_and_says_why(compiled: list[Any]) -> None:
    x = ted.placeholder((N,), "float64", name="x")
    f = ted.compile([x], ted.flip(x))
    assert f.explain().startswith("compiled for each combination of sizes\nn is no batch: flip[n]")
    for n in (1, 2, 3):
        f(np.arange(1.0 * n))
    assert len(compiled) == 3


def test_a_gpu_is_compiled_for_each_size() -> None:
    x = ted.placeholder((N,), "float64", name="x")
    assert "for a GPU" in ted.compile([x], x + 1, target="cuda:sm_80").explain()


def test_strips_are_longer_where_rows_are_short() -> None:
    def lengths(*shape: int) -> tuple[int, ...]:
        x = ted.placeholder((N, *shape), name="x")
        f = ted.compile([x], ted.tanh(x))
        return f._rows.lengths

    assert lengths(10_000) == (1, 4, 16, 64)
    assert max(lengths(1)) > 1000
    assert row_functions.RATIO == 4


def _loss(params: Any, x: Any, labels: Any) -> Any:
    return nn.cross_entropy(ted.tanh(x @ params["w"]) + params["b"], labels)


def test_functions_with_a_batch_are_traced_and_compiled_once(compiled: list[Any]) -> None:
    step = ted.value_and_grad(_loss, batch=(1, 2))
    plain = ted.value_and_grad(_loss)
    params = {"w": np.linspace(-1, 1, 15).reshape(5, 3), "b": np.ones(3)}
    for n in (4, 8, 12, 16, 20):
        x, _, _, labels = _perceptron_arrays(n)
        before = len(compiled)
        value, gradients = step(params, x, labels)
        own = len(compiled) - before
        expected, slopes = plain(params, x, labels)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        for name in params:
            np.testing.assert_allclose(gradients[name], slopes[name], rtol=1e-11, atol=1e-14)
        assert own <= (2 if n == 4 else 1 if n == 16 else 0)


def test_what_is_made_of_a_function_with_a_batch_has_it_where_arguments_are_the_same() -> None:
    def total(x: Any) -> Any:
        return ted.sum(x * x)

    batched = ted.function(total, batch=0)
    assert ted.function(batched) is batched
    assert ted.function(batched, batch=()) is not batched
    assert ted.grad(batched).batch == (0,)
    assert "batch is a batch" in ted.grad(batched).compiled(np.ones((3, 2))).explain()
    primal, tangent = ted.jvp(batched, (np.ones(3),), (np.ones(3),))
    assert (primal, tangent) == (3, 6)


def test_arrays_of_a_batch_must_agree_and_may_be_empty() -> None:
    f = ted.function(lambda x, y: ted.sum(x * y), batch=(0, 1))
    with pytest.raises(ExecutionError, match="argument y: dim 0 must have extent batch = 3"):
        f(np.ones(3), np.ones(4))
    assert f(np.ones(0), np.ones(0)) == 0


def test_what_is_known_of_numbers_of_rows_is_bounded(
    compiled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_functions, "KEPT", 2)
    x = ted.placeholder((N,), "float64", name="x")
    f = ted.compile([x], x * 2)
    for n in (1, 2, 3, 1, 2, 3):
        np.testing.assert_array_equal(f(np.ones(n)), 2 * np.ones(n))
    assert len(f._known) == len(f._rows._bound) == 2
    assert len(compiled) == 1
