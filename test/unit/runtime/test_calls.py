"""Calling compiled code with good arguments: every layout, every library, `out=`."""

from __future__ import annotations

import gc
import pickle

import ml_dtypes
import numpy as np
import pytest

from ted import _runtime
from ted.errors import ExecutionError
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import BoundFunction, bind
from unit.runtime.programs import elementwise

MLIR = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int8": "i8", "bool": "i1",
}  # fmt: skip


def doubling(dtype: str, shape: tuple[int, ...]) -> BoundFunction:
    """`double(x) = x + x` (exclusive or for bool)."""
    kind = MLIR[dtype]
    op = "arith.addf" if "f" in kind else "arith.addi"
    body = f"%b = {op} %a, %a : {kind}"
    if kind == "bf16":  # not every processor has arithmetic on it
        body = """
          %w = arith.extf %a : bf16 to f32
          %s = arith.addf %w, %w : f32
          %b = arith.truncf %s : f32 to bf16"""
    engine = elementwise(body, kind, kind, shape)
    x, y = ArgSpec("x", dtype, shape), ArgSpec("y", dtype, shape)
    return bind(engine, [x], [y], name="double", symbol="main")


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return (np.arange(np.prod(shape, dtype=int)) % 50).reshape(shape).astype(kind)


@pytest.mark.parametrize("dtype", MLIR)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4)])
def test_every_element_type_and_rank_passes(dtype: str, shape: tuple[int, ...]) -> None:
    x = values(dtype, shape)
    (y,) = doubling(dtype, shape)(x)
    assert y.dtype == x.dtype
    assert y.shape == shape
    np.testing.assert_array_equal(y, x ^ x if dtype == "bool" else x + x)


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x.T.copy().T,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1][::-1],
        lambda x: x.astype(">f4"),
        lambda x: np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape),
        lambda x: memoryview(x),
    ],
    ids=["fortran", "strided", "reversed twice", "big endian", "misaligned", "memoryview"],
)
def test_layout_of_an_input_does_not_matter(layout) -> None:
    x = values("float32", (3, 4))
    (y,) = doubling("float32", (3, 4))(layout(x))
    np.testing.assert_array_equal(y, x + x)


def test_broadcast_and_read_only_inputs_are_fine() -> None:
    x = np.broadcast_to(np.float32(3), (3, 4))
    assert not x.flags.writeable
    np.testing.assert_array_equal(doubling("float32", (3, 4))(x)[0], np.full((3, 4), 6))
    dense = values("float32", (3, 4))
    dense.flags.writeable = False
    np.testing.assert_array_equal(doubling("float32", (3, 4))(dense)[0], 2 * dense)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4)])
def test_empty_arrays_give_empty_results(shape: tuple[int, ...]) -> None:
    engine = elementwise("%b = arith.addf %a, %a : f32", "f32", "f32", (0,))
    function = bind(engine, [ArgSpec("x", "float32", shape)], [ArgSpec("y", "float32", shape)])
    (y,) = function(np.empty(shape, np.float32))
    assert y.shape == shape


@pytest.mark.parametrize(
    ("dtype", "scalar"),
    [
        ("float32", 1.5),
        ("float64", 2),
        ("bfloat16", 1),
        ("int8", 3),
        ("int64", True),
        ("bool", True),
    ],
)
def test_python_scalars_fit_rank_0(dtype: str, scalar: float) -> None:
    (y,) = doubling(dtype, ())(scalar)
    assert y.shape == ()
    assert y == (False if dtype == "bool" else 2 * scalar)


def test_results_are_aligned() -> None:
    double = doubling("float32", (5,))
    results = [double(values("float32", (5,)))[0] for _ in range(20)]
    assert {r.ctypes.data % 64 for r in results} == {0}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool"])
def test_torch_tensors_pass(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    (y,) = doubling(dtype, (3, 4))(x)
    expected = (x ^ x if dtype == "bool" else x + x).to(torch.float64).numpy()
    np.testing.assert_array_equal(y.astype(np.float64), expected)


def test_out_may_be_a_torch_tensor() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.ones(3, 4), torch.zeros(3, 4)
    assert doubling("float32", (3, 4))(x, out=y) == (y,)
    assert float(y.sum()) == 24


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_jax_arrays_pass(dtype: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    x = jnp.arange(12, dtype=dtype).reshape(3, 4)
    (y,) = doubling(dtype, (3, 4))(x)
    np.testing.assert_array_equal(y, np.asarray(x + x))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_out_is_filled_and_returned(dtype: str) -> None:
    x, y = values(dtype, (3, 4)), values(dtype, (3, 4))
    (returned,) = doubling(dtype, (3, 4))(x, out=(y,))
    assert returned is y
    np.testing.assert_array_equal(y, x + x)


def test_out_may_have_any_layout_and_byte_order() -> None:
    x = values("float32", (3, 4))
    for y in (np.zeros((4, 3), np.float32).T, np.zeros((3, 8), np.float32)[:, ::2]):
        doubling("float32", (3, 4))(x, out=y)
        np.testing.assert_array_equal(y, x + x)


def test_out_may_overlap_an_input() -> None:
    memory = np.arange(6, dtype=np.float32)
    x, y = memory[:5], memory[1:]
    expected = x + x
    doubling("float32", (5,))(x, out=y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", MLIR)
def test_arrays_that_fit_get_fresh_results_without_a_detour(dtype: str) -> None:
    x = values(dtype, (3, 4))
    for given in (x, pickle.loads(pickle.dumps(x))):  # whose dtype is another object
        results = doubling(dtype, (3, 4)).fresh(given)
        assert results is not None
        (y,) = results
        assert (type(y), y.dtype, y.shape) == (np.ndarray, x.dtype, x.shape)
        assert y.flags.c_contiguous
        assert y.flags.writeable
        np.testing.assert_array_equal(y, x ^ x if dtype == "bool" else x + x)


def test_types_of_equal_bits_are_equal() -> None:
    x = np.arange(5, dtype="q")  # C's long long, where int64 is long
    y = np.empty_like(x)
    np.testing.assert_array_equal(doubling("int64", (5,))(x)[0], 2 * x)
    doubling("int64", (5,))(x, out=y)
    np.testing.assert_array_equal(y, 2 * x)


class Derived(np.ndarray):
    """A subclass of arrays."""


@pytest.mark.parametrize(
    "given",
    [
        values("float32", (4, 3)).T,
        values("float32", (3, 8))[:, ::2],
        values("float64", (3, 4)),
        values("float32", (3, 4)).astype(">f4"),
        values("float32", (3, 5)),
        values("float32", (12,)),
        values("float32", (3, 4)).view(Derived),
        values("float32", (3, 4)).view(np.int32),
        memoryview(values("float32", (3, 4))),
        None,
        1.0,
    ],
    ids=[
        "order",
        "steps",
        "type",
        "bytes",
        "extent",
        "rank",
        "subclass",
        "kind",
        "buffer",
        "none",
        "number",
    ],
)
def test_what_takes_a_longer_look_gets_none(given: object) -> None:
    assert doubling("float32", (3, 4)).fresh(given) is None


def test_misaligned_arrays_take_a_longer_look() -> None:
    x = np.frombuffer(bytes(49), np.uint8)[1:].view(np.float32).reshape(3, 4)
    assert not x.flags.aligned
    assert doubling("float32", (3, 4)).fresh(x) is None


def test_fresh_results_are_counted_until_nobody_has_them() -> None:
    gc.collect()
    double, x = doubling("float64", (100,)), values("float64", (100,))
    before = _runtime.memory_current()
    results = double.fresh(x)
    assert results is not None
    part = results[0][3:5]
    assert _runtime.memory_current() == before + 800
    del results
    assert _runtime.memory_current() == before + 800
    del part
    assert _runtime.memory_current() == before


def test_fresh_results_keep_to_the_limit_of_memory() -> None:
    double, x = doubling("float64", (100,)), values("float64", (100,))
    before = _runtime.memory_current()
    _runtime.memory_set_limit(before + 799)
    try:
        assert double.fresh(x) is None
        with pytest.raises(ExecutionError, match="cannot allocate 800 bytes of results"):
            double(x)
    finally:
        _runtime.memory_set_limit(0)
    assert _runtime.memory_current() == before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_out_is_filled_where_it_lies(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    double, x = doubling(dtype, (3, 4)), values(dtype, (3, 4))
    plain, derived = np.zeros_like(x), np.zeros_like(x).view(Derived)
    tensor = torch.zeros(3, 4)
    for out in (plain, derived, *([tensor] if dtype == "float32" else [])):
        before = _runtime.memory_peak()
        assert double(x, out=out)[0] is out
        np.testing.assert_array_equal(np.asarray(out), x + x)
        assert _runtime.memory_peak() == before, "no results beside the target"


def test_a_kernel_computes_elsewhere_what_belongs_on_an_input() -> None:
    kernel, memory = doubling("float32", (5,))._kernel, np.arange(8, dtype=np.float32)
    held = _runtime.memory_current()
    for start in (0, 1, 3):
        x = memory[:5].copy()
        assert kernel.fill(memory[:5], memory[start : start + 5]) is None
        np.testing.assert_array_equal(memory[start : start + 5], x + x)
    assert kernel.refused(memory[:5], memory[3:]) == 1
    assert kernel.refused(memory[:5], np.zeros(5, np.float32)) is None
    assert _runtime.memory_current() == held


def test_what_is_computed_elsewhere_keeps_to_the_limit_of_memory() -> None:
    double, x = doubling("float32", (1000,)), np.ones(1000, np.float32)
    before = _runtime.memory_current()
    _runtime.memory_set_limit(before + 3999)
    try:
        with pytest.raises(ExecutionError, match="double: out of memory: cannot allocate 4000 byt"):
            double(x, out=x)
    finally:
        _runtime.memory_set_limit(0)
    assert _runtime.memory_current() == before
    np.testing.assert_array_equal(x, np.ones(1000))
