"""A whole CUDA program on the interpreter: the steps of a manifest, launch by launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ted.codegen import manifest as program
from ted.errors import ExecutionError
from ted.testing.emulator import (
    SWIZZLES,
    Allocation,
    Array,
    Device,
    Statistics,
    TensorMap,
    errors_of_ted,
    launch,
    parse,
)

_SCALARS: dict[str, Any] = {
    "i64": np.int64, "i32": np.int32, "f64": np.float64, "f32": np.float32,
}  # fmt: skip


def dtype_of(name: str) -> np.dtype[Any]:
    """The numpy type of a manifest's element type."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@dataclass(frozen=True)
class Settings:
    """How launches run: see `launch`."""

    order: str = "lockstep"
    late_async: bool = True
    seed: int = 0
    check_races: bool = True
    budget: int = 5_000_000


def run_manifest(
    manifest: program.Manifest,
    arrays: Sequence[Array],
    *,
    order: str = "lockstep",
    late_async: bool = True,
    seed: int = 0,
    check_races: bool = True,
    donate: bool = True,
    statistics: dict[str, Statistics] | None = None,
) -> list[Array]:
    """Run a program on arrays of its exact types; the results are new arrays.

    `donate` gives results the memory of the inputs that are donated to them.  `statistics` receives
    what each kernel executed.

    Raises: ExecutionError for other arrays, for the error that a kernel noted, and for what a
    kernel does wrong: its cause is the emulator's own error.
    """
    settings = Settings(order, late_async, seed, check_races)
    with errors_of_ted():
        run = _Run(manifest, _checked(manifest, arrays), settings, donate)
        for step, variables in program.walk(manifest.steps):
            if isinstance(step, program.Copy):
                run.copy(step, variables)
            else:
                executed = run.launch(step, variables)
                if statistics is not None:
                    total = statistics.setdefault(step.kernel, Statistics())
                    total.instructions += executed.instructions
                    total.thread_instructions += executed.thread_instructions
        run.raise_noted_error()
        return run.results()


def _checked(manifest: program.Manifest, arrays: Sequence[Array]) -> list[Array]:
    if len(arrays) != len(manifest.inputs):
        raise ExecutionError(f"{manifest.name}: {len(manifest.inputs)} inputs, got {len(arrays)}")
    found = []
    for spec, array in zip(manifest.inputs, arrays, strict=True):
        array = np.asarray(array)
        if array.shape != spec.shape or array.dtype != dtype_of(spec.dtype):
            given = f"{array.dtype}{list(array.shape)}"
            raise ExecutionError(f"{manifest.name}: argument {spec}, got {given}")
        found.append(array)
    return found


class _Run:
    """One call: the memory of a program and its steps."""

    def __init__(
        self, manifest: program.Manifest, arrays: list[Array], settings: Settings, donate: bool
    ) -> None:
        self.manifest, self.settings = manifest, settings
        self.module = parse(manifest.ptx)
        device = self.device = Device()
        inputs = [
            device.put(array, spec.name)
            for spec, array in zip(manifest.inputs, arrays, strict=True)
        ]
        taken = {
            spec.donated_to: inputs[k]
            for k, spec in enumerate(manifest.inputs)
            if donate and spec.donated_to is not None
        }
        outputs = [
            taken.get(k) or device.allocate(spec.nbytes, spec.name)
            for k, spec in enumerate(manifest.outputs)
        ]
        arena = device.allocate(manifest.arena_bytes, "the arena")
        buffers = [device.allocate(b.bytes, b.name, arena, b.offset) for b in manifest.buffers]
        constants = [
            device.put(np.frombuffer(c.data, np.uint8), c.name) for c in manifest.constants
        ]
        self.errors = device.put(np.zeros(program.ERROR_WORDS, np.int64), "the error flag")
        self.outputs = outputs
        self.places: dict[str, list[Allocation]] = {
            "input": inputs, "output": outputs, "buffer": buffers, "constant": constants,
            "errors": [self.errors],
        }  # fmt: skip

    def allocation(self, memory: program.Memory) -> Allocation:
        """The allocation that stands for a piece of the program's memory."""
        position = memory[1] if len(memory) == 2 else 0
        return self.places[memory[0]][position]

    def address(self, pointer: program.Pointer, variables: Mapping[str, int]) -> int:
        """The address that a pointer has in an iteration."""
        return self.allocation(pointer.memory).address + pointer.offset.at(variables)

    def copy(self, step: program.Copy, variables: Mapping[str, int]) -> None:
        """Move bytes between pieces of memory, written or not."""
        ends = []
        for pointer in (step.dst, step.src):
            allocation, offset = self.allocation(pointer.memory), pointer.offset.at(variables)
            if not 0 <= offset <= allocation.bytes - step.bytes:
                raise ExecutionError(
                    f"{self.manifest.name}: a copy inside {allocation.name} of {allocation.bytes} "
                    f"bytes, got {step.bytes} bytes from {offset}"
                )
            ends.append(slice(allocation.start + offset, allocation.start + offset + step.bytes))
        target, source = ends
        memory, written = self.device.memory, self.device.written
        memory[target], written[target] = memory[source].copy(), written[source].copy()

    def launch(self, step: program.Launch, variables: Mapping[str, int]) -> Statistics:
        """Launch a kernel."""
        kernel, settings = self.manifest.kernel(step.kernel), self.settings
        arguments = [self.argument(a, variables) for a in step.args]
        return launch(
            self.module, kernel.grid, kernel.block, arguments,
            device=self.device, name=kernel.name, dynamic_shared=kernel.dynamic_shared_bytes,
            order=settings.order, late_async=settings.late_async, seed=settings.seed,
            check_races=settings.check_races, budget=settings.budget,
        )  # fmt: skip

    def argument(self, argument: program.Argument, variables: Mapping[str, int]) -> Any:
        """What a launch passes for an argument."""
        if isinstance(argument, program.Pointer):
            return np.uint64(self.address(argument, variables))
        if isinstance(argument, program.Scalar):
            value = argument.value
            number = value.at(variables) if isinstance(value, program.Linear) else value
            return _SCALARS[argument.type](number)
        return TensorMap(
            self.address(argument.pointer, variables), program.ITEM_SIZES[argument.dtype],
            argument.dims, argument.strides, argument.box, argument.element_strides,
            SWIZZLES[argument.swizzle],
        )  # fmt: skip

    def raise_noted_error(self) -> None:
        """Raise what a kernel noted in the error flag."""
        code, value, *_ = (int(n) for n in self.device.get(self.errors, (4,), np.int64))
        if code:
            check = self.manifest.checks[code - 1]
            raise ExecutionError(check.text(self.manifest.name, value))

    def results(self) -> list[Array]:
        """Copies of the results."""
        return [
            self.device.get(allocation, spec.shape, dtype_of(spec.dtype))
            for allocation, spec in zip(self.outputs, self.manifest.outputs, strict=True)
        ]
