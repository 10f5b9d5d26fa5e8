"""Whatever ted makes of a function runs on a GPU: derivatives of derivatives, batches, checkpoints.

Each program is called through the whole runtime on the emulated GPU, threads in random order with a
watch for races, and compared with the same program on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.frontend.trees import flatten
from unit.frontend.test_reducers import AFFINE, BEST, LOGS, MOMENTS

RNG = np.random.default_rng(21)
Program = Callable[..., Any]


def loss(w: Any, x: Any) -> Any:
    return ted.mean(ted.logsumexp(ted.tanh(x @ w), axis=1))


def layer(h: Any, w: Any) -> Any:
    return ted.tanh(h @ w) * h


def deep(w: Any, h: Any) -> Any:
    """Three checkpointed layers, one inside another."""
    part = ted.checkpoint(layer)
    return ted.sum(ted.square(ted.checkpoint(lambda h, w: part(part(h, w), w))(part(h, w), w)))


def carried(checkpoint: Any) -> Program:
    """A loss of a scan that keeps some of its carries."""

    def total(w: Any, rows: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            after = ted.tanh(h @ w + row)
            return after, ted.sin(after)

        last, ys = ted.scan(step, rows[0], rows, checkpoint=checkpoint)
        return ted.sum(last * last) + ted.sum(ys * rows)

    return total


@ted.custom_vjp
def clipped(x: Any) -> Any:
    """The identity, whose gradient is clipped."""
    return x * 1.0


clipped.defvjp(lambda inputs, outputs, heads: ted.clip(heads[0], -0.1, 0.1))


def reduced(x: Any, y: Any) -> Any:
    scale, shift = AFFINE((x, y), axis=1)
    _, squares, _ = MOMENTS((x * y, 0.0, 1.0), axis=0)
    top, total = LOGS((x, ted.exp(y)), axis=1)
    best = BEST((x * y, 0), axis=1)[0]
    return ted.sum(scale * shift) + ted.sum(squares) + ted.sum(top + ted.log(total) + best)


SQUARE, TALL = (4, 4), (6, 4)
CASES: dict[str, tuple[Program, tuple[tuple[int, ...], ...]]] = {
    "gradient": (ted.value_and_grad(loss, (0, 1)), (SQUARE, TALL)),
    "gradient_of_a_gradient": (
        ted.grad(lambda w, x: ted.sum(ted.grad(loss, 1)(w, x) ** 2), (0, 1)), (SQUARE, TALL),
    ),
    "tangent": (lambda w, x, dw, dx: ted.jvp(layer, (x, w), (dx, dw)),
                (SQUARE, TALL, SQUARE, TALL)),
    "hessian_product": (lambda w, x, dw, dx: ted.hvp(loss, (w, x), (dw, dx)),
                        (SQUARE, TALL, SQUARE, TALL)),
    "jacobian": (ted.jacobian(layer, (0, 1)), (TALL, SQUARE)),
    "hessian": (ted.hessian(lambda x: ted.sum(ted.tanh(x) * ted.flip(x) ** 2)), ((5,),)),
    "pulled_back": (lambda h, w, head: ted.vjp(layer, h, w)[1](head), (TALL, SQUARE, TALL)),
    "batch_of_gradients": (ted.vmap(ted.grad(loss), (None, 0)), (SQUARE, (3, *TALL))),
    "checkpoints": (ted.grad(deep, (0, 1)), (SQUARE, TALL)),
    "scan": (ted.grad(carried(None), (0, 1)), (SQUARE, TALL)),
    "scan_of_two_checkpoints": (ted.grad(carried(3), (0, 1)), (SQUARE, TALL)),
    "scan_of_chosen_checkpoints": (ted.grad(carried(True), (0, 1)), (SQUARE, TALL)),
    "custom": (ted.grad(lambda x: ted.sum(clipped(x) ** 3)), (TALL,)),
    "reducers": (ted.grad(reduced, (0, 1)), (TALL, TALL)),
    "gradient_of_reducers": (
        ted.grad(lambda x, y: ted.sum(ted.grad(reduced)(x, y) * y), (0, 1)), ((2, 3), (2, 3)),
    ),
    "gradient_of_a_checkpointed_scan": (
        ted.grad(lambda w, x: ted.sum(ted.grad(carried(2))(w, x) ** 2)), ((3, 3), (4, 3)),
    ),
}  # fmt: skip
SLOW = (
    "gradient_of_reducers", "gradient_of_a_checkpointed_scan", "scan_of_chosen_checkpoints",
    "scan_of_two_checkpoints", "reducers",
)  # fmt: skip


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=pytest.mark.slow) if c in SLOW else c for c in CASES]
)
def test_what_is_made_of_a_function(case: str) -> None:
    program, shapes = CASES[case]
    rng = np.random.default_rng(21)  # whatever ran before
    arrays = [rng.normal(size=shape) / 2 for shape in shapes]
    wanted = leaves(ted.function(program)(*arrays))
    function: Any = ted.function(program, target="cuda:sm_80")
    with ted.testing.emulated_gpu("sm_80", order="random", seed=7):
        found = [leaf.numpy() for leaf in leaves(function(*map(ted.cuda.asarray, arrays)))]
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11)
    assert any(np.abs(want).max() > 1e-3 for want in wanted), "zeros say nothing"


def leaves(nest: Any) -> list[Any]:
    return [leaf for _, leaf in flatten(nest)[0]]


def test_sizes_are_those_of_the_arrays_on_the_device() -> None:
    n, m = ted.size("n"), ted.size("m")
    x, w = ted.placeholder((n, m), name="x"), ted.placeholder((m,), name="w")
    y = ted.nn.softmax(x * w) + ted.sum(x, axis=0)
    head = ted.placeholder((n, m), name="head")
    gradients = ted.differentiate(y, [x, w], head)
    function: Any = ted.compile([x, w, head], [y, *gradients], target="cuda:sm_90a")
    exact: Any = ted.compile([x, w, head], [y, *gradients])
    with ted.testing.emulated_gpu(order="reverse"):
        for rows, columns in ((3, 5), (1, 40), (3, 5)):
            shapes = ((rows, columns), (columns,), (rows, columns))
            arrays = [RNG.normal(size=shape).astype(np.float32) for shape in shapes]
            found = function(*map(ted.cuda.asarray, arrays))
            for got, want in zip(found, exact(*arrays), strict=True):
                np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5)


def test_forward_and_backward_keep_what_lies_between_on_the_device() -> None:
    x, w = ted.placeholder(TALL, name="x"), ted.placeholder(SQUARE, name="w")
    y = ted.tanh(layer(x, w))
    given = [RNG.normal(size=shape).astype(np.float32) for shape in (TALL, SQUARE, TALL)]
    pair, exact = (
        ted.forward_backward(y, [x, w], target=target) for target in ("cuda:sm_80", "cpu")
    )
    with ted.testing.emulated_gpu(order="random", seed=1):
        a, b, head = map(ted.cuda.asarray, given)
        (value,), saved = pair.forward(a, b)
        assert all(isinstance(s, ted.cuda.DeviceArray) for s in saved)
        found = [array.numpy() for array in (value, *pair.backward(saved, head))]
    (value,), saved = exact.forward(*given[:2])
    for got, want in zip(found, [value, *exact.backward(saved, given[2])], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
