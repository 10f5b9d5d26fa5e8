"""Inputs of a CUDA program whose values are known -> constants, which are uploaded once.

Before: a manifest of inputs x, W, and the bytes of W      After: one of input x and constant W
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.codegen.manifest import (
    Argument,
    Constant,
    Copy,
    Launch,
    Loop,
    Manifest,
    Memory,
    Pointer,
    Step,
    TensorMap,
)


def with_constants(manifest: Manifest, data: Sequence[bytes]) -> Manifest:
    """The manifest whose last inputs are constants with these bytes."""
    if not data:
        return manifest
    given = len(manifest.inputs) - len(data)
    made = [Constant(s.name, d) for s, d in zip(manifest.inputs[given:], data, strict=True)]
    became: dict[Memory, Memory] = {
        ("input", given + k): ("constant", len(manifest.constants) + k) for k in range(len(data))
    }
    return replace(
        manifest,
        inputs=manifest.inputs[:given],
        constants=(*manifest.constants, *made),
        steps=tuple(_step(step, became) for step in manifest.steps),
    )


def _step(step: Step, became: dict[Memory, Memory]) -> Step:
    if isinstance(step, Loop):
        return replace(step, steps=tuple(_step(inner, became) for inner in step.steps))
    if isinstance(step, Copy):
        return replace(step, src=_pointer(step.src, became), dst=_pointer(step.dst, became))
    return Launch(step.kernel, tuple(_argument(a, became) for a in step.args))


def _argument(argument: Argument, became: dict[Memory, Memory]) -> Argument:
    if isinstance(argument, Pointer):
        return _pointer(argument, became)
    if isinstance(argument, TensorMap):
        return replace(argument, pointer=_pointer(argument.pointer, became))
    return argument


def _pointer(pointer: Pointer, became: dict[Memory, Memory]) -> Pointer:
    return replace(pointer, memory=became.get(pointer.memory, pointer.memory))
