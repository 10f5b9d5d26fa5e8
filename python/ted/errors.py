"""The errors that users of ted see, and the source location every one of them can carry.

Every message reads `<what>: <rule>, got <values>` followed by the place and, when there is one, the
way out.  Nothing else escapes the public functions; `assert` guards ted's own invariants only.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

from ted.records import dataclass

_LIBRARY = os.path.dirname(os.__file__) + os.sep


@dataclass(frozen=True)
class SourceLocation:
    """A line of the user's program."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        place = f"{os.path.basename(self.file)}:{self.line}"
        return place if os.path.exists(self.file) else place + self._code()

    def _code(self) -> str:
        """What stands on a line of no file: a notebook's cell is found by it, not by its number.

        Of others `linecache` would look for a file of that name in all of `sys.path`.
        """
        known = self.file in linecache.cache
        text = linecache.getline(self.file, self.line).strip() if known else ""
        return f": {text}" if text else ""


_BEHIND = r"(_\d+)?( \[\d+\])?$"  # the number of a later tensor of one name, and the shape
STATED = ", got"  # in the name of a tensor that is a rule, with what was found behind it
# Packages that call ted for users.
_CALLERS = ("ted", "numpy", "jax", "torch")
# Code of no module: what Python is started by, and what torch writes for graphs.
_WRITTEN = ("<frozen ", "<eval_with_key>")
_OF_TORCH = os.sep.join(("-packages", "torch", ""))
_COMMANDS = ("ted.tools", "ted.codegen.worker")


_read: ContextVar[SourceLocation | None] = ContextVar("_read", default=None)


@contextmanager
def located(place: SourceLocation | None) -> Generator[None]:
    """Let the user's line be a place in what is read, where that has one."""
    token = _read.set(place)
    try:
        yield
    finally:
        _read.reset(token)


def user_location() -> SourceLocation | None:
    """The user's current line: the first frame of neither Python, ted nor a package that calls it.

    None inside of a command of ted's, or of a worker: there is no line of Python of a user.
    """
    if (read := _read.get()) is not None:
        return read
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        file, module = frame.f_code.co_filename, str(frame.f_globals.get("__name__", ""))
        if module.startswith(_COMMANDS):
            return None
        if module.partition(".")[0] not in _CALLERS and not _is_of_the_library(file):
            return SourceLocation(file, frame.f_lineno)
        frame = frame.f_back
    return None


def _is_of_the_library(file: str) -> bool:
    """Whether a file is Python's own, such as copy.py, which calls back, or torch's."""
    return (
        file.startswith(_WRITTEN)
        or _OF_TORCH in file
        or (file.startswith(_LIBRARY) and "-packages" + os.sep not in file)
    )


def stated_rule(tensor: str) -> str:
    """The rule that the name of a tensor is, `<what>: <rule>, got`; "" for another name."""
    return re.sub(_BEHIND, "", tensor) if STATED in tensor else ""


def index_message(function: str, tensor: str, dim: int, extent: int, value: int, place: str) -> str:
    """What an index out of range is, that a program met when it ran: or a bound that is stated."""
    at = f", at {place}" if place else ""
    if rule := stated_rule(tensor):
        return f"{function}: {rule} {value}{at}"
    return (
        f"{function}: index out of range: tensor {tensor} has extent {extent} in dim {dim}, "
        f"got index {value}{at}"
    )


class TedError(Exception):
    """Base class of every error that ted raises on purpose."""

    is_of_a_call: ClassVar[bool] = False
    """Whether the user's current line is the place, where none is given."""

    def __init__(self, message: str, location: SourceLocation | None = None) -> None:
        if location is None and self.is_of_a_call:
            location = user_location()
        # A name may hold half of a character, which no terminal can show.
        message = message.encode("utf-8", "backslashreplace").decode()
        super().__init__(message if location is None else f"{message} ({location})")
        self.message, self.location = message, location  # apart, for who says the place otherwise

    def prefix(self, what: str) -> None:
        """Say before the message what it is about."""
        self.message = f"{what}: {self.message}"
        self.args = (f"{what}: {self.args[0]}", *self.args[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        # As it is: made again of its text it would get a second place, that of the unpickling.
        return _unpickled, (type(self), self.args), self.__dict__


def _unpickled(kind: type[TedError], arguments: tuple[Any, ...]) -> TedError:
    return kind.__new__(kind, *arguments)


class FrontendError(TedError, ValueError):
    """A tensor expression was written wrongly: rank, type, shape, axis or argument.

    It is a ValueError, which is what NumPy's users catch.
    """

    is_of_a_call = True


class DomainError(TedError):
    """An index set question has no answer here: unbounded, not Presburger, or over budget."""


class VerifyError(TedError):
    """An operation in the IR breaks a rule of the language."""


class DerivativeError(TedError):
    """A gradient was asked for that does not exist or has no rule."""

    is_of_a_call = True


class PassFailed(TedError):
    """A pass or a pipeline could not do its work."""


class ScheduleError(TedError):
    """A schedule does not apply to the program it was given."""


class CompileError(TedError):
    """A program cannot be turned into machine code for the target."""

    is_of_a_call = True


class ExecutionError(TedError):
    """A compiled function was called wrongly or failed while running."""

    is_of_a_call = True
