"""What a function of tensors becomes when others differentiate or batch it: functions of tensors.

Before: f(x, w) -> (y,)
After:  vjp(x, w, dy) -> (dx, dw);  jvp(x, w, tx) -> (ty,);  batched(xs, w) -> (ys,)

Each is an ordinary function again, so that orders and kinds nest without an end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress

from ted.api.differentiating import differentiate
from ted.api.lifting import lift
from ted.api.modes import push_tensors
from ted.api.vectorising import vmap
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
