"""The errors that users of ted see, and the source location every one of them can carry.

Every message reads `<what>: <rule>, got <values>` followed by the place and, when there is one, the
way out.  Nothing else escapes the public functions; `assert` guards ted's own invariants only.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True)
class SourceLocation:
    """A line of the user's program."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


def user_location() -> SourceLocation | None:
    """The user's current line: the first frame whose file is not part of ted."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            return SourceLocation(file, frame.f_lineno)
        frame = frame.f_back
    return None


class TedError(Exception):
    """Base class of every error that ted raises on purpose."""

    def __init__(self, message: str, location: SourceLocation | None = None) -> None:
        self.location = location
        super().__init__(message if location is None else f"{message} ({location})")


class FrontendError(TedError):
    """A tensor expression was written wrongly: rank, type, shape, axis or argument."""


class DomainError(TedError):
    """An index set question has no answer here: unbounded, not Presburger, or over budget."""


class VerifyError(TedError):
    """An operation in the IR breaks a rule of the language."""


class DerivativeError(TedError):
    """A gradient was asked for that does not exist or has no rule."""


class PassFailed(TedError):
    """A pass or a pipeline could not do its work."""


class ScheduleError(TedError):
    """A schedule does not apply to the program it was given."""


class CompileError(TedError):
    """A program cannot be turned into machine code for the target."""


class ExecutionError(TedError):
    """A compiled function was called wrongly or failed while running."""
