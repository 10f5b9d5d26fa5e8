"""Where libted_runtime is: the shared library whose symbols compiled programs call.

It lies in the package beside the extension `ted._runtime`, which links to it, so that both see one
state. Found through importlib.resources, since an editable install keeps built files elsewhere than
sources.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib import resources
from pathlib import Path

from ted.errors import ExecutionError

_NAMES = {"darwin": "libted_runtime.dylib", "win32": "ted_runtime.dll"}


@cache
def library_path() -> str:
    """The file of libted_runtime, for `ExecutionEngine(shared_libs=[...])`.

    Raises: ExecutionError when the package was installed without its native part.
    """
    return _installed(_NAMES.get(sys.platform, "libted_runtime.so"))


@cache
def static_library_path() -> str:
    """The archive of the same for programs in C.

    Raises: ExecutionError when the package was installed without its native part.
    """
    return _installed("ted_runtime.lib" if sys.platform == "win32" else "libted_runtime.a")


@cache
def headers_path() -> str:
    """The folder `ted` with the headers of the library.

    Raises: ExecutionError when the package was installed without its native part.
    """
    return str(Path(_installed("include/ted/exported.h")).parent)


def _installed(name: str) -> str:
    path = resources.files("ted").joinpath(name)
    if not path.is_file():
        raise ExecutionError(
            f"ted.runtime: the native file {name} is not installed; run `pip install .` again"
        )
    return str(path)


@cache
def library() -> ctypes.CDLL:
    """The library, loaded once."""
    return ctypes.CDLL(library_path())


@cache
def address_of(symbol: str) -> int:
    """Where a function of libted_runtime is."""
    function = getattr(library(), symbol)
    return ctypes.cast(function, ctypes.c_void_p).value or 0
