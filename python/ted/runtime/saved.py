"""Functions for CPUs in files: what is written, and a function that needs no compiler.

Before: the bytes of an archive      After: a `SavedFunction`: f(x)

The parts of the archive are `code.so`, a shared library that calls the runtime, and
`constants.npz`, the arrays that the program brings along.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ted.errors import ExecutionError
from ted.options import subnormals_code
from ted.records import dataclass
from ted.runtime import archives
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import ArrayFunction, BoundFunction, bind
from ted.runtime.library import library

SYMBOL = "ted_saved"  # the function in `code.so`
_CODE, _CONSTANTS = "code.so", "constants.npz"


@dataclass(frozen=True)
class About:
    """What a file says of its program; `single`: whether a call gives one array, not a tuple.

    `inputs` include the constants, which come last; `features` are the instructions that the code
    needs, `accesses` the tensor and line of each check, `donated` gives for results the inputs that
    they overwrite.
    """

    name: str
    single: bool
    inputs: tuple[ArgSpec, ...]
    outputs: tuple[ArgSpec, ...]
    donated: Mapping[int, int]
    accesses: tuple[tuple[str, str], ...]
    features: tuple[str, ...]
    threads: int
    target: str
    subnormals: str | None = None


class SavedFunction(ArrayFunction):
    """A compiled function from a file: call it with arrays, save or pickle it again.

    It computes what the function computed that was saved, and has no IR.

    Raises: ExecutionError for contents of no such file, and code for other machines.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        about, code, constants = _read(data, what)
        bound = _linked(about, code, constants, what)
        self.name, self.target = about.name, about.target
        self._single = about.single
        self.bound = bound
        self.inputs, self.outputs = self.bound.inputs, self.bound.outputs
        self.direct = self.bound.direct

    @property
    def peak_bytes(self) -> int:
        """Bytes of results and temporary buffers that the latest call held at most at once."""
        return self.bound.peak_bytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the same file again.

        Raises: ExecutionError for a path that cannot be written.
        """
        archives.write(path, self._data)

    def __repr__(self) -> str:
        given = ", ".join(map(str, self.inputs))
        return f"<SavedFunction {self.name}({given}) for {self.target}>"

    def __reduce__(self) -> Any:
        return loads, (self._data,)


def pack(about: About, code: bytes, constants: Sequence[np.ndarray[Any, Any]]) -> bytes:
    """The contents of a file."""
    arrays = {
        f"constant_{k}": np.ascontiguousarray(a).view(np.uint8).reshape(-1)
        for k, a in enumerate(constants)
    }
    said = {**asdict(about), "donated": [*about.donated.items()]}
    return archives.pack(said, {_CODE: code, _CONSTANTS: archives.pack_arrays(arrays)})


def loads(data: bytes, what: str = "load") -> SavedFunction:
    """The function of the contents of a file.

    Raises: ExecutionError for what is no such file, another format, or code for other machines.
    """
    return SavedFunction(data, what)


def _read(data: bytes, what: str) -> tuple[About, bytes, list[np.ndarray[Any, Any]]]:
    said, (code, arrays) = archives.unpack(data, what, _CODE, _CONSTANTS)
    bits = archives.unpack_arrays(arrays, what).values()
    try:
        about = _about(said)
        specs = about.inputs[len(about.inputs) - len(bits) :]
        constants = [
            b.view(spec.numpy_dtype).reshape(spec.shape)
            for b, spec in zip(bits, specs, strict=True)
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise archives.damaged(what, error) from None
    return about, code, constants


def _about(said: Mapping[str, Any]) -> About:
    sides = {
        side: tuple(ArgSpec(s["name"], s["dtype"], tuple(s["shape"])) for s in said[side])
        for side in ("inputs", "outputs")
    }
    subnormals_code(said.get("subnormals"))  # a word that it knows
    return About(**{
        **said, **sides, "accesses": tuple(map(tuple, said["accesses"])),
        "donated": dict(said["donated"]), "features": tuple(said["features"]),
    })  # fmt: skip


def _linked(
    about: About, code: bytes, constants: Sequence[np.ndarray[Any, Any]], what: str
) -> BoundFunction:
    lacking = library().ted_cpu_lacks
    lacking.restype = ctypes.c_char_p
    lacks = lacking("".join(f"{f}\0" for f in about.features).encode() + b"\0")
    if lacks is not None:
        raise ExecutionError(
            f"{what}: code for '{about.target}' needs a CPU with {lacks.decode()}, which this "
            "machine is not; save it with a target for older CPUs, such as 'cpu:sse2'"
        )
    own = _loaded(code, what)
    address = ctypes.cast(getattr(own, SYMBOL), ctypes.c_void_p).value or 0
    return bind(
        address, about.inputs, about.outputs, name=about.name,
        accesses=dict(enumerate(about.accesses)), donated=about.donated, owner=own,
        threads=about.threads, subnormals=about.subnormals, constants=constants,
    )  # fmt: skip


def _loaded(code: bytes, what: str) -> ctypes.CDLL:
    """The shared library, from a file that is gone when this returns."""
    try:
        handle, path = tempfile.mkstemp(prefix="ted-", suffix=".so")
    except OSError as error:
        raise ExecutionError(
            f"{what}: code is loaded from a file for a moment, got {error}; name a folder for it "
            "by $TMPDIR"
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(code)
        return ctypes.CDLL(path)
    except OSError as error:
        raise ExecutionError(
            f"{what}: code that this machine loads from a file, got {error}; $TMPDIR names a "
            "folder from which programs may run"
        ) from None
    finally:
        os.unlink(path)
