"""What the lowered loops run against the exact number of points, operator by operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ted
from ted import nn
from ted.frontend.tensors import Tensor
from ted.ir.equations import Tensor as Node
from ted.ir.equations import topological
from ted.transforms.gradient import differentiate
from unit.cpu.loop_trips import trips_and_points
from unit.transforms.recurrences import Recurrence, cholesky, cumsum, triangular_solve

WINDOWS, TRIANGLES = 1.35, 1.5
SIZE = 33
# stride, dilation, kernel, padding, groups
CONVOLUTIONS = [
    (1, 1, 3, 0, 1), (1, 1, 3, 1, 1), (2, 1, 3, 1, 1), (3, 2, 3, 2, 2), (2, 3, 3, 1, 1),
    (4, 1, 3, 0, 2), (1, 2, 3, 2, 2), (2, 2, 3, 2, 1), (3, 3, 3, 0, 1), (4, 3, 2, 1, 1),
    (2, 1, 1, 0, 1), (1, 1, 7, 0, 1), (2, 1, 7, 3, 1), (1, 4, 3, 0, 1), (1, 4, 3, 1, 2),
    (1, 3, 7, 1, 1), (2, 4, 7, 0, 1), (3, 4, 7, 0, 2), (1, 2, 5, 4, 4),
]  # fmt: skip
POOLS = {
    "tiles": {"window": 2}, "overlapping": {"window": 3, "stride": 2},
    "padded": {"window": 3, "stride": 2, "padding": 1}, "dense": {"window": 3, "stride": 1},
    "dense padded": {"window": 3, "stride": 1, "padding": 1}, "gaps": {"window": 2, "stride": 3},
}  # fmt: skip


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


def conv(stride: int, dilation: int, kernel: int, padding: int, groups: int) -> Tensor:
    """Images and results of more than 32 x 32."""
    n = (SIZE - 1) * stride + dilation * (kernel - 1) + 1 - 2 * padding
    x, w = p("x", 1, n, n + 1, 32), p("w", kernel, kernel, 32 // groups, 48)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return nn.conv2d(x, w, **options)


def summed(shape: tuple[int, ...], term: Callable[..., object], n: int = 40) -> Tensor:
    """A sum over the r up to i."""
    r = ted.reduce_axis(n, name="r")
    return ted.compute(shape, lambda i, *j: ted.sum(term(i, r, *j), axis=r, where=r <= i))


def running_sum() -> Tensor:
    x = p("x", 40, 5)
    return summed((40, 5), lambda i, r, j: x[r, j])


def triangular_product() -> Tensor:
    a, b = p("a", 40, 40), p("b", 40, 6)
    return summed((40, 6), lambda i, r, j: a[i, r] * b[r, j])


def causal_attention() -> Tensor:
    return nn.attention(p("q", 1, 40, 3), p("k", 1, 40, 3), p("v", 1, 40, 2), causal=True)


def of_tensor(y: Tensor) -> tuple[list[Node], Node]:
    return [n for n in topological([y.node]) if n.is_input], y.node


def assert_trips(inputs: list[Node], output: Node, most: float) -> None:
    """The bound for the result, and for each gradient by itself."""
    head = Node("head", output.shape, output.dtype)
    found = differentiate([output], inputs, [head]).gradients
    for wanted in (output, *found):
        trips, points = trips_and_points([*inputs, head], [wanted])
        assert points > 0
        assert trips <= most * points, f"{wanted}: {trips} trips for {points} points"


@pytest.mark.fast(2)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda c: "s{}-d{}-k{}-p{}-g{}".format(*c))
def test_convolutions_run_few_trips_beyond_their_points(case: tuple[int, ...]) -> None:
    assert_trips(*of_tensor(conv(*case)), WINDOWS)


@pytest.mark.fast(3)
@pytest.mark.parametrize("options", POOLS.values(), ids=POOLS)
@pytest.mark.parametrize("pool", [nn.max_pool2d, nn.avg_pool2d], ids=["max", "avg"])
def test_pools_run_few_trips_beyond_their_points(
    pool: Callable[..., Tensor], options: dict[str, int]
) -> None:
    assert_trips(*of_tensor(pool(p("x", 1, 75, 76, 3), **options)), WINDOWS)


@pytest.mark.parametrize("make", [running_sum, triangular_product, causal_attention])
def test_triangles_are_run_as_triangles(make: Callable[[], Tensor]) -> None:
    assert_trips(*of_tensor(make()), TRIANGLES)


@pytest.mark.parametrize(
    "make", [lambda: cumsum(40), lambda: triangular_solve(40), lambda: cholesky(16)],
    ids=["cumsum", "triangular solve", "Cholesky"],
)  # fmt: skip
def test_recurrences_run_as_triangles(make: Callable[[], Recurrence]) -> None:
    program = make()
    assert_trips(list(program.inputs), program.output, TRIANGLES)


def test_a_loop_over_a_whole_box_would_be_seen() -> None:
    x, r = p("x", 40), ted.reduce_axis(40, name="r")
    y = ted.compute((40,), lambda i: ted.sum(ted.where(x[r] * 0 + r <= i, x[r], 0.0), axis=r))
    trips, points = trips_and_points([x], [y])
    assert (trips, points) == (1600, 1600)
    assert trips > TRIANGLES * 820


def test_frames_of_a_dilated_convolution_add_up() -> None:
    n, dilation = SIZE, 4
    y = conv(1, dilation, 3, 0, 1)
    x, w = of_tensor(y)[0]
    head = p("head", *y.shape)
    (dx,) = ted.differentiate(y, [ted.frontend.tensors.wrap(x)], head=head)
    random = np.random.default_rng(0)
    kernel, g = random.normal(size=w.shape), random.normal(size=head.shape)
    expected = np.zeros(x.shape)
    for a in range(3):
        for b in range(3):
            to = slice(dilation * a, dilation * a + n), slice(dilation * b, dilation * b + n + 1)
            expected[0][to] += g[0] @ kernel[a, b].T
    (got,) = ted.compile([ted.frontend.tensors.wrap(w), head], [dx])(kernel, g)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_a_triangle_that_no_cut_makes_smaller_is_left_whole() -> None:
    queries, keys, values = (ted.placeholder((2, 2, 128, 64), name=name) for name in "qkv")
    f = ted.compile([queries, keys, values], ted.nn.attention(queries, keys, values, causal=True))
    generator = np.random.default_rng(3)
    q, k, v = (generator.standard_normal((2, 2, 128, 64)).astype("f4") for _ in range(3))
    scores = np.where(np.tri(128, dtype=bool), q @ k.swapaxes(2, 3) / 8, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(f(q, k, v), expected, rtol=2e-4, atol=2e-5)
