"""Programs with results that continue each other, the last one first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import ted

Program = tuple[list[ted.Tensor], list[ted.Tensor]]
MAPS: tuple[Callable[[ted.Tensor], ted.Tensor], ...] = (ted.exp, ted.tanh, lambda x: x * x)


def _arguments(n: int) -> tuple[ted.Tensor, ted.Tensor, ted.Tensor]:
    x = ted.placeholder((n,), "float64", name="x")
    u = ted.placeholder((2,), "float64", name="u")
    return x, u, ted.placeholder((2,), "int64", name="i")


def added_at(f: Callable[[ted.Tensor], ted.Tensor], n: int) -> Program:
    """A map, and the map with something added at data."""
    x, u, i = _arguments(n)
    v = f(x)
    return [x, u, i], [ted.index_add(v, 0, i, u), v]


def added_twice(f: Callable[[ted.Tensor], ted.Tensor], n: int) -> Program:
    """Three states of one tensor."""
    x, u, i = _arguments(n)
    v = f(x)
    w = ted.index_add(v, 0, i, u)
    return [x, u, i], [ted.index_add(w, 0, i, u * 2.0), w, v]


def greatest_at(f: Callable[[ted.Tensor], ted.Tensor], n: int) -> Program:
    """A map, and its maximum with values at data."""
    x, u, i = _arguments(n)
    v = f(x)
    return [x, u, i], [ted.scatter((n,), i, u, "max", init=v), v]


def gradients(f: Callable[[ted.Tensor], ted.Tensor], n: int) -> Program:
    """The gradient of b is that of a, and more in a part."""
    a, b = (ted.placeholder((n,), "float64", name=name) for name in "ab")
    h = ted.placeholder((3,), "float64", name="h")
    loss = ted.sum(f((a + b)[1:])) + ted.sum(b[1:, None] * h[None, :])
    da, db = ted.differentiate(loss, [a, b])
    return [a, b, h], [db, da]


# Made when it is first asked for: gradients are derived.
PROGRAMS = {
    f"{family.__name__}_{k}_{n}": cache(partial(family, f, n))
    for family in (added_at, added_twice, greatest_at, gradients)
    for k, f in enumerate(MAPS)
    for n in (4, 9, 16)
}
