"""Where the user is: the innermost stack frame outside the package, for errors and locations."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from ted.errors import FrontendError, SourceLocation

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def here() -> SourceLocation | None:
    """The user's current line: the first frame whose file is not part of ted."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            return SourceLocation(file, frame.f_lineno)
        frame = frame.f_back
    return None


def fail(message: str) -> NoReturn:
    """Raise a FrontendError that names the user's line."""
    raise FrontendError(message, here())
