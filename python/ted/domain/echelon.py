"""Integer solutions of linear equations: unimodular column operations to a lower echelon form.

For rows `A u + b = 0` over unknown integers u, find a unimodular U and new unknowns y, u = U y,
such that pivot row k of `A U` involves only y[0..k]. Then y[0], y[1], ... follow one after the
other from the right-hand sides, and the remaining y are free: they parametrise all solutions.
Source: the Hermite normal form, e.g. Schrijver, Theory of Linear and Integer Programming, ch. 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from ted.records import dataclass

Cost = Callable[[int | None], tuple[int, ...]]


@dataclass
class Echelon:
    """The state of the elimination; after `eliminate` the first `len(pivots)` columns are bound."""

    rows: list[list[int]]
    unimodular: list[list[int]]
    unknowns: list[int | None]
    """What each y is: the number of the unknown it equals, or None for a mixture of several."""
    pivots: list[int] = field(default_factory=list[int])
    """The row that binds y[k], for every bound k."""

    def subtract_column(self, column: int, factor: int, pivot: int) -> None:
        """Column -= factor * pivot column; only the meaning of y[pivot] changes by that."""
        for row in (*self.rows, *self.unimodular):
            row[column] -= factor * row[pivot]
        if factor:
            self.unknowns[pivot] = None

    def swap_columns(self, one: int, other: int) -> None:
        """Exchange two of the new unknowns."""
        for row in (*self.rows, *self.unimodular):
            row[one], row[other] = row[other], row[one]
        names = self.unknowns
        names[one], names[other] = names[other], names[one]


def eliminate(matrix: Sequence[Sequence[int]], cost: Cost) -> Echelon:
    """Bring a system to echelon form.

    Rows in which some column has a unit coefficient go first: they bind an unknown without any
    division. Among several such columns the one with the least `cost(unknown)` is bound, so that
    the cheap unknowns become expressions and the costly ones stay free.
    """
    size = len(matrix[0]) if matrix else 0
    identity = [[int(i == j) for j in range(size)] for i in range(size)]
    state = Echelon([list(row) for row in matrix], identity, list(range(size)))
    waiting = list(range(len(matrix)))
    while True:
        bound = len(state.pivots)
        waiting = [r for r in waiting if any(state.rows[r][bound:])]
        if not waiting:
            return state
        row = min(waiting, key=lambda r: min(abs(v) for v in state.rows[r][bound:] if v))
        waiting.remove(row)
        _bind(state, row, cost)


def _bind(state: Echelon, row: int, cost: Cost) -> None:
    """Make `row` zero right of the next pivot column by the Euclidean algorithm on its columns."""
    pivot, values = len(state.pivots), state.rows[row]
    free = range(pivot, len(values))
    units = [j for j in free if abs(values[j]) == 1]

    def size(j: int) -> tuple[int, int]:
        return abs(values[j]), j

    if units:
        first = min(units, key=lambda j: (cost(state.unknowns[j]), j))
    else:
        first = min((j for j in free if values[j]), key=size)
    while True:
        state.swap_columns(pivot, first)
        for j in free[1:]:
            state.subtract_column(j, values[j] // values[pivot], pivot)
        left = [j for j in free[1:] if values[j]]
        if not left:
            break
        first = min(left, key=size)
    state.pivots.append(row)
