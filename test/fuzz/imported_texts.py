"""Random texts of MLIR: values by type and shape, from which lines are drawn that give more.

A value is exact where it is an integer, or a float that every order of operations gives; only such
ones decide anything, so that a rounding never becomes another branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Shape = tuple[int, ...]
MOST_ELEMENTS, LARGEST = 60, 64.0
NUMPY = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "ui8": "uint8",
    "ui16": "uint16", "ui32": "uint32", "ui64": "uint64", "f32": "float32", "f64": "float64",
}  # fmt: skip
FLOATS = ("f32", "f64")


@dataclass(frozen=True)
class Value:
    """A tensor of a program; `size` bounds the magnitude of an exact float."""

    name: str
    shape: Shape
    kind: str
    exact: bool = True
    size: float = LARGEST

    @property
    def type(self) -> str:
        """Its type in the text."""
        return tensor(self.shape, self.kind)

    @property
    def is_float(self) -> bool:
        """Whether its elements are floats."""
        return self.kind in FLOATS


def tensor(shape: Shape, kind: str) -> str:
    """The text of a type."""
    return f"tensor<{'x'.join(map(str, (*shape, kind)))}>"


class Unfit(Exception):
    """No value of the program fits an operation."""


@dataclass
class Text:
    """A program that is being written."""

    random: np.random.Generator
    values: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)
    arguments: list[Value] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    count: int = 0

    def choose(self, options: Sequence[Any]) -> Any:
        """One of several."""
        if not options:
            raise Unfit
        return options[int(self.random.integers(len(options)))]

    def number(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return int(self.random.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        """Whether something happens."""
        return bool(self.random.random() < share)

    def name(self) -> str:
        """A fresh name."""
        self.count += 1
        return f"%v{self.count}"

    def one(self, test: Callable[[Value], bool] = lambda _: True) -> Value:
        """A value that fits.

        Raises: Unfit where there is none.
        """
        return self.choose([v for v in self.values if test(v)])

    def like(self, value: Value) -> Value:
        """Another one of a type, which may be the same."""
        return self.one(lambda v: v.type == value.type)

    def line(self, text: str, shape: Shape, kind: str, exact: bool = True,
             size: float = LARGEST) -> Value:  # fmt: skip
        """Write `%name = text`, where the text ends in what follows the operands."""
        made = Value(self.name(), shape, kind, exact and size <= 2.0**20, size)
        self.lines.append(f"{made.name} = {text}")
        self.values.append(made)
        return made

    def argument(self, shape: Shape, kind: str, special: bool) -> Value:
        """An input with numbers; the ends of a type of integers are among them."""
        made = Value(f"%x{len(self.arguments)}", shape, kind, size=8.0)
        self.arguments.append(made)
        self.values.append(made)
        self.arrays.append(self.data(shape, kind, special))
        return made

    def data(self, shape: Shape, kind: str, special: bool) -> Any:
        """Numbers of a type."""
        dtype = np.dtype(NUMPY[kind])
        if kind == "i1":
            return self.random.integers(0, 2, shape).astype(bool)
        if kind in FLOATS:
            found = self.random.integers(-6, 7, shape).astype(dtype)
            ends = np.array([-0.0, np.inf, -np.inf, np.nan])
        else:
            info = np.iinfo(dtype)
            found = self.random.integers(max(-9, info.min), 10, shape).astype(dtype)
            ends = np.array([info.min, info.max, info.min + 1, info.max - 1], dtype)
        at = self.random.random(shape) < 0.2
        if special or kind not in FLOATS:
            found = np.where(at, self.random.choice(ends, shape), found).astype(dtype)
        return np.asarray(found, dtype)

    def dense(self, shape: Shape, kind: str) -> str:
        """A literal."""
        numbers = self.data(shape, kind, False)
        words = {"i1": lambda v: str(bool(v)).lower()}.get(
            kind, lambda v: repr(float(v)) if kind in FLOATS else str(int(v))
        )

        def text(part: Any) -> str:
            return words(part) if part.ndim == 0 else f"[{', '.join(map(text, part))}]"

        return f"dense<{text(numbers) if numbers.size else ''}> : {tensor(shape, kind)}"

    def function(self) -> tuple[str, list[Value]]:
        """The text of the function, and its results: what was made last, and some more."""
        made = self.values[len(self.arguments) :] or self.values
        results = made[-1:] + [v for v in made[:-1] if self.chance(0.4)][:5]
        types = ", ".join(v.type for v in results)
        given = ", ".join(f"{v.name}: {v.type}" for v in self.arguments)
        body = "\n  ".join(self.lines)
        return (
            f"func.func public @main({given}) -> ({types}) {{\n  {body}\n"
            f"  return {', '.join(v.name for v in results)} : {types}\n}}"
        ), results


def drawn(
    text: Text, rows: Sequence[Callable[[Text], Any]], steps: int, attempts: int = 200
) -> Text:
    """A text with so many lines of a table; rows that find no operands are drawn again."""
    for _ in range(attempts):
        if len(text.taken) == steps:
            break
        row = text.choose(rows)
        lines, values, count = len(text.lines), len(text.values), text.count
        try:
            row(text)
        except Unfit:
            del text.lines[lines:], text.values[values:]
            text.count = count
            continue
        text.taken.append(row.__name__)
    return text
