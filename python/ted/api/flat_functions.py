"""What a function of tensors becomes when others differentiate or batch it: functions of tensors.

Before: f(x, w) -> (y,)
After:  vjp(x, w, dy) -> (dx, dw);  jvp(x, w, tx) -> (ty,);  batched(xs, w) -> (ys,)

Each is an ordinary function again, so that orders and kinds nest without an end.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from ted.api.differentiating import differentiate
from ted.api.lifting import lift
from ted.api.modes import push_tensors
from ted.api.vectorising import vmap
from ted.errors import FrontendError
from ted.frontend.notes import recording
from ted.frontend.tensors import Tensor

Flat = Callable[..., tuple[Tensor, ...]]
"""Tensors to tensors: what every operator is between its nests."""


def vjp_of(fn: Flat, count: int, wanted: Sequence[bool], heads: Sequence[bool]) -> Flat:
    """The gradients of the wanted arguments, of `count` and one cotangent for each result in heads.

    What `fn` says is said when its results are computed, so it says nothing here.
    """

    def pulled_back(*args: Tensor) -> tuple[Tensor, ...]:
        lifted = lift(args)
        primals, cotangents = lifted.arguments[:count], lifted.arguments[count:]
        with recording([]):
            results = fn(*primals)
        chosen = list(compress(results, heads))
        found = differentiate(chosen, list(compress(primals, wanted)), list(cotangents))
        return lifted.lowered(tuple(found))

    return pulled_back


def jvp_of(fn: Flat, count: int, moving: Sequence[bool]) -> Flat:
    """How the results move, from `count` arguments and one tangent for each that moves."""

    def pushed(*args: Tensor) -> tuple[Tensor, ...]:
        lifted = lift(args)
        primals, tangents = lifted.arguments[:count], lifted.arguments[count:]
        with recording([]):
            results = fn(*primals)
        found = push_tensors(list(results), list(compress(primals, moving)), list(tangents))
        return lifted.lowered(tuple(found))

    return pushed


def batched_of(fn: Flat, axes: Sequence[int | None]) -> Flat:
    """All examples at once: the first dim of each result counts them."""
    return vmap(fn, in_axes=tuple(axes))


# ---- names ---------------------------------------------------------------------------------------


def operator_name(fn: Callable[..., Any], name: object) -> str:
    """What an operator of a function is called: `name`, or what the function is called.

    Raises: FrontendError for a name that is no identifier.
    """
    if name is None:
        own = getattr(fn, "__name__", "")
        return own if own.isidentifier() else "operator"
    if not isinstance(name, str) or not name.isidentifier():
        raise FrontendError(f"op: name is an identifier, got {name!r}")
    return name


def named(fn: Flat, name: str, names: Sequence[str]) -> Flat:
    """The function with a name and with parameters after paths, as programs and messages have them.

    `params.0.w` becomes `params_0_w`; each is there once.
    """

    def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(fn(*tensors))

    kind = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(one, kind) for one in _identifiers(names)]
    flat.__name__ = name
    flat.__dict__["__signature__"] = inspect.Signature(parameters)
    return flat


def _identifiers(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        plain = name.replace(".", "_")
        one = plain if plain.isidentifier() else f"x{len(found)}"
        found.append(f"{one}_{len(found)}" if one in found else one)
    return found


def mask_text(mask: Sequence[bool]) -> str:
    """A mask in a name, `101`."""
    return "".join("1" if one else "0" for one in mask)


def axes_text(axes: Sequence[int | None]) -> str:
    """Axes in a name, `0_n`."""
    return "_".join("n" if axis is None else str(axis) for axis in axes)
