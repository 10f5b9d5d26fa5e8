"""Where differences of a function are no numbers: what a check leaves out, and what it blames.

A result that is NaN says nothing about derivatives, and an argument that makes it so has a gradient
of NaN: both are left out, and the rest is compared.  An element is to blame when only one of the
two is NaN, its gradient or the differences that it is responsible for.  It is responsible when
another value in its place gives differences that are numbers; the NaN of its gradient has a reason
also where a result without differences merely depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from ted.testing.differences import Array, Line

Place: TypeAlias = "tuple[int, tuple[int, ...]]"
"""An argument and an index in it."""

HARMLESS = (0.5, 1.5, 0.0)  # one of them is in the domain of every function of ted
MOST_TRIED = 256


def undefined(line: Line, directions: Mapping[int, Array]) -> list[Array]:
    """For each output, which elements have no differences along the directions."""
    return [np.isnan(slope) for slope, _ in line.derivative(dict(directions), 1)]


def blamed(
    line: Line, directions: Mapping[int, Array], gradients: Mapping[int, Array]
) -> Place | None:
    """The element of which either the gradient or the differences are NaN, but not both."""
    lost = [place for place in _places(gradients) if np.isnan(gradients[place[0]][place[1]])]
    if not _count(line, directions):
        return lost[0] if lost else None
    value, rest = _cured(line, directions, lost)
    cured, masks = _with(line, lost, value), undefined(line, directions)
    if rest == 0:
        for place in lost[:MOST_TRIED]:
            others = [other for other in lost if other != place]
            alone = _with(line, others, value)
            if not _count(alone, directions) and not _reaches(cured, place, masks):
                return place
        return None
    line = cured
    for place in [p for p in _places(gradients) if p not in lost][:MOST_TRIED]:
        if _cured(line, directions, [place])[1] < rest:
            return place
    return None


def _cured(
    line: Line, directions: Mapping[int, Array], places: Sequence[Place]
) -> tuple[float, int]:
    """The best harmless value at some places, and how many outputs stay without differences."""
    counts = ((_count(_with(line, places, v), directions), v) for v in HARMLESS)
    rest, value = min(counts, key=lambda found: found[0])
    return value, rest


def _reaches(line: Line, place: Place, masks: Sequence[Array]) -> bool:
    """Whether some output of the masks depends on one element of an argument."""
    k, at = place
    unit = np.zeros(line.arrays[k].shape)
    unit[at] = 1
    pairs = zip(line.derivative({k: unit}, 1), masks, strict=True)
    return any(bool((slope[mask] != 0).any()) for (slope, _), mask in pairs)


def _count(line: Line, directions: Mapping[int, Array]) -> int:
    return sum(int(mask.sum()) for mask in undefined(line, directions))


def _with(line: Line, places: Sequence[Place], value: float) -> Line:
    """The line through a point that has `value` at some places."""
    arrays = list(line.arrays)
    for k, at in places:
        arrays[k] = arrays[k].copy() if arrays[k] is line.arrays[k] else arrays[k]
        arrays[k][at] = value
    return replace(line, arrays=arrays)


def _places(arrays: Mapping[int, Array]) -> Iterator[Place]:
    for k, array in arrays.items():
        yield from ((k, at) for at in np.ndindex(array.shape))
