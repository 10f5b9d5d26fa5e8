"""A network of comparisons that sorts: every stage is one equation, of which a table says the rest.

Before: rows, a power of two of them
After:  log n rounds; in round k elements meet their mirror image in blocks of 2 ** k, then what is
        2 ** (k - 2), ..., 1 rows away, and each keeps the lesser or the greater

Which row meets which is a mask of bits, `row ^ mask`, which is data: stages are steps of one
recurrence in blocks of rows that a cache holds, and few equations between blocks, so that there is
as little code for many rows as for few.  Where there are few columns the high bits of a position
are columns too: elements are seldom compared along these, and never lie apart in memory.
Source: Batcher, Sorting Networks and Their Applications, 1968; Knuth, The Art of Computer
Programming, volume 3, exercise 5.3.4-10 for the mirror images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.elementwise import cast, where
from ted.frontend.indexing import place
from ted.frontend.joining import padded
from ted.frontend.layout import reshape, transpose
from ted.frontend.recurrences import recurrence
from ted.frontend.tensors import Tensor, constant
from ted.records import dataclass

_BLOCK = 1 << 14  # elements of a block of rows, which a second cache holds twice
_LANES = 16  # elements side by side, of which a step compares none with each other
_EQUATIONS = 2  # of a step: only the last one's elements are kept until the next step
_DEPTH = 2  # stages of an equation, which reads four elements

Places = tuple[Any, ...]  # block, row, column, lane


def sorted_rows(x: Tensor, last: Any) -> Tensor:
    """The elements in order along dim 0.

    Shapes: x (n, columns), as the result; `last` comes behind all, and fills up.
    Raises: FrontendError for a symbolic number of rows.
    """
    n, columns = checks.integer(x.shape[0], "sort: extent"), x.shape[1]
    bits, high = (n - 1).bit_length(), 0
    while isinstance(columns, int) and high < bits and columns << high < _LANES:
        high += 1
    near = bits - high
    while isinstance(columns, int) and near > 2 and columns << (high + near) > _BLOCK:
        near -= 1
    network = _Network(bits - high, near, high)
    x = network.spread(padded(x, ((0, (1 << bits) - n), (0, 0)), value=last))
    x = network.by_rows(x, [m for k in range(network.bits) for m in _round(k + 1)])
    for k in range(1, high + 1):
        x = network.by_lanes(x, (1 << k) - 1, mirrored=True)
        for step in _halves(k - 1):
            x = network.by_lanes(x, step, mirrored=False)
        x = network.by_rows(x, _halves(network.bits))
    return network.gathered(x)[:n]


def _round(k: int) -> list[int]:
    """The masks of round k: mirror images in blocks of 2 ** k, and what is nearer and nearer."""
    return [(1 << k) - 1, *_halves(k - 1)]


def _halves(bits: int) -> list[int]:
    return [1 << b for b in reversed(range(bits))]


@dataclass(frozen=True)
class _Network:
    """Stages on tensors (blocks, 2 ** near, columns, 2 ** high), of 2 ** bits rows in all."""

    bits: int
    near: int
    high: int

    def spread(self, x: Tensor) -> Tensor:
        """What was (rows, columns), with the high bits of the row last."""
        shape = (1 << self.high, 1 << (self.bits - self.near), 1 << self.near, x.shape[1])
        return transpose(reshape(x, shape), (1, 2, 3, 0))

    def gathered(self, x: Tensor) -> Tensor:
        """The inverse of `spread`."""
        return reshape(transpose(x, (3, 0, 1, 2)), (1 << (self.bits + self.high), x.shape[2]))

    def by_rows(self, x: Tensor, masks: Sequence[int]) -> Tensor:
        """After a stage for each mask of rows, in turn."""
        for is_near, some in groupby(masks, lambda mask: mask < 1 << self.near):
            x = (self._in_blocks if is_near else self._between)(x, list(some))
        return x

    def _in_blocks(self, x: Tensor, masks: Sequence[int]) -> Tensor:
        """After stages in which rows of a block meet: steps, all of them block by block."""
        # The first equation takes the elements as they are; a row meets itself at the end.
        steps = -(-(len(masks) + _DEPTH) // (_DEPTH * _EQUATIONS))
        table = np.zeros((steps, _EQUATIONS * _DEPTH), np.int32)
        table.flat[_DEPTH : _DEPTH + len(masks)] = masks
        meets = constant(table)

        def equation(which: int) -> Callable[..., Any]:
            def element(*arguments: Any) -> Any:
                last = arguments[(which - 1) % _EQUATIONS]
                block, t, row, *rest = arguments[_EQUATIONS:]

                def value(at: Any, own: Any, stage: int) -> Any:
                    if stage < which * _DEPTH:
                        return last[(block, t if which else t - 1, at, *rest)]
                    other = own ^ meets[t, stage]
                    near, far = (value(*p, stage - 1) for p in ((at, own), (_row(other), other)))
                    return _kept(near, far, other < own)

                found = value(row, cast(row, "int32"), (which + 1) * _DEPTH - 1)
                return found if which else where(t > 0, found, x[(block, row, *rest)])

            return element

        blocks, *shape = x.shape
        histories = recurrence(
            [(blocks, steps, *shape)] * _EQUATIONS, [equation(k) for k in range(_EQUATIONS)],
            x.dtype, time_axis=1, name="sorted",
        )  # fmt: skip
        return histories[-1][:, steps - 1]

    def _between(self, x: Tensor, masks: Sequence[int]) -> Tensor:
        """After stages in which rows of different blocks meet: few equations on all of them."""
        for k in range(0, len(masks), _DEPTH):
            some = [*masks[k : k + _DEPTH], *[0] * _DEPTH][:_DEPTH]
            pairs = [divmod(mask, 1 << self.near) for mask in some]
            meets = constant(np.array(pairs, np.int32))  # data, so that all have the same code

            def other(own: Places, stage: int, meets: Tensor = meets) -> tuple[Places, Any]:
                block, row = (cast(own[d], "int32") ^ meets[stage, d] for d in (0, 1))
                return (_row(block), _row(row), *own[2:]), block < cast(own[0], "int32")

            x = _compared(x, other, _DEPTH)
        return x

    def by_lanes(self, x: Tensor, mask: int, *, mirrored: bool) -> Tensor:
        """After a stage in which lanes meet, in the mirror image of their row or in their own."""
        most = [n - 1 for n in x.shape[:2]]

        def other(own: Places, stage: int) -> tuple[Places, Any]:
            there = [n - i if mirrored else i for n, i in zip(most, own, strict=False)]
            lane = cast(own[3], "int32") ^ mask
            return (*there, own[2], _row(lane)), lane < cast(own[3], "int32")

        return _compared(x, other, 1)


def _compared(x: Tensor, other: Callable[[Places, int], tuple[Places, Any]], depth: int) -> Tensor:
    """After stages in which `other` says whom an element meets, and whether that is the lesser."""

    def value(own: Places, stage: int) -> Any:
        if stage < 0:
            return x[own]
        there, is_later = other(own, stage)
        return _kept(value(own, stage - 1), value(there, stage - 1), is_later)

    return compute(x.shape, lambda *own: value(own, depth - 1), name="sorted")


def _kept(own: Any, other: Any, greater: Any) -> Any:
    """What stays at an element: the lesser of two, or the greater."""
    lesser, more = where(other < own, other, own), where(own < other, other, own)
    return where(greater, more, lesser)


def _row(index: Any) -> Any:
    """An index that is in range, whatever the table says."""
    return place(index, 0, "unchecked")[0]
