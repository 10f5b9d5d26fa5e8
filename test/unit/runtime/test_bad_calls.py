"""Calling compiled code wrongly: an ExecutionError says what is wrong, and nothing runs."""

from __future__ import annotations

import numpy as np
import pytest

from ted import _runtime
from ted.errors import CompileError, ExecutionError
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import BoundFunction, bind
from unit.runtime.programs import compile_text
from unit.runtime.test_calls import doubling

X = np.zeros((3, 4), np.float32)

COPIES = """
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  memref.copy %x, %z : memref<4xf32> to memref<4xf32>
  return
}"""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(12, np.float32), "expected rank 2 (shape (3, 4)), got rank 1 (shape (12,))"),
        (np.zeros((3, 4)), "expected dtype float32, got float64"),
        (np.zeros((3, 4), np.int32), "expected dtype float32, got int32"),
        (np.zeros((3, 4), np.complex64), "expected dtype float32, got complex64"),
        (np.zeros((4, 3), np.float32), "expected shape (3, 4), got (4, 3)"),
        (1.0, "expected rank 2 (shape (3, 4)), got the scalar 1.0"),
        ([[0.0] * 4] * 3, "expected an array, got list"),
        (None, "expected an array, got NoneType"),
        ("text", "expected an array, got str"),
        (object(), "expected an array of float32, got object"),
    ],
)
def test_a_wrong_argument_is_named(value: object, message: str) -> None:
    with pytest.raises(ExecutionError) as error:
        doubling("float32", (3, 4))(value)
    assert error.value.message == f"double: argument 'x': {message}"


@pytest.mark.parametrize(
    ("dtype", "scalar", "message"),
    [
        ("int32", 1.5, "expected dtype int32, got float 1.5"),
        ("bool", 1, "expected dtype bool, got int 1"),
        ("int8", 300, "int8 does not hold 300"),
    ],
)
def test_a_python_scalar_must_fit_the_type(dtype: str, scalar: float, message: str) -> None:
    with pytest.raises(ExecutionError) as error:
        doubling(dtype, ())(scalar)
    assert error.value.message == f"double: argument 'x': {message}"


def test_numpy_scalars_keep_their_type() -> None:
    with pytest.raises(ExecutionError, match="expected dtype float32, got float64"):
        doubling("float32", ())(np.float64(1))


def test_a_number_of_arguments_is_checked() -> None:
    with pytest.raises(ExecutionError, match=r"double: expected 1 arguments \(x\), got 2"):
        doubling("float32", (3, 4))(X, X)


def test_a_tensor_that_tracks_gradients_is_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ExecutionError, match=r"argument 'x'.*detach"):
        doubling("float32", (3, 4))(torch.zeros(3, 4, requires_grad=True))


def read_only() -> np.ndarray:
    array = X.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (read_only(), "double: out='y': expected an array to write, got one that is read-only"),
        (np.zeros((3, 4)), "double: out='y': expected dtype float32, got float64"),
        (np.zeros((4, 3), np.float32), "double: out='y': expected shape (3, 4), got (4, 3)"),
        (np.zeros(4, np.float32),
         "double: out='y': expected rank 2 (shape (3, 4)), got rank 1 (shape (4,))"),
        ((X, X), "double: out= expected 1 arrays (y), got 2"),
        (3, "double: out='y': expected an array to write, got int 3"),
    ],
)  # fmt: skip
def test_a_wrong_out_is_named(out: object, message: str) -> None:
    with pytest.raises(ExecutionError) as error:
        doubling("float32", (3, 4))(X, out=out)
    assert error.value.message == message


@pytest.mark.parametrize("number", [3.0, np.float64(3.0), np.float32(3.0), True, 1j])
def test_a_number_is_nowhere_to_write(number: object) -> None:
    kind = type(number).__name__
    with pytest.raises(ExecutionError) as error:
        doubling("float64", ())(1.0, out=number)
    assert error.value.message == (
        f"double: out='y': expected an array to write, got {kind} {number}"
    )


def test_an_argument_that_does_not_fit_is_named_before_out() -> None:
    with pytest.raises(ExecutionError, match="double: argument 'x': expected dtype float32"):
        doubling("float32", (3, 4))(np.zeros((3, 4)), out=np.zeros((3, 4)))


def test_outs_that_overlap_are_refused() -> None:
    specs = [ArgSpec(name, "float32", (4,)) for name in "xyz"]
    copies = bind(compile_text(COPIES), specs[:1], specs[1:])
    memory = np.zeros(9, np.float32)
    x = np.ones(4, np.float32)
    with pytest.raises(ExecutionError, match="main: out='y' and out='z' overlap in memory"):
        copies(x, out=(memory[:4], memory[3:7]))
    copies(x, out=(memory[0:8:2], memory[1:9:2]))
    assert memory.tolist() == [1] * 8 + [0]


def test_results_on_an_input_leave_no_memory_behind_where_there_is_too_little() -> None:
    specs = [ArgSpec(name, "float32", (4,)) for name in "xyz"]
    copies = bind(compile_text(COPIES), specs[:1], specs[1:])
    memory, held = np.arange(8, dtype=np.float32), _runtime.memory_current()
    _runtime.memory_set_limit(held + 31)  # there is room for one of the results
    try:
        with pytest.raises(ExecutionError, match="main: out of memory: cannot allocate 16 bytes"):
            copies(memory[2:6], out=(memory[:4], memory[4:]))
    finally:
        _runtime.memory_set_limit(0)
    assert _runtime.memory_current() == held
    assert memory.tolist() == list(range(8))
    copies(memory[2:6], out=(memory[:4], memory[4:]))
    assert memory.tolist() == [2, 3, 4, 5] * 2


def test_an_unknown_symbol_is_a_compile_error() -> None:
    with pytest.raises(CompileError, match="'nothing'"):
        bind(compile_text(COPIES), [], [], symbol="nothing")


@pytest.mark.parametrize("shape", [(2**60,), (2**62, 4), (2**40, 2**40, 2**40)])
def test_a_result_too_large_for_memory_is_an_error(shape: tuple[int, ...]) -> None:
    result = ArgSpec("y", "float32", shape)
    kernel = _runtime.Kernel(1, (result.kernel_spec(writable=True),))
    huge = BoundFunction(kernel, [], [result], "huge", {}, {})
    with pytest.raises(ExecutionError) as error:
        huge()
    assert error.value.message == (
        f"huge: out of memory: cannot allocate {result.nbytes} bytes of results"
    )


@pytest.mark.parametrize("shape", [(2**63,), (1,) * 33])
def test_a_shape_that_no_array_has_is_a_compile_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(CompileError, match="main: an argument cannot be an array"):
        bind(1, [ArgSpec("x", "float32", shape)], [])


@pytest.mark.parametrize(
    "arguments",
    [
        (0, ()), (1, [()]), (1, ((),)), (1, ((X.dtype, ("a",), False),)),
        (1, (("float32", (), False),)), (1, ((X.dtype, (1,) * 33, False),)),
    ],
)  # fmt: skip
def test_a_kernel_refuses_broken_specs(arguments: tuple) -> None:
    with pytest.raises((TypeError, ValueError)):
        _runtime.Kernel(*arguments)


def test_a_kernel_counts_its_arguments() -> None:
    kernel = doubling("float32", (3, 4))._kernel
    for arguments in ((), (X,), (X, X, X)):
        with pytest.raises(TypeError, match=f"a kernel of 2 arguments got {len(arguments)}"):
            kernel.fill(*arguments)
    assert kernel.fresh() is None
    assert kernel.fresh(X, X) is None
