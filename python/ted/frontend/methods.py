"""What methods of tensors lead to: `x @ y` to `ted.matmul(x, y)`, `x.sum()` to `ted.sum(x)`.

A function whose first argument is a tensor is a method of the same name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ted.frontend import numpy_names, tensors, unevaluated
from ted.frontend.complex_functions import imag
from ted.frontend.complex_pairs import Complex
from ted.frontend.contraction import matmul
from ted.frontend.dims import matrix_transpose
from ted.frontend.keywords import naming
from ted.frontend.layout import flatten, reshape, transpose
from ted.frontend.slicing import subscript
from ted.frontend.updates import At

_FUNCTIONS = (matmul, reshape, flatten, transpose, matrix_transpose, imag)
tensors.functions.update({f.__name__: naming(f, f.__name__) for f in _FUNCTIONS})
tensors.functions.update(subscript=subscript, at=At)
unevaluated.numpy_calls.update(ufunc=numpy_names.ufunc, function=numpy_names.array_function)

FIRST = ("x", "a", "y")  # what a function calls the tensor that it is a method of
# What has `trace` is a function of ted; the parts of a number are attributes.
NO_METHODS = ("asarray", "cast", "from_dlpack", "trace", "real", "imag")


def attach(functions: Mapping[str, Any]) -> None:
    """Make methods of those of the functions that take a tensor first."""
    for name, function in functions.items():
        if inspect.isfunction(function) and name not in NO_METHODS:
            code = inspect.unwrap(function).__code__
            first = code.co_varnames[0] if code.co_argcount else None
            for kind in (tensors.Tensor, Complex) if first in FIRST else ():
                if not hasattr(kind, name):
                    setattr(kind, name, _method(name, function))


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__name__ = name
    method.__doc__ = f"`ted.{name}` of this tensor."
    return method
