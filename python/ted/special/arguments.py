"""What functions of `ted.special` share: they compute in f64 and round to the type of arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ted.frontend.elementwise import cast, vectorize
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar
from ted.ir.dtypes import FLOAT32, FLOAT64

Function = Callable[..., Any]


def elementwise(function: Function) -> Function:
    """A function of scalars of f64, on tensors and scalars of any type, broadcast.

    Integers count as float32, as in other functions.
    Raises: FrontendError where all arguments are Python numbers.
    """
    name = function.__name__

    def call(*operands: Any) -> Any:
        scalars = [x for x in operands if isinstance(x, Scalar)]
        if not scalars:
            fail(
                f"special.{name}: takes a tensor or an array, got {', '.join(map(repr, operands))}"
                "; ted.full makes a tensor of a number"
            )
        widest = max((x.dtype.bits if x.dtype.is_float else 0) for x in scalars)
        rounded = [x.dtype for x in scalars if x.dtype.is_float and x.dtype.bits == widest]
        dtype = FLOAT32 if len(set(rounded)) != 1 else rounded[0]
        wide = [x.astype("float64") if isinstance(x, Scalar) else float64(x) for x in operands]
        return function(*wide).astype(dtype)

    call.__name__ = name
    lifted = vectorize(call)
    signature = inspect.signature(function)

    @functools.wraps(function)
    def public(*args: Any, **named: Any) -> Any:
        return lifted(*signature.bind(*args, **named).args)

    return public


def float64(number: float) -> Any:
    """A number as a scalar of f64, which an expression goes on from."""
    return cast(float(number), FLOAT64)
