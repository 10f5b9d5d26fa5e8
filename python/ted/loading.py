"""`ted.load`: files of arrays and of compiled functions, told by their first bytes.

A compiled function needs no compiler, so that neither MLIR nor LLVM is loaded for one, and the
driver only for one of a GPU.
"""

from __future__ import annotations

import os
from typing import Any

from ted.errors import ExecutionError
from ted.runtime import archives

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
    data = archives.read(path)
    if not data.startswith(archives.MAGIC):
        from ted.files import nest_of  # loads the compiler

        return nest_of(data, path, like)
    if like is not None:
        raise ExecutionError(f"load: `like` is for arrays, got a compiled function in {path}")
    return _function_of(data, f"load: {path}")


def _function_of(data: bytes, what: str) -> Any:
    said, _ = archives.unpack(data, what)
    if said["target"].startswith("cuda:"):
        from ted.runtime.cuda.loading import loads as of_a_gpu

        return of_a_gpu(data, what)
    from ted.runtime.saved import loads

    return loads(data, what)
