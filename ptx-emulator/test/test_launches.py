"""Launches and devices: arguments, shapes and memory that do not fit are errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptx_emulator import Device, launch
from ptx_emulator.errors import LaunchError, UnknownInstruction
from ptx_kernels import entry

TEXT = entry("st.global.u32 [%y], %t;", "y")


def go(
    text: str = TEXT, grid: Any = (1,), block: Any = (1,), args: Any = None, **options: Any
) -> None:
    device = Device()
    y = device.put(np.zeros(4), "y")
    launch(text, grid, block, [y] if args is None else args, device=device, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": (0,)}, "a grid within"), ({"block": (1025,)}, "a block within"),
        ({"block": (64, 64)}, "a block that the kernel"), ({"grid": (1, 70000)}, "a grid within"),
        ({"args": []}, "1 arguments, got 0"), ({"args": [np.float32(1)]}, "argument 0 of 8 bytes"),
        ({"order": "backwards"}, "an order of"), ({"dynamic_shared": 300000}, "shared memory"),
    ],
)  # fmt: skip
def test_what_a_device_would_refuse_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        go(**changes)


def test_blocks_are_those_that_a_kernel_was_compiled_for() -> None:
    with pytest.raises(LaunchError, match=r"at most 64 threads"):
        go(TEXT.replace("\n{", "\n.maxntid 64\n{", 1), block=(128,))
    with pytest.raises(LaunchError, match=r"reqntid|\(64, 1, 1\)"):
        go(TEXT.replace("\n{", "\n.reqntid 64, 1, 1\n{", 1), block=(32,))
    with pytest.raises(LaunchError, match="static"):
        go(entry("st.global.u32 [%y], %t;", "y", ".shared .align 4 .b8 s[50000];"))


def test_a_kernel_is_named_where_there_are_several() -> None:
    two = TEXT + TEXT[TEXT.index(".visible") :].replace("k(", "other(").replace("k_y", "other_y")
    with pytest.raises(LaunchError, match="a kernel's name"):
        go(two)
    go(two, name="other")
    with pytest.raises(UnknownInstruction, match="a kernel of the module"):
        go(two, name="third")


def test_memory_is_read_as_it_was_written() -> None:
    device = Device()
    arena = device.allocate(64, "arena")
    first = device.allocate(32, "first", inside=arena)
    second = device.allocate(32, "second", inside=arena, offset=32)
    device.fill(second, np.arange(4.0))
    assert device.get(second, (2, 2), np.float64).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(LaunchError, match=r"element of first is written, got none at index \[0\]"):
        device.get(first, (4,), np.float64)
    with pytest.raises(LaunchError, match="lies in arena"):
        device.allocate(40, "third", inside=arena, offset=32)
    with pytest.raises(LaunchError, match="holds 32 bytes"):
        device.fill(first, np.arange(5.0))
    with pytest.raises(LaunchError, match="holds 32 bytes"):
        device.get(first, (5,), np.float64)
    assert abs(second.address - first.address) > 2**39
