"""`ted.load`: files of arrays and of compiled functions, told by their first bytes.

A compiled function needs no compiler, so that neither MLIR nor LLVM is loaded for one.
"""

from __future__ import annotations

import os
from typing import Any

from ted.errors import ExecutionError
from ted.runtime.saved import MAGIC, loads

__all__ = ["load"]


def load(path: str | os.PathLike[str], like: Any = None) -> Any:
    """The arrays of a file of `ted.save` as a nest, or the function of one of `f.save`.

    Of arrays: dicts and lists, or the nest `like`.  A dot in a name opens a dict, or a list where
    the keys are 0, 1, ... without a gap.  `like` has the kinds that a file does not know, such as
    tuples, dataclasses and None; the names, and the shapes and types of arrays and numbers in it,
    must be those of the file.

    Raises: ExecutionError for a file that cannot be read or is of another format or type, names
    that fit no nest or not `like`, code for other machines, and where the package safetensors is
    missing.
    """
    if not isinstance(path, str | os.PathLike):
        raise ExecutionError(f"load: a path is text or a pathlib.Path, got {path!r}")
    if os.path.exists(os.path.join(path, "manifest.json")):
        raise ExecutionError(
            f"load: {path} is the folder of a function for a GPU; read it with ted.cuda.load"
        )
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ExecutionError(
            f"load: a file that can be read, got {path}: {error.strerror}"
        ) from None
    if not data.startswith(MAGIC):
        from ted.files import nest_of  # loads the compiler

        return nest_of(data, path, like)
    if like is not None:
        raise ExecutionError(f"load: `like` is for arrays, got a compiled function in {path}")
    return loads(data, f"load: {path}")
