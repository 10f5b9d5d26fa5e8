"""ted functions as operators of PyTorch: `op`, modules of them: `Module`; `from_exported`.

    @ted.torch.op
    def energy(x, w): return ted.sum(ted.tanh(x @ w))

    energy(x, w).backward()  # torch tensors; gradients of any order are derived by ted

Before: an operator in C++ with a backward by hand, and another one for that
After:  a function; autograd, `torch.func`, `torch.compile` and `torch.export` know it

What compiles is loaded when the first operator is made, so that the import costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ted import forking as forking  # a fork from now on is known to be one

if TYPE_CHECKING:
    from ted.torch.importing import from_exported as from_exported
    from ted.torch.modules import Module as Module
    from ted.torch.operators import Operator as Operator
    from ted.torch.operators import op as op

__all__ = ["Module", "Operator", "from_exported", "op"]

_HOMES = {
    "Module": "ted.torch.modules",
    "Operator": "ted.torch.operators",
    "from_exported": "ted.torch.importing",
    "op": "ted.torch.operators",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ted.torch' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
