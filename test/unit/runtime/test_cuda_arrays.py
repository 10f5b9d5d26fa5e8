"""Arrays of other libraries go into CUDA programs, and their results into other libraries."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ted
from ted.codegen.manifest import ArraySpec
from ted.errors import ExecutionError
from ted.runtime import dlpack
from ted.runtime.cuda.arguments import copy, device_array, on_device, view_of
from ted.runtime.cuda.arrays import DeviceArray, empty
from ted.runtime.cuda.graphs import capture
from ted.runtime.cuda.programs import Program
from ted.runtime.cuda.streams import Stream, stream_handle
from unit.runtime.python_machine import device, picking, program

X = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def gpu():
    with device() as found:
        yield found


@pytest.fixture
def exported():
    """What this test has handed out and not got back."""
    gc.collect()
    before = set(dlpack._exported)
    return lambda: set(dlpack._exported) - before


class Interface:
    """An array that has the CUDA array interface and nothing else."""

    def __init__(self, array: DeviceArray, **changes: object) -> None:
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


class Pack:
    """An array that has DLPack and nothing else; it remembers what it was asked."""

    def __init__(self, array: DeviceArray, versions: bool) -> None:
        self.array, self.versions, self.asked = array, versions, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: object) -> object:
        if not self.versions and "max_version" in options:
            raise TypeError("unexpected keyword 'max_version'")
        self.asked.append(options)
        return self.array.__dlpack__(**options)


def test_an_array_with_the_cuda_array_interface_is_an_argument(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    np.testing.assert_array_equal(f(Interface(x))[0].numpy(), 6 * X)
    dense = Interface(x, strides=(16, 4))
    np.testing.assert_array_equal(f(dense)[0].numpy(), 6 * X)


def test_the_stream_of_the_interface_is_waited_for(gpu) -> None:
    f, stream, here = Program(program()), Stream(), Stream()
    with stream:
        (y,) = f(device_array(X, context=gpu[1]))
    (z,) = f(Interface(y), stream=here)
    gpu[0].cuStreamSynchronize(here.handle)
    np.testing.assert_array_equal(gpu[0].machine.array(z.pointer, 8), 36 * X.ravel())


@pytest.mark.parametrize("versions", [True, False], ids=["versioned", "legacy"])
def test_an_array_with_dlpack_is_an_argument(gpu, versions: bool) -> None:
    f, stream = Program(program()), Stream()
    pack = Pack(device_array(X, context=gpu[1]), versions)
    np.testing.assert_array_equal(f(pack)[0].numpy(), 6 * X)
    f(pack, stream=stream)
    assert [asked["stream"] for asked in pack.asked] == [1, stream.handle]
    assert ("max_version" in pack.asked[0]) == versions


def test_dlpack_goes_before_the_interface_which_stands_in_for_it(gpu) -> None:
    x = device_array(X, context=gpu[1])
    both = Pack(x, True)
    both.__cuda_array_interface__ = x.__cuda_array_interface__
    f = Program(program())
    np.testing.assert_array_equal(f(both)[0].numpy(), 6 * X)
    assert len(both.asked) == 1
    both.array = SimpleNamespace(__dlpack_device__=x.__dlpack_device__, __dlpack__=refuse)
    np.testing.assert_array_equal(f(both)[0].numpy(), 6 * X)
    del both.__cuda_array_interface__
    with pytest.raises(ExecutionError, match=r"argument 'x': .*Pack gives no DLPack: not today"):
        f(both)


def test_a_producer_is_not_ordered_before_what_is_recorded(gpu) -> None:
    f, pack = Program(program()), Pack(device_array(X, context=gpu[1]), True)
    with capture() as graph:
        (y,) = f(pack)
    assert [asked["stream"] for asked in pack.asked] == [-1]
    graph.replay()
    np.testing.assert_array_equal(y.numpy(), 6 * X)


def refuse(**_: object) -> None:
    raise BufferError("not today")


def test_an_imported_array_is_kept_until_its_work_is_done(gpu, exported) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    (y,) = f(Pack(x, True))
    pointer = x.pointer
    del x
    gc.collect()
    assert exported(), "the producer's memory was released before the kernel ran"
    assert device_array(X + 1, context=gpu[1]).pointer != pointer
    np.testing.assert_array_equal(y.numpy(), 6 * X)
    gpu[1].synchronize()
    gc.collect()
    assert not exported()


def test_a_torch_tensor_is_read_by_its_attributes_on_torchs_stream(gpu, monkeypatch) -> None:
    x, stream = device_array(X, context=gpu[1]), Stream()

    class Tensor:
        is_cuda, dtype, shape, device = True, "f32", (2, 4), SimpleNamespace(index=0)
        data_ptr = staticmethod(lambda: x.pointer)
        is_contiguous = staticmethod(lambda: True)
        get_device = staticmethod(lambda: 0)

    current = SimpleNamespace(current_stream=lambda _: SimpleNamespace(cuda_stream=stream.handle))
    fake = SimpleNamespace(Tensor=Tensor, float32="f32", cuda=current)
    monkeypatch.setitem(sys.modules, "torch", fake)
    ted.runtime.cuda.arguments.torch_type.cache_clear()
    try:
        (y,) = Program(program())(Tensor())
    finally:
        ted.runtime.cuda.arguments.torch_type.cache_clear()
    assert y.stream == stream.handle
    np.testing.assert_array_equal(y.numpy(), 6 * X)


def test_a_result_goes_out_by_the_cuda_array_interface(gpu) -> None:
    (y,) = Program(program())(device_array(X, context=gpu[1]))
    found = y.__cuda_array_interface__
    assert found == {
        "shape": (2, 4), "typestr": "<f4", "data": (y.pointer, False), "strides": None,
        "stream": 1, "version": 3,
    }  # fmt: skip


def test_a_result_goes_out_by_dlpack_and_comes_back(gpu, exported) -> None:
    y = device_array(X, context=gpu[1])
    for versions in ({}, {"max_version": (1, 0)}):
        found = dlpack.from_capsule(y.__dlpack__(**versions))
        assert (found.pointer, found.shape, found.strides) == (y.pointer, (2, 4), (4, 1))
        assert (found.dtype, found.device) == ("float32", (dlpack.CUDA, 0))
        assert len(exported()) == 1
        del found
        assert not exported()


def test_a_capsule_that_nobody_takes_returns_the_array(gpu, exported) -> None:
    capsule = device_array(X, context=gpu[1]).__dlpack__()
    assert gpu[1].memory.usage.used == 512
    del capsule
    gc.collect()
    assert gpu[1].memory.usage.used == 0
    assert not exported()


def test_a_capsule_is_taken_once(gpu) -> None:
    capsule = device_array(X, context=gpu[1]).__dlpack__()
    dlpack.from_capsule(capsule)
    with pytest.raises(ExecutionError, match="a capsule that is not used"):
        dlpack.from_capsule(capsule)


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32,
     torch.int8, torch.bool],
)  # fmt: skip
def test_every_element_type_of_torch_is_understood(dtype: torch.dtype) -> None:
    found = dlpack.from_capsule(torch.zeros(3, 5, dtype=dtype).T.__dlpack__())
    assert (found.shape, found.strides) == ((5, 3), (1, 5))
    assert found.dtype == str(dtype).removeprefix("torch.")
    assert found.device == (dlpack.CPU, 0)


def test_torch_reads_our_capsules(exported) -> None:
    memory = torch.arange(6, dtype=torch.float32)
    for versioned in (False, True):
        capsule = dlpack.to_capsule(memory.data_ptr(), (2, 3), "float32", 0, memory, versioned)
        name = b"dltensor_versioned" if versioned else b"dltensor"
        managed = dlpack._STRUCTS[name].from_address(dlpack._capsule_pointer(capsule, name))
        managed.tensor.device.type = dlpack.CPU  # the one device that torch has here
        tensor = torch.from_dlpack(capsule)
        assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert tensor.data_ptr() == memory.data_ptr()
        del tensor, managed, capsule
        gc.collect()
        assert not exported()


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (X, "numpy.ndarray"),
        (torch.zeros(2, 4), "torch.Tensor"),
        ([1.0], "list"),
        (None, "NoneType"),
        (np.float32(1), "numpy.float32"),
    ],
)
def test_host_arrays_are_refused_with_the_way_out(gpu, array: object, name: str) -> None:
    f = Program(program(name="step"))
    message = (
        f"step: argument 'x': a cuda function takes arrays on the device, got {name} on the host; "
        r"move it with ted.cuda.asarray\(x\)"
    )
    with pytest.raises(ExecutionError, match=message):
        f(array)


def test_jax_arrays_of_the_host_are_refused(gpu) -> None:
    jax = pytest.importorskip("jax.numpy")
    with pytest.raises(ExecutionError, match=r"takes arrays on the device, got jax.*on the host"):
        Program(program())(jax.zeros((2, 4)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": (8,)}, r"argument 'x': expected rank 2 \(shape \(2, 4\)\), got rank 1"),
        ({"shape": (4, 2)}, r"argument 'x': expected shape \(2, 4\), got \(4, 2\)"),
        ({"typestr": "<f8"}, "argument 'x': expected dtype float32, got float64"),
        ({"typestr": "<c8"}, "argument 'x': expected one of .*, got typestr <c8"),
        ({"strides": (4, 8)}, "argument 'x': expected a contiguous row-major array"),
        ({"strides": (32, 4)}, r"copy it \(torch: x.contiguous\(\)"),
        ({"mask": 1}, "argument 'x': expected an array without a mask"),
        ({"data": (0, False)}, "argument 'x': expected memory of the device, got a null pointer"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(gpu, changes: dict, message: str) -> None:
    x = device_array(X, context=gpu[1])
    with pytest.raises(ExecutionError, match=message):
        Program(program())(Interface(x, **changes))


@pytest.mark.parametrize("part", ["shape", "typestr", "data"])
def test_an_interface_that_lacks_something_is_refused(gpu, part: str) -> None:
    x = Interface(device_array(X, context=gpu[1]))
    del x.__cuda_array_interface__[part]
    with pytest.raises(ExecutionError, match=rf"__cuda_array_interface__ .* none of its {part} "):
        Program(program())(x)


@pytest.mark.parametrize("kind", [BufferError, TypeError, ValueError, RuntimeError])
def test_whatever_a_producer_raises_is_an_error_with_its_words(gpu, kind: type) -> None:
    def refuse(**_: object) -> None:
        raise kind("not today")

    x = device_array(X, context=gpu[1])
    pack = Pack(x, True)
    pack.array = SimpleNamespace(__dlpack_device__=x.__dlpack_device__, __dlpack__=refuse)
    with pytest.raises(ExecutionError, match=r"argument 'x': .*Pack gives no DLPack: not today"):
        Program(program())(pack)


def test_strides_of_a_capsule_are_looked_at(gpu, monkeypatch) -> None:
    x = device_array(X, context=gpu[1])
    made = dlpack.from_capsule
    monkeypatch.setattr(dlpack, "from_capsule", lambda c: replace(made(c), strides=(1, 2)))
    with pytest.raises(ExecutionError, match="argument 'x': expected a contiguous row-major array"):
        Program(program())(Pack(x, True))


def test_read_only_arrays_take_no_result(gpu, monkeypatch) -> None:
    x, y = (device_array(X, context=gpu[1]) for _ in range(2))
    run, message = Program(program()), "out='.*': expected an array to write, got one that is read"
    with pytest.raises(ExecutionError, match=message):
        run(x, out=Interface(y, data=(y.pointer, True)))
    made = dlpack.to_capsule

    def read_only(*arguments: object, versioned: bool) -> object:
        capsule = made(*arguments, versioned=versioned)
        (managed, *_) = [*dlpack._exported.values()][-1]
        managed.flags = dlpack.READ_ONLY
        return capsule

    monkeypatch.setattr(dlpack, "to_capsule", read_only)
    with pytest.raises(ExecutionError, match=message):
        run(x, out=Pack(y, versions=True))
    run(Pack(x, versions=True), out=y)


def test_misaligned_arrays_are_refused(gpu) -> None:
    x = device_array(np.zeros(16, np.float32), context=gpu[1])
    slice_of_x = Interface(x, shape=(2, 4), data=(x.pointer + 4, False))
    with pytest.raises(ExecutionError, match=r"'x': expected an address that is a multiple of 16"):
        Program(program())(slice_of_x)


def test_scalars_need_the_alignment_of_their_type_only(gpu) -> None:
    n = device_array(np.array([9, 2]), context=gpu[1])
    second = Interface(n, shape=(), data=(n.pointer + 8, False))
    assert Program(picking())(second)[0].numpy() == 3.0


def test_arrays_of_another_device_are_refused() -> None:
    with device(devices=2):
        there = ted.runtime.cuda.contexts.context_of(1)
        with pytest.raises(ExecutionError, match="expected an array on cuda:0, got cuda:1"):
            Program(program())(device_array(X, context=there))


def test_moving_to_the_device_and_back_keeps_every_type(gpu) -> None:
    import ml_dtypes

    for dtype in ("f8", "f4", "f2", ml_dtypes.bfloat16, "i8", "i4", "i1", "?"):
        array = np.array([[0, 1, 1], [1, 0, 1]], dtype)
        moved = device_array(array, context=gpu[1])
        assert moved.numpy().dtype == array.dtype
        np.testing.assert_array_equal(moved.numpy(), array)
    assert device_array(np.float64(2.5), context=gpu[1]).numpy() == 2.5
    np.testing.assert_array_equal(device_array(X.T, context=gpu[1]).numpy(), X.T)
    with pytest.raises(ExecutionError, match=r"an element type of .* got complex64"):
        device_array(np.zeros(3, np.complex64), context=gpu[1])


def test_an_array_of_the_device_is_not_copied(gpu) -> None:
    x = device_array(X, context=gpu[1])
    assert device_array(x, context=gpu[1]) is x
    assert device_array(Interface(x), context=gpu[1]).pointer == x.pointer
    assert device_array(Pack(x, True), context=gpu[1]).pointer == x.pointer
    assert on_device(Pack(x, True))
    assert not on_device(X)


def test_copying_into_an_array(gpu) -> None:
    x = device_array(X, context=gpu[1])
    copy(x, 2 * X)
    np.testing.assert_array_equal(x.numpy(), 2 * X)
    copy(x, device_array(3 * X, context=gpu[1]), Stream())
    np.testing.assert_array_equal(x.numpy(), 3 * X)
    gpu[0].log.clear()
    copy(x, x)
    none = device_array(X[:0], context=gpu[1])
    copy(none, device_array(X[:0], context=gpu[1]))
    assert [entry for entry in gpu[0].log if entry[0] == "DtoD"] == []  # nothing to do
    with pytest.raises(ExecutionError, match="copies an array to one like it"):
        copy(x, X[0])


def test_an_array_of_the_device_is_no_numpy_array(gpu) -> None:
    x = device_array(X, context=gpu[1])
    with pytest.raises(TypeError, match=r"\.numpy\(\) copies it"):
        np.asarray(x)
    with pytest.raises(BufferError, match="shares memory"):
        x.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="is on"):
        x.__dlpack__(dl_device=(1, 0))
    half = empty(3, "bfloat16", context=gpu[1])
    assert not hasattr(half, "__cuda_array_interface__")
    assert view_of(half, "x", 0).element_type == "bfloat16"


def test_streams_of_every_library_are_understood(gpu) -> None:
    stream = Stream()
    handle = stream.handle
    assert [stream_handle(s) for s in (0, 1, 5, stream)] == [0, 0, 5, handle]
    assert stream_handle(SimpleNamespace(cuda_stream=7)) == 7
    assert stream_handle(SimpleNamespace(ptr=8)) == 8
    with pytest.raises(ExecutionError, match="a stream is a handle or a stream of torch"):
        stream_handle("fast")
    del stream
    assert Stream().handle == handle  # the driver's stream is used again


def test_numbers_round_to_the_argument(gpu) -> None:
    import ml_dtypes

    spec = ArraySpec("x", (), "bfloat16")
    for value in (1.0, 3.14159, -0.0, 1e-40, float("inf"), float("nan"), 3, True):
        with gpu[1]:
            made = ted.runtime.cuda.arguments.number(value, spec, "f", gpu[1], 0)
        expected = np.asarray(value, ml_dtypes.bfloat16)
        assert made.numpy().tobytes() == expected.tobytes(), value
