"""Exact operation counts of gradients: what the reverse sweep costs per operation of the forward.

Weights are those of the operation count; sizes are such that boundaries do not flatter a ratio.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ted
from ted import nn
from ted.dialects import make_context
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor
from ted.ir.equations import System
from ted.ir.equations import Tensor as Node
from ted.ir.to_ops import to_module
from ted.testing import Counts, interpret
from ted.transforms.gradient import differentiate
from ted.transforms.ted_report_gradient import report_function
from unit.transforms.recurrences import Recurrence, cholesky, lstm, running_maximum

Make = Callable[[], Tensor]


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


def conv(stride: int, padding: int, dilation: int, groups: int) -> Tensor:
    x, w = p("x", 2, 17, 16, 4), p("w", 3, 3, 4 // groups, 6)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return nn.conv2d(x, w, **options)


def stencil(point: Callable[[Scalar, Scalar, int], Scalar]) -> Tensor:
    """A sum over a window of 5 x 5, written out."""
    a = p("a", 12, 12)

    def body(i: Scalar, j: Scalar) -> Scalar:
        window = [a[i + u, j + v] for u in range(5) for v in range(5)]
        total = point(window[0], window[12], 0)
        for position, value in enumerate(window[1:], start=1):
            total = total + point(value, window[12], position)
        return total

    return ted.compute((8, 8), body, name="stencil")


def written_product(count: int) -> Tensor:
    """A product of reads, written out."""
    a = p("a", 6, count)

    def body(i: Scalar) -> Scalar:
        total = a[i, 0]
        for k in range(1, count):
            total = total * a[i, k]
        return total

    return ted.compute((6,), body, name="product")


def reduced_product(count: int) -> Tensor:
    a, r = p("a", 6, count), ted.reduce_axis(count, name="r")
    return ted.compute((6,), lambda i: ted.prod(a[i, r], axis=r), name="product")


def triangle() -> Tensor:
    a, b, r = p("a", 16, 16), p("b", 16), ted.reduce_axis(16, name="r")
    return ted.compute((16,), lambda i: ted.sum(a[i, r] * b[r], axis=r, where=r <= i), name="t")


def symmetric(join: Callable[[Scalar, Scalar], Scalar]) -> Tensor:
    a = p("a", 12, 12)
    return ted.compute((12, 12), lambda i, j: join(a[i, j], a[j, i]), name="s")


def quotients() -> Tensor:
    a = p("a", 12)
    return ted.compute((20,), lambda i: a[i // 4] * a[i % 5], name="q")


CONVOLUTIONS = [
    (1, 0, 1, 1), (1, 1, 1, 1), (2, 1, 1, 1), (3, 2, 2, 2), (2, 1, 3, 1), (4, 0, 1, 2),
    (1, 2, 2, 2), (2, 2, 2, 1),
]  # fmt: skip
BOUNDS: dict[str, tuple[Make, float]] = {
    "matmul": (lambda: p("a", 9, 8) @ p("b", 8, 7), 2.0),
    "batched matmul": (lambda: p("a", 3, 6, 5) @ p("b", 3, 5, 7), 2.0),
    **{
        f"conv2d stride {s} padding {q} dilation {d} groups {g}": (
            lambda s=s, q=q, d=d, g=g: conv(s, q, d, g),
            2.0,
        )
        for s, q, d, g in CONVOLUTIONS
    },
    "depthwise": (lambda: nn.depthwise_conv2d(p("x", 2, 9, 9, 4), p("w", 3, 3, 4, 1)), 2.0),
    "average pool": (lambda: nn.avg_pool2d(p("x", 2, 12, 12, 3), 2), 1.3),
    "overlapping average pool": (lambda: nn.avg_pool2d(p("x", 2, 17, 17, 3), 3, stride=2), 1.3),
    "dense average pool": (lambda: nn.avg_pool2d(p("x", 2, 17, 17, 3), 3, stride=1), 1.3),
    "max pool": (lambda: nn.max_pool2d(p("x", 2, 12, 12, 3), 2), 3.0),
    "overlapping max pool": (lambda: nn.max_pool2d(p("x", 2, 17, 17, 3), 3, stride=2), 3.0),
    "dense max pool": (lambda: nn.max_pool2d(p("x", 2, 17, 17, 3), 3, stride=1), 3.0),
    "padded max pool": (lambda: nn.max_pool2d(p("x", 2, 17, 17, 3), 3, stride=2, padding=1), 3.0),
    "global max pool": (lambda: nn.global_max_pool2d(p("x", 2, 9, 9, 3)), 3.0),
    "softmax": (lambda: nn.softmax(p("x", 8, 32)), 2.0),
    "log softmax": (lambda: nn.log_softmax(p("x", 8, 32)), 2.0),
    "layer norm": (lambda: nn.layer_norm(p("x", 8, 32), p("scale", 32), p("shift", 32)), 2.3),
    "stencil of tanh": (lambda: stencil(lambda x, _, k: ted.tanh(x * (0.1 * k + 1))), 2.0),
    "stencil of squares": (lambda: stencil(lambda x, _, k: x * x * (0.1 * k + 1)), 2.0),
    "stencil of differences": (lambda: stencil(lambda x, c, _: x * ted.exp(-((x - c) ** 2))), 2.0),
    "product of 40 reads": (lambda: written_product(40), 3.5),
    "product over 40 points": (lambda: reduced_product(40), 3.5),
    "broadcast": (lambda: p("a", 6, 5) * p("b", 5), 4.0),
    "pad": (lambda: ted.pad(p("x", 5, 6), ((1, 2), (0, 3)), mode="reflect") ** 2, 4.0),
    "strided slice": (lambda: p("x", 9, 5)[1::2, ::-1] ** 2, 4.0),
    "gelu": (lambda: nn.gelu(p("x", 64)), 4.0),
    "symmetric maximum": (lambda: symmetric(ted.maximum), 4.0),
    "symmetric choice": (lambda: symmetric(lambda x, y: ted.where(x < y, x, y)), 4.0),
    "triangle": (triangle, 4.0),
    "quotients": (quotients, 4.0),
}
# Those of which three orders take seconds, not minutes.
ORDERS = [
    "matmul", "conv2d stride 2 padding 1 dilation 1 groups 1", "overlapping average pool",
    "overlapping max pool", "softmax", "layer norm", "stencil of squares", "product over 40 points",
    "gelu", "triangle", "quotients",
]  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_gradient_stays_within_its_bound(name: str) -> None:
    make, bound = BOUNDS[name]
    y = make()
    report = ted.differentiate(y, head=p("head", *y.shape)).report()
    assert all(e.exact for e in report.equations)
    assert report.ratio is not None
    assert report.ratio <= bound


def test_both_gradients_of_a_matmul_cost_exactly_two_matmuls() -> None:
    y = p("a", 9, 8) @ p("b", 8, 7)
    assert ted.differentiate(y, head=p("head", *y.shape)).report().ratio == 2.0


@pytest.mark.parametrize("name", ORDERS)
def test_each_order_stays_within_four_times_the_one_before(name: str) -> None:
    outputs = [BOUNDS[name][0]()]
    for order in (1, 2, 3):
        heads = [p(f"head{order}_{k}", *o.shape) for k, o in enumerate(outputs)]
        found = ted.differentiate(outputs, head=heads)
        report = found.report()
        assert report.ratio is not None
        assert report.ratio <= 4.0
        outputs = list(found)


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (lambda: lstm(6, 3, 5, 4), 2.3),
        (lambda: cholesky(9), 3.0),
        (lambda: running_maximum(12), 4.0),
    ],
    ids=["LSTM", "Cholesky", "running maximum"],
)
def test_gradient_of_a_recurrence_stays_within_its_bound(
    make: Callable[[], Recurrence], bound: float
) -> None:
    program = make()
    head = Node("head", program.output.shape, program.output.dtype)
    found = differentiate([program.output], program.inputs, [head]).gradients
    with make_context():
        system = System((*program.inputs, head), (program.output, *found), "gradient")
        report = report_function(to_module(system), "gradient", 1)
    assert report.ratio is not None
    assert report.ratio <= bound


@pytest.mark.parametrize("name", ["overlapping max pool", "layer norm", "triangle"])
def test_report_counts_what_the_interpreter_executes(name: str) -> None:
    y = BOUNDS[name][0]()
    head = p("head", *y.shape)
    found = ted.differentiate(y, head=head)
    program = ted.module([y, *found])
    counts, generator = Counts(), np.random.default_rng(0)
    types = [a.type for a in program.body.operations[0].regions[0].blocks[0].arguments]
    interpret(program, [generator.normal(size=t.shape) for t in types], counts=counts)
    assert counts.total == found.report().total


def test_a_maximum_and_its_index_are_one_operation() -> None:
    x = p("x", 6, 7)
    y = ted.max(x, axis=1)
    (first, *rest) = ted.differentiate(y, head=p("head", 6)).report().equations
    assert (first.combiner, first.name, first.primal) == ("argmax", "max", True)
    assert [e.combiner for e in rest] == ["set"]
