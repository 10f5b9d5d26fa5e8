"""Functions of several equations that round once, as one equation does.

Before: variance = mean((x - mean(x)) ** 2), in f16 infinite from 256 on; sqrt(variance)
After:  cast(sqrt(variance of cast(x, f32)), f16)

A value between two equations is rounded or not as fusion goes; here none is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

from ted.frontend.elementwise import cast
from ted.frontend.tensors import Tensor, with_constant
from ted.ir.dtypes import BFLOAT16, FLOAT16, accumulator, promote


def widened(x: Any) -> Any:
    """A tensor of f16 or bf16 in f32; anything else as it is."""
    return cast(x, accumulator(x.dtype)) if _is_half(x) else x


def narrowed(result: Tensor, *like: Any) -> Tensor:
    """A result in the type that an expression of all the tensors in `like` has."""
    types = [x.dtype for x in like if isinstance(x, Tensor)]
    return cast(result, reduce(promote, types))


def rounded_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which computes in f32 what it is given in f16 and bf16.

    It gives a tensor, or a list or a named tuple of tensors.
    """

    @wraps(function)
    def once(*args: Any, **named: Any) -> Any:
        args = tuple(_opened(value, function.__name__) for value in args)
        named = {name: _opened(value, function.__name__) for name, value in named.items()}
        given = [v for v in (*args, *named.values()) if isinstance(v, Tensor)]
        if not any(map(_is_half, given)):
            return function(*args, **named)
        wide = {name: widened(value) for name, value in named.items()}
        found = function(*map(widened, args), **wide)
        if isinstance(found, Tensor):
            return narrowed(found, *given)
        parts = [narrowed(part, *given) for part in found]
        return parts if isinstance(found, list) else found._make(parts)

    return once


def _opened(value: Any, what: str) -> Any:
    """An array of half types as a constant; anything else as it is."""
    name = str(getattr(value, "dtype", "")).rpartition(".")[2]
    return with_constant(value, what) if name in (FLOAT16.name, BFLOAT16.name) else value


def _is_half(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.is_float and accumulator(x.dtype) != x.dtype
