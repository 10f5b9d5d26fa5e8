"""Checks of ted's own work: a reference interpreter, gradients, equivalence, an emulated GPU.

Nothing here is needed to compile or to run a program.  The public names resolve on first use.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Counts": "ted.testing.interpreter",
    "check_associative": "ted.testing.associativity",
    "check_grads": "ted.testing.gradients",
    "check_vjp": "ted.testing.gradients",
    "emulated_gpu": "ted.testing.emulated_machine",
    "equivalent": "ted.testing.equivalence",
    "interpret": "ted.testing.interpreter",
}

if TYPE_CHECKING:
    from ted.testing.associativity import check_associative as check_associative
    from ted.testing.emulated_machine import emulated_gpu as emulated_gpu
    from ted.testing.equivalence import equivalent as equivalent
    from ted.testing.gradients import check_grads as check_grads
    from ted.testing.gradients import check_vjp as check_vjp
    from ted.testing.interpreter import Counts as Counts
    from ted.testing.interpreter import interpret as interpret

__all__ = [
    "Counts", "check_associative", "check_grads", "check_vjp", "emulated_gpu", "equivalent",
    "interpret",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        missing = importlib.import_module("ted.frontend.missing_names").missing
        raise missing(__name__, name, __all__)
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    if inspect.isfunction(value):
        value = importlib.import_module("ted.frontend.keywords").naming(value, name, __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
