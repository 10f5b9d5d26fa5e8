"""How many threads a call of compiled code may use; results are the same bits for any number.

At first one for each core that this process may run on, or as many as `TED_NUM_THREADS` says.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from functools import cache

from ted import _runtime
from ted.errors import ExecutionError
from ted.forking import is_forked

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
def join_openmp(library: str) -> bool:
    """Let parallel loops run on the threads of the OpenMP that a loaded library was linked with.

    Its threads wait for work some time after each of its loops: a second team would share the cores
    with them. Gives False where it has no OpenMP; how many threads work is as before. A forked
    child keeps its own: the parent may have used that team, whose threads the child has lost.
    """
    if is_forked():
        return False
    loaded = ctypes.CDLL(library)
    try:
        team, number = loaded.GOMP_parallel, loaded.omp_get_thread_num
    except AttributeError:
        return False
    _runtime.threads_join((_address(team), _address(number)))
    return True


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


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
