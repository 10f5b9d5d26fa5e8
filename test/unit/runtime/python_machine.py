"""A device whose kernels are Python functions, and programs made of them, to test the runtime."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ted.codegen.manifest import (
    ERRORS,
    ArraySpec,
    Buffer,
    Check,
    Constant,
    Copy,
    Kernel,
    Launch,
    Linear,
    Loop,
    Manifest,
    Pointer,
    Scalar,
)
from ted.runtime.cuda import driver
from ted.runtime.cuda.contexts import Context, context_of
from ted.runtime.cuda.driver import using
from ted.testing.emulated_driver import EmulatedDriver

BASE = 0x7F00_0000_0000
SIZES = {"pointer": 8, "i64": 8, "f64": 8, "i32": 4, "f32": 4, "tensormap": 128}
PTX = ".version 8.3\n.target sm_90\n"


class PythonMachine:
    """Memory with bounds, and kernels `fn(machine, *arguments)` with numbers as arguments."""

    def __init__(self, kernels: dict[str, tuple[Sequence[str], Callable[..., None]]]) -> None:
        self.kernels = kernels
        self.memory: dict[int, bytearray] = {}
        self.next = BASE
        self.fixed_shared = 0
        self.maps: list[tuple[Any, ...]] = []

    def allocate(self, size: int) -> int:
        """New memory, full of a pattern."""
        address, self.next = self.next, self.next + (size // 4096 + 2) * 4096
        self.memory[address] = bytearray(b"\xcd" * size)
        return address

    def free(self, address: int) -> None:
        """Forget memory."""
        del self.memory[address]

    def find(self, address: int, size: int) -> tuple[bytearray, int]:
        """The allocation that holds a range, and where in it."""
        for start, data in self.memory.items():
            if start <= address and address + size <= start + len(data):
                return data, address - start
        raise IndexError(f"{size} bytes at {address:#x} are in no allocation")

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the device."""
        data, offset = self.find(address, size)
        return bytes(data[offset : offset + size])

    def write(self, address: int, data: bytes) -> None:
        """Put bytes on the device."""
        memory, offset = self.find(address, len(data))
        memory[offset : offset + len(data)] = data

    def copy(self, target: int, source: int, size: int) -> None:
        """Move bytes."""
        self.write(target, self.read(source, size))

    def tensor_map(self, *fields: Any) -> bytes:
        """The address, which is all that kernels here use."""
        self.maps.append(fields)
        return fields[0].to_bytes(8, "little").ljust(128, b"\0")

    def array(self, address: int, count: int, dtype: Any = np.float32) -> np.ndarray:
        """Elements of the device, to read and write."""
        memory, offset = self.find(address, count * np.dtype(dtype).itemsize)
        return np.frombuffer(memory, dtype, count, offset)

    def load(self, ptx: str) -> str:
        """Any text is a module, but bad ones."""
        if "bad" in ptx:
            raise ValueError("ptxas fatal: syntax error near 'bad'")
        return ptx

    def kernel(self, module: str, name: str) -> tuple[list[int], int]:
        """Sizes of a kernel's parameters, and its shared memory."""
        return [SIZES[kind] for kind in self.kernels[name][0]], self.fixed_shared

    def launch(self, module, name, grid, block, shared, arguments) -> None:
        """Call the kernel's function."""
        kinds, function = self.kernels[name]
        formats = {"pointer": "<Q", "i64": "<q", "i32": "<i", "f32": "<f", "f64": "<d"}
        pairs = zip(kinds, arguments, strict=True)
        function(self, *(struct.unpack(formats[k], a)[0] if k in formats else a for k, a in pairs))


def _scale(machine: PythonMachine, source: int, target: int, count: int, factor: float) -> None:
    machine.array(target, count)[:] = machine.array(source, count) * np.float32(factor)


def _pick(machine: PythonMachine, table: int, place: int, target: int, errors: int) -> None:
    """target[0] = table[place[0]] of four; the error flag when there is no such element."""
    (index,) = machine.array(place, 1, np.int64)
    flag = machine.array(errors, 4, np.int64)
    if 0 <= index < 4:
        machine.array(target, 1)[:] = machine.array(table, 4)[index]
    elif flag[0] == 0:
        flag[:2] = 1, index


def _raise(machine: PythonMachine, source: int) -> None:
    raise ZeroDivisionError("the kernel divides by zero")


KERNELS = {
    "scale": (("pointer", "pointer", "i64", "f32"), _scale),
    "pick": (("pointer", "pointer", "pointer", "pointer"), _pick),
    "fault": (("pointer",), _raise),
}
ONE = (1, 1, 1)


def scale(source: Pointer, target: Pointer, count: int, factor: float) -> Launch:
    numbers = (Scalar("i64", Linear(count)), Scalar("f32", factor))
    return Launch("scale", (source, target, *numbers))


def kernel(name: str, shared: int = 0) -> Kernel:
    return Kernel(name, (2, 1, 1), (32, 1, 1), tuple(KERNELS[name][0]), shared)


def program(**changes: Any) -> Manifest:
    """y = 6 x on 8 elements, through a buffer."""
    given: dict[str, Any] = {
        "name": "main",
        "target": "sm_90",
        "ptx": PTX,
        "inputs": (ArraySpec("x", (2, 4), "float32"),),
        "outputs": (ArraySpec("y", (2, 4), "float32"),),
        "kernels": (kernel("scale"),),
        "buffers": (Buffer("half", 32, 256),),
        "steps": (
            scale(Pointer(("input", 0)), Pointer(("buffer", 0)), 8, 2.0),
            scale(Pointer(("buffer", 0)), Pointer(("output", 0)), 8, 3.0),
        ),
    }
    return Manifest(**{**given, **changes})


def picking() -> Manifest:
    """y = table[n], table of four constants."""
    return program(
        inputs=(ArraySpec("n", (), "int64"),),
        outputs=(ArraySpec("y", (), "float32"),),
        kernels=(kernel("pick"),),
        buffers=(),
        constants=(
            Constant("unused", b"\1" * 3),
            Constant("table", np.arange(1, 5, dtype=np.float32).tobytes()),
        ),
        checks=(Check("table", 0, 4),),
        steps=(
            Launch(
                "pick",
                (
                    Pointer(("constant", 1)),
                    Pointer(("input", 0)),
                    Pointer(("output", 0)),
                    Pointer(ERRORS),
                ),
            ),
        ),
    )


def powers() -> Manifest:
    """y[0] = x, y[t] = t y[t - 1] row by row, then the rows in reverse order into z."""
    row = lambda var, start: Linear(start, ((var, 16),))  # noqa: E731
    return program(
        inputs=(ArraySpec("x", (4,), "float32"),),
        outputs=(ArraySpec("y", (4, 4), "float32"), ArraySpec("z", (4, 4), "float32")),
        buffers=(),
        kernels=(Kernel("scale", ONE, ONE, ("pointer", "pointer", "i64", "f32")),),
        steps=(
            Copy(Pointer(("output", 0)), Pointer(("input", 0)), 16),
            Loop(
                "t",
                1,
                4,
                1,
                (
                    Launch(
                        "scale",
                        (
                            Pointer(("output", 0), row("t", -16)),
                            Pointer(("output", 0), row("t", 0)),
                            Scalar("i64", Linear(4)),
                            Scalar("f32", Linear(0, (("t", 1),))),
                        ),
                    ),
                ),
            ),
            Loop(
                "u",
                3,
                -1,
                -1,
                (
                    Copy(
                        Pointer(("output", 1), Linear(48, (("u", -16),))),
                        Pointer(("output", 0), row("u", 0)),
                        16,
                    ),
                ),
            ),
        ),
    )


@contextmanager
def device(**options: Any) -> Iterator[tuple[EmulatedDriver, Context]]:
    """Within the block there is an emulated device with the kernels of this file."""
    library = EmulatedDriver(PythonMachine(dict(KERNELS)), **options)
    with using(library):
        yield library, context_of()


def without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the end of the test there is no driver, whatever the machine has."""
    monkeypatch.setattr(driver, "_opened", [])
    monkeypatch.setattr(driver, "LIBRARIES", ("libcuda.so.absent",))
