"""What of a program of JAX becomes a call of ted, by the name under which ted has it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
from jax import lax  # noqa: E402
from jax import numpy as jnp  # noqa: E402

from ted.jax.own_derivatives import has_own_derivative, of_jax  # noqa: E402
from ted.jax.replacing import _below, _plain, _ted, replaced  # noqa: E402

A = np.eye(3, dtype=np.float32) * 2 + 1
X = A[0]
linalg = lax.linalg


@jax.custom_jvp
def bent(x: Any) -> Any:
    return jnp.abs(x)


@jax.custom_vjp
def turned(x: Any) -> Any:
    return x * 2


bent.defjvp(lambda primals, tangents: (bent(*primals), tangents[0]))
turned.defvjp(lambda x: (x, None), lambda _, g: (g,))

# What is asked for, as JSON has it.
CALLS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "gammainc": (lambda: jax.make_jaxpr(lax.igamma)(X, X), {}),
    "gammaincc": (lambda: jax.make_jaxpr(lax.igammac)(X, X), {}),
    "lt_to": (lambda: jax.make_jaxpr(lax.lt_to_p.bind)(X, X), {}),
    "le_to": (lambda: jax.make_jaxpr(lax.le_to_p.bind)(X, X), {}),
    "cholesky": (lambda: jax.make_jaxpr(linalg.cholesky)(A), {}),
    "triangular_solve": (
        lambda: jax.make_jaxpr(lambda a: linalg.triangular_solve(a, a, lower=True))(A),
        {"lower": True, "left_side": False, "unit_diagonal": False},
    ),
    "lu": (lambda: jax.make_jaxpr(linalg.lu)(A), {}),
    "eigh": (lambda: jax.make_jaxpr(linalg.eigh)(A), {"lower": True}),
    "svd": (lambda: jax.make_jaxpr(linalg.svd)(A), {"full_matrices": True, "compute_uv": True}),
    "qr": (lambda: jax.make_jaxpr(linalg.qr)(A), {}),
    "householder_product": (lambda: jax.make_jaxpr(linalg.householder_product)(A, X), {}),
    "tridiagonal_solve": (lambda: jax.make_jaxpr(linalg.tridiagonal_solve)(X, X, X, A), {}),
    "abs": (lambda: jax.make_jaxpr(jnp.abs)(X), {}),
    "max": (lambda: jax.make_jaxpr(lax.max)(X, X), {}),
    "min": (lambda: jax.make_jaxpr(lax.min)(X, X), {}),
    "clamp": (lambda: jax.make_jaxpr(lax.clamp)(X, X, X), {}),
    "reduce_max": (lambda: jax.make_jaxpr(lambda a: a.max(1))(A), {"axes": [1]}),
    "reduce_min": (lambda: jax.make_jaxpr(lambda a: a.min((0, 1)))(A), {"axes": [0, 1]}),
    "relu": (lambda: jax.make_jaxpr(jax.nn.relu)(X), {}),
    "relu6": (lambda: jax.make_jaxpr(jax.nn.relu6)(X), {}),
    "own0": (lambda: jax.make_jaxpr(lambda x: bent(x) + x)(X), {}),
}


def equations(jaxpr: Any) -> Iterator[Any]:
    """Those of a jaxpr, and of what is in them."""
    for eqn in jaxpr.eqns:
        yield eqn
        for value in eqn.params.values():
            for one in value if isinstance(value, tuple) else (value,):
                inner = getattr(one, "jaxpr", one)
                if hasattr(inner, "eqns"):
                    yield from equations(inner)


def calls(jaxpr: Any) -> dict[str, Any]:
    found = replaced(jaxpr, {}, lambda _: lambda *_: None)
    return {
        eqn.params["name"]: json.loads(json.dumps(dict(eqn.params["given"])))
        for eqn in equations(found) if eqn.primitive is _ted
    }  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_ted_has_is_called_by_its_name_with_its_parameters(name: str) -> None:
    make, given = CALLS[name]
    found = calls(make())
    assert list(found) == [name]
    assert given.items() <= found[name].items()
    (eqn,) = (e for e in equations(replaced(make(), {}, lambda _: lambda *_: None))
              if e.primitive is _ted)  # fmt: skip
    assert eqn.params["results"] == tuple(v.aval for v in eqn.outvars)


def test_calls_are_found_in_loops_and_branches_and_combiners_are_left() -> None:
    def looped(x: Any) -> Any:
        total = lax.fori_loop(0, 3, lambda _, c: lax.max(c, x), x)
        return lax.cond(total.sum() > 0, jnp.abs, jnp.negative, total)

    assert list(calls(jax.make_jaxpr(looped)(X))) == ["max", "abs"]
    pools = lambda a: lax.reduce(a, -jnp.inf, lax.max, (0,))  # noqa: E731
    scattered = lambda a: a.at[np.array([0, 0])].max(1.0)  # noqa: E731
    for function in (pools, scattered):
        assert "max" not in calls(jax.make_jaxpr(function)(A))


@pytest.mark.parametrize(
    "make",
    [
        lambda: jax.make_jaxpr(jnp.abs)(np.arange(3)),
        lambda: jax.make_jaxpr(linalg.cholesky)(A * 1j),
        lambda: jax.make_jaxpr(lambda a: linalg.qr(a, pivoting=True))(A),
        lambda: jax.make_jaxpr(
            lambda a: linalg.svd(a, full_matrices=False, subset_by_index=(0, 2))
        )(A),
    ],
)
def test_what_ted_does_not_have_stays_what_it_is(make: Callable[[], Any]) -> None:
    assert calls(make()) == {}
    assert list(calls(jax.make_jaxpr(linalg.lu)(A * 1j))) == ["lu"]


def test_nan_is_the_greatest_of_all() -> None:
    values = np.array([-math.inf, -1.0, 0.0, 2.0, math.inf, math.nan])
    key = lambda x: (math.isnan(x), 0.0 if math.isnan(x) else x)  # noqa: E731
    pairs = np.array(list(itertools.product(values, values)))
    for name, order in (("lt_to", lambda a, b: a < b), ("le_to", lambda a, b: a <= b)):
        (found,) = _below(jnp.asarray(pairs[:, 0]), jnp.asarray(pairs[:, 1]), name=name)
        wanted = [order(key(float(a)), key(float(b))) for a, b in pairs]
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("value", "plain"),
    [(True, True), (np.int64(3), 3), ("L", "L"), ((1, (2, np.int32(3))), (1, (2, 3))),
     (1.5, None), ((1, None), None), (lax.max, None)],
)  # fmt: skip
def test_parameters_are_what_json_has(value: Any, plain: Any) -> None:
    found = _plain(value)
    assert (found, type(found)) == (plain, type(plain))


RULES: dict[str, tuple[Callable[[Any], Any], bool, str]] = {
    "of a user": (bent, True, ""),
    "of a user, backwards": (turned, True, ""),
    "a layer": (jax.nn.relu, False, "relu"),
    "another layer": (jax.nn.relu6, False, "relu6"),
    "of a package": (lambda x: jax.scipy.special.xlogy(x, x), True, ""),
    "bits": (jnp.frexp, True, ""),
    "linear algebra": (lambda x: jnp.linalg.det(jnp.outer(x, x)), False, ""),
    "none": (jnp.sin, False, ""),
}


@pytest.mark.parametrize("name", RULES)
def test_derivatives_of_users_are_their_own_and_those_of_layers_are_known(name: str) -> None:
    function, is_own, layer = RULES[name]
    found = list(equations(jax.make_jaxpr(function)(X).jaxpr))
    assert any(map(has_own_derivative, found)) == is_own
    assert max(map(of_jax, found)) == layer
