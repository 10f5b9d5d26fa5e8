"""Tests of GPU programs on the GPU of this machine, in place of the interpreter of PTX.

    PYTHONPATH=test python -m pytest -p support.on_gpu test/unit/gpu test/unit/gpu_templates

Programs run through the runtime and the driver; the orders of threads that tests ask for are those
of the device. What asks the interpreter itself (counts of instructions, the faults that it finds)
is skipped, as are programs for other chips. A test after which the device fails ends its process:
the context is lost, and no later test of the process could tell anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ted.testing.emulated_machine as emulated_machine
from support import ptx_programs
from ted.codegen.manifest import ArraySpec, Buffer, Kernel, Linear, Manifest, Pointer, TensorMap
from ted.codegen.manifest import Launch as Step
from ted.errors import ExecutionError
from ted.gpu.templates.kernels import Launch
from ted.machine import compute_capability, named_gpu
from ted.runtime.cuda.arguments import device_array
from ted.runtime.cuda.contexts import context_of
from ted.runtime.cuda.driver import open_driver
from ted.runtime.cuda.programs import Program
from unit.gpu_templates import programs

NAMES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "i64": "int64", "i32": "int32",
}  # fmt: skip


@contextmanager
def gpu(chip: str = "sm_90a", **_: Any) -> Iterator[Any]:
    """The driver of this machine, for a test that asks for a chip that its device can stand for."""
    named_gpu(chip)
    _skip_for(chip)
    yield _Device()


class _Device:
    """The driver; what an emulated one has besides its functions is not there."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            pytest.skip(f"the device has no {name}")
        return getattr(open_driver(), name)


def run_manifest(
    manifest: Manifest, arrays: Sequence[Any], *, statistics: Any = None, donate: bool = True,
    **_: Any,
) -> list[np.ndarray]:  # fmt: skip
    """`ptx_programs.run_manifest` by the runtime: results of a program, and the error it noted."""
    if statistics is not None:
        pytest.skip("the device counts no instructions")
    _skip_for(manifest.target)
    given = ptx_programs._checked(manifest, arrays)
    if not donate:
        inputs = tuple(replace(spec, donated_to=None) for spec in manifest.inputs)
        manifest = replace(manifest, inputs=inputs)
    program = Program(manifest)
    results = program(
        *(
            device_array(array, context=program.context, element_type=spec.dtype)
            for array, spec in zip(given, manifest.inputs, strict=True)
        )
    )
    program.context.synchronize()
    return [result.numpy() for result in results]


def run_kernels(
    kernels: programs.Kernels, found: dict[str, np.ndarray[Any, Any]], **_: Any
) -> np.ndarray[Any, Any]:
    """`unit.gpu_templates.programs.run` by the runtime: the kernels as a program, C its result."""
    names = [*(name for name in found if name != "c"), "c"]
    specs = [ArraySpec(name.replace(" ", ""), found[name].shape, found[name].dtype.name)
             for name in names]  # fmt: skip
    made = {launch.symbol: launch for launch in kernels.launches}
    size = kernels.plan.workspace_bytes
    manifest = Manifest(
        "kernels",
        kernels.plan.chip,
        kernels.text,
        (*specs[:-1], replace(specs[-1], donated_to=0)),
        (replace(specs[-1], name="result"),),
        tuple(_kernel(launch) for launch in made.values()),
        tuple(Step(launch.symbol, _arguments(launch, names)) for launch in kernels.launches),
        (Buffer("workspace", size, 0),) if size else (),
    )
    return run_manifest(manifest, [found[name] for name in names])[0]


def _kernel(launch: Launch) -> Kernel:
    kinds = ("pointer" if isinstance(a, str) else "tensormap" for a in launch.arguments)
    return Kernel(
        launch.symbol, launch.grid, launch.block, tuple(kinds), launch.dynamic_shared_bytes
    )


def _arguments(launch: Launch, names: list[str]) -> tuple[Pointer | TensorMap, ...]:
    """What a launch passes, of a program whose inputs have these names."""
    places: dict[str, Any] = {name: ("input", k) for k, name in enumerate(names)}
    places |= {"c": ("output", 0), "workspace": ("buffer", 0)}
    return tuple(
        Pointer(places[given])
        if isinstance(given, str)
        else TensorMap(
            Pointer(places[given.operand], Linear(given.offset)), NAMES[given.element],
            given.dims, given.strides, given.box, (1,) * len(given.dims), given.swizzle,
        )
        for given in launch.arguments
    )  # fmt: skip


def _skip_for(chip: str) -> None:
    """Skip a test of a chip whose programs the device does not run."""
    wanted, has = compute_capability(chip), context_of(0).capability
    if wanted > has or (chip[-1] in "af" and wanted != has):
        pytest.skip(f"programs for {chip} do not run on sm_{has[0]}{has[1]}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that plant a mistake for the interpreter: a device may hang at it."""
    planted = [item for item in items if "planted" in item.name]
    config.hook.pytest_deselected(items=planted)
    items[:] = [item for item in items if item not in planted]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """End the process when the device has failed."""
    context = context_of(0)
    try:
        with context:
            context.driver.cuCtxSynchronize()
    except ExecutionError as error:
        sys.__stderr__.write(f"\nDEVICE FAILED in {item.nodeid}: {error}\n")
        sys.__stderr__.flush()
        os._exit(70)


emulated_machine.emulated_gpu = gpu
ptx_programs.run_manifest = run_manifest
programs.run = run_kernels
