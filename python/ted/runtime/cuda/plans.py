"""The steps of a manifest, prepared: per call, addresses are filled in and kernels launched.

All arguments of all launches lie in one array of 8-byte words, and what the driver gets per launch
are pointers into it, made once. A call whose arrays are where they were in the call before (the
usual case in a training loop) changes no word at all.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ted.codegen.manifest import (
    ERRORS,
    Copy,
    Launch,
    Linear,
    Loop,
    Manifest,
    Memory,
    Pointer,
    Scalar,
    Step,
    TensorMap,
)
from ted.records import dataclass
from ted.runtime.cuda.driver import Driver, DriverError
from ted.runtime.cuda.prototypes import (
    TENSOR_MAP_PROMOTION_256B,
    TENSOR_MAP_SWIZZLES,
    TENSOR_MAP_TYPES,
)

_MAP_BYTES, _MAP_ALIGNMENT = 128, 64
Done = Callable[[str], None]
_FORMATS = {"i64": "<q", "i32": "<i", "f64": "<d", "f32": "<f"}


@dataclass(frozen=True)
class _Word:
    """A word that loops do not change: a base address plus an offset."""

    slot: int
    base: int
    offset: int


@dataclass(frozen=True)
class _Moving:
    """A word that follows loop variables: an address, or with no base a number."""

    slot: int
    base: int | None
    value: Linear
    format: str = "<q"


@dataclass(frozen=True)
class _Map:
    """A tensor map and where its 128 bytes lie."""

    address: int
    base: int
    given: TensorMap


@dataclass(frozen=True)
class _Launch:
    name: str
    head: tuple[int, ...]  # function, grid, block, bytes of shared memory
    params: Any  # array of addresses of words
    moving: tuple[_Moving, ...]
    maps: tuple[_Map, ...]  # those that follow loop variables


@dataclass(frozen=True)
class _Copy:
    target: tuple[int, Linear]
    source: tuple[int, Linear]
    bytes: int


@dataclass(frozen=True)
class _Loop:
    var: str
    values: range
    steps: tuple[Any, ...]


class Plan:
    """The prepared steps of one loaded program.

    `run(bases, stream)` does them; `bases` has one address for each memory, in the order of
    `memories(manifest)`.
    """

    def __init__(self, driver: Driver, manifest: Manifest, functions: Mapping[str, int]) -> None:
        self._driver = driver
        self._launch_kernel: Callable[..., int] = driver.library.cuLaunchKernel
        self._manifest = manifest
        self._functions = functions
        self._base_of = {memory: k for k, memory in enumerate(memories(manifest))}
        self._words = (ctypes.c_uint64 * max(1, _count(manifest.steps)))()
        self._used = 0
        self._fixed: list[_Word] = []
        self._maps: list[_Map] = []
        self._kept: list[Any] = []  # the bytes of tensor maps
        self._steps = self._prepared(manifest.steps)
        self._flat = all(
            isinstance(s, _Launch) and not s.moving and not s.maps for s in self._steps
        )
        self._bases: list[int] = []

    def run(self, bases: list[int], stream: int, done: Done | None = None) -> None:
        """Do all steps on a stream, which returns before they are done.

        `done` is told the name of each kernel that was launched, and "" of each copy.
        Raises: ExecutionError when the driver refuses a launch.
        """
        if bases != self._bases:
            self._fill(bases)
        if done or not self._flat:
            self._run(self._steps, {}, stream, done)
            return
        launch = self._launch_kernel
        for step in self._steps:
            code = launch(*step.head, stream, step.params, None)
            if code:
                raise self._refused(step, code)

    def _refused(self, step: _Launch, code: int) -> DriverError:
        text = self._driver.text(code)
        return DriverError(f"{self._manifest.name}: kernel {step.name} did not start: {text}", code)

    def _run(
        self, steps: Sequence[Any], variables: Mapping[str, int], stream: int, done: Done | None
    ) -> None:
        for step in steps:
            if isinstance(step, _Loop):
                for value in step.values:
                    self._run(step.steps, {**variables, step.var: value}, stream, done)
                continue
            if isinstance(step, _Copy):
                self._copy(step, variables, stream)
            else:
                self._move(step, variables)
                code = self._launch_kernel(*step.head, stream, step.params, None)
                if code:
                    raise self._refused(step, code)
            if done:
                done("" if isinstance(step, _Copy) else step.name)

    def _copy(self, step: _Copy, variables: Mapping[str, int], stream: int) -> None:
        target, source = (
            self._bases[base] + offset.at(variables) for base, offset in (step.target, step.source)
        )
        if step.bytes and target != source:
            self._driver.cuMemcpyDtoDAsync_v2(target, source, step.bytes, stream)

    def _fill(self, bases: list[int]) -> None:
        """Write the words and maps that follow from the addresses of memories."""
        words = self._words
        for word in self._fixed:
            words[word.slot] = bases[word.base] + word.offset
        self._bases = list(bases)
        for tensor_map in self._maps:
            self._encode(tensor_map, {})

    def _move(self, step: _Launch, variables: Mapping[str, int]) -> None:
        for moving in step.moving:
            value = moving.value.at(variables)
            if moving.base is not None:
                self._words[moving.slot] = self._bases[moving.base] + value
            else:
                self._words[moving.slot] = _bits(moving.format, value)
        for tensor_map in step.maps:
            self._encode(tensor_map, variables)

    def _encode(self, tensor_map: _Map, variables: Mapping[str, int]) -> None:
        given = tensor_map.given
        rank = len(given.dims)
        address = self._bases[tensor_map.base] + given.pointer.offset.at(variables)
        self._driver.cuTensorMapEncodeTiled(
            tensor_map.address,
            TENSOR_MAP_TYPES[given.dtype],
            rank,
            address,
            (ctypes.c_uint64 * rank)(*given.dims),
            (ctypes.c_uint64 * max(rank - 1, 1))(*given.strides),
            (ctypes.c_uint32 * rank)(*given.box),
            (ctypes.c_uint32 * rank)(*given.element_strides),
            0,
            TENSOR_MAP_SWIZZLES[given.swizzle],
            TENSOR_MAP_PROMOTION_256B,
            0,
        )

    # Preparation, once.

    def _prepared(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        made: list[Any] = []
        for step in steps:
            if isinstance(step, Loop):
                made.append(_Loop(step.var, step.values, self._prepared(step.steps)))
            elif isinstance(step, Copy):
                target, source = ((self._base_of[p.memory], p.offset) for p in (step.dst, step.src))
                made.append(_Copy(target, source, step.bytes))
            else:
                made.append(self._launch(step))
        return tuple(made)

    def _launch(self, step: Launch) -> _Launch:
        kernel = self._manifest.kernel(step.kernel)
        head = (
            self._functions[kernel.name], *kernel.grid, *kernel.block, kernel.dynamic_shared_bytes
        )  # fmt: skip
        moving: list[_Moving] = []
        maps: list[_Map] = []
        places = [self._argument(argument, moving, maps) for argument in step.args]
        params = (ctypes.c_void_p * max(1, len(places)))(*places)
        return _Launch(kernel.name, head, params, tuple(moving), tuple(maps))

    def _argument(self, given: Any, moving: list[_Moving], maps: list[_Map]) -> int:
        """Find a place for an argument; its address, at which the driver reads the value."""
        if isinstance(given, TensorMap):
            made = _Map(self._map_place(), self._base_of[given.pointer.memory], given)
            (maps if given.pointer.offset.terms else self._maps).append(made)
            return made.address
        slot, self._used = self._used, self._used + 1
        if isinstance(given, Pointer):
            base = self._base_of[given.memory]
            if given.offset.terms:
                moving.append(_Moving(slot, base, given.offset))
            else:
                self._fixed.append(_Word(slot, base, given.offset.constant))
        elif isinstance(given, Scalar):
            self._scalar(slot, given, moving)
        return ctypes.addressof(self._words) + 8 * slot

    def _scalar(self, slot: int, given: Scalar, moving: list[_Moving]) -> None:
        format, value = _FORMATS[given.type], given.value
        if isinstance(value, Linear) and value.terms:
            moving.append(_Moving(slot, None, value, format))
        else:
            number = value.constant if isinstance(value, Linear) else value
            self._words[slot] = _bits(format, number)

    def _map_place(self) -> int:
        room = ctypes.create_string_buffer(_MAP_BYTES + _MAP_ALIGNMENT)
        self._kept.append(room)
        return -(-ctypes.addressof(room) // _MAP_ALIGNMENT) * _MAP_ALIGNMENT


def memories(manifest: Manifest) -> list[Memory]:
    """Every memory of a program: inputs, outputs, buffers, constants, error flag."""
    counts = {
        "input": len(manifest.inputs), "output": len(manifest.outputs),
        "buffer": len(manifest.buffers), "constant": len(manifest.constants),
    }  # fmt: skip
    return [*((kind, k) for kind, count in counts.items() for k in range(count)), ERRORS]


def _count(steps: Sequence[Step]) -> int:
    """Arguments of all launches, as they stand in the program."""
    return sum(
        _count(s.steps) if isinstance(s, Loop) else len(s.args) if isinstance(s, Launch) else 0
        for s in steps
    )


def _bits(format: str, value: float) -> int:
    number = value if format in ("<d", "<f") else int(value)
    return int.from_bytes(struct.pack(format, number), "little")
