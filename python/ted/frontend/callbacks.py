"""Functions that users pass in: checked before they are called, so that an error names the rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ted.frontend.locations import fail


def check_callable(fn: Any, what: str) -> None:
    """Raises: FrontendError for what cannot be called."""
    if not callable(fn):
        fail(f"{what}: takes a function of tensors, got {type(fn).__name__} {fn!r}")


def called(what: str, form: str, fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, where `form` says what the arguments are.

    Raises: FrontendError for a function of other parameters.
    """
    check_callable(fn, what)
    try:
        inspect.signature(fn).bind(*args)
    except TypeError as error:
        fail(f"{what}: the function is called as {form}, got one that does not fit: {error}")
    except ValueError:
        pass  # a built-in function that does not say its parameters
    return fn(*args)
