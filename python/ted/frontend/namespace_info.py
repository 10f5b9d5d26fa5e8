"""What the array API standard lets a program ask of a library: what it can do, types, devices."""

from __future__ import annotations

from typing import Any

from ted.frontend import checks
from ted.frontend.complex_pairs import COMPLEX64, COMPLEX128, applied
from ted.frontend.element_types import isdtype
from ted.frontend.keywords import DEVICE
from ted.frontend.locations import fail
from ted.ir.dtypes import BOOL, FLOAT32, FLOAT64, INT64, SIGNED, UNSIGNED, DType

_TYPES = (BOOL, *SIGNED, *UNSIGNED, FLOAT32, FLOAT64)


class NamespaceInfo:
    """The inspection functions of the standard.

    Default types are those that functions take where nothing says another one.
    """

    def capabilities(self) -> dict[str, Any]:
        """What is optional in the standard."""
        return {"boolean indexing": True, "data-dependent shapes": False, "max dimensions": None}

    def default_device(self) -> str:
        """The only device."""
        return DEVICE

    def devices(self) -> list[str]:
        """All devices."""
        return [DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The types that functions take where nothing says another one.

        Raises: FrontendError for another device.
        """
        _check(device)
        return {"real floating": FLOAT32, "complex floating": COMPLEX64, "integral": INT64,
                "indexing": INT64}  # fmt: skip

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The types of the standard by their names: of a kind, of several, or all.

        Raises: FrontendError for another device or an unknown kind.
        """
        _check(device)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        for word in kinds:
            if word is not None and not isinstance(word, str):
                fail(f"dtypes: kinds are words such as 'real floating', got {word!r}")
        return {
            str(t): t
            for t in (*_TYPES, COMPLEX64, COMPLEX128)
            if kind is None or any(_is_of(t, word) for word in kinds)
        }


def _is_of(dtype: Any, kind: str) -> bool:
    return isdtype(dtype, kind) if isinstance(dtype, DType) else applied("isdtype", dtype, kind)


def _check(device: Any) -> None:
    if device is not None:
        checks.one_of(device, (DEVICE,), "__array_namespace_info__: device")
