"""Checkpoints: the same gradients to any order, from less memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept
from ted import nn
from ted.api.scanning import _segment_size
from ted.frontend.tensors import Tensor
from ted.ir.equations import topological
from ted.testing import check_grads

RANDOM = np.random.default_rng(5)


def layer(x: Tensor, w: Tensor) -> Tensor:
    return ted.tanh(nn.conv2d(x, w, padding=1))


def block(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return layer(layer(x, a), b)


def network(part: Callable[..., Tensor], depth: int) -> ted.api.CompiledFunction:
    x = ted.placeholder((4, 16, 16, 8), "float64", name="x")
    weights = [ted.placeholder((3, 3, 8, 8), "float64", name=f"w{k}") for k in range(2 * depth)]
    value = x
    for k in range(depth):
        value = part(value, *weights[2 * k : 2 * k + 2])
    loss = ted.mean(value * value)
    return ted.compile([x, *weights], [loss, *ted.differentiate(loss, weights)])


def arrays(f: ted.api.CompiledFunction) -> list[Any]:
    return [RANDOM.standard_normal(t.shape) * 0.3 for t in f.system.inputs]


@pytest.mark.slow
def test_a_checkpointed_network_gives_the_same_gradients_from_less_memory() -> None:
    plain, saving = network(block, 20), network(ted.checkpoint(block), 20)
    given = arrays(plain)
    for a, b in zip(plain(*given), saving(*given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    assert saving.peak_bytes < 0.6 * plain.peak_bytes


def test_recomputed_equations_survive_the_trip_through_ir() -> None:
    text = network(ted.checkpoint(block), 2).ir("ted")
    assert text.count("ted.recomputed") >= 2


def test_checkpoints_nest_and_have_higher_derivatives() -> None:
    inner = ted.checkpoint(lambda x: ted.sin(x) * x)
    outer = ted.checkpoint(lambda x, w: inner(inner(x) @ w))
    args = RANDOM.standard_normal((3, 4)), RANDOM.standard_normal((4, 4))
    check_grads(outer, args, order=2)


@pytest.mark.parametrize("inner", [ted.checkpoint, lambda f: f], ids=["nested", "once"])
def test_checkpoints_after_each_other_share_what_they_capture(inner: Callable[..., Any]) -> None:
    def loss(h: Any, w: Any) -> Any:
        def step(h: Tensor) -> tuple[Tensor, Tensor]:
            new = h * w
            return new, new * new

        segment = ted.checkpoint(lambda h: inner(step)(h))
        h, _ = segment(h)
        h, y = segment(h)
        return h + y

    # h w^2 + h^2 w^4
    found = ted.grad(loss, (0, 1))(np.array(2.0), np.array(3.0))
    assert [float(g) for g in found] == [9 + 4 * 81, 12 + 16 * 27]


def ramp(part: Callable[..., Any], x: Tensor, z: Tensor) -> Tensor:
    return part(lambda x, z: (x * x, z * z))(x, z)[1]


def condition(part: Callable[..., Any], x: Tensor, z: Tensor) -> Tensor:
    return part(lambda x, z: ted.where(x > 0, z * z, z))(x, z)


def carries(part: Callable[..., Any], x: Tensor, z: Tensor) -> Tensor:
    """The states of the first carry have slopes that overflow; the results are of the other."""
    cut = {"checkpoint": True} if part is ted.checkpoint else {}
    return ted.scan(lambda c, s: (ted.exp2(c), s * s), x, ted.stack([z] * 8), **cut)[1]


@pytest.mark.fast(2)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("case", [ramp, condition, carries])
def test_what_a_result_does_not_depend_on_is_not_differentiated(case: Any, order: int) -> None:
    """A cotangent of nothing, times the slope of infinity above the checkpoint, would be NaN."""

    def gradients(part: Callable[..., Any]) -> list[np.ndarray]:
        def loss(u: Tensor, z: Tensor) -> Tensor:
            return ted.sum(case(part, ted.sqrt(u), z))

        def again(u: Tensor, z: Tensor) -> Tensor:
            return ted.sum(ted.grad(loss, 1)(u, z) ** 2)

        found = ted.grad(loss if order == 1 else again, (0, 1))
        return list(found(np.array([0.0, 1e4]), np.array([3.0, 4.0])))

    du, dz = gradients(ted.checkpoint)
    np.testing.assert_array_equal(du, [0.0, 0.0])
    np.testing.assert_array_equal(dz, gradients(lambda f: f)[1])


def test_a_checkpointed_function_runs_on_arrays() -> None:
    f = ted.checkpoint(lambda x: {"double": x * 2, "square": x * x})
    found = f(np.arange(3, dtype="f4"))
    np.testing.assert_array_equal(found["double"], [0, 2, 4])
    np.testing.assert_array_equal(found["square"], [0, 1, 4])


def test_integer_arguments_and_results_pass_through() -> None:
    def pick(x: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        return ted.take(x, at, axis=0) ** 2, at + 1

    def loss(x: Any, at: Any) -> Any:
        return ted.sum(ted.checkpoint(pick)(x, at)[0])

    x, at = RANDOM.standard_normal(5), np.array([1, 1, 4])
    expected = np.zeros(5)
    np.add.at(expected, at, 2 * x[at])
    np.testing.assert_allclose(ted.grad(loss)(x, at), expected)


# ------------------------------------------------------------------ scans


def rnn(checkpoint: Any, reverse: bool = False) -> Callable[..., Any]:
    def loss(h: Any, w: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> tuple[Any, Any]:
            new = ted.tanh(h @ w + x)
            return new, new * new

        last, ys = ted.scan(step, h, xs, reverse=reverse, checkpoint=checkpoint)
        return ted.sum(last) + ted.sum(ys)

    return loss


@cache
def without_segments(reverse: bool) -> Callable[..., Any]:
    return ted.value_and_grad(rnn(None, reverse), (0, 1, 2))


SEGMENTS = [(size, reverse) for size in (1, 3, 7, 50, True, "sqrt") for reverse in (False, True)]
FAST = [(1, False), (3, True), (50, False), ("sqrt", True)]


@pytest.mark.fast(1)
@swept(("size", "reverse"), SEGMENTS, fast=FAST)
def test_segments_change_no_gradient(size: Any, reverse: bool) -> None:
    args = [RANDOM.standard_normal(s) * 0.5 for s in ((2, 3), (3, 3), (7, 2, 3))]
    plain = without_segments(reverse)(*args)
    cut = ted.value_and_grad(rnn(size, reverse), (0, 1, 2))(*args)
    np.testing.assert_allclose(cut[0], plain[0], rtol=1e-12)
    for a, b in zip(plain[1], cut[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def test_segments_of_the_least_memory_have_equal_lengths_where_that_is_nearly_the_least() -> None:
    sizes = {50: 5, 64: 8, 100: 10, 200: 10, 365: 20, 2: 1, 1: 1, 0: 1}
    assert {steps: _segment_size(True, steps) for steps in sizes} == sizes
    for steps in range(1, 400):
        size = _segment_size(True, steps)
        least = min(-(-steps // s) + s for s in range(1, steps + 1))
        assert -(-steps // size) + size <= 1.0625 * least + 1


def test_a_segment_of_one_step_has_second_derivatives_behind_an_extremum() -> None:
    def largest(xs: Any, checkpoint: int | None) -> Any:
        first = ted.zeros((2,), "float64")
        last, _ = ted.scan(lambda s, x: (x - s, None), first, xs, checkpoint=checkpoint)
        return ted.max(last) ** 2

    xs = RANDOM.standard_normal(5)
    slope = np.array([1.0, -1.0, 1.0, -1.0, 1.0])  # both elements are the same: half each way
    second = ted.hessian(lambda x: largest(x, 2))(xs)
    np.testing.assert_allclose(second, ted.hessian(lambda x: largest(x, None))(xs), atol=1e-14)
    np.testing.assert_allclose(second, 2 * np.outer(slope, slope), atol=1e-14)


def product(h: Any, x: Any) -> tuple[Any, Any]:
    return ted.tanh(h * x + 1), h * x


@pytest.mark.parametrize("size", [1, 2])
def test_segments_have_second_derivatives_by_what_they_get_slices_of(size: int) -> None:
    def loss(xs: Any) -> Any:
        last, ys = ted.scan(product, ted.zeros((2,), "float64"), xs, checkpoint=size)
        return ted.sum(last) + ted.sum(ys)

    check_grads(loss, [RANDOM.standard_normal((3, 2))], order=2)


@pytest.mark.parametrize("steps", [3, 6])
def test_segments_of_one_step_are_evaluated_twice_and_differentiated_in_one_size(
    steps: int,
) -> None:
    x = ted.placeholder((steps, 2), "float64", name="x")
    last, ys = ted.scan(product, ted.zeros((2,), "float64"), x, checkpoint=1)
    loss = ted.sum(last) + ted.sum(ys)
    (dx,) = ted.differentiate(loss, [x])
    # The slope of the first step is that of a product with the zeros it starts from: none.
    assert ted.compile([x], [loss, dx]).ir("ted").count("math.tanh") == 2
    assert len(topological([dx.node])) <= 40


def test_a_scan_without_results_of_its_steps_can_be_cut_too() -> None:
    def loss(h: Any) -> Any:
        last, ys = ted.scan(lambda h, _: (ted.sin(h), None), h, length=6, checkpoint=2)
        assert ys is None
        return ted.sum(last)

    check_grads(loss, [RANDOM.standard_normal(3)], order=2)


def gradient(steps: int, checkpoint: Any) -> ted.api.CompiledFunction:
    """The gradient of a long scan of wide rows, of which each step saves three."""
    h = ted.placeholder((1 << 15,), "float32", name="h")

    def step(h: Any, _: Any) -> tuple[Any, Any]:
        return ted.sin(ted.exp(-h * h)), None

    last, _ = ted.scan(step, h, length=steps, checkpoint=checkpoint)
    return ted.compile([h], list(ted.differentiate(ted.sum(last), [h])))


def size(steps: int, checkpoint: int, orders: int) -> tuple[int, int]:
    """How many equations, and recomputed ones, the gradients of a scan in segments have."""
    xs, w = (ted.placeholder(s, "float64", name=n) for n, s in (("xs", (steps, 2)), ("w", (2,))))
    last, ys = ted.scan(
        lambda h, x: (ted.tanh(h * w + x), h), ted.zeros((2,), "float64"), xs, checkpoint=checkpoint
    )
    results = [ted.sum(last) + ted.sum(ys * ys)]
    results += ted.differentiate(results[0], [w])
    if orders > 1:
        results += ted.differentiate(ted.sum(results[1] ** 2), [w])
    text = str(ted.module(results))
    return text.count("ted.compute"), text.count("ted.recomputed")


@pytest.mark.parametrize("orders", [1, 2])
def test_the_program_does_not_grow_with_steps_and_segments(orders: int) -> None:
    few = size(12, 4, orders)
    assert few == size(600, 25, orders)
    assert few[0] < 60 * orders
    assert few[1] > 0


@pytest.mark.slow
def test_loops_do_not_grow_with_steps_and_segments() -> None:
    def lines(steps: int, checkpoint: int) -> int:
        return gradient(steps, checkpoint).ir("loops").count("\n")

    assert abs(lines(400, 20) - lines(4000, 40)) < 10  # some constants more


@pytest.mark.slow
def test_gradients_of_what_steps_share_keep_no_more_than_a_segment() -> None:
    w, xs = ted.placeholder((512,), "float64", name="w"), ted.placeholder((36,), "float64")

    def slopes(checkpoint: int | None) -> ted.api.CompiledFunction:
        start = ted.zeros((512,), "float64")
        last, _ = ted.scan(
            lambda h, x: (ted.sin(h * w + x), None), start, xs, checkpoint=checkpoint
        )
        return ted.compile([w, xs], list(ted.differentiate(ted.sum(last * last), [w])))

    arrays = np.linspace(-1, 1, 512), np.linspace(0, 1, 36)
    kept, cut = slopes(None), slopes(6)
    np.testing.assert_allclose(cut(*arrays)[0], kept(*arrays)[0], rtol=1e-12, atol=1e-14)
    assert cut.peak_bytes < 24 * 512 * 8 < kept.peak_bytes


@pytest.mark.slow
def test_what_is_said_of_each_carry_keeps_none_of_them() -> None:
    def loss(x: Any, xs: Any, checkpoint: bool) -> Any:
        def step(h: Any, a: Any) -> Any:
            h = ted.tanh(h * 1.5 + x + a)
            return h, (ted.sum(h * x), h[1:4])

        h, (sums, parts) = ted.scan(step, x, xs, checkpoint=checkpoint)
        return ted.sum(h) + ted.sum(sums * sums) + ted.sum(parts * parts)

    x, xs = RANDOM.standard_normal(512) / 8, RANDOM.standard_normal(144)
    cut, kept = (ted.value_and_grad(lambda *a, c=c: loss(*a, c)) for c in (True, False))
    for ours, theirs in zip(cut(x, xs), kept(x, xs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    few, many = (f.compiled(x, xs).peak_bytes for f in (cut, kept))
    assert few < 40 * x.nbytes < 144 * x.nbytes < many


@pytest.mark.slow
def test_the_peak_of_a_long_scan_is_the_carries_of_segments_and_of_one_segment() -> None:
    x = RANDOM.standard_normal(1 << 15).astype("f4")
    plain = gradient(36, None)
    wanted = plain(x)[0]
    assert plain.peak_bytes > 36 * 3 * x.nbytes
    for size, rows in ((4, 9 + 4), (True, 6 + 6)):
        cut = gradient(36, size)
        np.testing.assert_allclose(cut(x)[0], wanted, rtol=1e-4)
        assert cut.peak_bytes < (rows + 24) * x.nbytes  # beside them, what steps need


def test_a_scan_of_one_step_inside_of_a_checkpoint_has_a_gradient() -> None:
    def program(a: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            return (ted.checkpoint(lambda c, _: 0.5 - c)(carry, x),) * 2

        final = ted.checkpoint(lambda b: ted.scan(step, b[0], b, checkpoint=True)[0])(a)
        return ted.sum(final * a[0])

    a = np.array([[0.75, -2.0]])
    np.testing.assert_allclose(ted.function(ted.grad(program))(a), 0.5 - 2 * a, rtol=1e-12)
