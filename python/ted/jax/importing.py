"""Programs of JAX -> functions of ted: `from_jaxpr`.

Before: jaxpr = jax.make_jaxpr(f)(x)
After:  g = ted.jax.from_jaxpr(jaxpr);  ted.grad(lambda x: ted.sum(g(x)))(x)

JAX lowers a program to StableHLO, and `ted.raising` takes that to equations.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.extend import core

from ted.errors import FrontendError
from ted.jax.replacing import replaced
from ted.raising.modules import Raised, from_mlir


def from_jaxpr(jaxpr: Any) -> Raised:
    """What `jax.make_jaxpr(f)(*args)` gives as a function of tensors of ted.

    It takes the leaves of the arguments, and gives one tensor, or a tuple of the leaves of results.
    Raises: FrontendError for what is no closed jaxpr; VerifyError for what has no equations.
    """
    if not isinstance(jaxpr, core.ClosedJaxpr):
        kind = type(jaxpr).__name__
        raise FrontendError(f"from_jaxpr: takes what jax.make_jaxpr(f)(*args) gives, got {kind}")
    own: dict[str, Any] = {}
    function = jax.jit(core.jaxpr_as_fun(replaced(jaxpr, own, from_jaxpr)), keep_unused=True)
    given = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in jaxpr.in_avals]
    module: Any = function.lower(*given).compiler_ir("stablehlo")
    # In the generic form, which no version of a printer changes.
    return from_mlir(module.operation.get_asm(print_generic_op_form=True), "main", own)
