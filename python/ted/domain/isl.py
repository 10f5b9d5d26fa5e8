"""isl, which is loaded when a set is made of it: programs whose domains are boxes need none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ted.importing import imported

if TYPE_CHECKING:
    from islpy import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]


def __getattr__(name: str) -> Any:
    value = globals()[name] = getattr(imported("islpy"), name)
    return value
