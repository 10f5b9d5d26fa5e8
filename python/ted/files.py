"""Nests of arrays in files of the safetensors format, which other libraries read and write.

A leaf is a tensor of the file under its path in the nest, `layers.0.weight`.  The package
`safetensors` is asked for when a file is written or read; its functions for NumPy have no bfloat16,
so that bytes are handed over with the names of types.
Source: the format, in the README of safetensors 0.8.0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from stat import S_IMODE
from typing import Any

import numpy as np

from ted.errors import ExecutionError
from ted.frontend.trees import flatten, unflatten
from ted.ir.dtypes import BY_NAME, ELEMENT_TYPES
from ted.runtime.buffers import ArgSpec, to_numpy
from ted.runtime.cuda.arrays import DeviceArray

__all__ = ["save"]

_LETTERS = {"float": "F", "int": "I", "bool": "BOOL"}
# The format's name -> the element type: F32, BF16, U8.
_TYPES = {
    "BOOL" if t.kind == "bool" else {"bfloat16": "BF16"}.get(
        t.name, ("U" if t.is_unsigned else _LETTERS[t.kind]) + str(t.bits)
    ): t
    for t in ELEMENT_TYPES
    if not t.is_index
}  # fmt: skip


def save(path: str | os.PathLike[str], nest: Any) -> None:
    """Write the arrays of a nest to a file, in place of what was there.

    Each is named by its path: keys of dicts, positions in lists and tuples, fields of dataclasses,
    with dots between.  A key with dots counts as several.  Numbers are arrays of rank 0; what holds
    no array leaves nothing behind.

    Raises: ExecutionError for a leaf that is no array of ted's types, two leaves of one name, a
    path that cannot be written, and where the package safetensors is missing.
    """
    library = _library("save")
    leaves, _ = flatten(nest, what="save")
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, leaf in leaves:
        if not name or name in arrays:
            rule = "an array needs a name of its own, got the name"
            raise ExecutionError(f"save: {rule} {name!r}; put it into a dict, keys are names")
        arrays[name] = _host_array(leaf, f"save: {name}")
    _by_parts(arrays, "save")
    described = {
        name: library.TensorSpec(
            dtype=a.dtype.name, shape=list(a.shape), data_ptr=a.ctypes.data, data_len=a.nbytes
        )
        for name, a in arrays.items()
    }
    try:
        _write(library, described, path)
    except (OSError, TypeError, library.SafetensorError) as error:
        raise ExecutionError(f"save: a file that can be written, got {path}: {error}") from None


def nest_of(data: bytes, path: str | os.PathLike[str], like: Any = None) -> Any:
    """The arrays of a file's contents as a nest of dicts and lists, or as the nest `like`.

    Raises: ExecutionError for another format or type, names that fit no nest or not `like`, and
    where the package safetensors is missing.
    """
    arrays = _arrays(data, path)
    if like is None:
        return _nest(_by_parts(arrays, f"load: {path}"))
    leaves, tree = flatten(like, what="load: like")
    names = [name for name, _ in leaves]
    if sorted(names) != sorted(arrays):
        missing, more = (sorted(a - b) for a, b in ((set(names), set(arrays)),
                                                    (set(arrays), set(names))))  # fmt: skip
        raise ExecutionError(
            f"load: {path} must have the names of `like`, got none of {missing} and also {more}"
        )
    for name, leaf in leaves:
        _check_like(arrays[name], leaf, f"load: {name} of {path}")
    return unflatten(tree, iter([arrays[name] for name in names]))


# ------------------------------------------------------------------ arrays


def _library(what: str) -> Any:
    try:
        import safetensors
    except ImportError:
        raise ExecutionError(
            f"{what}: files need the package safetensors, got none; pip install safetensors==0.8.0"
        ) from None
    return safetensors


def _write(library: Any, described: Any, path: str | os.PathLike[str]) -> None:
    """Write where links lead, with the rights that the file has or that a new one gets.

    The library puts a file of its own there, which only its owner may read.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError("it is no file")
    with open(target, "ab"):
        mode = os.stat(target).st_mode
    library.serialize_file(described, target)
    os.chmod(target, S_IMODE(mode))


def _host_array(leaf: Any, what: str) -> np.ndarray[Any, Any]:
    """The leaf as a contiguous array of NumPy with an element type of ted's."""
    leaf = leaf.numpy() if isinstance(leaf, DeviceArray) else leaf
    array = to_numpy(leaf, ArgSpec(what, "numbers", ()), what)
    if array.dtype.name not in BY_NAME:
        raise ExecutionError(f"{what}: a type of {', '.join(BY_NAME)}, got {array.dtype}")
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")


def _arrays(data: bytes, path: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    library = _library("load")
    try:
        found = library.deserialize(data)
    except library.SafetensorError as error:
        raise ExecutionError(f"load: a file of safetensors, got {path}: {error}") from None
    return {name: _array(stored, f"load: {name} of {path}") for name, stored in found}


def _array(stored: Mapping[str, Any], what: str) -> np.ndarray[Any, Any]:
    dtype = _TYPES.get(stored["dtype"])
    if dtype is None:
        raise ExecutionError(f"{what}: a type of {', '.join(_TYPES)}, got {stored['dtype']}")
    return np.frombuffer(stored["data"], dtype.dtype).reshape(stored["shape"])


def _check_like(array: np.ndarray[Any, Any], leaf: Any, what: str) -> None:
    leaf = np.asarray(leaf) if isinstance(leaf, int | float) else leaf  # as it would be saved
    if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        return
    wanted = str(leaf.dtype).rpartition(".")[2], tuple(leaf.shape)
    if (array.dtype.name, array.shape) != wanted:
        raise ExecutionError(
            f"{what}: must be {wanted[0]} of shape {wanted[1]} as in `like`, "
            f"got {array.dtype.name} of shape {array.shape}"
        )


# ------------------------------------------------------------------ names


def _by_parts(arrays: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Dicts in dicts by the parts of names."""
    root: dict[str, Any] = {}
    for name, array in arrays.items():
        *outer, last = name.split(".")
        place: Any = root
        for part in outer:
            place = place.setdefault(part, {}) if isinstance(place, dict) else None
        if not isinstance(place, dict) or last in place:
            raise ExecutionError(f"{what}: a name that begins no other one, got {name!r}")
        place[last] = array
    return root


def _nest(found: Any) -> Any:
    """Dicts in dicts, those with the keys 0, 1, ... as lists."""
    if not isinstance(found, dict):
        return found
    if found and set(found) == set(map(str, range(len(found)))):
        return [_nest(found[str(k)]) for k in range(len(found))]
    return {key: _nest(value) for key, value in found.items()}
