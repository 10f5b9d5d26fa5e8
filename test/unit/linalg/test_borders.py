"""Tensors that lie inside of zeros, which convolutions read around them: no copy, right values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted import nn
from ted.dialects import make_context
from ted.linalg.borders import inside_of_zeros
from ted.mlir import ir
from ted.mlir.queries import functions, operations
from ted.mlir.scalars import shape_of

RNG = np.random.default_rng(0)
ONE = "cpu,threads=1"


def array(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


X = array(2, 9, 8, 4)
W3, V3, W5, W1 = array(3, 3, 4, 4), array(3, 3, 4, 4), array(5, 5, 4, 4), array(1, 1, 4, 4)


def conv(x: Any, w: Any, **options: Any) -> Any:
    """Of channels last, by either library."""
    if isinstance(x, torch.Tensor):
        moved = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
        return torch.nn.functional.conv2d(*moved, **options).permute(0, 2, 3, 1)
    return nn.conv2d(x, w, **options)


def chain(x: Any, v: Any, w: Any) -> Any:
    h = conv(x, v, padding=1)
    h = h * h
    return (conv(h, w, padding=1) ** 3).sum()


def two_borders(x: Any, v: Any, w: Any, u: Any) -> Any:
    h = conv(x, v, padding=1)
    h = h * h
    return (conv(h, w, padding=1) * conv(h, u, padding=2)).sum()


def strides_and_holes(x: Any, v: Any, w: Any) -> Any:
    h = conv(x, v, padding=1)
    h = h * h
    return (conv(h, w, padding=2, dilation=2) ** 2).sum() + (conv(h, w, stride=2, padding=1)).sum()


def seen_flat(x: Any, v: Any, w: Any) -> Any:
    h = conv(x, v, padding=1)
    h = h * h
    return (conv(h, w, padding=1) ** 2).sum() + (h.reshape((2 * 9, 8 * 4)) ** 3).sum()


def unpadded_along_one(x: Any, v: Any, w: Any) -> Any:
    h = conv(x, v, padding=1)
    h = h * h
    return (conv(h, w, padding=(1, 0)) ** 2).sum()


def added_up(x: Any, v: Any, w: Any) -> Any:
    h = conv(x, v, padding=1)
    for _ in range(2):
        h = h + conv(h * h, w, padding=1) / 100
    return (h**2).sum()


def of_another_shape(x: Any, v: Any, w: Any) -> Any:
    h = (x.reshape((2, 72, 4)) @ v[0, 0]).reshape((2, 9, 8, 4))
    return (conv(h, w, padding=1) ** 2).sum() + (conv(h, v, padding=1) ** 3).sum()


def behind_a_history(x: Any, e: Any, w: Any) -> Any:
    if isinstance(x, torch.Tensor):
        rows = [x := torch.sin(x * 1.1) + 0.1 for _ in range(3)]
        return (conv(torch.cat([torch.cat(rows), e]), w, padding=1) ** 2).sum()

    def step(c: Any, _: Any) -> Any:
        c = ted.sin(c * 1.1) + 0.1
        return c, c

    ys = ted.scan(step, x, None, length=3)[1]
    rows = ted.concatenate([ted.reshape(ys, (6, 9, 8, 4)), e], axis=0)
    return (conv(rows, w, padding=1) ** 2).sum()


CASES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "a chain": (chain, [X, V3, W3]),
    "borders of two widths": (two_borders, [X, V3, W3, W5]),
    "strides, and kernels with holes": (strides_and_holes, [X, V3, W3]),
    "a reader of another shape": (seen_flat, [X, V3, W3]),
    "a border along one dim": (unpadded_along_one, [X, V3, W3]),
    "what goes on": (added_up, [X, V3, W3]),
    "a history in front": (behind_a_history, [X, X[::-1].copy(), W3]),
    "what was of another shape": (of_another_shape, [X, V3, W3]),
    "one row of pixels": (chain, [X[:, :1], V3, W3]),
    "one image": (chain, [X[:1], V3, W3]),
    "no border": (chain, [X, V3, W1]),
}


@pytest.mark.parametrize("case", CASES)
def test_values_gradients_and_their_gradients_are_those_of_torch(case: str) -> None:
    f, arrays = CASES[case]

    def slopes(*xs: Any) -> Sequence[Any]:
        return ted.value_and_grad(f, tuple(range(len(arrays))))(*xs)

    def second(*xs: Any) -> Any:
        return ted.grad(lambda *xs: ted.sum(slopes(*xs)[1][1] ** 2), (0, 1))(*xs)

    given = [torch.tensor(a, requires_grad=True) for a in arrays]
    value = f(*given)
    first = torch.autograd.grad(value, given, create_graph=True)
    wanted = torch.autograd.grad((first[1] ** 2).sum(), given[:2])
    found, gradients = ted.function(slopes, target=ONE)(*arrays)
    np.testing.assert_allclose(found, value.item(), rtol=1e-11)
    for mine, its in zip(gradients, first, strict=True):
        np.testing.assert_allclose(mine, its.detach().numpy(), rtol=1e-9, atol=1e-7)
    for mine, its in zip(ted.function(second, target=ONE)(*arrays), wanted, strict=True):
        np.testing.assert_allclose(
            mine, its.numpy(), rtol=1e-9, atol=1e-11 * float(its.abs().max())
        )


def buffers(f: Callable[..., Any], arrays: list[np.ndarray]) -> str:
    return ted.function(f, target=ONE).compiled(*arrays).ir("linalg")


def test_what_is_padded_for_several_is_made_where_they_read_it() -> None:
    def slopes(*xs: Any) -> Any:
        return ted.grad(chain, (1, 2))(*xs)

    large = [array(2, 30, 30, 4), V3, W3]
    text = buffers(slopes, large)
    inside = "[0, 1, 1, 0] [2, 30, 30, 4] [1, 1, 1, 1] : memref<2x32x32x4xf64>"
    # Of `x`, of what follows and of the last slope; only the first is copied.
    assert text.count(inside) == 3
    assert text.count("memref.copy") == 1


def test_what_is_a_result_is_copied_into_zeros() -> None:
    def both(x: Any, v: Any, w: Any) -> Any:
        h = conv(x, v, padding=1)
        h = h * h
        product = ted.vjp(lambda h: conv(h, w, padding=1), h)
        return h, product[0], product[1](product[0])[0]

    found = ted.function(both, target=ONE)(X, V3, W3)
    h = torch.tensor(found[0], requires_grad=True)
    out = conv(h, torch.tensor(W3), padding=1)
    np.testing.assert_allclose(found[1], out.detach().numpy(), rtol=1e-11, atol=1e-9)
    (slope,) = torch.autograd.grad(out, h, out.detach())
    np.testing.assert_allclose(found[2], slope.numpy(), rtol=1e-10, atol=1e-7)


def test_a_training_step_of_convolutions_holds_one_copy_of_what_it_keeps() -> None:
    def loss(x: Any, *weights: Any) -> Any:
        for w in weights:
            x = nn.relu(nn.conv2d(x, w, padding=1))
        return ted.mean(x * x)

    def step(x: Any, *weights: Any) -> Any:
        count = len(weights)
        value, slopes = ted.value_and_grad(loss, tuple(range(1, count + 1)))(x, *weights)
        return value, [w - 0.1 * d for w, d in zip(weights, slopes, strict=True)]

    weights = [array(3, 3, 8, 8).astype("float32") for _ in range(5)]
    x = array(2, 62, 62, 8).astype("float32")
    compiled = ted.function(step, target=ONE).compiled(x, *weights)
    padded, plain = 4 * 2 * 64 * 64 * 8, x.nbytes
    # The images, and what each layer but the last gives, with zeros; then the last one, its slope
    # with zeros, and the slope by its operand. Results and copies of weights are small.
    most = 5 * padded + plain + padded + plain
    assert compiled.memory().peak_bytes <= most + 3 * 5 * weights[0].nbytes


@pytest.mark.parametrize(
    "hull", [[(-1, 3), (-2, 4)], [(0, 2), (-1, 4)], [(-2, 5), (0, 4)], [(-1, 2), (0, 4)]]
)
def test_every_element_around_is_filled_once(hull: list[tuple[int, int]]) -> None:
    shape = [3, 5]
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse("func.func @f() { return }", context)
        (function,) = functions(module)
        with ir.InsertionPoint.at_block_begin(function.entry_block):
            inside = inside_of_zeros(hull, shape, ir.F32Type.get())
        (around,) = operations(module.operation, "memref.alloc")
        sizes = [high - low + 1 for low, high in hull]
        assert shape_of(around.results[0]) == tuple(sizes)
        filled = np.zeros(sizes, int)
        for fill in operations(module.operation, "linalg.fill"):
            filled[_slab(fill.operands[1])] += 1
        filled[_slab(inside)] += 1
        assert (filled == 1).all()
        assert filled[_slab(inside)].shape == tuple(shape)


def _slab(view: ir.Value) -> tuple[slice, ...]:
    op = view.owner.operation
    offsets, sizes = (
        list(ir.DenseI64ArrayAttr(op.attributes[name]))
        for name in ("static_offsets", "static_sizes")
    )
    return tuple(slice(a, a + n) for a, n in zip(offsets, sizes, strict=True))
