"""The compiler for its users: compile, differentiate, and functions of tensors.

`compiling` is the way of a program to machine code on one page, `differentiating` that to its
gradients; `functions` are the same two by tracing Python functions.
"""

from ted.api.compiling import CompiledFunction, compile, module
from ted.api.differentiating import DifferentiationResult, differentiate
from ted.api.functions import Function, function, grad, value_and_grad, vjp

__all__ = [
    "CompiledFunction",
    "DifferentiationResult",
    "Function",
    "compile",
    "differentiate",
    "function",
    "grad",
    "module",
    "value_and_grad",
    "vjp",
]
