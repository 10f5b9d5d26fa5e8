"""Arrays that are part of a program: copied once when they are captured, and frozen.

Before: an array of numpy, which may be written to later       After: a `Constant`, which may not

Arrays with equal contents are one object.  A small one is a literal of the program: its values are
in the IR, in the key of the cache, and known to index analysis.  A large one is an input that the
compiled function brings along: only its shape and type are known, so that programs which differ in
its values alone share their machine code.
"""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

from ted.forking import Lock, cached_property
from ted.ir.dtypes import DType
from ted.records import dataclass

LITERAL_BYTES = 1024
"""The largest literal: 128 numbers of 64 bits, which is more than tables of coefficients and lists
of indices have, and as text is shorter than the kernel that reads them.  Larger ones are data,
which change while the program stays."""


@dataclass(frozen=True, eq=False)
class Constant:
    """A frozen array, and its type in programs."""

    array: Any
    dtype: DType
    digest: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.array.shape

    @property
    def is_literal(self) -> bool:
        """Whether the values are part of the program."""
        return self.array.nbytes <= LITERAL_BYTES

    @cached_property
    def range(self) -> tuple[int, int]:
        """The least and the greatest of integers or bools; 0 of none."""
        if self.array.size == 0:
            return 0, 0
        return int(self.array.min()), int(self.array.max())

    @cached_property
    def progression(self) -> tuple[int, tuple[int, ...]] | None:
        """The first of integers and their step in each dim, if they are evenly spaced."""
        import numpy as np

        if self.array.size == 0 or self.dtype.kind != "int":
            return None
        steps = []
        for axis in range(self.array.ndim):
            gaps = np.diff(self.array.astype(np.int64), axis=axis)
            steps.append(int(gaps.flat[0]) if gaps.size else 0)
            if (gaps != steps[-1]).any():
                return None
        return int(self.array.flat[0]), tuple(steps)

    def __repr__(self) -> str:
        text = " ".join(str(self.array).split())
        return text if self.is_literal and len(text) <= 60 else f"values {self.digest[:8]}"


_known: weakref.WeakValueDictionary[tuple[str, tuple[int, ...], str], Constant] = (
    weakref.WeakValueDictionary()
)
_lock = Lock()


def frozen(array: Any, dtype: DType) -> Constant:
    """The constant with the values of an array of numpy that has the type `dtype`."""
    import numpy as np

    own = np.empty(np.shape(array), dtype.dtype)  # NumPy has two types of 64 bits; a copy keeps it
    own[...] = array
    own.flags.writeable = False
    held: Any = own.reshape(-1).view(np.uint8)
    digest = hashlib.blake2b(held, digest_size=16).hexdigest()
    key = dtype.name, own.shape, digest
    with _lock:
        found = _known.get(key)
        if found is None:
            found = _known[key] = Constant(own, dtype, digest)
        return found


def uniform_value(array: Any) -> Any:
    """The number that is everywhere in an array, bit by bit, else None; 0 where there is none."""
    if array.size == 0:
        return 0
    flat = array.reshape(-1)
    bits = flat.view(f"u{array.dtype.itemsize}")
    same = bits[0] == bits[-1] and (bits == bits[0]).all()
    return flat[0].item() if same else None
