"""Run a transform of systems on the functions of a module: ops -> equations -> ops.

Before: a pass that is a function from `System` to `System`.  After: its effect on a module.
"""

from __future__ import annotations

from collections.abc import Callable

from ted.ir.equations import System
from ted.ir.from_ops import from_function, functions
from ted.ir.to_ops import build_function
from ted.mlir import ir

_KEPT = ("sym_visibility", "llvm.emit_c_interface")


def rewrite_functions(module: ir.Module, transform: Callable[[System], System]) -> None:
    """Replace every function that has a body by the transformed one, under the same name.

    Raises: VerifyError if a function has no equation form; what the transform raises.
    """
    with module.context:
        for function in list(functions(module)):
            _rewrite(function, transform)


def _rewrite(function: ir.Operation, transform: Callable[[System], System]) -> None:
    system = from_function(function)
    result = transform(system)
    if result is system:
        return
    with ir.InsertionPoint(function), function.location:
        made = build_function(result).operation
    for name in _KEPT:
        if name in function.attributes:
            made.attributes[name] = function.attributes[name]
    function.erase()
