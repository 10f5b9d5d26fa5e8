"""Files of compiled functions: a zip archive of what is said of a program, and its parts.

Before: {"target": ...}, {"code.so": ...}      After: bytes of `program.json`, `code.so`
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ted.errors import ExecutionError

MAGIC = b"PK\x03\x04"
_SAID = "program.json"
_FORMAT = 2


def pack(said: Mapping[str, Any], parts: Mapping[str, bytes]) -> bytes:
    """The contents of a file; `said["target"]` is the machine that it is for."""
    whole = io.BytesIO()
    told = json.dumps({"format": _FORMAT, **said}).encode()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in {_SAID: told, **parts}.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # without the time
    return whole.getvalue()


def unpack(data: bytes, what: str, *names: str) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    """What is said of a program, and the parts of these names.

    Raises: ExecutionError for contents of no such file, and for another format.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            told, *parts = (archive.read(name) for name in (_SAID, *names))
        said = json.loads(told)
        form, target = said.pop("format"), said["target"]
    except Exception as error:  # zipfile raises anything for what is no archive
        raise damaged(what, error) from None
    if form != _FORMAT:
        raise ExecutionError(
            f"{what}: a file of format {_FORMAT}, got {form!r:.99}; save the function again"
        )
    if not isinstance(target, str):
        raise damaged(what, f"the target {target!r:.99}")
    return said, tuple(parts)


def pack_arrays(arrays: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """A part that holds arrays."""
    held = io.BytesIO()
    np.savez(held, **arrays)  # pyright: ignore[reportArgumentType]
    return held.getvalue()


def unpack_arrays(data: bytes, what: str) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a part.

    Raises: ExecutionError for contents that are none.
    """
    try:
        with np.load(io.BytesIO(data)) as found:
            return dict(found)
    except Exception as error:  # as above
        raise damaged(what, error) from None


def damaged(what: str, why: object) -> ExecutionError:
    """The error for contents that `f.save` does not write."""
    return ExecutionError(f"{what}: a file of a compiled function as f.save writes it, got {why}")


def read(path: str | os.PathLike[str]) -> bytes:
    """The contents of a file.

    Raises: ExecutionError for a path that cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ExecutionError(
            f"load: a file that can be read, got {path}: {error.strerror}"
        ) from None


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file.

    Raises: ExecutionError for a path that cannot be written.
    """
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise ExecutionError(
            f"save: a file that can be written, got {path}: {error.strerror}"
        ) from None
