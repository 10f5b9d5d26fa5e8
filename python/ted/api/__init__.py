"""The compiler for its users: compile, differentiate, and functions of tensors.

`compiling` is the way of a program to machine code on one page, `differentiating` that to its
gradients; `functions` are the same two by tracing Python functions.  `modes` and `vectorising` are
the other transformations of functions, `scanning` makes loops of them; `custom` and
`user_derivatives` put derivatives of the user's in their place.
"""

from ted.api.checkpointing import checkpoint
from ted.api.compiling import compile, module
from ted.api.control_flow import cond, fori_loop, while_loop
from ted.api.cpu_functions import CompiledFunction
from ted.api.custom import custom_vjp
from ted.api.differentiating import DifferentiationResult, differentiate
from ted.api.exporting import Exported, export
from ted.api.functions import Function, function, grad, value_and_grad, vjp
from ted.api.laplacians import laplacian
from ted.api.modes import hessian, hvp, jacobian, jvp
from ted.api.residuals import ForwardBackward, forward_backward
from ted.api.scanning import scan
from ted.api.user_derivatives import adjoint_product
from ted.api.vectorising import vmap

__all__ = [
    "CompiledFunction",
    "DifferentiationResult",
    "Exported",
    "ForwardBackward",
    "Function",
    "adjoint_product",
    "checkpoint",
    "compile",
    "cond",
    "custom_vjp",
    "differentiate",
    "export",
    "fori_loop",
    "forward_backward",
    "function",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "laplacian",
    "module",
    "scan",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
