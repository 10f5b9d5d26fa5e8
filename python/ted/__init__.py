"""ted: differentiable tensor expressions on MLIR.

The public names, each loaded from the module that defines it on first use, so that `import ted` and
the command line tools start at once.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Module -> the public names that it defines. `__all__`, `dir(ted)` and attribute access follow.
_PUBLIC: dict[str, tuple[str, ...]] = {
    "ted.frontend": (
        # tensors and their definition
        "placeholder",
        "reduce_axis",
        "compute",
        # reductions
        "sum",
        "prod",
        "max",
        "min",
        "argmax",
        "argmin",
        "any",
        "all",
        "mean",
        "logsumexp",
        "reducer",
        # scalar functions
        "maximum",
        "minimum",
        "where",
        "exp",
        "log",
        "sqrt",
        "tanh",
        "erf",
        "sin",
        "cos",
        "floor",
    ),
    "ted.api": (
        "differentiate",
        "compile",
        "function",
        "grad",
        "vjp",
        "value_and_grad",
        "module",
    ),
}
_MODULES = ("errors", "nn", "testing")
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"ted.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'ted' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
