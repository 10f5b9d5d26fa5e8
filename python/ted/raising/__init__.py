"""Programs of linalg, StableHLO, tensor and scf -> equations of ted: `from_mlir`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ted.raising.modules import from_mlir as from_mlir

__all__ = ["from_mlir"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ted.raising' has no attribute {name!r}")
    from ted.raising import modules

    return getattr(modules, name)
