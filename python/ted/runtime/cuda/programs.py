"""A manifest, loaded into a context: call it with arrays on the device.

Before: Manifest      After: `program(x, y)`: a tuple of DeviceArray, on the caller's stream
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from ted.codegen.manifest import ALIGNMENT, ArraySpec, Manifest
from ted.codegen.manifest_rules import validate
from ted.errors import ExecutionError
from ted.runtime.cuda.arguments import (
    View,
    alignment,
    check,
    is_torch,
    number,
    torch_stream,
    torch_type,
    view_of,
)
from ted.runtime.cuda.arrays import DeviceArray, empty
from ted.runtime.cuda.contexts import Context, context_of, when_gone
from ted.runtime.cuda.error_flags import ErrorFlag
from ted.runtime.cuda.modules import load_functions
from ted.runtime.cuda.plans import Plan
from ted.runtime.cuda.pool import wait_for
from ted.runtime.cuda.streams import stream_handle


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
        self._lock = threading.Lock()
        with self.context:
            functions = load_functions(self.context, manifest, self)
            self._plan = Plan(self.context.driver, manifest, functions)
            self._constants = self._uploaded_constants()
            checks = manifest.checks
            self.flag = ErrorFlag(self.context, manifest.name, checks) if checks else None
        self._inputs = [((s.shape, s.dtype), s, alignment(s)) for s in manifest.inputs]

    def __call__(self, *arrays: Any, out: Any = None, stream: Any = None) -> tuple[Any, ...]:
        """Run on one array per input, into fresh results or into the arrays of `out`.

        Raises: ExecutionError naming the argument; or the tensor and index that an earlier call
        found out of range.
        """
        manifest, context = self.manifest, self.context
        if len(arrays) != len(manifest.inputs):
            names = ", ".join(spec.name for spec in manifest.inputs)
            raise ExecutionError(
                f"{manifest.name}: expected {len(manifest.inputs)} arguments ({names}), "
                f"got {len(arrays)}"
            )
        pushed = context.enter()
        try:
            if self.flag is not None:
                self.flag.check()
            on = self._stream(arrays) if stream is None else stream_handle(stream)
            keep: list[Any] = []
            addresses = [self._address(k, array, on, keep) for k, array in enumerate(arrays)]
            results = self._run(addresses, self._given(out, arrays), on, keep)
            if context.capture is not None:
                context.capture.keep(self, *arrays, *keep, *results)
            elif context.foreign:
                context.retire(on)
        finally:
            if pushed:
                context.leave()
        return results

    def synchronize(self) -> None:
        """Wait for the device.

        Raises: ExecutionError for an index out of range.
        """
        self.context.synchronize()

    # Arguments.

    def _stream(self, arrays: Sequence[Any]) -> int:
        """Where a call runs when nobody says: a capture's stream, torch's current one, ours."""
        if self.context.capture is None:
            for array in arrays:
                if type(array) is not DeviceArray and is_torch(array) and array.is_cuda:
                    return torch_stream(self.context.ordinal)
        return self.context.stream

    def _address(self, position: int, value: Any, stream: int, keep: list[Any]) -> int:
        """The address of an argument, after its checks; what must outlive the call is kept."""
        shape_and_type, spec, least = self._inputs[position]
        if type(value) is DeviceArray:
            fits = value.shape_and_type == shape_and_type and value.context is self.context
            if fits and value.pointer % least == 0:
                if value.stream != stream:
                    value.use_on(stream)
                return value.pointer
        elif is_torch(value):
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
        view = view_of(value, what, stream)
        check(view, spec, what, self.context.ordinal)
        self._hold(view, value, stream, keep)
        return view.pointer

    def _hold(self, view: View, value: Any, stream: int, keep: list[Any]) -> None:
        """Order the call behind the array's stream; keep the array until the call is done."""
        keep.append(view.owner)
        if isinstance(value, DeviceArray):
            value.use_on(stream)
            return
        if view.stream is not None and view.stream != stream and self.context.capture is None:
            wait_for(self.context.driver, stream, [view.stream])
        if not is_torch(value):  # torch frees in the order of its stream, others at once
            self.context.foreign.append(view.owner)

    # Results.

    def _given(self, out: Any, arrays: Sequence[Any]) -> list[Any]:
        """For each result the array to fill, or None; donated inputs are taken over."""
        manifest = self.manifest
        if out is None:
            given: list[Any] = [None] * len(manifest.outputs)
            for spec, array in zip(manifest.inputs, arrays, strict=True):
                if spec.donated_to is not None and not isinstance(array, int | float):
                    given[spec.donated_to] = array
            return given
        given = [*out] if isinstance(out, list | tuple) else [out]
        if len(given) != len(manifest.outputs):
            names = ", ".join(spec.name for spec in manifest.outputs)
            raise ExecutionError(
                f"{manifest.name}: out= expected {len(manifest.outputs)} arrays ({names}), "
                f"got {len(given)}"
            )
        return given

    def _run(
        self, inputs: list[int], given: list[Any], stream: int, keep: list[Any]
    ) -> tuple[Any, ...]:
        manifest, context = self.manifest, self.context
        results: list[Any] = []
        targets: list[int] = []
        addresses: list[int] = []
        for spec, array in zip(manifest.outputs, given, strict=True):
            fresh = array is None
            if not fresh:
                targets.append(self._target(spec, array, stream, keep))
                fresh = self._clashes(targets, inputs, len(results))
            else:
                targets.append(0)
            made = self._fresh(spec, stream) if fresh else None
            addresses.append(targets[-1] if made is None else made.pointer)
            results.append(made if array is None else array)
            keep.append(made)
        self._launch(inputs, addresses, stream)
        for spec, target, address in zip(manifest.outputs, targets, addresses, strict=True):
            if target and target != address and spec.nbytes:
                context.driver.cuMemcpyDtoDAsync_v2(target, address, spec.nbytes, stream)
        return tuple(results)

    def _fresh(self, spec: ArraySpec, stream: int) -> DeviceArray:
        return empty(spec.shape, spec.dtype, context=self.context, stream=stream, flag=self.flag)

    def _target(self, spec: ArraySpec, array: Any, stream: int, keep: list[Any]) -> int:
        what = f"{self.manifest.name}: out={spec.name!r}"
        view = view_of(array, what, stream)
        check(view, spec, what, self.context.ordinal)
        self._hold(view, array, stream, keep)
        return view.pointer

    def _clashes(self, targets: list[int], inputs: list[int], position: int) -> bool:
        """Whether a target overlaps an input that is still read when it is written.

        Then the result is computed elsewhere and copied. Raises: ExecutionError when two targets
        overlap.
        """
        manifest = self.manifest
        spec, start = manifest.outputs[position], targets[position]
        for other in range(position):
            if targets[other] and _overlap(
                start, spec.nbytes, targets[other], manifest.outputs[other].nbytes
            ):
                raise ExecutionError(
                    f"{manifest.name}: out={manifest.outputs[other].name!r} and "
                    f"out={spec.name!r} overlap in memory"
                )
        return any(
            _overlap(start, spec.nbytes, address, source.nbytes)
            and not (source.donated_to == position and address == start)
            for source, address in zip(manifest.inputs, inputs, strict=True)
        )

    # The call.

    def _launch(self, inputs: list[int], outputs: list[int], stream: int) -> None:
        manifest, context = self.manifest, self.context
        needed = manifest.arena_bytes
        arena = context.memory_for(stream).allocate(needed, stream) if needed else None
        start = arena.pointer if arena else 0
        bases = [
            *inputs,
            *outputs,
            *(start + buffer.offset for buffer in manifest.buffers),
            *self._constants,
            self.flag.pointer if self.flag else 0,
        ]
        try:
            with self._lock:
                self._plan.run(bases, stream)
            if self.flag is not None:
                self.flag.fetch(stream)
        finally:
            if arena:
                arena.free()

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
