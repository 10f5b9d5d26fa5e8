"""Drivers and devices: what is missing, too old, too small or of another kind is said so."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from ted.errors import ExecutionError
from ted.runtime.cuda import driver as drivers
from ted.runtime.cuda.arguments import device_array
from ted.runtime.cuda.arrays import empty
from ted.runtime.cuda.contexts import Context, context_of
from ted.runtime.cuda.driver import Driver
from ted.runtime.cuda.pool import MemoryPool, size_class
from ted.runtime.cuda.programs import Program
from ted.testing.emulated_driver import EmulatedDriver
from unit.runtime.python_machine import KERNELS, PythonMachine, device, kernel, program


def test_without_a_driver_the_error_says_what_was_tried_and_the_way_out() -> None:
    with pytest.raises(ExecutionError) as error:
        drivers._load(["libcuda-of-nobody.so.1", "libcuda-of-nobody.so"])
    text = str(error.value)
    assert text.startswith("no CUDA driver: tried libcuda-of-nobody.so.1 (")
    assert "libcuda-of-nobody.so (" in text
    assert "target='cuda:sm_80'" in text


def test_a_library_without_a_device_is_no_driver() -> None:
    class Without(EmulatedDriver):
        def cuInit(self, flags: int) -> int:
            """No device."""
            return 100

    with pytest.raises(ExecutionError, match=r"no CUDA driver: .* cuInit says no device"):
        Driver(Without(PythonMachine({})))


def test_ted_starts_and_says_whether_there_is_a_gpu_without_loading_anything() -> None:
    program = (
        "import sys, ted\nassert 'ctypes' not in sys.modules\n"
        "assert ted.cuda.is_available() in (True, False)\n"
        "assert not {'torch', 'cupy', 'jax', 'torch_mlir'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))


def test_a_driver_without_a_function_is_too_old() -> None:
    class Old(EmulatedDriver):
        cuGraphLaunch = None  # pyright: ignore[reportAssignmentType]

    with pytest.raises(ExecutionError, match="this driver has no cuGraphLaunch; install a newer"):
        Driver(Old(PythonMachine({}))).cuGraphLaunch(0, 0)


def test_a_number_of_a_device_that_is_not_there_is_refused() -> None:
    with device(), pytest.raises(ExecutionError, match="there are 1 devices, got number 3"):
        context_of(3)


@pytest.mark.parametrize(
    ("target", "capability", "fits"),
    [
        ("sm_80", (8, 0), True),
        ("sm_80", (9, 0), True),
        ("sm_90", (8, 0), False),
        ("sm_90a", (9, 0), True),
        ("sm_90a", (10, 0), False),
        ("sm_100f", (10, 3), True),
        ("sm_100f", (12, 0), False),
        ("sm_120", (10, 0), False),
    ],
)
def test_programs_run_on_devices_that_have_what_they_were_compiled_for(
    target: str, capability: tuple[int, int], fits: bool
) -> None:
    with device(capability=capability) as (_, context):
        assert context.capability == capability
        if fits:
            Program(program(target=target))
            return
        number = 10 * capability[0] + capability[1]
        with pytest.raises(
            ExecutionError,
            match=f"main: wrong compute capability: compiled for {target}, but emulated device is "
            f"sm_{number}; compile with target='cuda:sm_{number}'",
        ):
            Program(program(target=target))


def test_the_chip_of_a_device_has_the_extensions_of_hopper() -> None:
    for capability, chip in (((8, 6), "sm_86"), ((9, 0), "sm_90a"), ((12, 0), "sm_120")):
        with device(capability=capability) as (_, context):
            assert context.chip == chip


@pytest.mark.parametrize("code", [222, 209])
def test_a_driver_that_is_older_than_the_ptx_is_named(code: int) -> None:
    class Old(EmulatedDriver):
        def cuModuleLoadDataEx(self, *_: object) -> int:
            """Too old."""
            return code

    context = Context(Driver(Old(PythonMachine(dict(KERNELS)))), 0)
    with pytest.raises(
        ExecutionError, match=r"the driver \(CUDA 13.0\) does not take PTX 8.3 for sm_90; install a"
    ):
        Program(program(), context)


def test_too_much_shared_memory_for_the_device_is_refused() -> None:
    with device(shared_bytes=101376) as (library, _):
        library.machine.fixed_shared = 1024
        fits = program(kernels=(kernel("scale", 100352),))
        Program(fits)
        with pytest.raises(
            ExecutionError,
            match="too much shared memory: a block on emulated device has at most 101376 bytes, "
            "kernel scale needs 102376",
        ):
            Program(program(kernels=(kernel("scale", 101352),)))


def test_more_shared_memory_than_a_kernel_has_by_default_is_asked_for() -> None:
    with device() as (_, context):
        x = device_array(np.ones((2, 4), np.float32), context=context)
        (y,) = Program(program(kernels=(kernel("scale", 200_000),)))(x)
        assert y.numpy()[0, 0] == 6


def test_the_current_context_of_the_caller_stays() -> None:
    with device() as (library, context):
        f = Program(program())
        x = device_array(np.ones((2, 4), np.float32), context=context)
        assert library.current == [context.handle], "where there was none, ours stays"
        library.cuCtxPushCurrent_v2(0xABC)  # somebody else's
        f(x)[0].numpy()
        assert library.current == [context.handle, 0xABC]


def test_memory_is_given_back_to_the_driver_when_it_runs_out() -> None:
    with device(memory_bytes=8 << 20) as (library, context), context:
        arrays = [empty(1 << 18, "float32", context=context) for _ in range(7)]
        del arrays
        assert context.memory.usage.held == 7 << 20
        big = empty((3 << 20) // 2, "float32", context=context)
        assert (context.memory.usage.held, len(library.allocated)) == (6 << 20, 1)
        with pytest.raises(
            ExecutionError,
            match="out of memory: cannot allocate 4194304 bytes, 6291456 bytes are in use",
        ):
            empty(1 << 20, "float32", context=context)
        assert big.nbytes == 6 << 20


def test_a_block_is_used_again_on_its_own_stream_only() -> None:
    with device() as (_, context), context:
        pool = MemoryPool(context.driver)
        first = pool.allocate(1000, 0)
        first.free()
        assert pool.allocate(1020, 7).pointer != first.pointer
        assert pool.allocate(1020, 0).pointer == first.pointer


def test_memory_is_of_a_context_that_is_current() -> None:
    with device() as (_, context), pytest.raises(ExecutionError, match="INVALID_CONTEXT"):
        context.memory.allocate(512, 0)


def test_a_block_that_other_streams_used_waits_for_them() -> None:
    with device() as (library, context):
        stream = context.new_stream()
        block = context.memory.allocate(512, 0)
        block.users.add(stream)
        library.log.clear()
        block.free()
        assert [entry[0] for entry in library.log] == ["record", "wait"]
        assert library.log[1][1:3] == (0, stream)


def test_size_classes_waste_little_and_stay_aligned() -> None:
    for size in (0, 1, 512, 513, 4097, 10_000, 123_456, 5 << 20, (64 << 20) + 1, 3 << 30):
        found = size_class(size)
        assert found % 512 == 0
        assert size <= found <= max(512, size * 9 // 8 + 512, size + (2 << 20) * (size > 64 << 20))
        assert size_class(found) == found
