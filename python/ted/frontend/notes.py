"""What a program says to the host when it has run: texts to print, and checks that failed.

Before: ted.print("x = {}", x) in a traced function    After: x is a result that nobody asked for

A program has no side effects. What it says is computed as more results, which the host reads when
the call ends, in the order of the program: so notes are differentiated around, batched, made step
by step and done nothing for in a branch that is not taken as all results are, on every target. A
transformation that maps the results of a function maps the tensors of its notes with them; that is
all that it knows of them.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from itertools import groupby
from string import Formatter
from typing import Any

import numpy as np

from ted.errors import ExecutionError, SourceLocation
from ted.frontend.creation import full
from ted.frontend.elementwise import logical_and
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL
from ted.records import dataclass


@dataclass(frozen=True, eq=False)
class Loop:
    """What is done several times: `name` is that of one turn, a step or an example."""

    name: str
    reverse: bool = False


@dataclass(frozen=True)
class Slot:
    """Where a text has the value of tensor `number` of a note."""

    number: int


@dataclass(frozen=True, eq=False)
class Form:
    """What a note says: a text, what stands in it, and the user's line."""

    text: str
    positional: Sequence[Any]
    named: Mapping[str, Any]
    is_check: bool
    location: SourceLocation | None

    def filled(self, values: Sequence[Any]) -> str:
        """The text with values.

        Raises: IndexError, KeyError, ValueError, TypeError, AttributeError where they do not fit.
        """

        def shown(given: Any) -> Any:
            return Shown(values[given.number]) if isinstance(given, Slot) else given

        named = {name: shown(given) for name, given in self.named.items()}
        return _AllUsed().vformat(self.text, [shown(given) for given in self.positional], named)

    def say(self, values: Sequence[Any], place: str) -> None:
        """Print the text, or raise it.

        Raises: ExecutionError for a check.
        """
        text = self.filled(values)
        if not self.is_check:
            builtins.print(text)
            return
        raise ExecutionError(f"check: {text or 'a condition is false'}{place}", self.location)


@dataclass(frozen=True, eq=False)
class Note:
    """A form and the tensors in it: a nest, of tensors in a program and of arrays after a call.

    It is said where `when` holds, always where that is None; `at` is the first index at which a
    check fails. Every tensor has a dim in front for each loop, the outermost first.
    """

    form: Form = field(metadata={"static": True})
    values: tuple[Any, ...] = ()
    when: Any = None
    at: Any = None
    loops: tuple[Loop, ...] = field(default=(), metadata={"static": True})

    def under(self, condition: Tensor) -> Note:
        """The note where a condition holds."""
        when = condition if self.when is None else logical_and(self.when, condition)
        return replace(self, when=when)

    def inside(self, loop: Loop) -> Note:
        """The note as one of a turn, whose tensors will get a dim in front."""
        when = full((), True, BOOL) if self.when is None else self.when
        return replace(self, when=when, loops=(loop, *self.loops))

    def turn(self, number: int) -> Note:
        """What is said in one turn of the outermost loop."""
        at = None if self.at is None else self.at[number]
        values = tuple(value[number] for value in self.values)
        return Note(self.form, values, self.when[number], at, self.loops[1:])


class Shown:
    """A value of a text: `{}` is what numpy prints, `{:.3f}` formats every element so."""

    def __init__(self, value: Any) -> None:
        self._array = np.asarray(value)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self._array)
        if not self._array.ndim:
            return format(self._array.item(), spec)
        each: Any = {"all": lambda value: format(value.item(), spec)}
        return np.array2string(self._array, formatter=each)

    def __repr__(self) -> str:
        return str(self._array)


class _AllUsed(Formatter):
    """A text that shows every value that it is given."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        left = [*(k for k in range(len(args)) if k not in used_args), *(set(kwargs) - used_args)]
        if left:
            raise ValueError(f"nothing in it shows value {left[0]}")


# ------------------------------------------------------------------ while a function is traced

_notes: ContextVar[list[Note] | None] = ContextVar("notes", default=None)


@contextmanager
def recording(notes: list[Note] | None) -> Iterator[None]:
    """While it runs, what is said goes into a list; None where there is no call to say it."""
    token = _notes.set(notes)
    try:
        yield
    finally:
        _notes.reset(token)


def is_recording() -> bool:
    """Whether a function is traced that will be called."""
    return _notes.get() is not None


def record(notes: Iterable[Note]) -> None:
    """Say something at the end of what the function says."""
    held = _notes.get()
    if held is not None:
        held.extend(notes)


def here_in_notes() -> int:
    """How much has been said, for `taken`."""
    return len(_notes.get() or ())


def taken(begin: int) -> list[Note]:
    """What was said since then, which is no longer said."""
    held = _notes.get() or []
    found = held[begin:]
    del held[begin:]
    return found


# ------------------------------------------------------------------ when a call has ended


def say(notes: Sequence[Note]) -> None:
    """Print and check, in the order of the program, what the arrays in notes hold.

    Raises: ExecutionError for the first check that failed.
    """
    for note, turns in _in_order(notes, ()):
        at = "" if note.at is None or not note.at.size else f", at {note.at.tolist()}"
        place = f" in {' of '.join(reversed(turns))}" if turns else ""
        note.form.say(note.values, at + place)


def _in_order(notes: Sequence[Note], turns: tuple[str, ...]) -> Iterator[tuple[Note, Any]]:
    """What is said, turn by turn of every loop."""
    for loop, group in groupby(notes, lambda note: note.loops[0] if note.loops else None):
        held = list(group)
        if loop is None:
            yield from ((note, turns) for note in held if note.when is None or note.when)
            continue
        busy = np.any([note.when.any(tuple(range(1, note.when.ndim))) for note in held], axis=0)
        numbers = np.flatnonzero(busy).tolist()
        for number in reversed(numbers) if loop.reverse else numbers:
            inner = [note.turn(number) for note in held]
            yield from _in_order(inner, (*turns, f"{loop.name} {number}"))
