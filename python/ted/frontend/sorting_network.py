"""A network of comparisons that sorts: every stage is one equation, of which a table says the rest.

Before: rows, a power of two of them
After:  log n rounds; in round k elements meet their mirror image in blocks of 2 ** k, then what is
        2 ** (k - 2), ..., 1 rows away, and each keeps the lesser or the greater

Which row meets which is a mask of bits, `row ^ mask`.  So all stages are steps of one recurrence,
which takes as little code for many rows as for few.  Where there are few columns the high bits of a
position are columns too: elements are seldom compared along these, and never lie apart in memory.
Source: Batcher, Sorting Networks and Their Applications, 1968; Knuth, The Art of Computer
Programming, volume 3, exercise 5.3.4-10 for the mirror images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.elementwise import cast, where
from ted.frontend.indexing import place
from ted.frontend.joining import pad
from ted.frontend.layout import reshape, transpose
from ted.frontend.recurrences import recurrence
from ted.frontend.tensors import Tensor, constant

_LANES = 16  # elements side by side, of which a step compares none with each other
_EQUATIONS = 2  # of a step: only the last one's elements are kept until the next step
_DEPTH = {1: 2, 2: 1}  # stages of an equation, by the number of parts: two read four elements

Element = tuple[Any, ...]


def sorted_rows(parts: Sequence[Tensor], last: Sequence[Any]) -> list[Tensor]:
    """Parts of elements with these in order along dim 0; the parts decide one after the other.

    Shapes: each part (n, columns), as the results; `last` comes behind all, and fills up.
    Raises: FrontendError for a symbolic number of rows.
    """
    n, columns = checks.integer(parts[0].shape[0], "sort: extent"), parts[0].shape[1]
    bits, high = (n - 1).bit_length(), 0
    more = ((0, (1 << bits) - n), (0, 0))
    parts = [pad(part, more, value=end) for part, end in zip(parts, last, strict=True)]
    while isinstance(columns, int) and high < bits and columns << high < _LANES:
        high += 1
    network = _Network(bits - high, high)
    parts = [_spread(part, high) for part in parts]
    parts = network.by_rows(parts, [m for k in range(network.bits) for m in _round(k + 1)])
    for k in range(1, high + 1):
        parts = network.by_lanes(parts, (1 << k) - 1, mirrored=True)
        for step in _halves(k - 1):
            parts = network.by_lanes(parts, step, mirrored=False)
        parts = network.by_rows(parts, _halves(network.bits))
    return [_gathered(part)[:n] for part in parts]


def _round(k: int) -> list[int]:
    """The masks of round k: mirror images in blocks of 2 ** k, and what is nearer and nearer."""
    return [(1 << k) - 1, *_halves(k - 1)]


def _halves(bits: int) -> list[int]:
    return [1 << b for b in reversed(range(bits))]


def _spread(x: Tensor, high: int) -> Tensor:
    """(2 ** bits, m) -> (2 ** (bits - high), m, 2 ** high): the high bits of the position last."""
    rows, columns = checks.integer(x.shape[0], "sort: extent"), x.shape[1]
    return transpose(reshape(x, (1 << high, rows >> high, columns)), (1, 2, 0))


def _gathered(x: Tensor) -> Tensor:
    """The inverse of `_spread`."""
    rows, columns, lanes = x.shape
    return reshape(transpose(x, (2, 0, 1)), (lanes * rows, columns))


@dataclass(frozen=True)
class _Network:
    """Stages on tensors (2 ** bits, columns, 2 ** high)."""

    bits: int
    high: int

    def by_rows(self, parts: Sequence[Tensor], masks: Sequence[int]) -> list[Tensor]:
        """After a stage for each mask of rows, in turn."""
        depth = _DEPTH[len(parts)]
        steps = -(-len(masks) // (depth * _EQUATIONS))
        if not steps:
            return list(parts)
        table = np.zeros((steps, _EQUATIONS * depth), np.int32)  # a row meets itself at the end
        table.flat[: len(masks)] = masks
        meets, count = constant(table), len(parts)

        def equation(number: int) -> Callable[..., Any]:
            which, part = divmod(number, count)

            def element(*arguments: Any) -> Any:
                histories = arguments[: _EQUATIONS * count]
                t, row, c, h = arguments[_EQUATIONS * count :]
                last = histories[(which - 1) % _EQUATIONS * count :][:count]

                def read(at: Any) -> Element:
                    if which:
                        return tuple(past[t, at, c, h] for past in last)
                    pairs = zip(last, parts, strict=True)
                    return tuple(where(t > 0, p[t - 1, at, c, h], x[at, c, h]) for p, x in pairs)

                def value(at: Any, own: Any, stage: int) -> Element:
                    if stage < which * depth:
                        return read(at)
                    other = own ^ meets[t, stage]
                    near, far = (value(*p, stage - 1) for p in ((at, own), (_row(other), other)))
                    return _kept(near, far, other < own)

                return value(row, cast(row, "int32"), (which + 1) * depth - 1)[part]

            return element

        shape = (steps, *parts[0].shape)
        total = _EQUATIONS * count
        found = recurrence(
            [shape] * total, [equation(k) for k in range(total)],
            [part.dtype for part in parts] * _EQUATIONS, name="sorted",
        )  # fmt: skip
        return [history[steps - 1] for history in found[-count:]]

    def by_lanes(self, parts: Sequence[Tensor], mask: int, *, mirrored: bool) -> list[Tensor]:
        """After a stage in which lanes meet, in the mirror image of their row or in their own."""

        def element(part: int) -> Callable[..., Any]:
            def kept(row: Any, c: Any, h: Any) -> Any:
                own = cast(h, "int32")
                other = own ^ mask
                there = (1 << self.bits) - 1 - row if mirrored else row
                near, far = (
                    tuple(x[at] for x in parts) for at in ((row, c, h), (there, c, _row(other)))
                )
                return _kept(near, far, other < own)[part]

            return kept

        return [compute(x.shape, element(k), name="sorted") for k, x in enumerate(parts)]


def _kept(own: Element, other: Element, greater: Any) -> Element:
    """What stays at an element: the lesser of two, or the greater."""
    if len(own) == 1:
        (lesser,), (more,) = ordered(own, other)
        return (where(greater, more, lesser),)
    swaps = _is_before(other, own) != greater
    return tuple(where(swaps, b, a) for a, b in zip(own, other, strict=True))


def ordered(own: Element, other: Element) -> tuple[Element, Element]:
    """The lesser of two elements, and the greater."""
    if len(own) == 1:  # a minimum and a maximum, for which processors have instructions
        (a,), (b,) = own, other
        return (where(b < a, b, a),), (where(a < b, b, a),)
    swaps = _is_before(other, own)
    both = [(where(swaps, b, a), where(swaps, a, b)) for a, b in zip(own, other, strict=True)]
    return tuple(a for a, _ in both), tuple(b for _, b in both)


def _is_before(own: Element, other: Element) -> Any:
    (a, k), (b, m) = own, other
    return (a < b) | ((a == b) & (k < m))


def _row(index: Any) -> Any:
    """An index that is in range, whatever the table says."""
    return place(index, 0, "unchecked")[0]
