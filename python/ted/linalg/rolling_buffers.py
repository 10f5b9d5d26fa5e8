"""The slices of a window as a tensor: an empty one, and room in it for the slice of a step."""

from __future__ import annotations

from collections.abc import Sequence

from ted.linalg.generics import filled
from ted.linalg.scan_steps import StaticTime, Time
from ted.linalg.slices import along, extract_slice, insert_slice
from ted.linalg.storage_folding import Window
from ted.linalg.unit_dims import collapse, expand
from ted.mlir import bufferization, ir, memref, tensor
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of
from ted.mlir.storage import allocated, is_memory, saved
from ted.records import dataclass


@dataclass(frozen=True)
class Beginning:
    """What a history starts from: nothing, one value everywhere, or elements of its own.

    `value` is a tensor, or memory; None for memory that nobody has made.
    """

    shape: tuple[int, ...]
    element: ir.Type
    value: ir.Value | None
    fill: ir.Value | None = None
    is_empty: bool = False
    on_memory: bool = False
    window: ir.Value | None = None  # memory in which the slices that are kept shall lie

    def room(self, shape: Sequence[int]) -> ir.Value:
        """Room for some of the history."""
        if self.on_memory:
            dense = allocated([n for n in shape if n != 1], self.element)
            return expand(dense, ir.MemRefType.get(list(shape), self.element))
        return tensor.EmptyOp(list(shape), self.element).result

    def started(self, shape: Sequence[int]) -> ir.Value:
        """Room for some of the history, as it starts."""
        room = self.room(shape)
        if self.fill is not None and self.on_memory:
            filled(collapse(room), self.fill)
            return room
        return room if self.fill is None else filled(room, self.fill)

    def whole(self) -> ir.Value:
        """All of the history, to be written."""
        return self.started(self.shape) if self.value is None else self.value


def beginning(value: ir.Value, on_memory: bool = False) -> Beginning:
    """What a tensor, or memory, is as the start of a history; on memory a start is not made yet."""
    fill = defining(value, "linalg.fill")
    is_empty = defining(value, "tensor.empty") is not None
    is_made = not (on_memory and (is_empty or fill is not None)) or is_memory(value)
    return Beginning(
        shape_of(value), element_type(value), value if is_made else None,
        None if fill is None or not len(fill.results) else fill.operands[0], is_empty, on_memory,
    )  # fmt: skip


def no_slices(window: Window, history: Beginning) -> ir.Value:
    """A window before the first step."""
    return history.room(slices_shape(window, history.shape, window.size))


def first_slices(window: Window, history: Beginning) -> ir.Value:
    """A window before the first step, whose newest slice is there if the first step goes on."""
    empty = no_slices(window, history) if history.window is None else history.window
    time = StaticTime(window.steps - 1 if window.reverse else 0)
    if not window.carries:
        return empty
    if window.size == 1:
        return _begun(window, history, time, empty)
    start = _start(window, history, time)
    return empty if start is None else _put(window, start, empty, window.newest)


def window_of(history: ir.Value, window: Window) -> ir.Value:
    """The slices of a history that a window keeps, after the last step."""
    return extract_slice(
        history, *along(shape_of(history), window.axis, window.first_time, window.size)
    )


def next_slice(
    window: Window, state: ir.Value | None, init: Beginning, time: Time
) -> ir.Value:  # fmt: skip
    """The window when its history is begun in a step: the newest slice is that of `init`.

    `state` is the window after the step before, None if nothing of it is carried. A single slice
    is memory of the step alone, to be copied at its end: until then the old one may be read.
    """
    if state is not None and window.carries and window.size == 1:
        return state
    if state is None or window.size == 1:
        return _begun(window, init, time, init.window)
    for source, target in window.moves():
        state = _put(window, _get(window, state, source), state, target)
    start = None if window.carries else _start(window, init, time)
    return state if start is None else _put(window, start, state, window.newest)


def in_place(window: Window, final: ir.Value, state: ir.Value) -> ir.Value:
    """The window after a step of a loop, in the memory of the one before it.

    By then nothing reads the old one any more, except a slice that was only copied from it: such a
    copy may become one with its source, and is made again.
    """
    if window.size > 1 or window.carries:
        return final
    if not is_memory(final) and _is_copied(final):
        final = bufferization.AllocTensorOp(final.type, [], copy=final).result
    return written(final, state)


def written(value: ir.Value, place: ir.Value) -> ir.Value:
    """A tensor in the memory of another one."""
    if is_memory(place):
        if value != place:
            memref.CopyOp(value, place)
        return place
    result = bufferization.MaterializeInDestinationOp(value.type, value, place).result
    assert result is not None, "into a tensor, which the operation gives back"
    return result


def _is_copied(value: ir.Value) -> bool:
    """Whether a value may be that of another tensor: made by nothing, or by a copy."""
    op = defining(value)
    if op is None:
        return True
    if op.name in ("tensor.expand_shape", "tensor.collapse_shape"):
        return _is_copied(op.operands[0])
    if op.name.startswith("tensor."):
        return True
    if op.name != "linalg.generic":
        return False
    body = op.regions[0].blocks[0]
    return defining(body.operations[len(body.operations) - 1].operands[0]) is None


def _begun(window: Window, init: Beginning, time: Time, room: ir.Value | None) -> ir.Value:
    """A single slice as it starts, in some room if there is any."""
    if init.on_memory and init.fill is not None:
        room = no_slices(window, init) if room is None else room
        filled(collapse(room), init.fill)
        return room
    start = _start(window, init, time)
    if start is None:
        return no_slices(window, init) if room is None else room
    return start if room is None else written(start, room)


def _start(window: Window, init: Beginning, time: Time) -> ir.Value | None:
    """The slice that a history starts from at a time; None if it is anything."""
    if init.is_empty:
        return None
    if init.value is None or init.fill is not None:
        return init.started(slices_shape(window, init.shape, 1))
    at = time.time if isinstance(time, StaticTime) else time.now
    return saved(extract_slice(init.value, *along(init.shape, window.axis, at)))


def _get(window: Window, state: ir.Value, place: int) -> ir.Value:
    return extract_slice(state, *along(shape_of(state), window.axis, place))


def _put(window: Window, part: ir.Value, state: ir.Value, place: int) -> ir.Value:
    return insert_slice(part, state, *along(shape_of(state), window.axis, place))


def slices_shape(window: Window, history: Sequence[int], slices: int = 0) -> list[int]:
    """The shape of some slices of a history of a shape, else of all that a window keeps."""
    shape = list(history)
    shape[window.axis] = slices or window.size
    return shape
