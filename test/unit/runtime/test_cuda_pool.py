"""Sizes that memory is allocated in, what is given back, and numbers of the driver's header."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

from ted.runtime import dlpack
from ted.runtime.cuda import prototypes
from ted.runtime.cuda.pool import SMALLEST, MemoryPool, size_class
from ted.testing.emulated_driver import EmulatedDriver
from unit.runtime.python_machine import device

MIB = 1 << 20
# A size, and what is allocated for it: eight classes above each power of two, from 8 * 512 on.
CLASSES = [
    (0, 512), (1, 512), (512, 512), (513, 1024), (4096, 4096), (4097, 4608), (8192, 8192),
    (8193, 9216), (9216, 9216), (9217, 10240), (MIB, MIB), (MIB + 1, MIB + MIB // 8),
    (33 * MIB, 36 * MIB),
    (64 * MIB, 64 * MIB), (64 * MIB + 1, 66 * MIB), (1000 * MIB + 1, 1002 * MIB),
]  # fmt: skip


@pytest.mark.parametrize(("size", "allocated"), CLASSES)
def test_sizes_have_classes(size: int, allocated: int) -> None:
    assert size_class(size) == allocated


def test_classes_hold_their_sizes_and_waste_an_eighth_at_most() -> None:
    for size in (*range(1, 1 << 15, 37), *(1 << k for k in range(31)), *(5**k for k in range(13))):
        found = size_class(size)
        assert size <= found == size_class(found)
        assert found % SMALLEST == 0
        assert found - size < max(SMALLEST, size / 8, (size > 64 * MIB) * 2 * MIB)


class Counting:
    """A driver that knows memory only, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def cuMemAlloc_v2(self, out: Any, size: int) -> None:
        """Count, and give some address."""
        self.asked.append("allocate")
        out._obj.value = 4096 * len(self.asked)

    def cuMemFree_v2(self, address: int) -> None:
        """Count."""
        self.asked.append("free")

    def cuCtxSynchronize(self) -> None:
        """Count."""
        self.asked.append("wait")


def test_memory_goes_back_to_the_driver_once_the_device_is_done() -> None:
    driver = Counting()
    pool = MemoryPool(driver)
    pool.trim()
    assert driver.asked == []  # nothing is free: nobody waits
    one, other = pool.allocate(600, 0), pool.allocate(600, 0)
    assert (pool.usage.used, pool.usage.held, pool.usage.peak) == (2048, 2048, 2048)
    one.free()
    assert pool.allocate(1000, 0) is one
    one.free()
    pool.trim()
    assert driver.asked == ["allocate", "allocate", "wait", "free"]
    other.free()
    assert (pool.usage.used, pool.usage.held, pool.usage.peak) == (0, 1024, 2048)


# ------------------------------------------------------------------ the driver's header


def test_functions_take_as_many_arguments_as_the_emulated_driver() -> None:
    with device() as (library, _):
        for name, kinds in prototypes.PROTOTYPES.items():
            function = getattr(EmulatedDriver, name, None)
            if function is not None:
                taken = inspect.signature(inspect.unwrap(function)).parameters
                variable = any(p.kind is p.VAR_POSITIONAL for p in taken.values())
                assert variable or len(taken) - 1 == len(kinds), name
        del library


def test_types_of_tensor_maps_are_those_of_the_header() -> None:
    # CUtensorMapDataType, in its order.
    names = ("uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32",
             "float64", "bfloat16")  # fmt: skip
    bits = {"int8": 0, "bool": 0, "int16": 1}  # read as what has as many
    wanted = {**{name: k for k, name in enumerate(names)}, **bits}
    assert wanted == prototypes.TENSOR_MAP_TYPES
    assert list(prototypes.TENSOR_MAP_SWIZZLES.items()) == [
        ("none", 0), ("32B", 1), ("64B", 2), ("128B", 3),
    ]  # fmt: skip


def test_devices_of_dlpack_are_those_of_its_header() -> None:
    known = torch.utils.dlpack.DLDeviceType
    assert known.kDLCPU == dlpack.CPU
    assert known.kDLCUDA == dlpack.CUDA
    assert known.kDLCUDAHost == dlpack.CUDA_HOST
    assert known.kDLCUDAManaged == dlpack.CUDA_MANAGED
