"""Exact operation counts of gradients: what the reverse sweep costs per operation of the forward.

Weights are those of the operation count; sizes are such that boundaries do not flatter a ratio.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

import ted
from ted import nn
from ted.dialects import make_context
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor
from ted.ir.equations import System, topological
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


def window(join: Callable[[Scalar, Scalar], Scalar], count: int) -> Tensor:
    """Neighbours in one dim, joined from left to right."""
    a = p("a", 30 + count - 1)
    return ted.compute((30,), lambda i: reduce(join, [a[i + k] for k in range(count)]), name="w")


def square(join: Callable[[Scalar, Scalar], Scalar]) -> Tensor:
    """The 25 elements of a window of 5 x 5, joined from left to right."""
    a = p("a", 12, 12)

    def body(i: Scalar, j: Scalar) -> Scalar:
        return reduce(join, [a[i + u, j + v] for u in range(5) for v in range(5)])

    return ted.compute((8, 8), body, name="square")


def median() -> Tensor:
    x, y, z = p("x", 12), p("y", 12), p("z", 12)
    return ted.maximum(ted.minimum(x, y), ted.minimum(ted.maximum(x, y), z))


def indexed(join: Callable[..., Scalar]) -> Tensor:
    """Reads that several points make, divided, wrapped round and once more."""
    x, z = p("x", 3), p("z", 9)
    return ted.compute((9,), lambda i: join(x[i // 3], x[5 * i % 9 % 3], z[2 * i % 9]), name="y")


def clamped_extrema() -> Tensor:
    """Four reads, three of which several points make alike."""
    a, b, c, d = p("a", 4, 9), p("b", 3, 2), p("c", 2), p("d", 10)

    def body(i: Scalar, j: Scalar) -> Scalar:
        lesser = ted.minimum(a[i * 5 % 4, (i + j) % 9], b[ted.minimum(j, 2), j * 2 % 4 // 2])
        return ted.maximum(lesser, c[j % 3 // 2] * d[ted.minimum(i * 2, 9)])

    return ted.compute((6, 9), body, name="y")


def row_products(read: Callable[[Tensor, Scalar, Scalar, int], Scalar]) -> Tensor:
    """Sums of a product of ten reads, all of them along the sum."""
    a, r = p("a", 4, 6, 10), ted.reduce_axis(6, name="r")

    def body(i: Scalar) -> Scalar:
        return ted.sum(reduce(lambda s, k: s * read(a, i, r, k), range(1, 10), read(a, i, r, 0)), r)

    return ted.compute((4,), body, name="rows")


def neighbours() -> Tensor:
    a = p("a", 12, 12)

    def body(i: Scalar, j: Scalar) -> Scalar:
        v = [a[i + u, j + w] for u in range(5) for w in range(5)]
        return reduce(lambda s, k: s + v[k] * v[k + 1], range(1, 24), v[0] * v[1])

    return ted.compute((8, 8), body, name="neighbours")


def greatest_of_groups(value: Callable[[Tensor], Tensor]) -> Tensor:
    groups = ted.placeholder((30,), "int64", name="groups")
    return ted.scatter((4, 2), groups, value(p("v", 30, 2)), combine="max")


def chosen(u: Scalar, v: Scalar) -> Scalar:
    return ted.where(u > v, u * v, u + v)


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
    "product of a window of 40": (lambda: window(lambda u, v: u * v, 40), 3.5),
    "stencil of cubes": (lambda: stencil(lambda x, _, k: x * x * x), 2.0),
    "stencil of neighbours": (neighbours, 2.0),
    # A comparison, two choices and an addition for each maximum: nothing less is a gather.
    "stencil of maxima": (lambda: square(ted.maximum), 4.0),
    **{f"maximum of {n}": (lambda n=n: window(ted.maximum, n), 4.0) for n in (2, 3, 5, 16)},
    "minimum of a symmetric minimum": (
        lambda: ted.minimum(symmetric(ted.minimum), p("y", 12, 12)),
        4.0,
    ),
    "median": (median, 4.0),
    **{f"choices between {n}": (lambda n=n: window(chosen, n), 2.0) for n in (4, 12)},
    **{f"powers of {n}": (lambda n=n: window(lambda u, v: u**v, n), 3.0) for n in (4, 12)},
    "clipped product of 12": (lambda: window(lambda u, v: ted.clip(u * v, -1, 1), 12), 4.0),
    **{f"hypotenuse of {n}": (lambda n=n: window(ted.hypot, n), 3.0) for n in (5, 9)},
    "maximum shared by ties": (lambda: ted.max(p("x", 6, 40), axis=1, ties="even"), 4.0),
    "minimum shared by ties": (lambda: ted.min(p("x", 6, 40), axis=1, ties="even"), 4.0),
    "scattered maximum": (lambda: greatest_of_groups(lambda v: v), 4.0),
    "scattered maximum of squares": (lambda: greatest_of_groups(lambda v: v * v), 4.0),
    "broadcast": (lambda: p("a", 6, 5) * p("b", 5), 4.0),
    "pad": (lambda: ted.pad(p("x", 5, 6), ((1, 2), (0, 3)), mode="reflect") ** 2, 4.0),
    "strided slice": (lambda: p("x", 9, 5)[1::2, ::-1] ** 2, 4.0),
    "gelu": (lambda: nn.gelu(p("x", 64)), 4.0),
    "sigmoid": (lambda: ted.sigmoid(p("x", 64)), 4.0),
    "log gamma": (lambda: ted.lgamma(p("x", 64)), 4.0),
    "symmetric maximum": (lambda: symmetric(ted.maximum), 4.0),
    "symmetric choice": (lambda: symmetric(lambda x, y: ted.where(x < y, x, y)), 4.0),
    "triangle": (triangle, 4.0),
    "quotients": (quotients, 4.0),
    # One operation at a point, and an addition for it.
    "absolute value of a divided read": (lambda: indexed(lambda x, *_: abs(x)), 5.0),
    "maximum of divided and wrapped": (lambda: indexed(lambda x, y, _: ted.maximum(x, y)), 5.0),
    "product of three reads": (lambda: indexed(lambda x, y, z: x * y * z), 4.5),
    "extrema of clamped reads": (clamped_extrema, 5.0),
    "sum of products of ten": (lambda: row_products(lambda a, i, r, k: a[i, r, k]), 2.0),
}
# Those of which three orders take seconds, not minutes.
ORDERS = [
    "matmul", "conv2d stride 2 padding 1 dilation 1 groups 1", "overlapping average pool",
    "overlapping max pool", "softmax", "layer norm", "stencil of squares", "product over 40 points",
    "gelu", "triangle", "quotients", "sigmoid", "log gamma", "maximum of 5", "median",
    "choices between 4", "maximum shared by ties", "scattered maximum",
]  # fmt: skip


@pytest.mark.fast(5)
@pytest.mark.parametrize("name", BOUNDS)
def test_gradient_stays_within_its_bound(name: str) -> None:
    make, bound = BOUNDS[name]
    y = make()
    report = ted.differentiate(y, head=p("head", *y.shape)).report()
    assert all(e.exact for e in report.equations)
    assert report.ratio is not None
    assert report.ratio <= bound


def test_parts_that_no_tensor_around_can_hold_are_computed_again_with_a_remark() -> None:
    rows, r = [p(f"v{k}", 40) for k in range(8)], ted.reduce_axis(40, name="r")

    def body(i: Scalar) -> Scalar:
        return ted.sum(reduce(lambda s, v: s * (v[i] - v[r]), rows[1:], rows[0][r]), r)

    found = ted.differentiate(ted.compute((40,), body, name="y"), head=p("head", 40))
    (said,) = found.report().remarks
    assert "15 gradients compute parts of 15 operations again" in said
    assert max(t.size for t in topological([g.node for g in found])) == 40


def test_rows_that_a_tensor_around_can_hold_are_stored_without_a_remark() -> None:
    y = row_products(lambda a, i, r, k: a[i, r, k])
    found = ted.differentiate(y, head=p("head", 4))
    assert not found.report().remarks
    assert max(t.size for t in topological([g.node for g in found])) == 240


def test_both_gradients_of_a_matmul_cost_exactly_two_matmuls() -> None:
    y = p("a", 9, 8) @ p("b", 8, 7)
    assert ted.differentiate(y, head=p("head", *y.shape)).report().ratio == 2.0


@pytest.mark.fast(1)
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


@pytest.mark.parametrize("name", ["powers of 4", "hypotenuse of 5"])
def test_guarded_factors_that_several_gradients_read_are_not_copied(name: str) -> None:
    first = ted.differentiate(y := BOUNDS[name][0](), head=p("head", *y.shape))
    second = ted.differentiate(list(first), head=[p("second", *d.shape) for d in first])
    ratio = second.report().ratio
    assert ratio is not None
    assert ratio <= 4.0


@pytest.mark.parametrize("name", ["stencil of maxima", *(f"maximum of {n}" for n in (3, 5, 16))])
def test_a_maximum_costs_a_comparison_two_choices_and_an_addition(name: str) -> None:
    y = BOUNDS[name][0]()
    assert ted.differentiate(y, head=p("head", *y.shape)).report().ratio == 4.0


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


@pytest.mark.parametrize(
    "name",
    [
        "overlapping max pool",
        "layer norm",
        "triangle",
        "stencil of maxima",
        "choices between 12",
        "maximum shared by ties",
    ],
)
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


def test_a_maximum_at_divided_indices_and_its_index_are_one_operation() -> None:
    x, w, r = p("x", 9), p("w", 9), ted.reduce_axis(4, name="r")
    y = ted.compute((9,), lambda i: ted.max(x[i // 2] * w[i % 2 + r], axis=r), name="y")
    found = ted.differentiate(y, head=p("head", 9)).report()
    assert sum(e.combiner in ("max", "argmax") for e in found.equations) == 1
