"""What a program and its gradient do beside what is needed, for each kind of part: exact ratios.

Counted are the operations of all equations that are left when a part of a result is all that is
wanted, as `.report()` counts them, against those of the same part written on its own.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ted
from ted import nn
from ted.dialects import make_context
from ted.frontend.tensors import Tensor
from ted.ir.equations import System, topological
from ted.ir.to_ops import to_module
from ted.transforms.ted_report_gradient import report_function
from ted.transforms.ted_simplify import TedSimplify


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


A, B, W = p("a", 24, 10), p("b", 10, 18), p("w", 10, 10)
X, K = p("x", 1, 8, 8, 2), p("k", 3, 3, 2, 3)
ROWS, V = p("rows", 32, 6), p("v", 6, 5)


def states(x: Tensor) -> Tensor:
    """The states of independent lanes, one for each row."""
    start = ted.zeros((x.shape[1],), "float64")
    return ted.scan(lambda h, row: ((h := ted.tanh(h * 0.5 + row)), h), start, x)[1]


def padded(x: Tensor) -> Tensor:
    return ted.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)))


Make = Callable[[], Tensor]
# A part of a result, the part alone, and what the program and the gradient take beside that.
CASES: dict[str, tuple[Make, Make, float, float]] = {
    "rows of a product": (lambda: (A @ B)[:2], lambda: A[:2] @ B, 1.0, 1.0),
    "a crop": (lambda: (A @ B)[4:9, 2:6], lambda: A[4:9] @ B[:, 2:6], 1.0, 1.0),
    "every fourth row": (lambda: (A @ B)[::4], lambda: A[::4] @ B, 1.0, 1.0),
    "the last token": (
        lambda: (nn.softmax(A @ ted.transpose(A)) @ A)[-1:],
        lambda: nn.softmax(A[-1:] @ ted.transpose(A)) @ A,
        1.0,
        2928 / 2938,  # the row itself is added where alone a slice's adjoint is
    ),
    "a prefix of a scan": (lambda: states(ROWS)[:4], lambda: states(ROWS[:4]), 1.0, 1.0),
    "columns of a scan": (lambda: states(ROWS)[:, :2], lambda: states(ROWS[:, :2]), 1.0, 1.0),
    "the last step": (lambda: states(ROWS)[-1:], lambda: states(ROWS)[-1:], 1.0, 1.0),
    "an own padding": (
        lambda: nn.conv2d(padded(X), K),
        lambda: nn.conv2d(X, K, padding=2),
        1.0,
        1.0,
    ),
    # Forward `0 * w` is NaN for an infinite `w`: all is summed.
    "rows of zeros": (
        lambda: ted.pad(ROWS, ((32, 0), (0, 0))) @ V,
        lambda: ROWS @ V,
        2.0,
        1.0,
    ),
    "columns of zeros": (
        lambda: ted.pad(ROWS, ((0, 0), (6, 0))) @ ted.concatenate([V, V], axis=0),
        lambda: ROWS @ V,
        2.0,
        1.0,
    ),
    "a step of zeros": (
        lambda: ted.pad(A, ((24, 0), (0, 0))) @ ted.tanh(W),
        lambda: A @ ted.tanh(W),
        (2 * 4800 + 1600) / (4800 + 1600),
        1.0,
    ),
}


def operations(y: Tensor, with_gradient: bool) -> int:
    """What is left of a program, or of its gradient alone."""
    outputs = [y]
    if with_gradient:
        inputs = [t for t in (A, B, W, X, K, ROWS, V) if t.node in topological([y.node])]
        outputs = list(ted.differentiate(y, inputs, p("head", *y.shape)))
    nodes = [o.node for o in outputs]
    given = tuple(t for t in topological(nodes) if t.is_input)
    with make_context():
        system = TedSimplify().rewrite(System(given, tuple(nodes)))
        return report_function(to_module(system)).total


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", CASES)
def test_a_part_takes_what_it_takes_alone(name: str) -> None:
    part, alone, forward, backward = CASES[name]
    found = [
        operations(part(), with_gradient) / operations(alone(), with_gradient)
        for with_gradient in (False, True)
    ]
    assert found == [forward, backward]
