"""Parameters of every nest through every transformation; `has_aux`, and arguments by name."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import DerivativeError, FrontendError

rng = np.random.default_rng(0)


@dataclasses.dataclass(frozen=True)
class Layer:
    """A dense layer."""

    w: Any
    b: Any = None
    act: str = dataclasses.field(default="tanh", metadata={"static": True})


@dataclasses.dataclass
class Net:
    """Layers, and a factor."""

    layers: list
    scale: Any


NET = Net(
    [Layer(rng.normal(size=(3, 4)), rng.normal(size=4)), Layer(rng.normal(size=(4, 2)), act="no")],
    np.array(0.5),
)
X = rng.normal(size=(5, 3))


def apply(net: Net, x: Any) -> Any:
    for layer in net.layers:
        x = x @ layer.w
        x = x if layer.b is None else x + layer.b
        x = ted.tanh(x) if layer.act == "tanh" else x
    return x * net.scale


def loss(net: Net, x: Any) -> Any:
    return ted.sum(apply(net, x) ** 2)


def flat(w: Any, b: Any, v: Any, scale: Any, x: Any) -> Any:
    """The same with arrays as arguments."""
    return ted.sum((ted.tanh(x @ w + b) @ v * scale) ** 2)


ARRAYS = (*ted.tree.leaves(NET), X)


def assert_same(found: Any, wanted: Any) -> None:
    for a, b in zip(ted.tree.leaves(found), ted.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_gradients_of_dataclasses_are_dataclasses() -> None:
    value, found = ted.value_and_grad(loss)(NET, X)
    assert isinstance(found, Net)
    assert ted.tree.structure(found) == ted.tree.structure(NET)
    assert [layer.act for layer in found.layers] == ["tanh", "no"]
    expected, wanted = ted.value_and_grad(flat, (0, 1, 2, 3))(*ARRAYS)
    assert_same((value, found), (expected, wanted))


@pytest.mark.slow
def test_second_order_and_products_of_dataclasses() -> None:
    direction = ted.tree.map(lambda a: rng.normal(size=a.shape), NET)
    moved = [*ted.tree.leaves(direction), np.zeros_like(X)]
    for mine, theirs in (
        (ted.jvp(loss, (NET, X), (direction, None)), ted.jvp(flat, ARRAYS, moved)),
        (ted.hvp(loss, (NET, X), (direction, None))[0], ted.hvp(flat, ARRAYS, moved)[:4]),
        (ted.jacobian(loss)(NET, X), ted.jacobian(flat, (0, 1, 2, 3))(*ARRAYS)),
        (ted.vjp(apply, NET, X)[1](np.ones((5, 2)))[0],
         ted.grad(lambda net, x: ted.sum(apply(net, x)))(NET, X)),
    ):  # fmt: skip
        assert_same(mine, theirs)


def test_batches_of_dataclasses() -> None:
    many = ted.tree.map(lambda a: np.stack([a, 2 * a]), NET)
    found = ted.vmap(ted.grad(loss), in_axes=(0, None))(many, X)
    for k in range(2):
        one = ted.tree.map(lambda a, k=k: a[k], many)
        assert_same(ted.tree.map(lambda a, k=k: a[k], found), ted.grad(loss)(one, X))
    only_scale = Net([None, None], 0)
    scaled = ted.vmap(loss, in_axes=(only_scale, None))(
        dataclasses.replace(NET, scale=np.array([0.5, 1.0])), X
    )
    np.testing.assert_allclose(scaled[1], 4 * scaled[0])


def test_scans_carry_dataclasses() -> None:
    def step(state: Layer, x: Any) -> tuple[Layer, Any]:
        after = Layer(ted.tanh(state.w + x), state.b * 0.5, state.act)
        return after, (after.w, None)

    def run(state: Layer, xs: Any) -> Any:
        return ted.scan(step, state, xs)

    start = Layer(np.zeros(3), np.ones(3))
    final, (ws, nothing) = ted.function(run)(start, X)
    assert isinstance(final, Layer)
    assert nothing is None
    np.testing.assert_allclose(final.w, ws[-1])
    np.testing.assert_allclose(final.b, 0.5**5)


def test_a_function_of_dataclasses_is_traced_once() -> None:
    traced = []

    def counted(net: Net, x: Any) -> Any:
        traced.append(1)
        return loss(net, x)

    f = ted.function(counted)
    first = f(NET, X)
    assert f(ted.tree.map(lambda a: a + 0, NET), X) == first
    assert len(traced) == 1
    other = dataclasses.replace(
        NET, layers=[dataclasses.replace(NET.layers[0], act="no"), NET.layers[1]]
    )
    assert f(other, X) != first
    assert len(traced) == 2


@dataclasses.dataclass
class Scaled:
    """A nest with what arrays have."""

    values: Any
    factor: Any

    @property
    def shape(self) -> Any:
        """That of the values."""
        return self.values.shape

    @property
    def dtype(self) -> Any:
        """That of the values."""
        return self.values.dtype


def test_a_nest_with_a_shape_and_a_dtype_is_a_nest_in_every_call() -> None:
    f = ted.function(lambda a: a.values * a.factor)
    for factor in (2.0, 5.0):
        np.testing.assert_array_equal(f(Scaled(X, np.array(factor))), X * factor)
    spec = namedtuple("Spec", "shape dtype")
    g = ted.function(lambda x, s: x * s.shape[0])
    for rows in (2, 3, 3):
        np.testing.assert_array_equal(g(X, spec((rows,), np.float32)), X * rows)


def test_calls_that_differ_in_the_kind_of_a_dict_or_a_number_differ() -> None:
    same = ted.function(lambda p: p)
    for kind in (dict, OrderedDict, dict):
        assert type(same(kind(a=X))) is kind
    scaled = ted.function(lambda layer: layer.w * layer.act)
    for factor in (2, 2.0, 2):
        layer = Layer(np.arange(3), act=factor)  # type: ignore[arg-type]
        assert scaled(layer).dtype.kind == ("f" if isinstance(factor, float) else "i")
    times = ted.function(lambda x, factor: x * factor)
    for zero in (0.0, -0.0, 0.0):
        np.testing.assert_array_equal(np.signbit(times(np.ones(2), zero)), np.signbit(zero))


def test_cotangents_meet_results_by_key() -> None:
    _, pullback = ted.vjp(lambda x: {"a": x, "b": 10.0 * x}, X)
    zero, one = np.zeros_like(X), np.ones_like(X)
    np.testing.assert_array_equal(pullback({"b": zero, "a": one})[0], one)
    with pytest.raises(DerivativeError, match=r"nested as \{c: \*, a: \*\} for \{a: \*, b: \*\}"):
        pullback({"c": zero, "a": one})


def test_a_pair_with_something_else_has_cotangents_of_the_pair() -> None:
    (_, double), pullback, aux = ted.vjp(lambda x: ((x, 2.0 * x), 7.0 * x), X, has_aux=True)
    np.testing.assert_array_equal(double, 2 * X)
    np.testing.assert_array_equal(aux, 7 * X)
    np.testing.assert_array_equal(pullback((X, X))[0], 3 * X)


def test_a_step_that_changes_a_static_field_is_shown() -> None:
    def step(state: Layer, x: Any) -> Any:
        return dataclasses.replace(state, w=state.w + x, act="no"), None

    with pytest.raises(FrontendError, match=r"carry, Layer\{.*act='tanh'\}, got .*act='no'\}"):
        ted.function(functools.partial(ted.scan, step))(Layer(np.zeros(3)), X)


def test_one_nest_of_axes_is_for_every_argument() -> None:
    stacked = Layer(np.stack([X, 2 * X]), np.ones(3))
    found = ted.vmap(lambda p: p.w + p.b, in_axes=Layer(0))(stacked)
    np.testing.assert_array_equal(found, stacked.w + 1)


def with_aux(net: Net, x: Any) -> Any:
    y = apply(net, x)
    return ted.sum(y**2), {"y": y, "largest": ted.max(ted.abs(y)), "none": None}


def test_what_else_a_function_returns_is_passed_on() -> None:
    y = ted.function(apply)(NET, X)
    wanted = ted.grad(loss)(NET, X)
    (value, aux), found = ted.value_and_grad(with_aux, has_aux=True)(NET, X)
    assert_same((value, found), (ted.function(loss)(NET, X), wanted))
    assert_same(aux, {"y": y, "largest": np.abs(y).max(), "none": None})
    found, aux = ted.grad(with_aux, has_aux=True)(NET, X)
    assert_same((found, aux["y"]), (wanted, y))
    value, pullback, aux = ted.vjp(with_aux, NET, X, has_aux=True)
    assert_same((pullback(np.array(1.0))[0], aux["y"]), (wanted, y))
    direction = ted.tree.map(np.ones_like, NET)
    value, moved, aux = ted.jvp(with_aux, (NET, X), (direction, None), has_aux=True)
    assert_same((value, moved), ted.jvp(loss, (NET, X), (direction, None)))
    assert_same(aux["y"], y)


def test_what_is_passed_on_has_no_part_in_second_derivatives() -> None:
    def inner(x: Any) -> Any:
        found, aux = ted.grad(lambda x: (ted.sum(x**3), x * 5.0), has_aux=True)(x)
        return ted.sum(found) + ted.sum(aux)

    np.testing.assert_allclose(ted.grad(inner)(X), 6 * X + 5)


@pytest.mark.parametrize("transformed", [ted.grad, ted.value_and_grad])
def test_has_aux_takes_pairs(transformed: Any) -> None:
    with pytest.raises(DerivativeError, match=r"grad: with has_aux=True .* pair .*, got Tensor"):
        transformed(loss, has_aux=True)(NET, X)


def test_arguments_are_differentiated_by_name() -> None:
    expected = ted.grad(flat, (1, 4))(*ARRAYS)
    names = ("w", "b", "v", "scale", "x")
    by_name = dict(zip(names, ARRAYS, strict=True))
    assert_same(ted.grad(flat, ("b", "x"))(*ARRAYS), expected)
    assert_same(ted.grad(flat, ("b", "x"))(**by_name), expected)
    assert_same(ted.grad(flat, ("b", 0))(ARRAYS[0], **dict(list(by_name.items())[1:])),
                (expected[0], ted.grad(flat)(*ARRAYS)))  # fmt: skip
    assert ted.grad(flat, "scale")(*ARRAYS).shape == ()
    assert_same(ted.hessian(flat, "b")(*ARRAYS), ted.hessian(flat, 1)(*ARRAYS))
    assert_same(ted.jacobian(flat, argnums="b")(**by_name), expected[0])


@pytest.mark.parametrize(
    ("argnums", "message"),
    [
        ("k", "argnums names arguments, and 'k' is none of w, b, v, scale, x"),
        (5, "counts the 5 positional arguments of this call, got 5"),
        (1.0, "must be a position or a name of an argument, or a tuple of them, got 1.0"),
        ((0, None), "must be a position or a name"),
        (True, "must be a position or a name"),
    ],
)
def test_what_names_no_argument_is_refused(argnums: Any, message: str) -> None:
    with pytest.raises(DerivativeError, match=message):
        ted.grad(flat, argnums)(*ARRAYS)


def test_a_name_that_is_left_to_its_default_is_refused() -> None:
    def f(x: Any, y: Any = 2.0) -> Any:
        return ted.sum(x * y)

    with pytest.raises(DerivativeError, match="'y' is not in this call"):
        ted.grad(f, "y")(X)


def test_names_of_several_arguments_are_refused() -> None:
    def f(x: Any, *rest: Any, k: Any = 1.0, **named: Any) -> Any:
        return ted.sum(x * rest[0] * rest[1] * k + named.get("b", 0.0))

    for name, rule in (
        ("rest", "'rest' stands for several; give their positions"),
        ("k", "'k' is not in this call"),
        ("named", "'named' is none of x, k"),
    ):
        with pytest.raises(DerivativeError, match=rule):
            ted.grad(f, name)(X, X, X)
    np.testing.assert_array_equal(ted.grad(f, "b")(X, X, X, b=X), np.ones_like(X))


@pytest.mark.parametrize("make", [ted.function, lambda f: functools.partial(f, scale=2.0)])
def test_names_are_those_of_functions_of_functions(make: Any) -> None:
    def f(x: Any, b: Any, scale: Any = 2.0) -> Any:
        return ted.sum(x * b * scale)

    assert_same(ted.grad(make(f), ("b", "x"))(X, b=3 * X), (2 * X, 6 * X))


def test_a_number_in_a_nest_is_no_array() -> None:
    with pytest.raises(DerivativeError, match=r"got the constant 3 as argument net at layers.0.b"):
        ted.grad(loss, "net")(Net([Layer(NET.layers[0].w, 3), NET.layers[1]], NET.scale), X)
