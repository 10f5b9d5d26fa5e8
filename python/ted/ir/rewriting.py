"""Run a transform of systems on the functions of a module: ops -> equations -> ops.

Before: a pass that is a function from `System` to `System`.  After: its effect on a module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ted.ir.equations import System, Tensor
from ted.ir.from_ops import from_function, functions
from ted.ir.to_ops import build_function
from ted.mlir import ir


class SystemPass(ABC):
    """A pass of systems; those that follow each other share one conversion of a module."""

    @abstractmethod
    def rewrite(self, system: System) -> System:
        """The system to put in the place of this one, which may be the same."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function of the module."""
        rewrite_functions(module, self.rewrite)


def rewrite_functions(module: ir.Module, transform: Callable[[System], System]) -> None:
    """Replace every function of equations by the transformed one, under the same name.

    Functions without equations, and those that call others, are left as they are.
    Raises: VerifyError if a function has no equation form; what the transform raises.
    """
    with module.context:
        for function in list(functions(module)):
            if has_equations(function):
                system = from_function(function)
                result = transform(system)
                if result is not system:
                    replace_function(function, result)


def has_equations(function: ir.Operation) -> bool:
    """Whether a function has ops of ted and calls no other function."""
    blocks = function.regions[0].blocks
    names = {op.operation.name for block in blocks for op in block.operations}
    return bool(names & {"ted.compute", "ted.scan"}) and "func.call" not in names


def replace_function(
    function: ir.Operation, system: System, groups: Sequence[list[Tensor]] | None = None
) -> ir.Operation:
    """Put a system where a function was; attributes that are not part of it stay."""
    with ir.InsertionPoint(function), function.location:
        made = build_function(system, groups).operation
    for name in function.attributes:
        if name not in made.attributes:
            made.attributes[name] = function.attributes[name]
    function.erase()
    return made
