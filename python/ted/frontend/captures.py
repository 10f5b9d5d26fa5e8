"""Arrays that users write beside tensors -> nodes of a program, frozen when they are captured.

Before: x + np.array([1.0, 2.0])      After: x + constant, and the array may be written to

What is an array is what numpy makes one of: arrays of any library on the host, lists and tuples of
numbers.  An array carries its type; one with the same number everywhere is a filled tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ted.errors import TedError
from ted.frontend.locations import fail, here
from ted.frontend.unevaluated import Unevaluated
from ted.ir.constants import frozen, uniform_value
from ted.ir.dtypes import BY_NAME, DType
from ted.ir.equations import Tensor

_DEEPEST = 64  # dims of an array of NumPy


def is_array(value: Any) -> bool:
    """Whether a value is captured where a tensor is wanted; a number of numpy is not."""
    if isinstance(value, (list, tuple)):
        return True
    if isinstance(value, (Unevaluated, np.generic, type)):
        return False
    return hasattr(value, "__array__") and getattr(value, "ndim", 1) != 0


def captured(value: Any, what: str, dtype: DType | None = None, name: str | None = None) -> Tensor:
    """The node of an array as it is now.

    Raises: FrontendError for what numpy makes no array of numbers of, or a type that ted does not
    have.
    """
    array = array_of(value, what)
    own = _element_type(array, what)
    if dtype is not None and dtype != own:
        array, own = _converted(array, dtype, what), dtype
    values = frozen(array, own)
    fill = uniform_value(values.array)
    hint = name or "constant"
    if fill is not None:
        return Tensor(hint, values.shape, own, fill, location=here())
    return Tensor(hint, values.shape, own, location=here(), values=values)


def array_of(value: Any, what: str) -> np.ndarray[Any, Any]:
    """The array of numpy that a value is.

    Raises: FrontendError for what numpy makes no array of numbers of.
    """
    if isinstance(value, np.ma.MaskedArray):
        fail(f"{what}: an array has a value everywhere, got a masked one; write .filled(value)")
    if isinstance(value, (list, tuple)):
        _check_numbers(value, what)
    try:
        array = np.asarray(value)
    except TedError:
        raise
    except Exception as error:  # whatever numpy or the other library raises
        kind = type(value).__name__
        fail(f"{what}: {kind} must be an array of numbers, got one that numpy refuses: {error}")
    if array.dtype == object:
        kinds = dict.fromkeys(type(v).__name__ for v in array.reshape(-1)[:1000])
        fail(
            f"{what}: an array must hold numbers of one type, got objects ({', '.join(kinds)}) in "
            f"shape {array.shape}; convert it by .astype"
        )
    return array


def _check_numbers(values: Any, what: str, depth: int = 1) -> None:
    if depth > _DEEPEST:
        fail(f"{what}: an array has at most {_DEEPEST} dims, got lists in lists that go deeper")
    for value in values:
        if isinstance(value, (list, tuple)):
            _check_numbers(value, what, depth + 1)
        elif isinstance(value, Unevaluated):
            fail(
                f"{what}: a list of numbers is a constant, got {type(values).__name__} that "
                f"holds {value!r}; ted.stack joins tensors"
            )


def _element_type(array: np.ndarray[Any, Any], what: str) -> DType:
    found = BY_NAME.get(array.dtype.name)
    if found is None:
        way = "take .real and .imag" if array.dtype.kind == "c" else _way(array.dtype)
        fail(
            f"{what}: an array must be of {', '.join(BY_NAME)}, got {array.dtype} in shape "
            f"{array.shape}; {way}"
        )
    return found


def _way(dtype: np.dtype[Any]) -> str:
    return 'convert it by .astype("float64")' if dtype.kind == "f" else "encode it as numbers"


def _converted(array: np.ndarray[Any, Any], dtype: DType, what: str) -> np.ndarray[Any, Any]:
    """The array in another type, which must hold its values: floats round to the nearest."""
    with np.errstate(all="ignore"):
        made = array.astype(dtype.dtype)
        held = np.isfinite(made) | ~np.isfinite(array) if dtype.is_float else made == array
    if not held.all():
        at = tuple(int(k) for k in np.argwhere(~held)[0])
        fail(
            f"{what}: {dtype} must hold the values, got {array[at]} of {array.dtype} at "
            f"{list(at)}; convert the array by .astype first"
        )
    return made
