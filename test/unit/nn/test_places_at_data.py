"""Pools at random places, the converse of pools, bags by offsets: positions that are data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import ted
from numeric.network_operators import GROUPS
from numeric.operator_programs import program_of
from numeric.torch_gradients import torch_gradients_of
from ted import nn, random
from ted.errors import ExecutionError, FrontendError
from ted.testing.tracing import interpreted
from unit.frontend.tracing import compiled, run

RANDOM = np.random.default_rng(0)
X = RANDOM.permutation(2 * 5 * 7 * 3).reshape(2, 5, 7, 3) / 10
OPERATORS = {
    o.name: o for group in GROUPS.values() for o in group
    if o.name.startswith(("fractional", "max_unpool", "bags"))
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_values_and_gradients_equal_torch(name: str) -> None:
    o = OPERATORS[name]
    p = program_of(o)
    value, *gradients = torch_gradients_of(o, p)
    found = interpreted([*p.inputs, *p.heads], [p.output, *p.gradients[0]])(*p.values)
    for mine, other in zip(found, [value, *gradients[0]], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def test_indices_of_a_fractional_pool_are_those_of_torch() -> None:
    samples = RANDOM.random((2, 3, 2)).astype("f4")
    x = X.astype("f4")
    found, at = run(
        lambda x, u: nn.fractional_max_pool2d(
            x, kernel_size=2, output_ratio=(0.5, 0.7), _random_samples=u, return_indices=True
        ),
        x, samples,
    )  # fmt: skip
    options = {"output_ratio": (0.5, 0.7), "return_indices": True}
    options["_random_samples"] = torch.tensor(samples)
    theirs, places = F.fractional_max_pool2d(torch.tensor(x).movedim(-1, 1), 2, **options)
    np.testing.assert_array_equal(found, theirs.movedim(1, -1))
    np.testing.assert_array_equal(at, places.movedim(1, -1))
    rows = np.take_along_axis(x.reshape(2, 35, 3), at.reshape(2, -1, 3), 1)
    np.testing.assert_array_equal(rows, found.reshape(2, -1, 3))


def test_windows_of_a_key_are_those_of_its_numbers() -> None:
    key = random.key(3)
    drawn = run(lambda x: nn.fractional_max_pool2d(x, 2, 3, key=key), X)
    samples = random.uniform(key, (2, 3, 2), "float64")
    given = run(lambda x: nn.fractional_max_pool2d(x, 2, 3, samples=samples), X)
    np.testing.assert_array_equal(drawn, given)


def test_the_last_of_equal_positions_counts() -> None:
    found = run(lambda x, i: nn.max_unpool1d(x, i, 2), X[:1, 0, :3, :1], np.full((1, 3, 1), 4))
    assert found.ravel().tolist() == [0, 0, 0, 0, X[0, 0, 2, 0], 0]


def test_the_last_offset_ends_the_last_bag() -> None:
    table, ids = RANDOM.standard_normal((4, 2)), np.array([1, 2, 3, 0, 1])
    offsets = np.array([0, 2, 2, 5])
    for mode in ("sum", "mean", "max"):
        found = run(
            lambda t, i, o, m=mode: nn.embedding_bag(
                t, i, m, offsets=o, include_last_offset=True
            ),
            table, ids, offsets,
        )  # fmt: skip
        want = F.embedding_bag(
            torch.tensor(ids), torch.tensor(table), torch.tensor(offsets), mode=mode,
            include_last_offset=True,
        )  # fmt: skip
        np.testing.assert_allclose(found, want, rtol=1e-14)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([1, 3], r"embedding_bag: the first of offsets: must be in \[0, 0\], got 1"),
        ([0, 9], r"embedding_bag: offsets: must be in \[0, 5\], got 9"),
    ],
)
def test_offsets_outside_are_errors_of_the_program(offsets: list[int], message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        compiled(
            lambda t, o: nn.embedding_bag(t, np.zeros(5, int), "sum", offsets=o),
            np.ones((3, 2)), np.array(offsets),
        )  # fmt: skip


def test_positions_outside_are_errors_of_the_program() -> None:
    with pytest.raises(ExecutionError, match=r"max_unpool1d: indices: must be in \[0, 5\], got -1"):
        compiled(lambda x, i: nn.max_unpool1d(x, i, 2), X[:1, 0, :3], np.full((1, 3, 3), -1))


def refused(message: str, call: Any) -> None:
    with pytest.raises(FrontendError, match=message) as caught:
        call()
    assert caught.value.location is not None


def test_what_does_not_fit_is_refused() -> None:
    x, u = ted.placeholder((2, 5, 7, 3), name="x"), np.zeros((2, 3, 2), "f4")
    both = "takes one of output_size and output_ratio, and one of samples and key"
    refused(both, lambda: nn.fractional_max_pool2d(x, 2, 2))
    refused(both, lambda: nn.fractional_max_pool2d(x, 2, 2, 0.5, u))
    pool = nn.fractional_max_pool2d
    refused("5 windows of 2 must begin at different places, got 5", lambda: pool(x, 2, 5, None, u))
    refused(r"output_ratio is a number of \(0, 1\)", lambda: pool(x, 2, None, 1.5, u))
    refused(r"samples: must have shape \(2, 3, 2\)", lambda: pool(x, 2, 2, None, u[:1]))
    ids = ted.placeholder((2, 5, 7, 3), "int64", name="ids")
    refused("indices must be integers of shape", lambda: nn.max_unpool2d(x, x, 2))
    refused(r"less than a stride \(2, 2\) from \(10, 14\), got \(12, 14\)",
            lambda: nn.max_unpool2d(x, ids, 2, output_size=(12, 14)))  # fmt: skip
    table = ted.placeholder((4, 2), name="t")
    bag = nn.embedding_bag
    refused("offsets: must have 1 dims", lambda: bag(table, ids[0, 0, 0], offsets=[[0]]))
    refused("ids: must have 1 dims", lambda: bag(table, ids, offsets=[0]))
    none = ids[0, 0, 0, :0]
    refused("where one bag at least begins", lambda: bag(table, ids[0, 0, 0], offsets=none))
