"""What programs for CPUs are made of: modules that become object files, and these.

Values alone: who links what the disk has loads neither MLIR nor what generates code.
"""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """A module that becomes an object: its name, its text without locations, what it weighs."""

    name: str
    text: str
    weight: int
    is_kernel: bool = True


class Objects(NamedTuple):
    """Object files, and the tensor and the user's line of each access that they check.

    Of code that is not for this process they are text of LLVM's. `indexed[k]` is what number k of
    `ted_index_error` means.
    """

    objects: tuple[bytes, ...]
    indexed: tuple[tuple[str, str], ...] = ()
