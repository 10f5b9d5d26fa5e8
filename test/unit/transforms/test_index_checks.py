"""An index that is data is checked against what the user reads, wherever that is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError
from ted.ir.equations import System, operands, topological
from ted.testing.tracing import nodes
from ted.transforms.index_checks import carried_dims, checked_reads
from ted.transforms.ted_fuse_pointwise import fuse_pointwise
from unit.frontend.tracing import placeholders

X = np.arange(10.0)
# Of four elements each, computed where they are read.
READ: dict[str, Callable[[Any], Any]] = {
    "a part": lambda x: x[1:5],
    "a part of a part": lambda x: (x[1:8] * 2)[2:6],
    "backwards": lambda x: x[:4][::-1],
    "one everywhere": lambda x: ted.broadcast_to(x[0], (4,)),
    "of no tensor": lambda x: ted.arange(4) * 2,
    "read sometimes": lambda x: ted.where(ted.arange(4) > 1, x[:4], 0.0),
    "under a root": lambda x: ted.sqrt(x[1:5]),
}


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", READ)
def test_an_index_outside_of_what_is_computed_in_place_is_an_error(name: str) -> None:
    read = READ[name]
    f = ted.function(lambda x, i: ted.where(x[:3] >= 0, read(x)[i], 0.0))
    want = np.asarray(ted.function(lambda x: read(x))(X))
    np.testing.assert_array_equal(f(X, np.array([0, 3, -1])), want[[0, 3, -1]])
    for outside in (4, 9, -5):
        with pytest.raises(ExecutionError, match=f"extent 4 in dim 0, got index {outside}"):
            f(X, np.array([0, outside, 1]))


def test_what_reads_a_tensor_as_long_at_every_point_is_computed_in_place() -> None:
    x, i = placeholders(X, np.array([1, 2]))
    for read, kept in ((x * 2, True), (x[1:] * 2, False)):
        (y,) = nodes(read[i], "test")
        (new,) = fuse_pointwise(System(tuple(nodes([x, i], "test")), (y,), "y"))[0].outputs
        assert ("x0" in {t.name for t in operands(new)}) is kept


def test_dims_are_carried_by_reads_that_are_always_made_and_as_long() -> None:
    x = ted.placeholder((4, 9), "float64", name="x")
    for tensor, dims in (
        (x * 2, {0, 1}), (x[:, 1:] * 2, {0}), (ted.transpose(x) * 2, {0, 1}),
        (ted.where(x > 0, x, 0.0), {0, 1}), (ted.tril(x), set()),
        (ted.broadcast_to(x[0], (4, 9)) * 2, {1}),
    ):  # fmt: skip
        (node,) = nodes(tensor, "test")
        fused = {t: carried_dims(t) for t in topological([node]) if t.equations and t is not node}
        assert carried_dims(node, fused) == dims, node.name


def test_an_index_is_checked_where_it_is_not_proved_to_be_inside() -> None:
    x, i = placeholders(X, np.array([1, 2]))
    for y, dims in ((x[i], (0,)), (ted.take(x, i, axis=0, mode="clip"), ())):
        (node,) = nodes(y, "test")
        assert set(checked_reads(node.equations[0]).values()) == {dims}
