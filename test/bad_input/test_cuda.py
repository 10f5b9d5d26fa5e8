"""What a user can do wrong with CUDA: each has an error, and none ends the process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted.codegen.nvptx.ptx import kernel_names
from ted.codegen.nvptx.shared_memory import check_shared_memory
from ted.errors import CompileError, ExecutionError
from unit.runtime.python_machine import without_driver

X = ted.placeholder((8, 16), name="x")
ARRAY = np.arange(128, dtype=np.float32).reshape(8, 16)
UNSELECTABLE = """declare float @llvm.tanh.f32(float)
define ptx_kernel void @k(ptr %p) {
  %x = load float, ptr %p
  %y = call float @llvm.tanh.f32(float %x)
  store float %y, ptr %p
  ret void
}
"""


def unselectable(text: str) -> str:
    """The module of a kernel of the same name that LLVM ends its process on."""
    return UNSELECTABLE.replace("@k", f"@{kernel_names(text)[0]}")


@pytest.fixture(scope="module")
def double():
    return ted.compile([X], X * 2.0, name="double", target="cuda:sm_80")


class Slice:
    """A view into an array on the device, as cupy or numba would give it."""

    def __init__(self, array: ted.cuda.DeviceArray, offset: int = 0, **changes: object) -> None:
        whole = array.__cuda_array_interface__
        place = (array.pointer + offset, False)
        self.__cuda_array_interface__ = {**whole, "data": place, **changes}


def test_no_driver(double, monkeypatch) -> None:
    without_driver(monkeypatch)
    with pytest.raises(ExecutionError, match=r"^no CUDA driver: tried libcuda\.so\.\w+ .*save the"):
        double(ARRAY)


def test_a_program_for_a_newer_device() -> None:
    newer = ted.compile([X], X * 2.0, name="newer", target="cuda:sm_90a")
    with ted.testing.emulated_gpu("sm_80"):
        x = ted.cuda.asarray(ARRAY)
        with pytest.raises(
            ExecutionError,
            match=r"newer: wrong compute capability: compiled for sm_90a, but .* is sm_80; compile "
            "with target='cuda:sm_80' or target='cuda'",
        ):
            newer(x)


def test_a_program_for_an_older_device_runs(double) -> None:
    with ted.testing.emulated_gpu("sm_90"):
        np.testing.assert_array_equal(double(ted.cuda.asarray(ARRAY)).numpy(), 2 * ARRAY)


@pytest.mark.parametrize("chip", ["sm_33", "sm_90b", "gfx942", "90"])
def test_an_unknown_chip(chip: str) -> None:
    with pytest.raises(CompileError, match=rf"compile: a chip is one of sm_75, .* got '{chip}'"):
        ted.compile([X], X * 2.0, target=f"cuda:{chip}")


def test_a_number_of_a_device_is_no_chip() -> None:
    with pytest.raises(CompileError, match="got '0'; arrays say on which device a program runs"):
        ted.compile([X], X * 2.0, target="cuda:0")


def test_too_much_shared_memory(double) -> None:
    (kernel,) = double.manifest.kernels
    large = replace(kernel, dynamic_shared_bytes=200_000)
    with pytest.raises(
        CompileError,
        match="double: too much shared memory: a block of sm_80 has at most 166912 bytes, kernel "
        f"{kernel.name} needs 200000",
    ):
        check_shared_memory(replace(double.manifest, kernels=(large,)))


@pytest.mark.parametrize("move", [np.asarray, list, lambda a: None], ids=["numpy", "list", "none"])
def test_an_array_of_the_host(double, move) -> None:
    with (
        ted.testing.emulated_gpu("sm_80"),
        pytest.raises(
            ExecutionError,
            match=r"double: argument 'x': a cuda function takes arrays on the device, got .* on "
            r"the host; move it with ted\.cuda\.asarray\(x\)",
        ),
    ):
        double(move(ARRAY))


def test_an_array_that_is_not_contiguous(double) -> None:
    with ted.testing.emulated_gpu("sm_80"):
        x = ted.cuda.asarray(np.zeros((16, 8), np.float32))
        transposed = Slice(x, shape=(8, 16), strides=(4, 32))
        with pytest.raises(ExecutionError, match="argument 'x': expected a contiguous row-major"):
            double(transposed)


def test_an_array_that_is_not_aligned(double) -> None:
    with ted.testing.emulated_gpu("sm_80"):
        x = ted.cuda.asarray(np.zeros(256, np.float32))
        shifted = Slice(x, 4, shape=(8, 16))
        with pytest.raises(ExecutionError, match="an address that is a multiple of 16, got 0x"):
            double(shifted)
        with pytest.raises(ExecutionError, match=r"out='.*': expected an address"):
            double(ted.cuda.asarray(ARRAY), out=shifted)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, np.float32), r"expected rank 2 \(shape \(8, 16\)\), got rank 1"),
        (np.zeros((8, 16)), "expected dtype float32, got float64"),
        (np.zeros((16, 8), np.float32), r"expected shape \(8, 16\), got \(16, 8\)"),
    ],
    ids=["rank", "dtype", "shape"],
)
def test_an_array_of_another_signature(double, array: np.ndarray, message: str) -> None:
    with ted.testing.emulated_gpu("sm_80"):
        moved = ted.cuda.asarray(array)
        with pytest.raises(ExecutionError, match=f"double: argument 'x': {message}"):
            double(moved)


def test_sizes_past_2_to_the_31() -> None:
    x = ted.placeholder((2**16, 2**15), name="x")
    with pytest.raises(CompileError, match=r"at most 2\^31 - 1 elements, got x\[65536, 32768\]"):
        ted.compile([x], x * 2.0, target="cuda:sm_80")
    a = ted.placeholder((2**16,), name="a")
    outer = ted.compute((2**16, 2**15), lambda i, j: a[i] * a[j], name="outer")
    with pytest.raises(CompileError, match=r"got outer\[65536, 32768\] .*test_cuda\.py:\d+\)$"):
        ted.compile([a], ted.sum(outer), target="cuda:sm_80")


def test_a_code_generator_that_dies(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TED_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with monkeypatch.context() as broken:
        compile_here(broken)
        broken.setattr("ted.codegen.nvptx.ptx.rewrite_literals", unselectable)
        with pytest.raises(CompileError, match="Cannot select"):
            ted.compile([X], X * 2.0, target="cuda:sm_80")
    assert ".entry" in ted.compile([X], X * 2.0, target="cuda:sm_80").ptx
