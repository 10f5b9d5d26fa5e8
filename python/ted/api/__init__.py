"""The compiler for its users: compile, differentiate, and functions of tensors.

`compiling` is the way of a program to machine code on one page, `differentiating` that to its
gradients; `functions` and `gradients` are the same two by tracing Python functions.  `modes` and
`vectorising` are the other transformations of functions, `scanning` makes loops of them; `custom`
and `user_derivatives` put derivatives of the user's in their place.
"""

from ted.api.checkpointing import checkpoint as checkpoint
from ted.api.compiling import compile as compile
from ted.api.compiling import module as module
from ted.api.control_flow import cond as cond
from ted.api.control_flow import fori_loop as fori_loop
from ted.api.control_flow import while_loop as while_loop
from ted.api.cpu_functions import CompiledFunction as CompiledFunction
from ted.api.custom import custom_vjp as custom_vjp
from ted.api.differentiating import DifferentiationResult as DifferentiationResult
from ted.api.differentiating import differentiate as differentiate
from ted.api.exporting import Exported as Exported
from ted.api.exporting import export as export
from ted.api.functions import Function as Function
from ted.api.functions import function as function
from ted.api.gradients import grad as grad
from ted.api.gradients import value_and_grad as value_and_grad
from ted.api.gradients import vjp as vjp
from ted.api.laplacians import laplacian as laplacian
from ted.api.modes import hessian as hessian
from ted.api.modes import hvp as hvp
from ted.api.modes import jacobian as jacobian
from ted.api.modes import jvp as jvp
from ted.api.residuals import ForwardBackward as ForwardBackward
from ted.api.residuals import forward_backward as forward_backward
from ted.api.scanning import scan as scan
from ted.api.user_derivatives import adjoint_product as adjoint_product
from ted.api.vectorising import vmap as vmap
from ted.frontend import keywords

__all__ = keywords.public_names(globals())
