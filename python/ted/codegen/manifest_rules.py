"""The rules of a manifest: what an executor may rely on without looking again.

Every name and position exists, arguments fit parameters, every address lies inside its memory for
all values of the loops, launches and sizes are within what every GPU can do.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ted.codegen.manifest import (
    ALIGNMENT,
    ITEM_SIZES,
    PARAMETER_TYPES,
    SCALAR_TYPES,
    ArraySpec,
    Copy,
    Kernel,
    Launch,
    Linear,
    Loop,
    Manifest,
    Pointer,
    Scalar,
    Step,
    TensorMap,
)
from ted.errors import CompileError
from ted.machine import compute_capability

MOST_ELEMENTS = 2**31 - 1
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_THREADS = (1024, 1024, 64)
MOST_STEPS = 10**8  # launches and copies of a call: more would take longer than anyone waits
_Ranges = Mapping[str, tuple[int, int]]  # of each loop variable: the smallest and largest value


def validate(manifest: Manifest) -> None:
    """Check all rules.

    Raises: CompileError naming the part that breaks one.
    """
    what = f"manifest of {manifest.name!r}"
    compute_capability(manifest.target)
    for spec in (*manifest.inputs, *manifest.outputs):
        _check_array(spec, f"{what}: {spec.name}")
    for position, spec in enumerate(manifest.inputs):
        _check_donation(manifest, spec, f"{what}: input {position}")
    for buffer in manifest.buffers:
        if buffer.bytes < 0 or buffer.offset < 0 or buffer.offset % ALIGNMENT:
            raise CompileError(
                f"{what}: buffer {buffer.name} starts at a multiple of {ALIGNMENT}, "
                f"got {buffer.bytes} bytes at {buffer.offset}"
            )
    kernels = {kernel.name: kernel for kernel in manifest.kernels}
    if len(kernels) != len(manifest.kernels):
        raise CompileError(f"{what}: names of kernels differ, got {[*kernels]} more than once")
    for kernel in manifest.kernels:
        _check_kernel(kernel, f"{what}: kernel {kernel.name}")
    _check_steps(manifest, kernels, manifest.steps, {}, what)
    if (count := _count(manifest.steps)) > MOST_STEPS:
        raise CompileError(f"{what}: a call has at most {MOST_STEPS} steps, got {count}")


def _check_array(spec: ArraySpec, what: str) -> None:
    if spec.dtype not in ITEM_SIZES:
        raise CompileError(f"{what}: an element type of {[*ITEM_SIZES]}, got {spec.dtype!r}")
    if any(extent < 0 for extent in spec.shape):
        raise CompileError(f"{what}: extents are 0 or more, got {spec.shape}")
    if spec.elements > MOST_ELEMENTS:
        raise CompileError(
            f"{what}: a cuda tensor has at most 2^31 - 1 elements, got {spec.elements} "
            f"(shape {spec.shape}); split it"
        )


def _check_donation(manifest: Manifest, spec: ArraySpec, what: str) -> None:
    if spec.donated_to is None:
        return
    given = [s.donated_to for s in manifest.inputs if s.donated_to == spec.donated_to]
    if spec.donated_to not in range(len(manifest.outputs)) or len(given) > 1:
        raise CompileError(f"{what}: is donated to one output, got {spec.donated_to}")
    output = manifest.outputs[spec.donated_to]
    if (output.shape, output.dtype) != (spec.shape, spec.dtype):
        raise CompileError(f"{what}: is donated to an output like it, got {spec} and {output}")


def _check_kernel(kernel: Kernel, what: str) -> None:
    if unknown := set(kernel.params) - set(PARAMETER_TYPES):
        raise CompileError(f"{what}: parameters are of {PARAMETER_TYPES}, got {unknown}")
    for axis, blocks, most in zip("xyz", kernel.grid, MOST_BLOCKS, strict=True):
        if not 1 <= blocks <= most:
            raise CompileError(f"{what}: 1 to {most} blocks in {axis}, got grid {kernel.grid}")
    for axis, threads, most in zip("xyz", kernel.block, MOST_THREADS, strict=True):
        if not 1 <= threads <= most:
            raise CompileError(f"{what}: 1 to {most} threads in {axis}, got block {kernel.block}")
    if prod(kernel.block) > 1024:
        raise CompileError(f"{what}: at most 1024 threads a block, got block {kernel.block}")


def _check_steps(
    manifest: Manifest,
    kernels: Mapping[str, Kernel],
    steps: tuple[Step, ...],
    ranges: _Ranges,
    what: str,
) -> None:
    for step in steps:
        if isinstance(step, Loop):
            if step.step == 0 or step.var in ranges:
                raise CompileError(f"{what}: a loop has a step and a variable of its own: {step}")
            if values := step.values:
                ends = sorted((values[0], values[-1]))
                inner = {**ranges, step.var: (ends[0], ends[1])}
                _check_steps(manifest, kernels, step.steps, inner, what)
        elif isinstance(step, Copy):
            for pointer in (step.dst, step.src):
                _check_pointer(manifest, pointer, step.bytes, ranges, f"{what}: copy")
        else:
            _check_launch(manifest, kernels, step, ranges, what)


def _count(steps: tuple[Step, ...]) -> int:
    """Launches and copies of a call."""
    return sum(_count(s.steps) * _trips(s) if isinstance(s, Loop) else 1 for s in steps)


def _trips(loop: Loop) -> int:
    """How often a loop runs; the range itself may be longer than Python's `len` can say."""
    values = loop.values
    return (values[-1] - values[0]) // loop.step + 1 if values else 0


def _check_launch(
    manifest: Manifest,
    kernels: Mapping[str, Kernel],
    step: Launch,
    ranges: _Ranges,
    what: str,
) -> None:
    if step.kernel not in kernels:
        raise CompileError(f"{what}: a launch names a kernel of {[*kernels]}, got {step.kernel!r}")
    params = kernels[step.kernel].params
    given = tuple(_parameter_type(argument) for argument in step.args)
    if given != params:
        raise CompileError(f"{what}: kernel {step.kernel} takes {params}, got {given}")
    for position, argument in enumerate(step.args):
        place = f"{what}: launch of {step.kernel}, argument {position}"
        if isinstance(argument, Pointer):
            _check_pointer(manifest, argument, 0, ranges, place)
        elif isinstance(argument, TensorMap):
            _check_tensor_map(manifest, argument, ranges, place)
        elif isinstance(argument.value, Linear):
            _bounds(argument.value, ranges, place)


def _parameter_type(argument: Pointer | Scalar | TensorMap) -> str:
    if isinstance(argument, Scalar):
        return argument.type if argument.type in SCALAR_TYPES else f"unknown {argument.type}"
    return "pointer" if isinstance(argument, Pointer) else "tensormap"


def _check_pointer(
    manifest: Manifest, pointer: Pointer, size: int, ranges: _Ranges, what: str
) -> None:
    counts = {
        "input": len(manifest.inputs), "output": len(manifest.outputs),
        "buffer": len(manifest.buffers), "constant": len(manifest.constants),
    }  # fmt: skip
    memory = pointer.memory
    known = memory == ("errors",) or (
        len(memory) == 2 and memory[0] in counts and memory[1] in range(counts[memory[0]])
    )
    if not known:
        raise CompileError(f"{what}: points to an input, output, buffer, constant, got {memory}")
    low, high = _bounds(pointer.offset, ranges, what)
    bytes_there = manifest.memory_bytes(memory)
    if size < 0 or low < 0 or high + size > bytes_there:
        raise CompileError(
            f"{what}: stays inside the {bytes_there} bytes of {memory}, "
            f"got {size} bytes at {low} to {high}"
        )


def _bounds(value: Linear, ranges: _Ranges, what: str) -> tuple[int, int]:
    low = high = value.constant
    for name, factor in value.terms:
        if name not in ranges:
            raise CompileError(f"{what}: names a loop around it, got {name!r}")
        ends = [factor * end for end in ranges[name]]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _check_tensor_map(manifest: Manifest, given: TensorMap, ranges: _Ranges, what: str) -> None:
    _check_pointer(manifest, given.pointer, 0, ranges, what)
    rank = len(given.dims)
    if not 1 <= rank <= 5 or (len(given.strides), len(given.box), len(given.element_strides)) != (
        rank - 1,
        rank,
        rank,
    ):
        raise CompileError(
            f"{what}: a tensor map has 1 to 5 dims, strides, box of one rank: {given}"
        )
    if given.dtype not in ITEM_SIZES:
        raise CompileError(f"{what}: an element type of {[*ITEM_SIZES]}, got {given.dtype!r}")
    if any(stride % 16 for stride in given.strides):
        raise CompileError(f"{what}: strides are multiples of 16 bytes, got {given.strides}")
    if any(not 1 <= extent <= 256 for extent in given.box):
        raise CompileError(f"{what}: a box has 1 to 256 elements in a dim, got {given.box}")
    if given.swizzle not in ("none", "32B", "64B", "128B"):
        raise CompileError(f"{what}: swizzles are none, 32B, 64B, 128B, got {given.swizzle!r}")
