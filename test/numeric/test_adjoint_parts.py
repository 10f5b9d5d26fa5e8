"""Summands of adjoints and heads with dims in front, against torch, at orders 1 and 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted import nn
from ted.errors import DerivativeError
from ted.frontend.tensors import Tensor
from ted.ir.equations import topological
from ted.testing import check_grads

RNG = np.random.default_rng(0)


def p(name: str, *shape: int, dtype: str = "float64") -> Tensor:
    return ted.placeholder(shape, dtype, name=name)


def compiled(inputs: list[Tensor], outputs: list[Tensor], *arrays: Any) -> list[np.ndarray]:
    return list(ted.compile(inputs, outputs)(*arrays))


def parts_of(found: Any, tensor: Tensor) -> dict[str, Tensor]:
    return {reader.name: part for reader, part in found.adjoint_summands[tensor].items()}


# ------------------------------------------------------------------ summands


def test_every_reader_has_its_part() -> None:
    x = p("x", 4)
    y = ted.compute((4,), lambda i: x[i] * x[i], name="y")
    z = ted.compute((4,), lambda i: ted.sin(x[3 - i]) * y[i], name="z")
    parts = parts_of(ted.differentiate(ted.sum(z * y), [x]), x)
    assert {reader: part.name for reader, part in parts.items()} == {
        "y": "dx_from_y",
        "z": "dx_from_z",
    }

    array = RNG.normal(size=4)
    for_y, for_z = (torch.tensor(array, requires_grad=True) for _ in range(2))
    value = for_y * for_y
    loss = torch.sum(torch.sin(for_z.flip(0)) * value * value)
    of_y, of_z = torch.autograd.grad(loss, [for_y, for_z])
    found = compiled([x], [parts["y"], parts["z"]], array)
    np.testing.assert_allclose(found[0], of_y, rtol=1e-13)
    np.testing.assert_allclose(found[1], of_z, rtol=1e-13)


def test_parts_of_windows_are_gathers_with_their_own_derivatives() -> None:
    x, w = p("x", 9), p("w", 3)
    r = ted.reduce_axis(3, name="r")
    windows = ted.compute((4,), lambda i: ted.sum(x[2 * i + r] * w[r], axis=r), name="windows")
    loss = ted.sum(windows**3) + ted.sum(x[1:] * x[:-1])
    found = ted.differentiate(loss, [x])
    (part,) = (part for name, part in parts_of(found, x).items() if name == "windows")
    assert "scatter" not in str(ted.differentiate(ted.sum(part), [w]))
    head = p("h", 9)
    second = ted.differentiate(part, [x, w], head=head)

    arrays = [RNG.normal(size=n) for n in (9, 3, 9)]
    tx, tw, th = (torch.tensor(a, requires_grad=True) for a in arrays)
    cubes = torch.nn.functional.conv1d(tx[None, None], tw[None, None], stride=2) ** 3
    (first,) = torch.autograd.grad(cubes.sum(), tx, create_graph=True)
    expected = [first, *torch.autograd.grad(first, [tx, tw], th)]
    got = compiled([x, w, head], [part, *second], *arrays)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b.detach(), rtol=1e-11, atol=1e-12)


def softmax_twice(x: Tensor) -> Tensor:
    return ted.sum(nn.softmax(x) * nn.softmax(2 * x) * x)


SUMS: dict[str, Callable[[Tensor], Tensor]] = {
    "products of computed factors": lambda x: ted.sum(ted.prod(x * x + 1.0, axis=1) * x[:, 0]),
    "guarded roots": lambda x: ted.sum(ted.where(x > 0, ted.sqrt(x), 0.0) * x),
    "a recurrence": lambda x: ted.sum(ted.cumprod(x, 0) ** 2) + ted.sum(x),
    "normalised rows": softmax_twice,
    "maxima": lambda x: ted.sum(ted.max(x, axis=1) * ted.max(x * x, axis=1)),
    "divided dims": lambda x: ted.sum(
        ted.compute((12,), lambda i: x[i // 4, i % 4] * x[2 - i % 3, i // 3])
    ),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", SUMS)
def test_adjoints_are_the_sums_of_their_parts(name: str) -> None:
    x = p("x", 3, 4)
    loss = SUMS[name](x)
    found = ted.differentiate(loss, [x])
    array = RNG.normal(size=(3, 4))
    program = topological([loss.node])
    for tensor, readers in found.adjoint_summands.items():
        assert all(reader.node in program for reader in readers)
        assert all(part.shape == tensor.shape for part in readers.values())
        adjoint, *parts = compiled([x], [found.adjoints[tensor], *readers.values()], array)
        np.testing.assert_allclose(sum(parts), adjoint, rtol=1e-11, atol=1e-12)
    assert x in found.adjoint_summands


def test_the_head_of_an_output_is_no_part() -> None:
    x, head = p("x", 4), p("h", 4)
    y = ted.exp(x)
    z = ted.sin(y)
    found = ted.differentiate([y, z], [x], head=[head, p("g", 4)])
    assert list(parts_of(found, y)) == [z.name]
    assert z not in found.adjoint_summands


def test_half_precision_parts_are_rounded_once() -> None:
    x = p("x", 64, dtype="float16")
    r = ted.reduce_axis(64, name="r")
    z = ted.compute((64,), lambda i: ted.sum(x[i] * x[r], axis=r), name="z")
    (part,) = parts_of(ted.differentiate(ted.sum(z), [x]), x).values()
    assert part.dtype.name == "float16"
    found = ted.compile([x], part)(np.full(64, 0.1, "float16"))
    np.testing.assert_allclose(found, 12.8, rtol=2e-3)


def test_a_derivative_of_the_users_is_a_part() -> None:
    x = p("x", 3)
    y = ted.exp(x)
    table = {y: ([x], lambda out, inputs, head: [head * 7.0])}
    parts = parts_of(ted.differentiate(ted.sum(y * x), [x], override=table), x)
    (own,) = (part for name, part in parts.items() if name == y.name)
    array = RNG.normal(size=3)
    np.testing.assert_allclose(ted.compile([x], own)(array), 7.0 * array)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: ted.compute((3,), lambda i: x[i] + 0.0 * 2.0),  # becomes another tensor
        lambda x: ted.full((3,), 2.0, "float64"),  # is a number where it is read
    ],
)  # fmt: skip
def test_a_part_keeps_the_derivatives_of_the_users(body: Callable[[Tensor], Tensor]) -> None:
    @ted.custom_vjp
    def five(x: Tensor) -> Tensor:
        return body(x)

    @ted.custom_vjp
    def square(x: Tensor) -> Tensor:
        return ted.compute((3,), lambda i: x[i] * x[i], name="square")

    five.defvjp(lambda inputs, outputs, heads: (heads[0] * 5.0,))
    square.defvjp(lambda inputs, outputs, heads: (heads[0] * 2.0 * five(inputs[0]),))
    x = p("x", 3)
    y = ted.cumsum(square(x), axis=0)[::-1]
    found = ted.differentiate(ted.sum(y), [x])
    (part,) = parts_of(found, x).values()
    array, readers = RNG.normal(size=3), np.array([3.0, 2.0, 1.0])
    values = ted.compile([x], body(x))(array)
    for gradient in (found[0], part):
        (second,) = ted.differentiate(ted.sum(gradient), [x])
        first, second = compiled([x], [gradient, second], array)
        np.testing.assert_allclose(first, 2.0 * values * readers, rtol=1e-13)
        np.testing.assert_allclose(second, 2.0 * 5.0 * readers, rtol=1e-13)


def test_equal_tensors_with_other_derivatives_stay_two() -> None:
    def times(slope: float) -> Any:
        same = ted.custom_vjp(lambda x: ted.compute((3,), lambda i: x[i], name="same"))
        same.defvjp(lambda inputs, outputs, heads: (heads[0] * slope,))
        return same

    five, three = times(5.0), times(3.0)
    square = ted.custom_vjp(lambda x: ted.compute((3,), lambda i: x[i] * x[i], name="square"))
    square.defvjp(lambda inputs, outputs, heads: (five(heads[0]) + three(heads[0]),))
    x = p("x", 3)
    y = square(x)
    found = ted.differentiate(ted.sum(y * y), [x])
    (part,) = parts_of(found, x).values()
    array = RNG.normal(size=3)
    for gradient in (found[0], part):
        (second,) = ted.differentiate(ted.sum(gradient), [x])
        first, second = compiled([x], [gradient, second], array)
        np.testing.assert_allclose(first, 2.0 * 2.0 * array**2, rtol=1e-13)
        np.testing.assert_allclose(second, [2.0 * 2.0 * (5.0 + 3.0)] * 3, rtol=1e-13)


# ------------------------------------------------------------------ heads with dims in front


def test_heads_with_dims_in_front_give_a_gradient_for_each() -> None:
    x, w, head = p("x", 3, 4), p("w", 4, 2), p("h", 5, 6, 3, 2)
    found = ted.differentiate(ted.tanh(x @ w), [x, w], head=head)
    assert [g.shape for g in found] == [(5, 6, 3, 4), (5, 6, 4, 2)]
    assert "dx: float64[5, 6, 3, 4]" in repr(found)
    arrays = [RNG.normal(size=shape) for shape in ((3, 4), (4, 2), (5, 6, 3, 2))]
    pull = torch.func.vjp(lambda a, b: torch.tanh(a @ b), *map(torch.tensor, arrays[:2]))[1]
    expected = torch.func.vmap(torch.func.vmap(pull))(torch.tensor(arrays[2]))
    for a, b in zip(compiled([x, w, head], list(found), *arrays), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for tensor, adjoint in found.adjoints.items():
        assert adjoint.shape == (5, 6, *tensor.shape)
    (part,) = parts_of(found, x).values()
    got = compiled([x, w, head], [part, found[0]], *arrays)
    np.testing.assert_allclose(*got, rtol=1e-12)


def test_gradients_of_many_heads_have_derivatives() -> None:
    x, head, again = p("x", 4), p("h", 3, 2), p("g", 5, 3, 4)
    y = ted.compute((2,), lambda i: ted.sin(x[2 * i]) * x[2 * i + 1] ** 2, name="y")
    (first,) = ted.differentiate(y, [x], head=head)
    second = ted.differentiate(first, [x, head], head=again)
    assert [g.shape for g in second] == [(5, 4), (5, 3, 2)]
    arrays = [RNG.normal(size=shape) for shape in ((4,), (3, 2), (5, 3, 4))]

    def gradients(a: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        pull = torch.func.vjp(lambda v: torch.sin(v[::2]) * v[1::2] ** 2, a)[1]
        return torch.func.vmap(lambda one: pull(one)[0])(h)

    pull = torch.func.vjp(gradients, *map(torch.tensor, arrays[:2]))[1]
    expected = torch.func.vmap(pull)(torch.tensor(arrays[2]))
    for a, b in zip(compiled([x, head, again], list(second), *arrays), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    check_grads(([first], [x, head]), arrays[:2], order=2)


def test_one_hot_heads_are_the_jacobian() -> None:
    x = p("x", 3)
    y = nn.softmax(x)
    head = p("h", 3, 3)
    (rows,) = ted.differentiate(y, [x], head=head)
    array = RNG.normal(size=3)
    jacobian = ted.compile([x], ted.jacobian(y, x))(array)
    np.testing.assert_allclose(ted.compile([x, head], rows)(array, np.eye(3)), jacobian)


def test_zeros_stay_zeros_for_every_head() -> None:
    x, u = p("x", 3), p("u", 2)
    found = ted.differentiate(ted.sum(x), [x, u], head=p("h", 6))
    assert [g.shape for g in found] == [(6, 3), (6, 2)]
    assert found.unused == (u,)


def test_several_outputs_have_the_same_dims_in_front() -> None:
    x = p("x", 3)
    y, z = ted.sin(x), ted.sum(x * x)
    heads = [p("g", 4, 3), p("h", 4)]
    (found,) = ted.differentiate([y, z], [x], head=heads)
    arrays = [RNG.normal(size=shape) for shape in ((3,), (4, 3), (4,))]
    a, g, h = arrays
    expected = g * np.cos(a) + 2 * a * h[:, None]
    np.testing.assert_allclose(ted.compile([x, *heads], found)(*arrays), expected)
    with pytest.raises(DerivativeError, match=r"the same dims in front .* got \[4\] and \[5\]"):
        ted.differentiate([y, z], [x], head=[p("g", 4, 3), p("h", 5)])


BAD = {"shape": (3, 5), "fewer dims": (2,), "order": (2, 3)}


@pytest.mark.parametrize("case", BAD)
def test_a_head_that_does_not_end_like_its_output_is_refused(case: str) -> None:
    y = p("x", 3, 2) * 2.0
    with pytest.raises(DerivativeError, match=r"with dims in front of it or none, got float64"):
        ted.differentiate(y, head=p("h", *BAD[case]))
