"""The first few of many elements in order: a recurrence that inserts one after the other.

Before: keys of n elements along a dim, of which the k least are wanted
After:  k rows in order beside which others stay: `h[t, j] = min(h[t-1, j], max(h[t-1, j-1], x[t]))`

Elements stand in lanes, each with k rows of its own, so that a step is a few vectors; the rows of
all lanes are then inserted into one.  Comparisons grow with n * k, and are of what a cache holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.frontend.creation import full
from ted.frontend.elementwise import where
from ted.frontend.joining import concatenate
from ted.frontend.layout import reshape, transpose
from ted.frontend.recurrences import recurrence
from ted.frontend.tensors import Tensor

_ROWS = 512  # elements that are kept for them: a first cache holds as many twice
_LINE = 8  # but so many always
_SIDE_BY_SIDE = 64  # elements of a step, which fill vectors
_INSERTED = 2  # elements of a step in turn: only what the last one leaves is kept

Element = tuple[Any, ...]


def is_few(n: int, inner: Any, k: int) -> bool:
    """Whether k of n elements are sooner inserted than all of them sorted by a network."""
    bits = (n - 1).bit_length()
    return k > 0 and k * (n + k * lanes_of(inner, k)) <= n * bits * bits // 4


def lanes_of(inner: Any, k: int) -> int:
    """How many neighbours along the dim are inserted side by side, a power of two."""
    lanes, wanted = 1, max(_LINE, min(_SIDE_BY_SIDE, _ROWS // k))
    while isinstance(inner, int) and 0 < lanes * inner < wanted:
        lanes *= 2
    return lanes


def first_rows(parts: Sequence[Tensor], last: Sequence[Any], k: int) -> list[Tensor]:
    """The first k elements along dim 1; parts decide one after the other, `last` comes behind all.

    Shapes: each part (outer, n, inner), as the results with k for n.
    """
    outer, _, inner = parts[0].shape
    for lanes in (lanes_of(inner, k), 1):
        rows = [_by_lanes(part, lanes, end) for part, end in zip(parts, last, strict=True)]
        parts = [reshape(x, (outer, lanes * k, inner)) for x in _inserted(rows, last, k)]
    return list(parts)


def _by_lanes(x: Tensor, lanes: int, last: Any) -> Tensor:
    """(outer, n, inner) -> (outer, steps, lanes, inner)."""
    outer, n, inner = x.shape
    size = lanes * _INSERTED
    missing = -n % size
    if missing:
        x = concatenate([x, full((outer, missing, inner), last, x.dtype)], 1)
    return reshape(x, (outer, (n + missing) // lanes, lanes, inner))


def _inserted(parts: Sequence[Tensor], last: Sequence[Any], k: int) -> list[Tensor]:
    """(outer, steps, lanes, inner) -> (outer, lanes, k, inner): each lane has rows of its own."""
    outer, steps, lanes, inner = parts[0].shape
    count = len(parts)

    def equation(number: int) -> Callable[..., Any]:
        turn, part = divmod(number, count)

        def element(*arguments: Any) -> Any:
            histories = arguments[: _INSERTED * count]
            a, t, j, b, c = arguments[_INSERTED * count :]
            before = histories[(turn - 1) % _INSERTED * count :][:count]
            new = tuple(x[a, t * _INSERTED + turn, b, c] for x in parts)

            def row(at: Any, is_one: Any) -> Element:
                if turn:
                    return tuple(h[a, t, at, b, c] for h in before)
                return tuple(
                    where((t > 0) & is_one, h[a, t - 1, at, b, c], end)
                    for h, end in zip(before, last, strict=True)
                )

            above = _ordered(row(j - 1, j > 0), new)[1]
            later = tuple(where(j > 0, a, x) for a, x in zip(above, new, strict=True))
            return _ordered(row(j, True), later)[0][part]

        return element

    total = _INSERTED * count
    shape = (outer, steps // _INSERTED, k, lanes, inner)
    found = recurrence(
        [shape] * total, [equation(number) for number in range(total)],
        [part.dtype for part in parts] * _INSERTED, time_axis=1, name="first",
    )  # fmt: skip
    return [transpose(h[:, shape[1] - 1], (0, 2, 1, 3)) for h in found[-count:]]


def _ordered(own: Element, other: Element) -> tuple[Element, Element]:
    """The lesser of two elements, and the greater."""
    if len(own) == 1:  # a minimum and a maximum, for which processors have instructions
        (a,), (b,) = own, other
        return (where(b < a, b, a),), (where(a < b, b, a),)
    (a, k), (b, m) = own, other
    swaps = (b < a) | ((a == b) & (m < k))
    return (
        (where(swaps, b, a), where(swaps, m, k)),
        (where(swaps, a, b), where(swaps, k, m)),
    )
