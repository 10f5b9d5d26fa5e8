"""A manifest, loaded into a context: call it with arrays on the device.

Before: Manifest      After: `program(x, y)`: a tuple of DeviceArray, on the caller's stream
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ted.codegen.manifest import ALIGNMENT, Copy, Loop, Manifest, Memory, Pointer, Step, TensorMap
from ted.codegen.manifest_rules import validate
from ted.forking import Lock
from ted.runtime.cuda.arguments import (
    UNORDERED,
    View,
    alignment,
    check,
    is_torch,
    number,
    torch_stream,
    torch_type,
    view_of,
)
from ted.runtime.cuda.arrays import DeviceArray, PoolMemory
from ted.runtime.cuda.contexts import Context, context_of, when_gone
from ted.runtime.cuda.error_flags import ErrorFlag
from ted.runtime.cuda.graphs import Recording
from ted.runtime.cuda.modules import load_functions
from ted.runtime.cuda.plans import Plan
from ted.runtime.cuda.pool import MemoryPool, size_class, wait_for
from ted.runtime.cuda.streams import Event, stream_handle
from ted.runtime.targets import Targets, targets_of, wrong_count


class Program:
    """A loaded manifest.

    Inputs are arrays on the device, of any library; results are DeviceArrays, or the arrays of
    `out=`. Calls return before the work is done, in the order of the stream: the one named, else
    torch's current one when an input is a torch tensor, else ted's current one.
    """

    def __init__(self, manifest: Manifest, context: Context | None = None) -> None:
        validate(manifest)
        self.manifest = manifest
        self.context = context or context_of()
        self._lock = Lock()
        self._recordings: dict[tuple[int, int], Recording] = {}  # by capture and stream
        with self.context:
            functions = load_functions(self.context, manifest, self)
            self._plan = Plan(self.context.driver, manifest, functions)
            self._constants = self._uploaded_constants()
            checks = manifest.checks
            self.flag = ErrorFlag(self.context, manifest.name, checks) if checks else None
        self._inputs = [((s.shape, s.dtype), s, alignment(s)) for s in manifest.inputs]
        self._outputs = [(s, size_class(s.nbytes)) for s in manifest.outputs]
        self._arena = size_class(manifest.arena_bytes) if manifest.arena_bytes else 0
        self._buffers = [buffer.offset for buffer in manifest.buffers]
        self._tail = [*self._constants, self.flag.pointer if self.flag else 0]
        self._shareable = shareable(manifest)
        self._donated = {
            spec.donated_to: n
            for n, spec in enumerate(manifest.inputs)
            if spec.donated_to is not None
        }

    def __call__(self, *arrays: Any, out: Any = None, stream: Any = None) -> tuple[Any, ...]:
        """Run on one array per input, into fresh results or into the arrays of `out`.

        Raises: ExecutionError naming the argument; or the tensor and index that an earlier call
        found out of range.
        """
        context = self.context
        if len(arrays) != len(self._inputs):
            inputs = self.manifest.inputs
            raise wrong_count(self.manifest.name, "expected", "arguments", inputs, len(arrays))
        pushed = context.enter()
        try:
            if self.flag is not None:
                self.flag.check()
            on = self._stream(arrays) if stream is None else stream_handle(stream)
            if on and context.here.capture is None and (number := context.capture_of(on)):
                key = number, on  # streams of one capture run side by side
                if key not in self._recordings:
                    self._recordings[key] = Recording(context, on)
                with self._recordings[key]:
                    return self._called(arrays, out, on)
            return self._called(arrays, out, on)
        finally:
            if pushed:
                context.leave()

    def _called(self, arrays: Sequence[Any], out: Any, on: int) -> tuple[Any, ...]:
        """Run on a stream, or record what would run."""
        context, keep = self.context, list[Any]()
        inputs = self._addresses(arrays, on, keep)
        pool = context.memory_for(on)
        if out is None and not self._donated:
            results = [self._fresh(k, pool, on) for k in range(len(self._outputs))]
            self._launch(inputs, [r.pointer for r in results], pool, on)
        else:
            results = self._run_into(inputs, self._targets(arrays, out), pool, on, keep)
        if context.here.capture is not None:
            context.here.capture.keep(self, *arrays, *keep, *results)
        elif context.here.foreign:
            context.retire(on)
        return tuple(results)

    def synchronize(self) -> None:
        """Wait for the device.

        Raises: ExecutionError for an index out of range.
        """
        self.context.synchronize()

    def timed(self, *arrays: Any) -> tuple[dict[str, float], float]:
        """Seconds of each kernel, of all its launches in a call, and of the call; "" is for copies.

        A time has the gap to the launch before in it.
        Raises: ExecutionError as a call does.
        """
        marks: list[tuple[str, Event]] = []
        stream = self._stream(arrays)
        first = Event(self.context).record(stream)
        here = self.context.here
        here.done = lambda name: marks.append((name, Event(self.context).record(stream)))
        try:
            self(*arrays, stream=stream)
        finally:
            here.done = None
        self.synchronize()
        times: dict[str, float] = {}
        for (_, before), (name, after) in pairwise([("", first), *marks]):
            times[name] = times.get(name, 0.0) + before.milliseconds_until(after) / 1e3
        return times, sum(times.values())

    # Arguments.

    def _stream(self, arrays: Sequence[Any]) -> int:
        """Where a call runs when nobody says: a capture's stream, torch's current one, ours."""
        here = self.context.here
        if here.capture is None:
            for array in arrays:
                if type(array) is not DeviceArray and is_torch(array) and array.is_cuda:
                    return torch_stream(self.context.ordinal)
        return here.stream

    def _addresses(self, arrays: Sequence[Any], stream: int, keep: list[Any]) -> list[int]:
        """Where the arguments are; the usual case, an array of ours on the stream, is told fast."""
        context, found = self.context, []
        for position, (value, wanted) in enumerate(zip(arrays, self._inputs, strict=True)):
            if (
                type(value) is DeviceArray
                and value.shape_and_type == wanted[0]
                and value.stream == stream
                and value.context is context
                and value.pointer % wanted[2] == 0
            ):
                found.append(value.pointer)
            else:
                found.append(self._address(position, value, stream, keep))
        return found

    def _address(self, position: int, value: Any, stream: int, keep: list[Any]) -> int:
        """The address of an argument, after its checks; what must outlive the call is kept."""
        _, spec, least = self._inputs[position]
        if is_torch(value):
            pointer = value.data_ptr()
            fits = (value.shape, value.dtype) == (spec.shape, torch_type(spec.dtype))
            here = value.get_device() == self.context.ordinal and value.is_contiguous()
            if fits and here and pointer % least == 0:
                return pointer
        what = f"{self.manifest.name}: argument {spec.name!r}"
        if isinstance(value, bool | int | float):
            made = number(value, spec, what, self.context, stream)
            keep.append(made)
            return made.pointer
        view = view_of(value, what, self._ordered_by(stream))
        check(view, spec, what, self.context.ordinal)
        self._hold(view, value, stream, keep)
        return view.pointer

    def _ordered_by(self, stream: int) -> int:
        """What producers are told of the stream; a capture began when all their work was done."""
        return stream if self.context.here.capture is None else UNORDERED

    def _hold(self, view: View, value: Any, stream: int, keep: list[Any]) -> None:
        """Order the call behind the array's stream; keep the array until the call is done."""
        keep.append(view.owner)
        if isinstance(value, DeviceArray):
            value.use_on(stream)
            return
        if view.stream is not None and view.stream != stream and self.context.here.capture is None:
            wait_for(self.context.driver, stream, [view.stream])
        if not is_torch(value):  # torch frees in the order of its stream, others at once
            self.context.here.foreign.append(view.owner)

    # Results.

    def _targets(self, arrays: Sequence[Any], out: Any) -> Targets:
        manifest = self.manifest
        return targets_of(
            manifest.name, manifest.inputs, manifest.outputs, self._donated, arrays, out
        )

    def _run_into(
        self, inputs: list[int], given: Targets, pool: MemoryPool, stream: int, keep: list[Any]
    ) -> list[Any]:
        """Run with results in arrays of the caller, or in fresh ones where there are none."""
        results: list[Any] = []
        targets: list[int] = []
        addresses: list[int] = []
        for position, array in enumerate(given.arrays):
            made = None
            targets.append(0 if array is None else self._target(position, given, stream, keep))
            if array is None or self._clashes(given, targets, inputs):
                made = self._fresh(position, pool, stream)
            addresses.append(targets[-1] if made is None else made.pointer)
            results.append(made if array is None else array)
            keep.append(made)
        self._launch(inputs, addresses, pool, stream)
        for (spec, _), target, address in zip(self._outputs, targets, addresses, strict=True):
            if target and target != address and spec.nbytes:
                self.context.driver.cuMemcpyDtoDAsync_v2(target, address, spec.nbytes, stream)
        for result in results:
            if isinstance(result, DeviceArray):
                result.stream, result.flag = stream, self.flag
        return results

    def _fresh(self, position: int, pool: MemoryPool, stream: int) -> DeviceArray:
        spec, size = self._outputs[position]
        context = self.context
        owner = PoolMemory(context, pool.allocate_class(size, stream))
        return DeviceArray(context, owner.pointer, spec.shape, spec.dtype, owner, stream, self.flag)

    def _target(self, position: int, given: Targets, stream: int, keep: list[Any]) -> int:
        spec, array = self.manifest.outputs[position], given.arrays[position]
        if type(array) is DeviceArray and array.shape_and_type == (spec.shape, spec.dtype):
            mine = array.stream == stream and array.context is self.context
            if mine and array.pointer % alignment(spec) == 0:
                return array.pointer
        what = given.what(position)
        view = view_of(array, what, self._ordered_by(stream))
        check(view, spec, what, self.context.ordinal)
        if not view.writable:
            raise given.not_writable(position, "one that is read-only")
        self._hold(view, array, stream, keep)
        return view.pointer

    def _clashes(self, given: Targets, targets: list[int], inputs: list[int]) -> bool:
        """Whether the last target overlaps an input that is still read when it is written.

        Then the result is computed elsewhere and copied. Raises: ExecutionError when two targets
        overlap.
        """
        manifest, position = self.manifest, len(targets) - 1
        spec, start = manifest.outputs[position], targets[position]
        for k, (other, before) in enumerate(zip(manifest.outputs, targets[:-1], strict=False)):
            if before and _overlap(start, spec.nbytes, before, other.nbytes):
                raise given.overlapping(k, position)
        own = self._donated.get(position) if position in given.donated else None
        for n, (source, address) in enumerate(zip(manifest.inputs, inputs, strict=True)):
            is_other = own is not None and n not in self._donated.values()
            if is_other and _overlap(start, spec.nbytes, address, source.nbytes):
                raise given.read_elsewhere(position, source)
        return any(
            _overlap(start, spec.nbytes, address, source.nbytes)
            and not (address == start and (number, position) in self._shareable)
            for number, (source, address) in enumerate(zip(manifest.inputs, inputs, strict=True))
        )

    # The call.

    def _launch(self, inputs: list[int], outputs: list[int], pool: MemoryPool, stream: int) -> None:
        arena = pool.allocate_class(self._arena, stream) if self._arena else None
        start = arena.pointer if arena else 0
        bases = [*inputs, *outputs, *[start + offset for offset in self._buffers], *self._tail]
        try:
            with self._lock:
                self._plan.run(bases, stream, self.context.here.done)
            if self.flag is not None:
                self.flag.fetch(stream)
        finally:
            if arena:
                pool.free(arena)

    def _uploaded_constants(self) -> list[int]:
        """The addresses of the constants, which lie in one block of memory."""
        constants, context = self.manifest.constants, self.context
        if not constants:
            return []
        offsets = [0]
        for constant in constants:
            offsets.append(offsets[-1] + -(-constant.bytes // ALIGNMENT) * ALIGNMENT)
        block = context.memory.allocate(offsets[-1], 0)
        when_gone(self, context, block.free)
        for offset, constant in zip(offsets, constants, strict=False):
            if constant.bytes:
                data = ctypes.create_string_buffer(constant.data, constant.bytes)
                context.driver.cuMemcpyHtoDAsync_v2(
                    block.pointer + offset, ctypes.addressof(data), constant.bytes, 0
                )
                context.driver.cuStreamSynchronize(0)
        return [block.pointer + offset for offset in offsets[:-1]]


def _overlap(a: int, a_bytes: int, b: int, b_bytes: int) -> bool:
    return a < b + b_bytes and b < a + a_bytes


# ------------------------------------------------------------------ donation


def shareable(manifest: Manifest) -> frozenset[tuple[int, int]]:
    """Pairs (input, output) of equal size for which one address can stand for both.

    A result may overwrite an input that the program was compiled to give it
    (`ArraySpec.donated_to`), and any input that nothing reads once the result is being written:
    whose last mention comes before the result's first.
    """
    mentions: dict[Memory, list[int]] = {}
    for position, step in enumerate(manifest.steps):
        for memory in set(_memories(step)):
            mentions.setdefault(memory, []).append(position)
    return frozenset(
        (i, k)
        for i, source in enumerate(manifest.inputs)
        for k, target in enumerate(manifest.outputs)
        if source.nbytes == target.nbytes and (source.donated_to == k or _in_order(mentions, i, k))
    )


def _in_order(mentions: dict[Memory, list[int]], i: int, k: int) -> bool:
    reads, writes = mentions.get(("input", i), []), mentions.get(("output", k), [])
    return not reads or not writes or reads[-1] < writes[0]


def _of(argument: object) -> tuple[Memory, ...]:
    pointer = argument.pointer if isinstance(argument, TensorMap) else argument
    return (pointer.memory,) if isinstance(pointer, Pointer) else ()


def _memories(step: Step) -> Iterator[Memory]:
    if isinstance(step, Loop):
        for inner in step.steps:
            yield from _memories(inner)
    elif isinstance(step, Copy):
        yield from (step.dst.memory, step.src.memory)
    else:
        for argument in step.args:
            yield from _of(argument)
