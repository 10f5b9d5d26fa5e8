"""Programs of JAX read as functions of ted: values, gradients, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ted
import ted.jax
from ted.errors import FrontendError, VerifyError
from ted.ir.equations import topological

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(4, 2)).astype(np.float32)
AT = np.array([2, 0, 2], np.int32)


def _scanned(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        carry = jnp.sin(carry) * 0.5 + row
        return carry, carry * row

    return jax.lax.scan(step, jnp.ones(4, x.dtype), x)


def _convolved(x: Any, w: Any) -> Any:
    padding = [(1, 1), (0, 1)]
    return jax.lax.conv_general_dilated(
        x[None, None], w[None, None, :2], (2, 1), padding, lhs_dilation=(1, 2)
    )


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a layer": (lambda x, w: jax.nn.gelu(x @ w, approximate=False), (X, W)),
    "softmax and its gradient": (jax.vmap(jax.grad(lambda r: jax.nn.softmax(r)[0])), (X,)),
    "convolution": (_convolved, (X, W)),
    "pools": (
        lambda x: (
            jax.lax.reduce_window(x, -np.inf, jax.lax.max, (2, 2), (1, 2), "VALID"),
            jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 2), (1, 1), "SAME"),
        ),
        (X,),
    ),
    "a scan": (_scanned, (X,)),
    "a scan backwards": (
        lambda x: jax.lax.scan(lambda c, r: (c + r, c * r), x[0], x, reverse=True), (X,),
    ),
    "the gradient of a scan": (jax.grad(lambda x: _scanned(x)[1].sum()), (X,)),
    "a counted loop": (lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + i * x, x), (X,)),
    "a branch": (lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), (X,)),
    "rows by data": (lambda x, k: x[k] * 2, (X, AT)),
    "sums by data": (lambda x, k: jnp.zeros((4, 4)).at[k].add(x * x), (X, AT)),
    "columns set": (lambda x: jnp.asarray(x).at[:, 1].set(0.0).at[2].max(x[0]), (X,)),
    "a sort": (lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0), jax.lax.top_k(x, 2)[0]), (X,)),
    "the greatest": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), x.max(1)), (X,)),
    "pieces": (
        lambda x: (x[::-1, ::2], jnp.pad(x, 1, mode="reflect"), jnp.roll(x, 1, 0), x[:, :, None]),
        (X,),
    ),
    "an argument that nothing reads": (lambda x, w: x + 1, (X, W)),
    "a pad of nothing": (
        lambda x: x[:, :2] * jax.lax.pad(x[:, :0], x[0, 0], ((0, 0, 0), (2, 0, 1))), (X,),
    ),
    "a chain of odd length": (
        lambda x: jax.lax.associative_scan(jnp.multiply, x, reverse=True), (X,),
    ),
    "no elements": (lambda x: (x[:, 4:].sum(1), x[:0].max(initial=-3.0), x[3:] * 2), (X,)),
    "systems of equations": (
        lambda x: (
            jnp.linalg.solve(x[:, :3], x), jnp.linalg.slogdet(x[:, :3])[1],
            jnp.linalg.cholesky(x @ x.T + jnp.eye(3)),
            jax.scipy.linalg.solve_triangular(x[:, :3], x, lower=True, trans=1),
        ),
        (X,),
    ),
    "factors": (
        lambda x: (
            jnp.linalg.eigvalsh(x @ x.T), jnp.linalg.svd(x, compute_uv=False),
            jnp.abs(jnp.linalg.qr(x.T)[1]), *jax.scipy.linalg.lu_factor(x[:, :3]),
            *jax.scipy.linalg.lu(x[:, :2]),
        ),
        (X,),
    ),
    "three bands": (
        lambda x: jax.lax.linalg.tridiagonal_solve(x[0, :3], x[1, :3], x[2, :3], x), (X,),
    ),
    "incomplete gamma": (lambda x: jax.scipy.special.gammainc(2.0, x * x + 0.1), (X,)),
    "rows by two keys": (lambda x: x[jnp.lexsort((x[:, 0], jnp.round(x[:, 1])))], (X,)),
    "a window at data": (lambda x, k: jax.lax.dynamic_slice(x, (k[0], k[1]), (2, 3)), (X, AT)),
}  # fmt: skip


def _flat(results: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(results)]


@pytest.mark.fast(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_imported_functions_agree_with_jax_in_value_and_gradient(name: str) -> None:
    function, args = FUNCTIONS[name]
    imported = ted.jax.from_jaxpr(jax.make_jaxpr(function)(*args))
    wanted = _flat(function(*args))
    heads = [np.cos(np.arange(w.size)).reshape(w.shape) for w in wanted]

    def total(results: Any, add: Callable[[Any], Any]) -> Any:
        listed = results if isinstance(results, (tuple, list)) else (results,)
        pairs = [
            (r, h) for r, h, w in zip(listed, heads, wanted, strict=True) if w.dtype.kind == "f"
        ]
        return sum(add(r * h.astype(np.float32)) for r, h in pairs)

    floats = tuple(k for k, a in enumerate(args) if a.dtype.kind == "f")
    results = ted.function(lambda *a: imported(*a))(*args)
    for one, other in zip(_flat(results), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)
    own = ted.function(ted.grad(lambda *a: total(imported(*a), ted.sum), floats))(*args)
    given = jax.grad(lambda *a: total(jax.tree.leaves(function(*a)), jnp.sum), floats)(*args)
    for one, other in zip(own, given, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def _ordered(key: Any, x: Any) -> tuple[Any, ...]:
    return (
        jnp.lexsort((x[0], jnp.round(x[1]))), jax.lax.population_count(AT - 1),
        jax.random.uniform(key, (5,), minval=-1),
    )  # fmt: skip


def _drawn(key: Any, x: Any) -> tuple[Any, ...]:
    a, b, c = jax.random.split(key, 3)
    return (
        jax.random.normal(b, (5,)), jax.random.bernoulli(c, 0.3, (9,)),
        jax.random.categorical(a, x), jax.random.permutation(b, 9),
        jax.random.randint(c, (4,), -5, 50), jax.random.uniform(a, (4,), jnp.float16),
        jax.random.uniform(b, (4,), jnp.bfloat16).astype(jnp.float32),
        jax.random.bits(jax.random.fold_in(b, 3), (2,)), jnp.unique(AT, size=3),
        *jax.lax.sort((jnp.round(x[0]), x[1], x[2]), num_keys=2),
        jnp.searchsorted(jnp.sort(x[0]), x[1]),
    )  # fmt: skip


@pytest.mark.parametrize("function", [_ordered, pytest.param(_drawn, marks=pytest.mark.slow)])
def test_random_numbers_and_orders_are_those_of_jax(function: Callable[..., Any]) -> None:
    key = np.asarray(jax.random.PRNGKey(3))
    imported = ted.jax.from_jaxpr(jax.make_jaxpr(function)(key, X))
    found = ted.function(lambda *a: imported(*a))(key, X)
    for one, other in zip(_flat(found), _flat(function(key, X)), strict=True):
        if one.dtype == np.float32:
            np.testing.assert_allclose(one, other, rtol=1e-6)
        else:
            np.testing.assert_array_equal(one, other, strict=True)


@jax.custom_vjp
def _rounded(x: Any, k: Any) -> Any:
    return jnp.round(x) * k


_rounded.defvjp(lambda x, k: (_rounded(x, k), (x, k)), lambda kept, g: (g * kept[0], None))


@pytest.mark.usefixtures("float64_in_jax")
@pytest.mark.parametrize(
    ("function", "at"),
    {
        "a custom vjp": (lambda x: jax.lax.map(lambda r: _rounded(r, 3), x) * x, [0.3, 1.6]),
        "a rule for bits": (lambda x: jnp.frexp(x)[0], [0.3, -1.6]),
        "bends": (
            lambda x: jax.nn.relu(x) + jnp.maximum(x, 1) * jnp.clip(x, 0, 6) + jnp.max(x),
            [0.0, 1.0, 6.0, 6.0],
        ),
        "magnitudes": (jnp.abs, [-0.0, 1.0, -2.0, 0.0]),
        "bounds in a wrong order": (lambda x: jax.lax.clamp(3.0, x, 1.0), [0.0, 2.0, 4.0]),
        "a rule at a zero": (lambda x: jax.scipy.special.xlogy(x, 3.0), [0.0, 1.0]),
    }.values(),
)
def test_derivatives_are_those_that_jax_was_given(function: Any, at: list[float]) -> None:
    x = np.array(at)
    imported = ted.jax.from_jaxpr(jax.make_jaxpr(function)(x))

    def second(lib: Any, f: Any, derive: Any) -> Any:
        return derive(lambda x: lib.sum(derive(lambda x: lib.sum(f(x) * x * x))(x) * x))

    np.testing.assert_allclose(ted.function(lambda x: imported(x))(x), function(x))
    wanted = second(jnp, function, jax.grad)(x)
    np.testing.assert_allclose(ted.function(second(ted, imported, ted.grad))(x), wanted, atol=1e-9)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.usefixtures("float64_in_jax")
def test_bits_of_floats_are_those_of_jax(name: str) -> None:
    kind = jnp.dtype(name)
    whole = np.dtype(f"int{8 * kind.itemsize}")
    limits = np.iinfo(whole)
    bits = np.random.default_rng(0).integers(limits.min, limits.max, 999, whole)
    bits = np.concatenate([bits, np.array([0, 1, limits.min, limits.min + 9], whole)])
    cast = jax.lax.bitcast_convert_type
    x = np.asarray(cast(bits, kind))
    back = ted.jax.from_jaxpr(jax.make_jaxpr(lambda x: (cast(x, whole), jnp.signbit(x)))(x))
    there = ted.jax.from_jaxpr(jax.make_jaxpr(lambda b: (cast(b, kind), jax.lax.clz(b)))(bits))
    found, signs = ted.function(lambda x: back(x))(x)
    floats, zeros = ted.function(lambda b: there(b))(bits)
    with np.errstate(invalid="ignore"):
        is_number = x == x
        np.testing.assert_array_equal(found[is_number], bits[is_number])
    np.testing.assert_array_equal(signs[is_number], np.signbit(x[is_number]))
    np.testing.assert_array_equal(floats.view(whole)[is_number], bits[is_number])
    np.testing.assert_array_equal(zeros, jax.lax.clz(bits))


def test_what_has_no_equations_is_named() -> None:
    with pytest.raises(VerifyError, match=r"functions of other libraries .* got lapack_sgehrd"):
        ted.jax.from_jaxpr(jax.make_jaxpr(jax.lax.linalg.hessenberg)(np.eye(3, dtype=np.float32)))
    with pytest.raises(FrontendError, match=r"takes what jax.make_jaxpr\(f\)\(\*args\) gives"):
        ted.jax.from_jaxpr(jnp.sin)


def test_a_loop_without_a_count_runs_and_has_no_reverse_mode() -> None:
    def double(x: Any) -> Any:
        return jax.lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, jnp.abs(x))

    imported = ted.jax.from_jaxpr(jax.make_jaxpr(double)(X))
    np.testing.assert_array_equal(ted.function(lambda x: imported(x))(X), double(X))


def test_rows_that_a_loop_fills_are_no_history_of_the_stack() -> None:
    steps = 50
    imported = ted.jax.from_jaxpr(jax.make_jaxpr(_scanned)(np.ones((steps, 4), np.float32)))
    most = max(t.size for t in topological(imported.system.outputs))
    assert most <= (steps + 1) * 4


def test_the_place_of_the_greatest_is_a_reduction_and_not_a_loop() -> None:
    x = np.array([[1, np.nan, 3, np.nan], [2, 5, 5, 1], [-np.inf] * 4], np.float32)
    imported = ted.jax.from_jaxpr(jax.make_jaxpr(lambda x: jnp.argmax(x, 1))(x))
    tensors = topological(imported.system.outputs)
    assert [t.time for t in tensors if t.time is not None] == []
    combiners = {e.combiner for t in tensors for e in t.equations}
    assert "argmax" in combiners
    np.testing.assert_array_equal(ted.function(lambda x: imported(x))(x), [1, 1, 0])


def test_integers_without_sign_keep_their_bits() -> None:
    def f(x: Any) -> Any:
        u = x.astype(jnp.uint32)
        return u // 7, u > 5, u.max(), jnp.sort(x.astype(jnp.uint8)), u.astype(jnp.float32)

    x = np.array([7, -7, 2, -128], np.int32)
    imported = ted.jax.from_jaxpr(jax.make_jaxpr(f)(x))
    for one, other in zip(ted.function(lambda x: imported(x))(x), f(x), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_the_gradient_of_a_scan_is_made_of_gathers() -> None:
    imported = ted.jax.from_jaxpr(jax.make_jaxpr(_scanned)(X))
    x = ted.placeholder(X.shape, "float32", "x")
    gradient = ted.grad(lambda x: ted.sum(imported(x)[1] ** 2))(x)
    assert not any(e.is_scatter for t in topological([gradient.node]) for e in t.equations)
