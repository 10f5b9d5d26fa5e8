"""The slices of a window as a tensor: an empty one, and room in it for the slice of a step."""

from __future__ import annotations

from ted.linalg.generics import filled
from ted.linalg.scan_steps import StaticTime, Time
from ted.linalg.slices import along, extract_slice, insert_slice
from ted.linalg.storage_folding import Window
from ted.mlir import bufferization, ir, tensor
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of


def no_slices(window: Window, history: ir.Value) -> ir.Value:
    """A window before the first step."""
    return tensor.EmptyOp(slices_shape(window, history, window.size), element_type(history)).result


def first_slices(window: Window, history: ir.Value) -> ir.Value:
    """A window before the first step, whose newest slice is there if the first step goes on."""
    empty = no_slices(window, history)
    start = _start(window, history, StaticTime(window.steps - 1 if window.reverse else 0))
    if not window.carries or start is None:
        return empty
    return start if window.size == 1 else _put(window, start, empty, window.newest)


def window_of(history: ir.Value, window: Window) -> ir.Value:
    """The slices of a history that a window keeps, after the last step."""
    return extract_slice(
        history, *along(shape_of(history), window.axis, window.first_time, window.size)
    )


def next_slice(window: Window, state: ir.Value | None, init: ir.Value, time: Time) -> ir.Value:
    """The window when its history is begun in a step: the newest slice is that of `init`.

    `state` is the window after the step before, None if nothing of it is carried. A single slice
    is memory of the step alone, to be copied at its end: until then the old one may be read.
    """
    if state is not None and window.carries and window.size == 1:
        return state
    if state is None or window.size == 1:
        start = _start(window, init, time)
        return no_slices(window, init) if start is None else start
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
    if _is_copied(final):
        final = bufferization.AllocTensorOp(final.type, [], copy=final).result
    return written(final, state)


def written(value: ir.Value, place: ir.Value) -> ir.Value:
    """A tensor in the memory of another one."""
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


def _start(window: Window, init: ir.Value, time: Time) -> ir.Value | None:
    """The slice that a history starts from at a time; None if it is anything."""
    if defining(init, "tensor.empty") is not None:
        return None
    fill = defining(init, "linalg.fill")
    if fill is not None:
        empty = tensor.EmptyOp(slices_shape(window, init, 1), element_type(init)).result
        return filled(empty, fill.operands[0])
    at = time.time if isinstance(time, StaticTime) else time.now
    return extract_slice(init, *along(shape_of(init), window.axis, at))


def _get(window: Window, state: ir.Value, place: int) -> ir.Value:
    return extract_slice(state, *along(shape_of(state), window.axis, place))


def _put(window: Window, part: ir.Value, state: ir.Value, place: int) -> ir.Value:
    return insert_slice(part, state, *along(shape_of(state), window.axis, place))


def slices_shape(window: Window, history: ir.Value, slices: int = 0) -> list[int]:
    """The shape of some slices of a history, else of all that a window keeps."""
    shape = list(shape_of(history))
    shape[window.axis] = slices or window.size
    return shape
