"""Reads and writes at places that are data."""

from __future__ import annotations

from typing import Any

import numpy as np

import ted
from ted.domain.sizes import Extent
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node

_COMBINERS = {"none": "set", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def from_start(indices: Tensor, extent: Extent) -> Tensor:
    """Indices of which those below 0 counted from the end."""
    return ted.where(indices < 0, indices + extent, indices).astype(indices.dtype)


def gather(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    """Slices at indices along an axis."""
    axis = node.attr("axis", 0) % x.ndim
    return ted.take(x, from_start(indices, x.shape[axis]), axis)


def gather_elements(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    """An element for each index, along an axis."""
    axis = node.attr("axis", 0) % x.ndim
    at = from_start(indices, x.shape[axis])
    return ted.compute(
        indices.shape,
        lambda *i: x[(*i[:axis], ted.cast(at[i], "int64"), *i[axis + 1 :])],
        name="gather_elements",
    )


def gather_nd(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    """Slices at tuples of indices, behind dims of batches."""
    batch, depth = node.attr("batch_dims", 0), indices.shape[-1]
    points = indices.shape[:-1]
    places = [from_start(indices[..., k], x.shape[batch + k]) for k in range(depth)]
    shape = (*points, *x.shape[batch + depth :])

    def element(*i: Any) -> Any:
        point, rest = i[: len(points)], i[len(points) :]
        return x[(*point[:batch], *(p[point] for p in places), *rest)]

    return ted.compute(shape, element, name="gather_nd")


def scatter_elements(node: Node, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """An element put or combined at each index, along an axis."""
    axis = node.attr("axis", 0) % x.ndim
    at = from_start(indices, x.shape[axis])
    places = [_dim(indices.shape, k) for k in range(x.ndim)]
    places[axis] = at.astype("int64")
    return _combined(node, x, places, updates)


def scatter_nd(node: Node, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Slices put or combined at tuples of indices."""
    depth = indices.shape[-1]
    places = [from_start(indices[..., k], x.shape[k]) for k in range(depth)]
    return _combined(node, x, places, updates)


def _combined(node: Node, x: Tensor, places: list[Tensor], updates: Tensor) -> Tensor:
    combine = _COMBINERS[node.attr("reduction", "none")]
    return ted.scatter(x.shape, tuple(places), updates, combine, init=x).astype(x.dtype)


def _dim(shape: Any, axis: int) -> Tensor:
    return ted.compute(shape, lambda *i: i[axis] + 0, name="at")


def tensor_scatter(node: Node, x: Tensor, update: Tensor, start: Any = None) -> Tensor:
    """Part of a cache written from an index on, for each element of the batch."""
    axis = node.attr("axis", -2) % x.ndim
    circular = node.attr("mode", "linear") == "circular"

    def place(*i: Any) -> Any:
        at = i[axis] if start is None else ted.cast(start[i[0]], "int64") + i[axis]
        return at % x.shape[axis] if circular else at + 0

    places = [_dim(update.shape, k) for k in range(x.ndim)]
    places[axis] = ted.compute(update.shape, place, name="at")
    return ted.scatter(x.shape, tuple(places), update, "set", init=x)


def one_hot(node: Node, indices: Tensor, depth: Any, values: Tensor) -> Tensor:
    """One value at an index of a new dim, another one elsewhere; outside there is nothing."""
    count = int(np.ravel(node.known(1))[0])
    axis = node.attr("axis", -1) % (indices.ndim + 1)
    shape = (*indices.shape[:axis], count, *indices.shape[axis:])
    at = ted.cast(indices, "int64")

    def element(*i: Any) -> Any:
        label = at[(*i[:axis], *i[axis + 1 :])]
        return ted.where((label == i[axis]) | (label + count == i[axis]), values[1], values[0])

    return ted.compute(shape, element, name="one_hot")


def reverse_sequence(node: Node, x: Tensor, lengths: Tensor) -> Tensor:
    """The first elements in time reversed, as many as each sequence has."""
    time, batch = node.attr("time_axis", 0), node.attr("batch_axis", 1)

    def element(*i: Any) -> Any:
        n = ted.cast(lengths[i[batch]], "int64")
        at = ted.where(i[time] < n, n - 1 - i[time], i[time])
        return x[(*i[:time], at, *i[time + 1 :])]

    return ted.compute(x.shape, element, name="reverse_sequence")


def compress(node: Node, x: Tensor, condition: Any) -> Tensor:
    """The slices that a mask chooses, which must be known since it decides the shape."""
    chosen = np.flatnonzero(node.known(1))
    axis = node.attr("axis", None)
    if axis is None:
        return ted.take(ted.reshape(x, (-1,)), chosen, 0)
    return ted.take(x, chosen, axis % x.ndim)


def by_values(node: Node, *_: Any) -> Tensor:
    """Operators whose shapes depend on numbers that are data.

    Raises: FrontendError.
    """
    raise FrontendError("shapes must be known, got an operator whose result has as many elements "
                        "as numbers say")  # fmt: skip


RULES = {
    "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd,
    "ScatterElements": scatter_elements, "Scatter": scatter_elements, "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter, "OneHot": one_hot, "ReverseSequence": reverse_sequence,
    "Compress": compress, "NonZero": by_values, "Unique": by_values,
    "NonMaxSuppression": by_values,
}  # fmt: skip
