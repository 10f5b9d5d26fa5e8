"""Where the user is: the innermost stack frame outside the package, for errors and locations."""

from __future__ import annotations

from typing import NoReturn

from ted.errors import FrontendError
from ted.errors import user_location as here

__all__ = ["fail", "here"]


def fail(message: str) -> NoReturn:
    """Refuse what the user wrote.

    Raises: FrontendError that names the user's line.
    """
    raise FrontendError(message, here())
