"""If, Loop and Scan: chosen and unrolled where the numbers are known, else branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ted
from ted.errors import FrontendError
from ted.frontend.checks import MAX_BYTES
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node, Value

MOST_UNROLLED = 64


def _tensor(value: Value) -> Value:
    return ted.constant(value) if isinstance(value, np.ndarray) else value


def _number(value: Value) -> Any:
    """What is known, as a number of Python; None for data."""
    return np.ravel(value)[0].item() if isinstance(value, np.ndarray) else None


def if_(node: Node, condition: Tensor) -> tuple[Value, ...]:
    """One of two branches: the one that is known to be taken, or both as branches of a program."""
    yes, no = node.graph("then_branch"), node.graph("else_branch")
    known = _number(node.inputs[0])
    if known is not None:
        return tuple((yes if known else no)())
    if _is_nested(yes()) or _is_nested(no()):
        node.known(0)
    found = ted.cond(
        ted.reshape(condition, ()),
        lambda: tuple(map(_tensor, yes())), lambda: tuple(map(_tensor, no())),
    )  # fmt: skip
    return tuple(found)


def _is_nested(values: Sequence[Value]) -> bool:
    return any(isinstance(value, list) or value is None for value in values)


def loop(node: Node, *_: Any) -> tuple[Value, ...]:
    """A loop whose number of steps is known, and whose condition is before each step.

    Many steps are a recurrence, whose condition always holds.  Few ones come first: a large bound
    often stands for none, and the condition ends the loop.
    Raises: FrontendError for steps or a condition that are data, or too many steps by a condition.
    """
    most = int(np.ravel(node.known(0))[0]) if node.has(0) else None
    going: Value = node.inputs[1] if node.has(1) else np.array(True)
    body, carried = node.graph("body"), list(node.inputs[2:])
    count = len(carried)
    rows: list[list[Value]] = [[] for _ in range(node.count - count)]
    step = 0
    while (most is None or step < most) and _goes_on(node, going):
        if step >= MOST_UNROLLED:
            return _repeated(body, list(node.inputs[2:]), most)
        going, *found = body(np.array(step, np.int64), going, *carried)
        carried, scanned = found[:count], found[count:]
        for row, value in zip(rows, scanned, strict=True):
            row.append(value)
        step += 1
    return (*carried, *map(_stacked, rows))


def _repeated(body: Callable[..., list[Value]], start: list[Value], steps: int | None) -> Any:
    if steps is None or steps > MAX_BYTES:
        raise FrontendError(f"loops must have at most {MOST_UNROLLED} known steps, got more")

    def numbered(k: Tensor, *carry: Tensor) -> list[Value]:
        going, *found = body(k, np.array(True), *carry)
        if not _number(going):
            raise FrontendError(
                f"loops of more than {MOST_UNROLLED} steps must go on to the last one, got a "
                "condition in their body"
            )
        return found

    def step(carry: Any, k: Any) -> Any:
        found = [_tensor(value) for value in numbered(k, *carry)]
        return tuple(found[: len(start)]), tuple(found[len(start) :])

    if _is_nested(start):
        raise FrontendError(f"loops of more than {MOST_UNROLLED} steps must carry tensors")
    last, rows = ted.scan(step, tuple(map(_tensor, start)), ted.arange(steps))
    return (*last, *rows)


def _goes_on(node: Node, going: Value) -> bool:
    known = _number(going)
    if known is None:
        node.known(1)
        raise FrontendError("the condition of a loop must be known while the graph is read")
    return bool(known)


def _stacked(rows: list[Value]) -> Tensor:
    if not rows:
        raise FrontendError("a loop with results of each step must have a step, got none")
    return ted.stack([_tensor(row) for row in rows], 0)


def scan(node: Node, *inputs: Any) -> tuple[Value, ...]:
    """A loop over slices of tensors, with states.

    Raises: FrontendError in version 8 for examples of several lengths.
    """
    if node.version < 9:
        return _batches(node, *inputs)
    count = node.attr("num_scan_inputs")
    states, xs = list(inputs[:-count]), inputs[-count:]
    results = node.count - len(states)
    body = node.graph("body")
    axes = node.attr("scan_input_axes", [0] * count)
    back = node.attr("scan_input_directions", [0] * count)
    slices = [_first(x, axis, b) for x, axis, b in zip(xs, axes, back, strict=True)]
    states, rows = _scanned(body, states, slices)
    out_axes = node.attr("scan_output_axes", [0] * results)
    out_back = node.attr("scan_output_directions", [0] * results)
    placed = [
        ted.moveaxis(ted.flip(row, 0) if b else row, 0, axis % row.ndim)
        for row, axis, b in zip(rows, out_axes, out_back, strict=True)
    ]
    return (*states, *placed)


def _first(x: Tensor, axis: int, back: int) -> Tensor:
    x = ted.moveaxis(x, axis % x.ndim, 0)
    return ted.flip(x, 0) if back else x


def _scanned(
    body: Callable[..., list[Value]], states: Sequence[Tensor], xs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    count = len(states)

    def step(carry: Any, slices: Any) -> Any:
        found = [_tensor(value) for value in body(*carry, *slices)]
        return tuple(found[:count]), tuple(found[count:])

    last, rows = ted.scan(step, tuple(states), tuple(xs))
    return list(last), list(rows)


def _batches(node: Node, *inputs: Any) -> tuple[Value, ...]:
    """Version 8: a scan of each example of a batch.

    Raises: FrontendError for examples of several lengths.
    """
    if node.has(0):
        raise FrontendError("a scan of version 8 must have examples of one length, got lengths")
    count = node.attr("num_scan_inputs")
    back = node.attr("directions", [0] * count)
    states, xs = inputs[1:-count], inputs[-count:]
    found = []
    for k in range(xs[0].shape[0]):
        slices = [_first(x[k], 0, b) for x, b in zip(xs, back, strict=True)]
        last, rows = _scanned(node.graph("body"), [s[k] for s in states], slices)
        found.append([*last, *rows])
    return tuple(ted.stack(list(each), 0) for each in zip(*found, strict=True))


RULES = {"If": if_, "Loop": loop, "Scan": scan}
