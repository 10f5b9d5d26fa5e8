"""ted functions as operators of JAX: values and derivatives against the same written in JAX."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ted

jax = pytest.importorskip("jax")
from jax import numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import ted.jax  # noqa: E402
from ted.errors import FrontendError, TedError  # noqa: E402

X = np.random.default_rng(0).standard_normal((4, 3))
W = np.random.default_rng(1).standard_normal((3, 2))
pytestmark = pytest.mark.usefixtures("float64_in_jax")


@ted.jax.op
def layer(x: Any, w: Any) -> Any:
    return ted.sum(ted.tanh(x @ w)), ted.exp(x)


def layer_in_jax(x: Any, w: Any) -> Any:
    return jnp.sum(jnp.tanh(x @ w)), jnp.exp(x)


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    def scalar(x: Any, w: Any = W) -> Any:
        first, second = f(x, w)
        return first + jnp.sum(second**2)

    return scalar


def over_steps(f: Callable[..., Any]) -> Callable[..., Any]:
    def scalar(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            value, moved = f(c, W)
            return c * 0.9 + 0.1 * jnp.tanh(moved), value

        return jnp.sum(jax.lax.scan(step, x, None, length=4)[1])

    return scalar


PAIR = np.stack([X, 2 * X])
TRANSFORMED: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "value": lambda f: f(X, W),
    "jit": lambda f: jax.jit(f)(X, W),
    "gradient": lambda f: jax.jit(jax.grad(loss(f), argnums=(0, 1)))(X, W),
    "jvp": lambda f: jax.jvp(f, (X, W), (np.cos(X), np.sin(W))),
    "vmap": lambda f: jax.vmap(f, (0, None))(PAIR, W),
    "vmap along the last dim": lambda f: jax.vmap(f, (2, None))(np.moveaxis(PAIR, 0, 2), W),
    "gradients of a batch": lambda f: jax.vmap(jax.grad(loss(f)), (0, None))(PAIR, W),
    "gradient over a batch": lambda f: jax.grad(
        lambda w: jnp.sum(jax.vmap(f, (0, None))(PAIR, w)[0] ** 2)
    )(W),
    "jacrev": lambda f: jax.jacrev(lambda x: f(x, W)[1])(X),
    "jacfwd": lambda f: jax.jacfwd(lambda x: f(x, W)[1])(X),
    "hessian": lambda f: jax.hessian(loss(f))(X),
    "gradient of a scan": lambda f: jax.jit(jax.grad(over_steps(f)))(X),
    "gradients of scans": lambda f: jax.vmap(jax.grad(over_steps(f)))(PAIR),
    "remat": lambda f: jax.grad(jax.checkpoint(loss(f)))(X),
    "linear transpose": lambda f: jax.linear_transpose(
        jax.vmap(lambda t: jax.jvp(lambda x: f(x, W)[1], (X,), (t,))[1]), PAIR
    )(PAIR),
    "cond": lambda f: jax.grad(lambda x: jax.lax.cond(x[0, 0] > 9, loss(f), jnp.sum, x))(X),
}


@pytest.mark.fast(7)
@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations_agree_with_jax(name: str) -> None:
    found, expected = (TRANSFORMED[name](f) for f in (layer, layer_in_jax))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_gradients_of_two_orders_agree_with_differences() -> None:
    check_grads(loss(layer), (X[:2], W), order=2, modes=["fwd", "rev"])


@pytest.mark.slow
def test_gradients_of_three_orders_agree_with_differences() -> None:
    check_grads(loss(layer), (X[:1], W), order=3, modes=["fwd", "rev"], atol=1e-4, rtol=1e-4)


@jax.tree_util.register_dataclass
@dataclass
class Parameters:
    """A tree that JAX knows by registration."""

    w: Any
    scales: dict[str, Any]


def test_trees_numbers_and_names_go_in_and_trees_come_out() -> None:
    @ted.jax.op(name="nested")
    def f(p: Parameters, i: Any, *, power: float, more: Any = None) -> Any:
        taken = ted.take(p.w, i, axis=0) * p.scales["a"]
        return {"y": taken**power, "all": (ted.sum(i), more is None)[:1]}

    p = Parameters(W, {"a": np.float64(2.0)})
    found = jax.jit(lambda p, i: f(p, i, power=3.0))(p, np.array([2, 0]))
    np.testing.assert_allclose(found["y"], (W[[2, 0]] * 2) ** 3)
    assert found["all"] == (2,)
    gradient = jax.grad(lambda p: jnp.sum(f(p, np.array([2, 0]), power=3.0)["y"]))(p)
    assert isinstance(gradient, Parameters)
    np.testing.assert_allclose(gradient.w[1], 0)
    np.testing.assert_allclose(gradient.scales["a"], np.sum(3 * 4 * W[[2, 0]] ** 3))
    with pytest.raises(Exception, match=r"nested: .* tensor p_w has extent 3 .* got index 3, at "):
        f(p, np.array([0, 3]), power=3.0)["y"].block_until_ready()


def test_types_are_those_that_jax_has() -> None:
    @ted.jax.op
    def f(x: Any) -> Any:
        return ted.argmax(x), ted.sum(x), ted.cast(x, "bfloat16"), x > 0

    with jax.enable_x64(False):
        kinds = [str(y.dtype) for y in f(jnp.ones(3))]
    assert kinds == ["int32", "float32", "bfloat16", "bool"]
    assert str(f(X[0])[0].dtype) == "int64"


def test_zeros_of_both_signs_are_other_constants() -> None:
    @ted.jax.op
    def f(x: Any, by: tuple[float]) -> Any:
        return x / by[0]

    assert [float(f(np.ones(()), (zero,))) for zero in (0.0, -0.0)] == [np.inf, -np.inf]


def test_a_tree_of_results_is_that_of_all_shapes() -> None:
    pair = ted.jax.op(lambda x: {"a": x, "b": x * 2})
    for count in (2, 3):
        assert list(pair(np.ones(count))) == ["a", "b"]
    varied = ted.jax.op(lambda x: x if x.shape == (2,) else (x, x), name="varied")
    varied(np.ones(2))
    with pytest.raises(FrontendError, match=r"varied: an operator returns one tree for all shapes"):
        varied(np.ones(3))


def test_trees_of_as_many_arrays_are_other_arguments() -> None:
    either = ted.jax.op(lambda p: p["a"] * 2 if isinstance(p, dict) else p[0] * 3)
    np.testing.assert_allclose(either({"a": X}), 2 * X)
    np.testing.assert_allclose(either((X,)), 3 * X)


def test_gradients_of_results_one_by_one_are_of_programs_of_their_own() -> None:
    both = ted.jax.op(lambda x: (ted.sum(x * x), ted.sum(x * x * x)))
    for part, slope in ((0, 2 * X), (1, 3 * X**2)):
        found = jax.grad(lambda x, k=part: both(x)[k])(X)
        np.testing.assert_allclose(found, slope)


def test_an_operator_in_an_operator_is_a_part_of_it() -> None:
    @ted.jax.op
    def f(x: Any) -> Any:
        return layer(x, W)[1] * 2

    np.testing.assert_allclose(jax.grad(lambda x: jnp.sum(f(x)))(X), 2 * np.exp(X))


def test_jax_finds_numbers_that_are_none() -> None:
    with jax.debug_nans(True):
        for one in (layer, jax.jit(layer)):
            with pytest.raises(FloatingPointError, match="encountered in layer"):
                one(X * np.nan, W)


def test_arguments_without_a_gradient_and_results_without_a_tangent() -> None:
    @ted.jax.op
    def f(x: Any, i: Any) -> Any:
        return ted.argmax(x), x[i[0]] * x[i[1]], ted.stop_gradient(x)

    y, t = jax.jvp(lambda x: f(x, np.array([0, 2])), (X[0],), (np.ones(3),))
    assert t[0].dtype == jax.dtypes.float0
    np.testing.assert_allclose(t[1], X[0, 0] + X[0, 2])
    np.testing.assert_allclose(t[2], 0)
    assert y[0] == np.argmax(X[0])


def test_complex_numbers_have_the_gradients_of_jax() -> None:
    def turned(library: Any) -> Any:
        return lambda p, x: {"y": (p["z"] * p["s"] + library.fft.fft(p["z"])) * x, "x": x * x}

    def slopes(f: Any) -> Any:
        def energy(z: Any) -> Any:
            found = f({"z": z, "s": 1j}, X[0])
            return jnp.sum(jnp.abs(found["y"]) ** 2 * found["x"])

        z = jnp.stack([X[0] + 2j, X[1] * 1j])
        curved = jax.grad(lambda z: jnp.sum(jnp.abs(jax.grad(energy)(z)) ** 2))
        return f({"z": z[0], "s": 2.0}, X[0])["y"], jax.vmap(jax.grad(energy))(z), curved(z[0])

    for one, other in zip(slopes(ted.jax.op(turned(ted))), slopes(turned(jnp)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no function": (lambda: ted.jax.op(3), FrontendError, "op: takes a function of tensors, got"),
    "no identifier": (lambda: ted.jax.op(len, name="a b"), FrontendError, "identifier, got 'a b'"),
    **{f"{one}=": (lambda one=one: ted.jax.op(layer.function, **{one: 0}), FrontendError,
                   f"op: operators of JAX have no {one}=, got 0; jax.jit has donate_argnums")
       for one in ("donate", "batch", "debug_nans")},
    "a GPU": (
        lambda: ted.jax.op(lambda x: x, target="cuda:sm_80"), FrontendError, "run on CPUs, got",
    ),
    "a set": (
        lambda: ted.jax.op(lambda x, k: x)(X, {1, 2}), FrontendError, "hashable values, got set",
    ),
    "a result": (
        lambda: ted.jax.op(lambda x: [x, "text"], name="texts")(X), FrontendError,
        r"texts: results must be tensors, got str at \[1\]",
    ),
    "shapes": (lambda: layer(X, X), FrontendError, "inner extents must agree"),
    "keys": (lambda: layer(jax.random.key(0), W), FrontendError, "got one of key<fry>; pass"),
    "the user's line": (lambda: layer(X, X), FrontendError, r"\(test_operators.py:\d+\)"),
    "notes": (lambda: ted.jax.op(_noisy)(X), TedError, "prints or checks runs in ted alone"),
}  # fmt: skip


def _noisy(x: Any) -> Any:
    ted.print("x = {}", x)
    return x * 2


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused(case: str) -> None:
    make, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        make()


def test_two_devices_add_the_gradients_of_what_they_share() -> None:
    program = """
import jax, numpy as np, ted, ted.jax
from jax import numpy as jnp
from jax.sharding import AxisType, PartitionSpec as P
f = ted.jax.op(lambda x, w: ted.tanh(x @ w))
x, w = np.ones((4, 3), "f4"), np.arange(6, dtype="f4").reshape(3, 2) / 9
mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Auto,))
for check in (True, False):
    spread = jax.shard_map(f, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"), check_vma=check)
    found = jax.jit(jax.grad(lambda w: jnp.sum(spread(x, w) ** 2)))(w)
    expected = jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(w)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
"""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, "-c", program]
    subprocess.run(command, check=True, env={**os.environ, **flags}, timeout=120)


def test_a_call_of_a_program_that_is_not_here_is_an_error() -> None:
    shape = jax.ShapeDtypeStruct((3,), np.float32)
    missing = jax.ffi.ffi_call("ted_call", shape)
    with pytest.raises(Exception, match="compiled by another process is not here"):
        missing(jnp.ones(3, "float32"), program=np.int64(12345)).block_until_ready()


def test_an_index_error_is_on_the_line_of_its_own_operator() -> None:
    def first(x: Any, i: Any) -> Any:
        return ted.compute((2,), lambda k: x[i[k]], name="y")

    def second(x: Any, i: Any) -> Any:
        return ted.compute((2,), lambda k: x[i[k]], name="y")

    for fn in (first, second):
        line = fn.__code__.co_firstlineno + 1
        with pytest.raises(Exception, match=rf"got index 9, at test_operators.py:{line}"):
            ted.jax.op(fn, name="taken")(jnp.ones(3), np.array([0, 9]))[0].block_until_ready()


def test_threads_compile_one_operator_at_once() -> None:
    barrier, found = threading.Barrier(4), []
    own = ted.jax.op(lambda x: x * 3 + 1, name="at_once")

    def run() -> None:
        barrier.wait()
        found.append(np.asarray(jax.jit(own)(jnp.ones(5))))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found, np.full((4, 5), 4.0))


class _Scaled:
    @ted.jax.op
    def times(self, x: Any) -> Any:
        return 3 * ted.sum(x**2)


def test_methods_are_decorated_as_functions_are() -> None:
    np.testing.assert_allclose(jax.grad(_Scaled().times)(X[0]), 6 * X[0])


def test_subnormal_numbers_are_flushed_as_jax_does_unless_told() -> None:
    x = np.full(1 << 17, 2.0**-140, "f4")
    mine, kept, flushed = (
        ted.jax.op(lambda x: x * 0.5 + x, subnormals=word) for word in (None, "keep", "flush")
    )
    of_jax = np.asarray(jax.jit(lambda x: x * 0.5 + x)(x))
    for f in (mine, jax.jit(mine), jax.jit(jax.vmap(mine))):
        np.testing.assert_array_equal(np.asarray(f(x)).view("i4"), of_jax.view("i4"))
    np.testing.assert_array_equal(kept(x), x * np.float32(1.5))
    assert not np.asarray(flushed(x)).view("i4").any()
    slopes = jax.grad(lambda x: jnp.sum(mine(x * x)))(x)
    assert not np.asarray(slopes).view("i4").any()
