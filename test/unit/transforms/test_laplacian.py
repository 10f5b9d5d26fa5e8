"""What is pushed forward for a Laplacian: one tensor of directions for each, and no Hessian."""

from __future__ import annotations

import math

import ted
from ted.frontend.tensors import Tensor
from ted.ir.equations import topological
from ted.ir.printing import format_tensor
from unit.transforms.test_gradient_promises import p


def computed(x: Tensor) -> list[str]:
    """The equations of all that a tensor is computed from, as printed."""
    nodes = [n for n in topological([x.node]) if not n.is_input]
    return [line.strip() for n in nodes for line in format_tensor(n).splitlines()[1:]]


def test_one_sum_of_second_derivatives_goes_forward() -> None:
    x, w = p("x", 3), p("w", 3, 5)
    found = ted.laplacian(lambda x: ted.exp(x @ w))(x)
    assert computed(found) == [
        "matmul[i] += x[r]*w[r, i]  for r < 3",
        "exp[i] = exp(matmul[i])",
        "exp_lap[i] += w[r, i]*exp[i]*w[r, i]  for r < 3",
    ]


def test_directions_are_a_dim_of_tangents_alone() -> None:
    x, v, w = p("x", 3), p("v", 3, 5), p("w", 5, 7)
    found = ted.laplacian(lambda x: ted.sum(ted.tanh(ted.tanh(x @ v) @ w)))(x)
    nodes = [n for n in topological([found.node]) if not n.is_input]
    assert max(math.prod(n.static_shape) for n in nodes) == 3 * 7
    assert sorted(n.shape for n in nodes if len(n.shape) > 1) == [(3, 5), (3, 7)]


def test_directions_of_an_argument_with_dims_have_these_dims() -> None:
    x, w = p("x", 2, 3), p("w", 3, 5)
    found = ted.laplacian(lambda x: ted.sum(ted.sin(ted.tanh(x @ w))))(x)
    nodes = [n for n in topological([found.node]) if not n.is_input]
    assert {n.shape for n in nodes} <= {(2, 5), (2, 3, 2, 5), ()}


def test_what_is_linear_has_zeros() -> None:
    x, w = p("x", 3), p("w", 3, 5)
    assert ted.laplacian(lambda x: 3 * (x @ w) + 1)(x).node.is_zero
    assert ted.laplacian(lambda x: ted.sum(w) * ted.floor(ted.sum(x)))(x).node.is_zero
