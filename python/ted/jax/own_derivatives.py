"""Functions of JAX with derivatives of their own, as functions of ted that have the same.

Before: y = custom_vjp_call[call_jaxpr=f, bwd=g] x
After:  ted.custom_vjp(f) whose gradient is what JAX makes of that equation, imported when it is
        asked for: what has such a derivative itself is another function of this kind
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend import core

import ted

Imported = Callable[[Any], Callable[..., Any]]  # what takes a closed jaxpr to a function of ted
_PARTS_OF_JAX = f"{jax.__name__}/_src/"


def has_own_derivative(eqn: Any) -> bool:
    """Whether an equation has a derivative that is not that of what it computes.

    JAX's rules for layers and linear algebra are those derivatives, but for bits, which have none.
    """
    if eqn.primitive.name != "custom_jvp_call":
        return eqn.primitive.name == "custom_vjp_call"
    jaxpr = eqn.params["call_jaxpr"].jaxpr
    place = jaxpr.debug_info.func_src_info
    is_known = any(f"{_PARTS_OF_JAX}{part}" in place for part in ("lax", "nn", "numpy/linalg"))
    return not is_known or _has_bits(jaxpr)


def of_jax(eqn: Any) -> str:
    """The name of a layer of JAX that has a rule for forward mode, else an empty one."""
    if eqn.primitive.name != "custom_jvp_call":
        return ""
    place = eqn.params["call_jaxpr"].jaxpr.debug_info.func_src_info
    return place.partition(" ")[0] if f"{_PARTS_OF_JAX}nn" in place else ""


def _has_bits(jaxpr: Any) -> bool:
    return any(eqn.primitive.name == "bitcast_convert_type" for eqn in jaxpr.eqns)


def differentiated(eqn: Any, imported: Imported) -> Callable[..., Any]:
    """An equation as a function of the tensors that it takes."""
    inputs = [*dict.fromkeys(v for v in eqn.invars if not isinstance(v, core.Literal))]
    told = eqn.params["call_jaxpr"].jaxpr.debug_info.with_unknown_names()
    once = core.ClosedJaxpr(core.Jaxpr((), inputs, eqn.outvars, [eqn], debug_info=told), ())
    given = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in inputs]
    moving = [k for k, x in enumerate(given) if _is_inexact(x)]
    heads = [v.aval for v in eqn.outvars if _is_inexact(v.aval)]

    def pulled(arguments: Sequence[Any], heads: Sequence[Any]) -> Any:
        def function(*floats: Any) -> Any:
            whole = dict(enumerate(arguments)) | dict(zip(moving, floats, strict=True))
            return [y for y in core.jaxpr_as_fun(once)(*whole.values()) if _is_inexact(y)]

        pull = jax.vjp(function, *(arguments[k] for k in moving))[1]
        return [*map(jax.numpy.conj, pull([*map(jax.numpy.conj, heads)]))]

    @functools.cache
    def gradient() -> Callable[..., Any]:
        return imported(jax.make_jaxpr(pulled)(given, heads))

    @functools.cache
    def value() -> Callable[..., Any]:
        body = eqn.params["call_jaxpr"]
        return imported(jax.make_jaxpr(_without_rules(eqn, body, inputs))(*given))

    def backward(arguments: Any, _: Any, cotangents: Any) -> Any:
        floats = [c for c in cotangents if c.dtype.kind in ("float", "complex")]
        found = gradient()(*arguments, *floats) if moving else ()
        parts = iter(found if isinstance(found, tuple) else (found,))
        return tuple(next(parts) if k in moving else None for k in range(len(given)))

    own = ted.custom_vjp(lambda *arguments: value()(*arguments))
    own.defvjp(backward)
    return own


def _without_rules(eqn: Any, body: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
    """What an equation computes, as a function of its variables."""

    def function(*arguments: Any) -> Any:
        known = dict(zip(inputs, arguments, strict=True))
        given = [v.val if isinstance(v, core.Literal) else known[v] for v in eqn.invars]
        return core.jaxpr_as_fun(body)(*given)

    return function


def _is_inexact(x: Any) -> bool:
    return jax.numpy.issubdtype(x.dtype, jax.numpy.inexact)
