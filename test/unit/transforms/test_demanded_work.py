"""Who reads a part of a result computes that part, forward and backward: sums by points."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import pytest

import ted
from ted import nn
from ted.frontend.tensors import Tensor
from ted.transforms.ted_simplify import TedSimplify

N, K, M = 24, 10, 18  # rows and columns of a product, and what is summed between
A, B = ted.placeholder((N, K), "float64", name="a"), ted.placeholder((K, M), "float64", name="b")
Cut = Callable[[Tensor], Tensor]

CUTS: dict[str, Cut] = {
    "first": lambda y: y[:2],
    "one": lambda y: y[5],
    "last": lambda y: y[-1:],
    "columns": lambda y: y[:, 3:7],
    "every fourth": lambda y: y[::4],
    "every third from behind": lambda y: y[::-3, 1::5],
    "crop": lambda y: y[4:9, 2:6],
    "crop of a crop": lambda y: y[2:20:2][1:4],
    "element": lambda y: y[7, 3],
    "in a concatenation": lambda y: ted.concatenate([y, y[:1]], axis=0)[::6],
    "of a transpose": lambda y: ted.transpose(y)[::9],
    "reshaped": lambda y: ted.reshape(y, (N // 4, 4, M))[:, 0],
    "padded": lambda y: ted.pad(y, ((3, 3), (0, 0)))[1:5],
}
# Elements of the product in parts that have other elements, or one twice.
DISTINCT = {"in a concatenation": 4 * M, "padded": 2 * M}


def summed_points(outputs: list[Tensor]) -> int:
    """How many points the equations have that sum."""
    system = TedSimplify().rewrite(ted.compile([A, B], outputs).system)
    sums = [e for t in system.tensors() for e in t.equations if e.parallel < e.rank]
    return sum(e.domain.count_val().to_python() for e in sums)


@pytest.mark.fast(3)
@pytest.mark.parametrize("name", CUTS)
def test_a_part_of_a_product_takes_its_points_alone(name: str) -> None:
    part = CUTS[name](ted.tanh(A @ B))
    needed = DISTINCT.get(name, prod(part.shape))
    assert summed_points([part]) == needed * K


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", CUTS)
def test_so_do_its_gradients(name: str) -> None:
    part = CUTS[name](ted.tanh(A @ B))
    needed = DISTINCT.get(name, prod(part.shape))
    loss = ted.sum(part * part)
    gradients = ted.differentiate(loss, [A, B])
    # The part again, its cotangent times each of both.
    assert summed_points([*gradients]) <= 3 * needed * K


def test_the_last_token_attends_alone() -> None:
    y = nn.softmax(A @ ted.transpose(A)) @ A
    alone = nn.softmax(A[-1:] @ ted.transpose(A)) @ A
    assert summed_points([y[-1:]]) == summed_points([alone])
