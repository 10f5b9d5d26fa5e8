"""How many threads a call of compiled code may use; results are the same bits for any number.

At first one for each core that this process may run on, or as many as `TED_NUM_THREADS` says.
"""

from __future__ import annotations

import os
import warnings
from functools import cache

from ted import _runtime
from ted.errors import ExecutionError

__all__ = ["get_num_threads", "set_num_threads"]

MOST_THREADS = 1024  # as in the runtime's header
_WISH = "TED_NUM_THREADS"


def set_num_threads(count: int) -> int:
    """Say how many threads a call may use from now on; returns the number before.

    Raises: ExecutionError for what is no number of threads.
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_THREADS:
        raise ExecutionError(
            f"set_num_threads: a number of threads is from 1 to {MOST_THREADS}, got {count!r}"
        )
    check_wish()
    return _runtime.threads_set(count)


def get_num_threads() -> int:
    """How many threads a call may use."""
    check_wish()
    return _runtime.threads_get()


@cache
def check_wish() -> None:
    """Warn of a `TED_NUM_THREADS` that is no number of threads: it is taken for all cores."""
    text = os.environ.get(_WISH)
    if text is not None and not (text.isdecimal() and 1 <= int(text) <= MOST_THREADS):
        warnings.warn(
            f"{_WISH}: a number of threads is from 1 to {MOST_THREADS}, got {text!r}; "
            f"calls use {_runtime.threads_get()}",
            RuntimeWarning,
            stacklevel=3,
        )
