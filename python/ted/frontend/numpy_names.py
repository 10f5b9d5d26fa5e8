"""NumPy's functions on expressions: `np.sin(x)` is `ted.sin(x)`, by tables of names.

Before: np.sum(t, axis=0), np.ones(3) + t      After: ted.sum(t, axis=0), constant + t

What numpy calls otherwise has a row; what ted has no word for is refused, and where another word
does, it is named.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, NoReturn

from ted.frontend import operators
from ted.frontend.keywords import near_word
from ted.frontend.locations import fail
from ted.frontend.numpy_words import INSTEAD, RENAMED
from ted.frontend.tensors import with_constant

# Operators, as numpy's ufuncs call them.
OPERATORS: dict[str, Callable[..., Any]] = {
    **operators.OPERATORS, "matmul": operator.matmul, "divmod": divmod,
}  # fmt: skip

# The names that numpy and ted share, for one meaning.
SHARED = (
    "absolute", "all", "allclose", "angle", "any", "argmax", "argmin", "argsort", "average",
    "bitwise_and", "bitwise_or", "bitwise_xor", "block", "broadcast_arrays", "broadcast_to",
    "can_cast", "cbrt", "ceil", "clip", "column_stack", "concatenate", "copysign", "corrcoef",
    "cos", "cosh", "count_nonzero", "cov", "cumprod", "cumsum", "cumulative_prod",
    "cumulative_sum", "diag", "diagflat", "diff", "dot", "ediff1d", "einsum", "empty_like",
    "exp", "exp2", "expand_dims", "expm1", "flip", "float_power", "floor", "floor_divide",
    "fmax", "fmin", "fmod", "frexp", "full_like", "gcd", "gradient", "heaviside", "hstack",
    "hypot", "imag", "inner", "interp", "isclose", "isfinite", "isin", "isinf", "isnan",
    "isneginf", "isposinf", "kron", "lcm", "left_shift", "lexsort", "log", "log10", "log1p",
    "log2", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "matrix_transpose", "matvec", "max", "maximum", "mean", "median", "meshgrid",
    "min", "minimum", "modf", "moveaxis", "nan_to_num", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod", "nanquantile", "nanstd",
    "nansum", "nanvar", "nextafter", "ones_like", "outer", "pad", "poly", "polyadd", "polyder",
    "polyfit", "polyint", "polymul", "polysub", "polyval", "power", "prod", "quantile",
    "ravel_multi_index", "real", "reciprocal", "remainder", "repeat", "reshape", "resize",
    "result_type", "right_shift", "roll", "rot90", "round", "searchsorted", "sign", "signbit",
    "sin", "sinc", "sinh", "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "sum",
    "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "transpose",
    "trapezoid", "tril", "triu", "trunc", "unravel_index", "unstack", "unwrap", "var", "vdot",
    "vecdot", "vecmat", "vstack", "where", "zeros_like",
)  # fmt: skip

# What is a property of an expression.
PROPERTIES = ("shape", "ndim", "size")


def word_of(name: str) -> str | None:
    """The name in `ted` of a function of numpy; None where there is none of this meaning."""
    return name if name in SHARED else RENAMED.get(name)


def ufunc(function: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """What numpy asks of an operand of a ufunc.

    Raises: FrontendError for a ufunc, a method of it or options that ted has not.
    """
    name = function.__name__
    if method != "__call__":
        _refuse(f"{name}.{method}")
    operands = [_plain(value) for value in inputs]
    if name not in OPERATORS:
        return _called(name, tuple(operands), options)
    _check_no_out(name, options)
    if options:
        fail(f"np.{name}: takes operands alone on tensors, got {', '.join(options)}=; use .astype")
    return OPERATORS[name](*(with_constant(value, name) for value in operands))


def array_function(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What numpy asks of an argument of its other functions.

    Raises: FrontendError for a function or options that ted has not.
    """
    module = function.__module__.partition(".")[2]
    name = f"{module}.{function.__name__}" if module else function.__name__
    if name in PROPERTIES and len(args) == 1 and not options:
        return getattr(args[0], name)
    return _called(name, args, options)


def _called(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    from ted import frontend

    word = word_of(name)
    _check_no_out(name, options)
    function = getattr(frontend, word) if word else _refuse(name)
    signature = inspect.signature(function)
    known = signature.parameters
    renamed = {near_word(k, known) or k: v for k, v in options.items()}
    try:
        signature.bind(*args, **renamed)
    except TypeError as error:
        fail(f"np.{name}: on a tensor it is ted.{word}{signature}, got what does not fit: {error}")
    return function(*args, **renamed)


def _check_no_out(name: str, options: dict[str, Any]) -> None:
    if "out" in options:
        fail(
            f"np.{name}: an array cannot hold an expression, got out=; take the result, which is a "
            "tensor, and give out= to the compiled function"
        )


def _refuse(name: str) -> NoReturn:
    way = INSTEAD.get(name)
    advice = f"write {way}" if way else "ted has no such function; compute it by ted.compute"
    fail(f"np.{name}: numpy's functions on tensors are those that ted has, got np.{name}; {advice}")


def _plain(value: Any) -> Any:
    """A scalar of numpy as the Python number that it counts as."""
    is_number = hasattr(value, "item") and hasattr(value, "dtype") and not getattr(value, "ndim", 1)
    return value.item() if is_number and not hasattr(value, "node") else value
