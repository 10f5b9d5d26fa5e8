"""The compiler for its users: compile, differentiate, and functions of tensors.

`compiling` is the way of a program to machine code on one page, `differentiating` that to its
gradients; `functions` and `gradients` are the same two by tracing Python functions.  `modes` and
`vectorising` are the other transformations of functions, `scanning` makes loops of them; `custom`
and `user_derivatives` put derivatives of the user's in their place.

The modules are loaded as their names are used; `__init__.pyi` tells type checkers the same.
"""

from __future__ import annotations

import inspect
from typing import Any

from ted.frontend.keywords import naming
from ted.importing import imported

_NAMES: dict[str, tuple[str, ...]] = {
    "checkpointing": ("checkpoint",),
    "compiling": ("compile",),
    "control_flow": ("cond", "fori_loop", "while_loop"),
    "cpu_functions": ("CompiledFunction",),
    "custom": ("custom_vjp",),
    "differentiating": ("DifferentiationResult", "differentiate"),
    "exporting": ("Exported", "export"),
    "functions": ("Function", "function"),
    "gradients": ("grad", "value_and_grad", "vjp"),
    "laplacians": ("laplacian",),
    "modes": ("hessian", "hvp", "jacobian", "jvp"),
    "modules": ("module",),
    "residuals": ("ForwardBackward", "forward_backward"),
    "scanning": ("scan",),
    "user_derivatives": ("adjoint_product",),
    "vectorising": ("vmap",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(imported(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = naming(value, name, "ted") if inspect.isfunction(value) else value
    return globals()[name]
