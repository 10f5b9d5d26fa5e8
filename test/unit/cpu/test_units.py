"""Units of work: the same bits for any number of threads, the numbers of one loop."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept
from ted.api.compiling import compile_system
from ted.api.host import host_cpu
from ted.api.options import compile_options
from ted.errors import ExecutionError

Arrays = list[np.ndarray]
RNG = np.random.default_rng(7)


def _floats(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def _gradient(fn: Callable[..., Any], count: int) -> Callable[..., Any]:
    return ted.value_and_grad(lambda *xs: ted.sum(fn(*xs) ** 2), argnums=tuple(range(count)))


def _layers(x: Any, w: Any, v: Any) -> Any:
    def step(h: Any, a: Any) -> Any:
        return (ted.tanh(ted.tanh(h @ w + a) @ v + a),) * 2

    return ted.scan(step, ted.zeros((40, 40), "float32"), x)[1]


def _steps(x: Any, w: Any) -> Any:
    return ted.scan(lambda h, a: (ted.tanh(h @ w + a),) * 2, ted.zeros((17, 9), "float32"), x)[1]


def _rows() -> Any:
    """Fifty, of results that are larger than a second cache."""
    return ted.arange(50) * 7 % 5 * 900


PROGRAMS: dict[str, tuple[Callable[..., Any], Arrays]] = {
    "map": (lambda x: ted.exp(x) * 2 + ted.arange(67), [_floats(33, 67)]),
    "line": (lambda x: ted.sin(x), [_floats(1000)]),
    "turned": (lambda x: x.T * 2, [_floats(70, 45)]),
    "product": (lambda a, b: a @ b, [_floats(37, 21), _floats(21, 130)]),
    "batched product": (lambda a, b: a @ b, [_floats(5, 37, 21), _floats(5, 21, 33)]),
    "long product": (lambda a, b: a.T @ b, [_floats(4000, 3), _floats(4000, 5)]),
    "window": (lambda x, w: ted.nn.conv2d(x, w, padding=1),
               [_floats(3, 9, 9, 4), _floats(3, 3, 4, 20)]),
    "pieces": (_gradient(lambda x: x[1:-1, 1:-1] * x[2:, 1:-1] - x[1:-1, 2:], 1),
               [_floats(45, 67)]),
    "pad": (lambda x: ted.pad(x, ((1, 1), (2, 0))), [_floats(45, 67)]),
    "sum": (lambda x: ted.sum(x * x), [_floats(45, 67)]),
    "greatest": (lambda x: (ted.max(x), ted.argmax(x), ted.prod(x[:9, :9])), [_floats(45, 67)]),
    "rows": (lambda x: ted.sum(x, axis=1), [_floats(45, 67)]),
    "columns": (lambda x: ted.sum(x, axis=0), [_floats(450, 67)]),
    "few columns": (lambda x: ted.sum(x, axis=0), [_floats(4500, 3)]),
    "softmax": (_gradient(ted.nn.softmax, 1), [_floats(45, 67)]),
    "norm": (_gradient(ted.nn.layer_norm, 3), [_floats(450, 17), _floats(17), _floats(17)]),
    "attention": (_gradient(lambda q, k, v: ted.nn.attention(q, k, v, causal=True), 3),
                  [_floats(2, 33, 8), _floats(2, 33, 8), _floats(2, 33, 8)]),
    "running sums": (lambda x: (ted.cumsum(x, 0), ted.cumsum(x, 1)), [_floats(45, 67)]),
    "triangle": (lambda x: ted.tril(x) @ x, [_floats(40, 40)]),
    "blocks of steps": (lambda a: ted.cholesky(a + 99 * ted.eye(130, dtype="float32")),
                        [_floats(130, 130)]),
    "steps": (_gradient(_steps, 2), [_floats(6, 17, 9), _floats(9, 9)]),
    "layers of steps": (_layers, [_floats(3, 40, 40), _floats(40, 40), _floats(40, 40)]),
    "rows at data": (lambda x, v: ted.index_add(x, 0, _rows(), v),
                     [_floats(6000, 200), _floats(50, 200)]),
    "sums of segments": (lambda v: ted.scatter((9000, 128), [_rows()], v, "add"),
                         [_floats(50, 128)]),
    "embedding": (_gradient(lambda t: ted.take(t, ted.arange(50) * 7 % 33, axis=0), 1),
                  [_floats(33, 70)]),
    "halves": (lambda x: ted.sum(ted.cast(x, "bfloat16") * 3, axis=0), [_floats(100, 9)]),
    "whole numbers": (lambda x: ted.sum(ted.cast(x * 100, "int64"), axis=0), [_floats(1000, 3)]),
}  # fmt: skip


FAST = ("map", "long product", "window", "sum", "columns", "norm", "layers of steps", "embedding",
        "rows at data", "sums of segments")  # fmt: skip


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = ted.get_num_threads()
    yield
    ted.set_num_threads(before)


def compiled(fn: Callable[..., Any], arrays: Arrays, grain: int = 1) -> Any:
    options = replace(compile_options(), machine=host_cpu().with_grain(grain))
    return compile_system(ted.function(fn).trace(*arrays).system(), options=options)


@pytest.mark.fast(1)
@swept("name", PROGRAMS, fast=FAST)
def test_bits_are_the_same_for_any_number_of_threads(name: str) -> None:
    fn, arrays = PROGRAMS[name]
    run = compiled(fn, arrays)
    assert "ted.units" in run.ir("loops"), "there are units to share"
    ted.set_num_threads(1)
    expected = run(*arrays)
    for count in (2, 3, 8):
        ted.set_num_threads(count)
        for _ in range(3):
            for one, other in zip(expected, run(*arrays), strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.fast(1)
@swept("name", PROGRAMS, fast=FAST)
def test_units_compute_what_one_loop_computes(name: str) -> None:
    fn, arrays = PROGRAMS[name]
    whole = compiled(fn, arrays, 1 << 40)
    assert "ted.units" not in whole.ir("loops")
    for one, other in zip(whole(*arrays), compiled(fn, arrays)(*arrays), strict=True):
        scale = np.abs(one.astype(float)).max()
        np.testing.assert_allclose(
            other.astype(float), one.astype(float), rtol=0, atol=2e-5 * scale
        )


def test_the_first_bad_index_is_the_same_for_any_number_of_threads() -> None:
    table, places = _floats(33, 5), np.arange(900) % 33
    places[[401, 402, 800]] = [77, 78, 79]
    run = compiled(lambda t, i: ted.take(t, i, axis=0), [table, places])
    for count in (1, 2, 8):
        ted.set_num_threads(count)
        for _ in range(20):
            with pytest.raises(ExecutionError, match="extent 33 in dim 0, got index 77"):
                run(table, places)


@pytest.mark.parametrize("shape", [(6272, 128), (1000, 200), (2100, 80)])
def test_units_of_a_transposition_are_whole_tiles(shape: tuple[int, ...]) -> None:
    x = ted.placeholder(shape, "float32", name="x")
    y = ted.transpose(x, (len(shape) - 1, *range(len(shape) - 1)))
    loops = ted.compile([x], y, target="cpu:avx512").ir("loops")
    assert "ted.units" in loops
    size = int(re.findall(r"arith.muli %arg0, %c(\d+)", loops)[0])
    assert size % 16 == 0
    assert "vector.shuffle" in loops


def test_threads_share_the_copy_and_the_fill_of_a_pad() -> None:
    fn, arrays = PROGRAMS["pad"]
    assert compiled(fn, arrays).ir("loops").count("ted.units") == 2


def test_explain_says_what_threads_share() -> None:
    x = ted.placeholder((2048, 512), "float32", name="x")
    text = ted.compile([x], ted.exp(x)).explain()
    assert "exp, linalg.generic" in text
    assert "slices, loop = 0, size = " in text
    small = ted.placeholder((4, 4), "float32", name="x")
    assert (
        "not slices: it takes less than two units of 60000 cycles"
        in ted.compile([small], ted.exp(small)).explain()
    )


def test_a_unit_has_rows_enough_for_the_panel_that_it_packs() -> None:
    # Gathered lanes: 960 points are worth it, of 18 rows; 56 units of one row were made before.
    x = ted.placeholder((1, 64, 58, 58), "float32", name="x")
    w = ted.placeholder((64, 64, 3, 3), "float32", name="w")
    y = ted.nn.conv2d(x, w, layout="NCHW")
    text = ted.compile([x, w], y, target="cpu:avx512").explain()
    assert re.search(r"conv2d, linalg.generic \(.*\): slices, loop = 1, size = 18", text)
    packed = re.search(r"register_tiles, .*pack_b = (\w+)", text)
    assert packed is not None
    assert packed[1] == "gather"


def test_threads_share_rows_of_a_result_that_is_written_row_after_row() -> None:
    a = ted.placeholder((2000, 17), "float32", name="a")
    b = ted.placeholder((17, 2000), "float32", name="b")
    text = ted.compile([a, b], a @ b, target="cpu:avx512").explain()
    assert re.search(r"matmul, linalg.generic \(.*\): slices, loop = 0, size = ", text)


def test_what_declines_a_map_does_not_speak_of_loops() -> None:
    text = ted.compile([x := ted.placeholder((3,), name="x")], [ted.sin(x)]).explain()
    assert "not iterations: it is no loop yet, but an operation, which slices and partial" in text
    assert "apart" not in text
