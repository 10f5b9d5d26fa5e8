"""What JAX says of a case, in float64: values by its operations, gradients by its `vjp`.

An index out of range is moved inside by JAX, and what is read there is masked, as it is in ted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from fuzz.answers import Answer, Useless
from fuzz.cases import Case, Wanted
from fuzz.programs import FLOATS, Array, Input
from fuzz.texts import function_text


def total(extents: tuple[int, ...], axis: int, function: Any) -> Any:
    """Sums of a function of indices over the last dims of a box."""
    grid = jnp.meshgrid(*(jnp.arange(e) for e in extents), indexing="ij")
    return jnp.broadcast_to(function(*grid), extents).sum(tuple(range(axis, len(extents))))


def replaced(
    case: Case, heads: Sequence[tuple[Wanted, Input]], wanted: Sequence[Answer]
) -> list[Answer]:
    """The answers with JAX's values for torch's.

    Raises: Useless where the two differ: then it is theirs to settle.
    """
    found = computed(case, {name: _wide(head.array()) for name, head in heads})
    made = []
    for (kind, k), answer in zip(case.wanted, wanted, strict=True):
        value = np.asarray(found[kind][k])
        distance = np.abs(value.astype("float64") - answer.value.astype("float64"))
        if value.shape != answer.value.shape or not (distance <= answer.room).all():
            raise Useless(f"{kind} {k}: JAX {value.tolist()}, torch {answer.value.tolist()}")
        made.append(replace(answer, value=value))
    return made


def computed(case: Case, heads: dict[Wanted, Any]) -> dict[str, dict[int, Any]]:
    """Values and gradients by kind and number."""
    with jax.enable_x64(True):
        return _computed(case, heads)


def _computed(case: Case, heads: dict[Wanted, Any]) -> dict[str, dict[int, Any]]:
    scope = {"jax": jax, "jnp": jnp, "total": total}
    exec(function_text(case.program, "jax"), scope)
    arrays = [_wide(i.array()) for i in case.program.inputs]
    floats = [k for k, i in enumerate(case.program.inputs) if i.dtype in FLOATS]
    first = [k for kind, k in heads if kind == "value"]
    second = [k for kind, k in heads if kind == "d1"]

    def values(*xs: Any) -> Any:
        given = list(arrays)
        for k, x in zip(floats, xs, strict=True):
            given[k] = x
        return scope["program"](*given)

    def gradients(*xs: Any) -> Any:
        _, back = jax.vjp(lambda *xs: tuple(values(*xs)[k] for k in first), *xs)
        return back(tuple(heads["value", k] for k in first))

    inputs = [arrays[k] for k in floats]
    found = {"value": dict(enumerate(values(*inputs)))}
    if case.order >= 1:
        found["d1"] = dict(zip(floats, gradients(*inputs), strict=True))
    if case.order == 2:
        _, back = jax.vjp(gradients, *inputs)
        found["d2"] = dict(zip(floats, back(tuple(heads["d1", k] for k in second)), strict=True))
    return found


def _wide(array: Array) -> Any:
    return jnp.asarray(array.astype("float64") if "float" in array.dtype.name else array)
