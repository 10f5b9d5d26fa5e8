"""Tensor maps are encoded when addresses change, and for each turn of a loop that moves them."""

from __future__ import annotations

import numpy as np

from ted.codegen.manifest import (
    ArraySpec,
    Kernel,
    Launch,
    Linear,
    Loop,
    Manifest,
    Pointer,
    TensorMap,
)
from ted.runtime.cuda.arguments import device_array
from ted.runtime.cuda.contexts import context_of
from ted.runtime.cuda.driver import using
from ted.runtime.cuda.programs import Program
from ted.testing.emulated_driver import EmulatedDriver
from unit.runtime.python_machine import KERNELS, PythonMachine, program

X = np.arange(64, dtype=np.float32).reshape(4, 16)


def _first(machine: PythonMachine, tile: bytes, target: int) -> None:
    """target[0] = the element at the map's address."""
    address = int.from_bytes(tile[:8], "little")
    machine.array(target, 1)[:] = machine.array(address, 1)


def tiles(offset: Linear) -> TensorMap:
    pointer = Pointer(("input", 0), offset)
    return TensorMap(pointer, "float32", (16, 4), (64,), (8, 2), (1, 1), "32B")


def manifest(*steps: object) -> Manifest:
    return program(
        inputs=(ArraySpec("x", (4, 16), "float32"),),
        outputs=(ArraySpec("y", (4,), "float32"),),
        kernels=(Kernel("first", (1, 1, 1), (1, 1, 1), ("tensormap", "pointer")),),
        buffers=(),
        steps=steps,
    )


def run(program: Program, array: np.ndarray) -> np.ndarray:
    (y,) = program(device_array(array, context=program.context))
    return y.numpy()


def test_maps_follow_addresses_and_loops() -> None:
    kernels = {**KERNELS, "first": (("tensormap", "pointer"), _first)}
    machine = PythonMachine(kernels)
    rows = Loop(
        "t", 0, 3, 1,
        (
            Launch(
                "first",
                (
                    tiles(Linear(64, (("t", 64),))),
                    Pointer(("output", 0), Linear(4, (("t", 4),))),
                ),
            ),
        ),
    )  # fmt: skip
    once = Launch("first", (tiles(Linear(0)), Pointer(("output", 0))))
    with using(EmulatedDriver(machine)):
        f = Program(manifest(once, rows), context_of())
        x = device_array(X, context=f.context)
        for _ in range(2):
            np.testing.assert_array_equal(f(x)[0].numpy(), X[:, 0])
        assert len(machine.maps) == 1 + 2 * 3, "the fixed one is encoded once"
        address, *rest = machine.maps[0]
        assert address == x.pointer
        assert rest == [4, (16, 4), (64,), (8, 2), (1, 1), 1]
        np.testing.assert_array_equal(run(f, 2 * X), 2 * X[:, 0])
