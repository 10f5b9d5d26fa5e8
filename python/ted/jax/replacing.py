"""Primitives of JAX that ted has itself -> calls of ted, in a jaxpr and those inside of it.

Before: c:f32[3] = igamma a b          p l u = lu a
After:  c:f32[3] = ted[name=gammainc]  p l u = ted[name=lu], lowered to custom_call @ted.lu

JAX makes loops of the ones, which have no reverse mode, and calls of libraries of the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend import core
from jax.interpreters import mlir
from jax.lax import linalg

_NAMES: Mapping[Any, str] = {
    lax.igamma_p: "gammainc", lax.igammac_p: "gammaincc",
    lax.lt_to_p: "lt_to", lax.le_to_p: "le_to",
    linalg.cholesky_p: "cholesky", linalg.triangular_solve_p: "triangular_solve",
    linalg.lu_p: "lu", linalg.eigh_p: "eigh", linalg.svd_p: "svd",
    linalg.qr_p: "qr",
}  # fmt: skip

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


def replaced(jaxpr: Any) -> Any:
    """A jaxpr, closed or not, with calls of ted."""
    if isinstance(jaxpr, core.ClosedJaxpr):
        return core.ClosedJaxpr(replaced(jaxpr.jaxpr), jaxpr.consts)
    return jaxpr.replace(eqns=[_equation(eqn) for eqn in jaxpr.eqns])


def _equation(eqn: Any) -> Any:
    if eqn.primitive in _NAMES and _fits(eqn):
        plain = {k: v for k, v in eqn.params.items() if isinstance(v, (bool, int, str))}
        results = tuple(v.aval for v in eqn.outvars)
        named = {"name": _NAMES[eqn.primitive], "results": results, "given": tuple(plain.items())}
        return eqn.replace(primitive=_ted, params=named)
    return eqn.replace(params={k: _parameter(v) for k, v in eqn.params.items()})


def _fits(eqn: Any) -> bool:
    """Whether ted has it: of real numbers, all values of a part, without a basis beyond rows."""
    given, shape = eqn.params, eqn.invars[0].aval.shape
    is_basis = given.get("full_matrices", False) and eqn.primitive == linalg.qr_p
    is_square = not is_basis or shape[-2] <= shape[-1]
    some = given.get("pivoting", False) or given.get("subset_by_index") is not None
    return all(v.aval.dtype.kind == "f" for v in eqn.invars) and is_square and not some


def _parameter(value: Any) -> Any:
    if isinstance(value, (core.ClosedJaxpr, core.Jaxpr)):
        return replaced(value)
    if isinstance(value, tuple):
        parts = map(_parameter, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
