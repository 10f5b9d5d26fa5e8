"""What may be asked of element types: kinds, limits, which one values of others meet in."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ted.frontend import checks
from ted.frontend.arithmetic import common_dtype
from ted.frontend.locations import fail
from ted.ir.dtypes import DType, promote
from ted.ir.scalar import const
from ted.records import dataclass

_KINDS = {
    "bool": ("bool",), "signed integer": ("int",), "unsigned integer": ("uint",),
    "integral": ("int", "uint"), "real floating": ("float",), "complex floating": (),
    "numeric": ("int", "uint", "float"),
}  # fmt: skip


@dataclass(frozen=True)
class FloatLimits:
    """What a float type holds."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerLimits:
    """What an integer type holds."""

    bits: int
    max: int
    min: int
    dtype: DType


def _type_of(x: Any, what: str) -> DType:
    found = x if isinstance(x, type) else getattr(x, "dtype", x)  # types of NumPy have one, too
    return checks.dtype_of(found, what)


def finfo(dtype: Any) -> FloatLimits:
    """The limits of a float type: `bits, eps, max, min, smallest_normal`.

    Raises: FrontendError for what is no float type.
    """
    t = _type_of(dtype, "finfo")
    if not t.is_float:
        fail(f"finfo: a float type has such limits, got {t}; ted.iinfo has those of integers")
    eps, most = 2.0**-t.mantissa, (2.0 - 2.0**-t.mantissa) * 2.0**t.exponent
    return FloatLimits(t.bits, eps, most, -most, 2.0 ** (1 - t.exponent), t)


def iinfo(dtype: Any) -> IntegerLimits:
    """The limits of an integer type: `bits, max, min`.

    Raises: FrontendError for what is no integer type.
    """
    t = _type_of(dtype, "iinfo")
    if t.kind != "int":
        fail(f"iinfo: an integer type has such limits, got {t}; ted.finfo has those of floats")
    least, most = t.range
    return IntegerLimits(t.bits, most, least, t)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is of a kind ("real floating", "integral", ...), or one of several.

    Raises: FrontendError for an unknown type or kind.
    """
    t = _type_of(dtype, "isdtype")
    if isinstance(kind, tuple):
        return any(isdtype(t, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return ("uint" if t.is_unsigned else t.kind) in _KINDS[kind]
    if isinstance(kind, str) and kind != "bool":
        fail(f"isdtype: the kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    return t == checks.dtype_of(kind, "isdtype")


def result_type(*xs: Any) -> DType:
    """The type in which tensors, types and Python numbers meet; numbers are weak.

    Raises: FrontendError for no tensor and no type.
    """
    numbers = [x for x in xs if isinstance(x, (bool, int, float))]
    types = [_type_of(x, "result_type") for x in xs if not isinstance(x, (bool, int, float))]
    if not types:
        fail(f"result_type: takes at least one tensor or type, got {xs!r}")
    return common_dtype([const(0, reduce(promote, types)), *numbers])


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a type, or that of a tensor, meets another one in that: nothing is lost.

    Raises: FrontendError for an unknown type.
    """
    a, b = _type_of(from_, "can_cast"), _type_of(to, "can_cast")
    return promote(a, b) == b
