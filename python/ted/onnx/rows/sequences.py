"""Sequences and optionals: lists and None while the graph is read."""

from __future__ import annotations

from typing import Any

import numpy as np

import ted
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node, Value
from ted.onnx.rows.shapes import parts


def _place(node: Node, sequence: list[Value], position: int, default: int) -> int:
    return int(np.ravel(node.known(position))[0]) if node.has(position) else default


def insert(node: Node, sequence: list[Value], value: Value, *_: Any) -> list[Value]:
    """With one more, at the end by default."""
    at = _place(node, sequence, 2, len(sequence))
    at += len(sequence) if at < 0 else 0
    return [*sequence[:at], value, *sequence[at:]]


def erase(node: Node, sequence: list[Value], *_: Any) -> list[Value]:
    """With one less, the last by default."""
    at = _place(node, sequence, 1, -1) % len(sequence)
    return [*sequence[:at], *sequence[at + 1 :]]


def at(node: Node, sequence: list[Value], *_: Any) -> Value:
    """One of them."""
    return sequence[_place(node, sequence, 1, 0)]


def length(node: Node, sequence: list[Value]) -> Any:
    """Their number, which is known."""
    return np.array(len(sequence), np.int64)


def joined(node: Node, sequence: list[Value]) -> Tensor:
    """One tensor of them, along an axis or a new one."""
    axis = node.attr("axis")
    if node.attr("new_axis", 0):
        return ted.stack(list(sequence), axis)
    return ted.concatenate(list(sequence), axis)


def split(node: Node, x: Tensor, *_: Any) -> list[Value]:
    """Parts along an axis: of one extent, of given extents, or single elements."""
    axis = node.attr("axis", 0) % x.ndim
    extent = x.shape[axis]
    if not node.has(1):
        found = parts(x, [1] * extent, axis)
        if node.attr("keepdims", 1):
            return found
        kept = tuple(n for k, n in enumerate(x.shape) if k != axis)
        return [ted.reshape(t, kept) for t in found]
    sizes = node.known(1)
    if sizes.ndim == 0:
        step = int(sizes)
        return parts(x, [min(step, extent - k) for k in range(0, extent, step)], axis)
    return parts(x, [int(n) for n in sizes], axis)


def has_element(node: Node, value: Value = None) -> Any:
    """Whether an optional is there, which is known."""
    return np.array(value is not None, np.bool_)


RULES = {
    "SequenceEmpty": lambda node: [],
    "SequenceConstruct": lambda node, *values: list(values),
    "SequenceInsert": insert, "SequenceErase": erase, "SequenceAt": at,
    "SequenceLength": length, "ConcatFromSequence": joined, "SplitToSequence": split,
    "Optional": lambda node, value=None: value, "OptionalGetElement": lambda node, value: value,
    "OptionalHasElement": has_element,
}  # fmt: skip
