"""Complex tensors from numbers, arrays and real tensors, and what may be asked of their types."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ted.frontend import creation, element_types, joining, tensors
from ted.frontend.captures import array_of
from ted.frontend.complex_functions import operand, paired
from ted.frontend.complex_pairs import (
    Complex,
    ComplexType,
    complex_type,
    is_complex,
    on_complex,
    opened_array,
    type_of,
)
from ted.frontend.elementwise import cast
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor
from ted.frontend.trees import flatten
from ted.ir.dtypes import FLOAT64

Function = Callable[..., Any]


def pair(x: Any) -> Any:
    """A value as a complex one."""
    x = operand(x)
    if isinstance(x, (Tensor, Scalar)):
        return paired(x, 0.0)
    return x if isinstance(x, Complex) else Complex(x, 0.0)


def complex_type_of(dtype: Any, what: str) -> ComplexType:
    """A complex type.

    Raises: FrontendError for a real one, which would lose the imaginary part.
    """
    return complex_type(dtype) or fail(
        f"{what}: the imaginary part of a complex tensor would be lost, got {dtype!r}; take "
        "ted.real or ted.abs of it"
    )


def converted(x: Any, dtype: Any) -> Any:
    """A value of a complex type, or of bools: what is not 0.

    Raises: FrontendError for another type.
    """
    if str(getattr(dtype, "__name__", dtype)) in ("bool", "bool_"):
        return on_complex["truth"](x)
    wanted, z = complex_type_of(dtype, "astype").part, pair(x)
    return Complex(cast(z.real, wanted), cast(z.imag, wanted))


def full(shape: Any, fill_value: Any, dtype: Any = None, name: Any = None) -> Any:
    """A tensor with the same number everywhere.

    Raises: FrontendError for a real type.
    """
    z = pair(fill_value)
    part = None if dtype is None else complex_type_of(dtype, "full").part
    return paired(*(creation.full(shape, float(v), part, name) for v in (z.real, z.imag)))


def _full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    x = _as_complex(x) if isinstance(x, builtins.complex) else x
    dtype = x.dtype if dtype is None else dtype
    is_real = complex_type(dtype) is None and not is_complex(fill_value)
    return (creation.full if is_real else full)(x.shape, fill_value, dtype)


def _of_type(function: Function) -> Function:
    """What makes real tensors, with a complex type among its arguments."""

    def call(*args: Any, **options: Any) -> Any:
        given = [getattr(complex_type(a), "part", a) for a in args]
        named = {n: getattr(complex_type(a), "part", a) for n, a in options.items()}
        return paired(function(*given, **named), 0.0)

    return call


def _constant(array: Any, dtype: Any = None, name: Any = None) -> Any:
    """The array as it is now, each part as a constant of this name."""
    if isinstance(array, Complex):
        fail(f"constant: takes an array, got {array!r}, which is a tensor already")
    array = array_of(array, "constant")
    wanted = complex_type(dtype)
    if dtype is not None and wanted is None:
        return converted(array, dtype)
    part = None if wanted is None else wanted.part
    parts = opened_array(array) or (array, np.zeros_like(array))
    return Complex(*(tensors.constant(x, part, name) for x in parts))


def of_lists(function: Function, x: Any) -> Any:
    """A function of nested lists, of the real and of the imaginary parts of what they hold."""

    def half(x: Any, name: str) -> Any:
        is_list = isinstance(x, (list, tuple))
        return [half(y, name) for y in x] if is_list else getattr(pair(x), name)

    return paired(*(function(half(x, name)) for name in ("real", "imag")))


def _as_complex(x: Any, dtype: Any = None, copy: Any = None) -> Any:
    del copy
    if any(isinstance(leaf, Tensor) for _, leaf in flatten(x)[0]):
        z = of_lists(joining.asarray, x) if isinstance(x, (list, tuple)) else pair(x)
        return z if dtype is None else converted(z, dtype)
    z = pair(x)
    if not isinstance(z.real, (Tensor, Scalar)):  # a number has all its digits yet
        z = full((), builtins.complex(z.real, z.imag), complex_type(dtype))
    return z if dtype is None else converted(z, dtype)


def _placeholder(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    del name
    half = f"ted.placeholder({shape}, {complex_type_of(dtype, 'placeholder').part.name!r})"
    fail(
        f"placeholder: a complex tensor is made of two real ones, got {dtype!r}; write "
        f"ted.complex({half}, {half}), or pass arrays to a function of ted.function"
    )


# ------------------------------------------------------------------ types


def _type(x: Any) -> Any:
    """The complex type of a tensor, an array or a type; else what it is."""
    return complex_type(x) or complex_type(getattr(x, "dtype", x)) or x


def _isdtype(dtype: Any, kind: Any) -> bool:
    if isinstance(kind, tuple):
        return any(_isdtype(dtype, one) for one in kind)
    found, wanted = complex_type(_type(dtype)), complex_type(kind)
    if found is None:
        return wanted is None and element_types.isdtype(dtype, kind)
    if wanted is not None:
        return found == wanted
    element_types.isdtype(FLOAT64, kind)  # refuses what is no kind
    return kind in ("complex floating", "numeric")


def _result_type(*xs: Any) -> ComplexType:
    halves = (0.0 if isinstance(x, complex) else getattr(_type(x), "part", x) for x in xs)
    return type_of(element_types.result_type(*halves))


def _can_cast(from_: Any, to: Any) -> bool:
    source, target = (_type(t) for t in (from_, to))
    parts = (getattr(t, "part", t) for t in (source, target))
    return isinstance(target, ComplexType) and element_types.can_cast(*parts)


on_complex.update(
    {f.__name__: _of_type(f) for f in (creation.zeros, creation.ones, creation.eye,
                                       creation.arange, creation.linspace, creation.one_hot)},
    empty=_of_type(creation.empty), full=full, full_like=_full_like,
    zeros_like=lambda x, dtype=None: _full_like(x, 0, dtype),
    ones_like=lambda x, dtype=None: _full_like(x, 1, dtype),
    empty_like=lambda x, dtype=None: _full_like(x, 0, dtype),
    asarray=_as_complex, constant=_constant, from_dlpack=_as_complex, cast=converted,
    placeholder=_placeholder, isdtype=_isdtype, result_type=_result_type, can_cast=_can_cast,
    finfo=lambda dtype: element_types.finfo(getattr(_type(dtype), "part", dtype)),
)  # fmt: skip
