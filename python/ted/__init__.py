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
        "Scalar",
        "Tensor",
        "abs",
        "absolute",
        "acos",
        "acosh",
        "all",
        "any",
        "arange",
        "argmax",
        "argmin",
        "asin",
        "asinh",
        "associative_scan",
        "atan",
        "atan2",
        "atanh",
        "bincount",
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "bitwise_xor",
        "broadcast_to",
        "cast",
        "cbrt",
        "ceil",
        "cholesky",
        "clip",
        "compute",
        "concatenate",
        "constant",
        "cos",
        "cosh",
        "cumprod",
        "cumsum",
        "digamma",
        "einsum",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expand_dims",
        "expm1",
        "eye",
        "flatten",
        "flip",
        "floor",
        "floor_divide",
        "fmod",
        "full",
        "histogram",
        "hypot",
        "index_add",
        "isfinite",
        "isinf",
        "isnan",
        "left_shift",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "logsumexp",
        "matmul",
        "max",
        "maximum",
        "mean",
        "min",
        "minimum",
        "one_hot",
        "ones",
        "ones_like",
        "pad",
        "placeholder",
        "power",
        "prod",
        "reciprocal",
        "recurrence",
        "reduce_axis",
        "reducer",
        "relu",
        "remainder",
        "repeat",
        "reshape",
        "right_shift",
        "roll",
        "round",
        "rsqrt",
        "scatter",
        "segment_sum",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "size",
        "softplus",
        "solve_triangular",
        "split",
        "sqrt",
        "square",
        "squeeze",
        "stack",
        "stop_gradient",
        "sum",
        "swapaxes",
        "take",
        "take_along_axis",
        "tan",
        "tanh",
        "tile",
        "transpose",
        "tril",
        "triu",
        "trunc",
        "vectorize",
        "where",
        "zeros",
        "zeros_like",
    ),
    "ted.runtime.threads": ("get_num_threads", "set_num_threads"),
    "ted.api": (
        "scan",
        "checkpoint",
        "cond",
        "fori_loop",
        "while_loop",
        "adjoint_product",
        "custom_vjp",
        "hessian",
        "hvp",
        "jacobian",
        "jvp",
        "vmap",
        "differentiate",
        "forward_backward",
        "compile",
        "function",
        "grad",
        "vjp",
        "value_and_grad",
        "module",
    ),
}
_MODULES = ("cache", "cuda", "errors", "nn", "testing", "tree")
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
