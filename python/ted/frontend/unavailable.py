"""Names of the language that this version does not have yet; each says so when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ted.frontend.locations import fail


def _unavailable(name: str, instead: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **options: Any) -> NoReturn:
        fail(f"{name}: not available in this version; {instead}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Not available in this version; {instead}."
    return function


size = _unavailable("size", "pass Python integers as extents")
