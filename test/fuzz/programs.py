"""Random programs as data: typed inputs, steps out of a table, results; and their Python text.

A program is data until somebody asks for its text. The text of a step is made by its row of the
table, once per library, so what a failure prints is what was run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

Array = np.ndarray[Any, Any]
FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int8")
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan)


@dataclass(frozen=True)
class Input:
    """An array: `whole` data are small whole numbers also where the type is a float's.

    Of `special` floats some are zeros of either sign, infinite, or no number.
    """

    shape: tuple[int, ...]
    dtype: str
    whole: bool
    seed: int
    special: bool = False

    def array(self) -> Array:
        """The data."""
        random = np.random.default_rng(self.seed)
        if self.dtype == "bool":
            return random.random(self.shape) < 0.5
        if self.whole or self.dtype in INTEGERS:
            return random.integers(-3, 4, self.shape).astype(numpy_type(self.dtype))
        made = random.normal(size=self.shape)
        if self.special:
            chosen = random.choice(SPECIAL, self.shape)
            made = np.where(random.random(self.shape) < 0.15, chosen, made)
        return made.astype(numpy_type(self.dtype))


@runtime_checkable
class Written(Protocol):
    """A part of a step that is not written alike in every library, with `{x}` for operands."""

    def written(self, library: str) -> str:
        """The text for a library."""
        ...

    def simpler(self) -> Iterator[Written]:
        """Parts with less in them, to shrink a failure; some of them may be illegal."""
        ...


@dataclass(frozen=True)
class Step:
    """One operation: a row of the table, the numbers of its operands, and what fills its text.

    Some rows work on a function, which is the program `body`.
    """

    row: str
    args: tuple[int, ...]
    fields: tuple[tuple[str, Any], ...] = ()
    body: Program | None = None


@dataclass(frozen=True)
class Program:
    """Values are numbered: the inputs first, then one for each step."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]

    def rows(self) -> Iterator[str]:
        """The names of the rows of all steps, those of bodies included."""
        for step in self.steps:
            yield step.row
            if step.body is not None:
                yield from step.body.rows()


def numpy_type(name: str) -> np.dtype[Any]:
    """The numpy type of an element type."""
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
