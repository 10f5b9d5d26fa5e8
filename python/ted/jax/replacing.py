"""Primitives of JAX that ted has itself -> calls of ted, in a jaxpr and those inside of it.

Before: c:f32[3] = igamma a b          p l u = lu a          y = custom_vjp_call a
After:  c:f32[3] = ted[name=gammainc]  p l u = ted[name=lu]  y = ted[name=own0]
        lowered to custom_call @ted.lu

JAX makes loops of the ones, which have no reverse mode, calls of libraries of others, and forgets
the derivatives that a function has of its own, and how equal elements share one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend import core
from jax.interpreters import mlir
from jax.lax import linalg

from ted.jax.own_derivatives import differentiated, has_own_derivative, of_jax
from ted.records import dataclass

_NAMES: Mapping[Any, str] = {
    lax.igamma_p: "gammainc", lax.igammac_p: "gammaincc",
    lax.lt_to_p: "lt_to", lax.le_to_p: "le_to",
    linalg.cholesky_p: "cholesky", linalg.triangular_solve_p: "triangular_solve",
    linalg.lu_p: "lu", linalg.eigh_p: "eigh", linalg.svd_p: "svd",
    linalg.qr_p: "qr", linalg.householder_product_p: "householder_product",
    linalg.tridiagonal_solve_p: "tridiagonal_solve", lax.abs_p: "abs",
    lax.max_p: "max", lax.min_p: "min", lax.clamp_p: "clamp",
    lax.reduce_max_p: "reduce_max", lax.reduce_min_p: "reduce_min",
}  # fmt: skip

# Of complex matrices as well.
_OF_PAIRS = (linalg.lu_p, linalg.triangular_solve_p)
# What has a function of two numbers as a parameter, which stays a combiner.
_COMBINING = ("reduce", "scatter", "select_and")
# Functions of JAX with a rule that says what their slope is at a bend.
_RULED = ("relu", "relu6")

_ted = core.Primitive("ted")
_ted.multiple_results = True
_ted.def_abstract_eval(lambda *_, results, **__: list(results))


def _below(a: Any, b: Any, *, name: str, **_: Any) -> Any:
    """The order in which NaN is the greatest; of zeros JAX makes one before it compares."""
    if name == "le_to":
        return [(a <= b) | jnp.isnan(b)]
    return [(a < b) | (~jnp.isnan(a) & jnp.isnan(b))]


def _lowered(context: Any, *operands: Any, name: str, results: Any, given: Any) -> Any:
    del results
    if name.endswith("_to"):
        return mlir.lower_fun(_below, multiple_results=True)(context, *operands, name=name)
    return jax.ffi.ffi_lowering(f"ted.{name}")(context, *operands, given=json.dumps(dict(given)))


mlir.register_lowering(_ted, _lowered)


Own = dict[str, Callable[..., Any]]


def replaced(jaxpr: Any, own: Own, function: Callable[[Any], Callable[..., Any]]) -> Any:
    """A jaxpr, closed or not, with calls of ted.

    `own` gets the functions of those that have derivatives of their own, which `function` makes of
    closed jaxprs.
    """
    return _Replacing(own, function).jaxpr(jaxpr)


@dataclass(frozen=True)
class _Replacing:
    own: Own
    function: Callable[[Any], Callable[..., Any]]

    def jaxpr(self, jaxpr: Any) -> Any:
        inner: Any = jaxpr.jaxpr if isinstance(jaxpr, core.ClosedJaxpr) else jaxpr
        if inner is not jaxpr:  # from JAX 0.11 on there is one class, which is its own inner one
            return core.ClosedJaxpr(self.jaxpr(inner), jaxpr.consts)
        return inner.replace(eqns=[self.equation(eqn) for eqn in jaxpr.eqns])

    def equation(self, eqn: Any) -> Any:
        if eqn.primitive in _NAMES and _fits(eqn):
            known = {k: _plain(v) for k, v in eqn.params.items()}
            plain = {k: v for k, v in known.items() if v is not None}
            return _call(eqn, _NAMES[eqn.primitive], plain)
        if (known := of_jax(eqn)) in _RULED:
            return _call(eqn, known, {})
        if has_own_derivative(eqn):
            name = f"own{len(self.own)}"
            self.own[f"ted.{name}"] = differentiated(eqn, self.function)
            variables = [v for v in eqn.invars if not isinstance(v, core.Literal)]
            return _call(eqn.replace(invars=[*dict.fromkeys(variables)]), name, {})
        if eqn.primitive.name.startswith(_COMBINING):
            return eqn
        return eqn.replace(params={k: self.parameter(v) for k, v in eqn.params.items()})

    def parameter(self, value: Any) -> Any:
        if isinstance(value, (core.ClosedJaxpr, core.Jaxpr)):
            return self.jaxpr(value)
        if isinstance(value, tuple):
            parts = map(self.parameter, value)
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value


def _plain(value: Any) -> Any:
    """A parameter as JSON has it, else None."""
    if isinstance(value, tuple):
        parts = [_plain(v) for v in value]
        return None if None in parts else tuple(parts)
    if isinstance(value, (bool, str)):
        return value
    return int(value) if isinstance(value, Integral) else None


def _call(eqn: Any, name: str, given: Mapping[str, Any]) -> Any:
    results = tuple(v.aval for v in eqn.outvars)
    params = {"name": name, "results": results, "given": tuple(given.items())}
    return eqn.replace(primitive=_ted, params=params)


def _fits(eqn: Any) -> bool:
    """Whether ted has it: of real numbers or such pairs, all values of a part."""
    given = eqn.params
    some = given.get("pivoting", False) or given.get("subset_by_index") is not None
    kinds = "fc" if eqn.primitive in _OF_PAIRS else "f"
    return all(v.aval.dtype.kind in kinds for v in eqn.invars) and not some
