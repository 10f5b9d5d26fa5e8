"""Arrays of others go in as they are shared, results come out as a library wants them.

There is no CuPy here, and no GPU: objects stand for theirs that carry the interface.
"""

from __future__ import annotations

import array
import ctypes
import operator
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import ted
from ted.errors import ExecutionError, FrontendError

A = np.arange(6.0).reshape(2, 3)
READ_ONLY = A.copy()
READ_ONLY.flags.writeable = False
BF16 = np.dtype(ml_dtypes.bfloat16)

twice = ted.function(lambda x: x + x)
x = ted.placeholder((2, 3), "float64", name="x")
compiled = ted.compile([x], [x + x])


class Interface:
    """Who has nothing but `__array_interface__`."""

    def __init__(self, given: np.ndarray, **changes: Any) -> None:
        self._owner = given
        self.__array_interface__ = {**given.__array_interface__, **changes}


class DLPack:
    """Who has nothing but DLPack, such as an array of CuPy on the host."""

    def __init__(self, given: Any, device: tuple[int, int] | None = None) -> None:
        self._given = given
        self._device = device
        self.asked: dict[str, Any] = {}

    def __dlpack__(self, **asked: Any) -> Any:
        self.asked = asked
        return self._given.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device or self._given.__dlpack_device__()


class OldDLPack(DLPack):
    """As libraries wrote it before DLPack had versions."""

    def __dlpack__(self, stream: Any = None) -> Any:
        return self._given.__dlpack__()


class Copies:
    """Who gives another copy each time."""

    shape, dtype = (2, 3), np.dtype("float64")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return A.copy()


T = torch.tensor(A)
SHARED = {
    "memoryview": memoryview(A),
    "read-only memoryview": memoryview(READ_ONLY),
    "memoryview backwards": memoryview(A)[::-1],
    "memoryview of other bytes": memoryview(A.astype(">f8")),
    "interface": Interface(A),
    "read-only interface": Interface(READ_ONLY),
    "strided interface": Interface(A[:, ::-1]),
    "DLPack": DLPack(T),
    "older DLPack": OldDLPack(T),
    "strided DLPack": DLPack(torch.tensor(A.T.copy()).T),
    "DLPack of numpy": DLPack(A),
    "pinned": DLPack(T, (3, 0)),
}


@pytest.mark.parametrize("name", SHARED)
def test_shared_memory_is_an_array(name: str) -> None:
    given = SHARED[name]
    wanted = np.asarray(memoryview(A)[::-1]) if "backwards" in name else A
    wanted = A[:, ::-1] if name == "strided interface" else wanted
    np.testing.assert_array_equal(twice(given), 2 * wanted)
    np.testing.assert_array_equal(compiled(given)[0], 2 * wanted)


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (array.array("d", [1, 2]), "float64"), (array.array("h", [1, 2]), "int16"),
        (bytearray(b"\1\2"), "uint8"), (memoryview(b"\1\2"), "uint8"),
        ((ctypes.c_float * 2)(1, 2), "float32"),
        (memoryview(np.float16([1, 2])), "float16"),
        (DLPack(torch.tensor([1, 2], dtype=torch.bfloat16)), "bfloat16"),
        (DLPack(torch.tensor([1, 2], dtype=torch.uint8)), "uint8"),
    ],
)  # fmt: skip
def test_element_types_are_those_of_the_memory(given: Any, dtype: str) -> None:
    result = twice(given)
    assert (result.dtype.name, result.tolist()) == (dtype, [2, 4])


def test_truth_values_empty_arrays_and_scalars_come_by_dlpack() -> None:
    assert ted.function(lambda x: ~x)(DLPack(torch.tensor([True, False]))).tolist() == [False, True]
    assert twice(DLPack(torch.zeros(0, 3))).shape == (0, 3)
    assert twice(DLPack(torch.tensor(1.5))) == 3
    assert twice(ctypes.c_double(1.5)) == 3


def test_new_libraries_are_asked_for_versions_and_memory_is_given_back() -> None:
    given = DLPack(A)
    before = sys.getrefcount(A)
    twice(given)
    assert given.asked == {"max_version": (1, 0)}
    assert sys.getrefcount(A) == before


def test_shared_memory_may_lie_in_nests_and_be_differentiated() -> None:
    def loss(params: Any, scale: Any) -> Any:
        return ted.sum(params["w"] * scale)

    (found,) = ted.grad(loss)({"w": memoryview(A)}, scale=DLPack(T)).values()
    np.testing.assert_array_equal(found, A)
    assert ted.function(lambda x, k: x * k)(array.array("d", [1, 2]), 3).tolist() == [3, 6]


def test_texts_and_bytes_are_constants() -> None:
    f = ted.function(lambda x, how: x if how == b"same" else -x)
    assert (f(A, b"same") == A).all()


def gpu_only() -> Any:
    interface = {"shape": (2,), "typestr": "<f4", "data": (1, False), "version": 3}
    return type("Gpu", (), {"__cuda_array_interface__": interface})()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (DLPack(T, (2, 0)), r"host, got DLPack device \(2, 0\)"),
        (gpu_only(), "host, got memory of a GPU"),
        (DLPack(torch.zeros(2, dtype=torch.float8_e4m3fn)), r"got DLPack type \(10, 8\)"),
        (DLPack(torch.zeros(2, dtype=torch.complex64)), r"got DLPack type \(5, 64\)"),
        (Interface(A, typestr="zz"), "zz"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), r"write x.filled\(value\)"),
        (torch.ones(2, requires_grad=True), r"requires grad; write x.detach\(\)"),
        (torch.ones(2).to_sparse(), r"does not convert to a numpy array: .*to_dense\(\)"),
        (torch.ones(2, dtype=torch.bfloat16, requires_grad=True), "requires grad"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(given: Any, said: str) -> None:
    for f in (twice, ted.compile([v := ted.placeholder((2,), name="x")], [v + v])):
        with pytest.raises(ExecutionError, match=rf"main: argument 'x'.*{said}"):
            f(given)


def test_results_fill_shared_memory() -> None:
    for make in (lambda a: memoryview(a), lambda a: DLPack(a), lambda a: Interface(a)):
        target = np.zeros((2, 3))
        compiled(A, out=make(target))
        np.testing.assert_array_equal(target, 2 * A)
    target = bytearray(48)
    with pytest.raises(ExecutionError, match=r"expected rank 2 \(shape \(2, 3\)\), got rank 1"):
        compiled(A, out=target)


@pytest.mark.parametrize(
    ("target", "said"),
    [(Interface(READ_ONLY), "read-only"), (memoryview(READ_ONLY), "read-only"),
     (Copies(), "Copies, which gives copies")],
)  # fmt: skip
def test_a_target_that_nobody_would_see_written_is_refused(target: Any, said: str) -> None:
    with pytest.raises(ExecutionError, match=f"expected an array to write, got .*{said}"):
        compiled(A[:, ::-1], out=target)


# ---------------------------------------------------------------- like=


class Library:
    """What CuPy is to results: a module with `from_dlpack`."""

    def __init__(self) -> None:
        self.devices: list[Any] = []

    def from_dlpack(self, given: Any) -> tuple[Any, ...]:
        """What it is asked to take."""
        self.devices.append(given.__dlpack_device__())
        return "array of", given


def test_results_are_tensors_of_torch_on_the_same_memory() -> None:
    f = ted.function(lambda x: {"double": x + x, "none": None}, like=torch)
    for _ in range(3):  # traced, looked up, and the short way
        result = f(T)["double"]
        assert isinstance(result, torch.Tensor)
        assert torch.equal(result, 2 * T)
        assert result.data_ptr() % 64 == 0


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float16", "bool", "uint16", "int8", "complex64", "float32"]
)
def test_results_of_every_type_go_to_torch(dtype: str) -> None:
    kind = getattr(torch, dtype)
    f = ted.function(lambda x: ted.stack([x, x]), like=torch)
    given = torch.tensor([1, 0, 1]).to(kind)
    assert torch.equal(f(given), torch.stack([given, given]))


def test_results_are_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax")
    f = ted.function(ted.grad(lambda x: ted.sum(x * x)), like=jax.numpy)
    result = f(jax.numpy.arange(3, dtype="bfloat16"))
    assert isinstance(result, jax.Array)
    assert (result.dtype, result.tolist()) == (BF16, [0, 2, 4])


def test_any_library_with_from_dlpack_gets_results() -> None:
    library = Library()
    kind, given = ted.function(lambda x: x + x, like=library)(A)
    assert (kind, library.devices) == ("array of", [(1, 0)])
    np.testing.assert_array_equal(np.from_dlpack(given), 2 * A)
    np.testing.assert_array_equal(torch.from_dlpack(given), 2 * A)
    assert type(ted.function(lambda x: x + x, like=np)(T)) is np.ndarray


def test_results_on_a_gpu_go_to_a_library_as_they_are() -> None:
    library = Library()
    with ted.testing.emulated_gpu():
        f = ted.function(lambda x: x + x, "cuda", like=library)
        kind, given = f(ted.cuda.asarray(np.float32([1, 2])))
        assert (kind, library.devices) == ("array of", [(2, 0)])
        assert ted.cuda.asarray(given).numpy().tolist() == [2, 4]


def test_like_stays_with_a_function_and_is_no_part_of_programs() -> None:
    f = ted.function(lambda x: x + x, like=torch)
    assert ted.function(f) is f
    assert ted.function(f, like=np) is not f
    assert isinstance(ted.function(lambda x: f(x) * 2)(A), np.ndarray)
    with pytest.raises(FrontendError, match="like is a library that has from_dlpack"):
        ted.function(lambda x: x, like="torch")


@pytest.mark.parametrize(
    ("function", "way"),
    [
        (torch.sin, "torch.sin: .*; it is ted.sin"), (torch.mm, "torch.mm: .*; write ted.matmul"),
        (torch.nn.functional.relu, "torch.relu: .*; it is ted.relu"),
    ],
)  # fmt: skip
def test_functions_of_torch_name_those_of_ted(function: Any, way: str) -> None:
    with pytest.raises(FrontendError, match=way):
        function(x, x) if function is torch.mm else function(x)


@pytest.mark.parametrize("name", ["mul", "sub", "truediv", "pow", "matmul", "lt", "eq"])
def test_operators_of_torch_beside_tensors_are_those_of_ted(name: str) -> None:
    word, a = getattr(operator, name), np.array([1.0, 2.0, 3.0])
    found = ted.function(lambda y: word(torch.tensor(a), y))(a + 1)
    np.testing.assert_allclose(found, word(a, a + 1))
