"""Scalar functions under numpy's names: on elements, on whole tensors, on Python numbers."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ted.frontend import arithmetic, checks
from ted.frontend.checks import check_callable
from ted.frontend.complex_pairs import Complex, refuse
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar, operand
from ted.frontend.tensors import Tensor, pointwise, with_constant
from ted.ir import scalar
from ted.ir.dtypes import BOOL
from ted.ir.operations import OPERATIONS

UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "erf", "erfc", "floor", "ceil", "round", "trunc",
)  # fmt: skip
_ROUNDING = ("floor", "ceil", "round", "trunc")
_ON_NUMBERS: dict[str, Callable[..., Any]] = {
    "erf": math.erf,
    "erfc": math.erfc,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2,
}  # fmt: skip


def _primitive(name: str, *operands: Any) -> Any:
    """One row of the operation table on Scalars or Python numbers."""
    if any(isinstance(value, Scalar) for value in operands):
        return Scalar(arithmetic.apply(name, *(operand(value) for value in operands)))
    function = _ON_NUMBERS.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return np.asarray(function(*map(_plain, operands))).item()


def _plain(value: Any) -> Any:
    """A Python number; numpy has no functions of integers beyond 64 bits."""
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def vectorize(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of scalars that works on whole tensors as well, broadcast, as one equation.

    Inside an index lambda and on Python numbers the function is called as it is.

    Raises: FrontendError when `function` is no function.
    """
    check_callable(function, "vectorize")
    name = getattr(function, "__name__", "map").strip("_")
    hint = name if name.isidentifier() else "map"

    @functools.wraps(function)
    def call(*operands: Any, **named: Any) -> Any:
        if named:
            operands = inspect.signature(function).bind(*operands, **named).args
        return pointwise(function, hint, *operands)

    return call


def operated(name: str, apply: Callable[[Any, Any], Any], says: str) -> Callable[..., Any]:
    """The function of an operator of Python, and what its documentation says.

    Raises: FrontendError for numbers of Python that the operator does not take.
    """

    def function(a: Any, b: Any) -> Any:
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            return apply(a, b)
        try:
            return apply(a, b)
        except (ArithmeticError, TypeError, ValueError) as error:  # of numbers of Python
            return fail(f"{name}: takes no such numbers, got {a!r} and {b!r}: {error}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = says
    return vectorize(function)


def _unary(name: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if name in _ROUNDING and isinstance(x, Scalar) and not x.dtype.is_float:
            return x
        return _primitive(name, x)

    function.__name__ = function.__qualname__ = name
    cost = OPERATIONS[name].weight
    function.__doc__ = f"{name}(x), element by element; counts as {cost} operations."
    return vectorize(function)


exp, exp2, expm1, log, log2, log10, log1p, sqrt, rsqrt, cbrt = map(_unary, UNARY[:10])
sin, cos, tan, asin, acos, atan = map(_unary, UNARY[10:16])
sinh, cosh, tanh, asinh, acosh, atanh = map(_unary, UNARY[16:22])
erf, erfc, floor, ceil, _nearest, trunc = map(_unary, UNARY[22:])


remainder, floor_divide, power, bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift = (
    operated(*row)
    for row in (
        ("remainder", operator.mod, "a % b: the exact remainder, with the sign of b."),
        ("floor_divide", operator.floordiv,
         "a // b: the exact quotient rounded towards minus infinity."),
        ("power", operator.pow, "a ** b; whole exponents up to 16 become products."),
        ("bitwise_and", operator.and_, "a & b, bit by bit of integers."),
        ("bitwise_or", operator.or_, "a | b, bit by bit of integers."),
        ("bitwise_xor", operator.xor, "a ^ b, bit by bit of integers."),
        ("left_shift", operator.lshift, "a << b; what leaves the type is lost."),
        ("right_shift", operator.rshift,
         "a >> b; the sign comes in, of a type that has one."),
    )
)  # fmt: skip


def round(x: Any, decimals: int = 0) -> Any:
    """The nearest integer, of two the even one, or so many `decimals`; counts as 1 operation.

    Raises: FrontendError when `decimals` is no integer.
    """
    digits = checks.integer(decimals, "round: decimals")
    if abs(digits) > 308:
        fail(f"round: decimals must be in [-308, 308], got {digits}")
    if not digits:
        return _nearest(x)
    scale = 10.0 ** abs(digits)
    return _nearest(x * scale) / scale if digits > 0 else _nearest(x / scale) * scale


@vectorize
def maximum(a: Any, b: Any) -> Any:
    """The greater of two values; NaN propagates.

    Raises: FrontendError for a Python integer beyond float64.
    """
    return _primitive("maximum", a, b)


@vectorize
def minimum(a: Any, b: Any) -> Any:
    """The lesser of two values; NaN propagates.

    Raises: FrontendError for a Python integer beyond float64.
    """
    return _primitive("minimum", a, b)


@vectorize
def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y).

    Raises: FrontendError for a Python integer beyond float64.
    """
    return _primitive("atan2", y, x)


@vectorize
def hypot(a: Any, b: Any) -> Any:
    """sqrt(a*a + b*b) without overflow; at (0, 0) both derivatives are 0."""
    if not (isinstance(a, Scalar) or isinstance(b, Scalar)):
        return math.hypot(a, b)
    size = stop_gradient(maximum(absolute(a), absolute(b)) * 1.0)
    length = size * sqrt(square(a / size) + square(b / size))
    endless = where(isinf(a), absolute(a), absolute(b))  # infinite also beside NaN
    edge = where(isinf(a) | isinf(b), endless * 1.0, size)
    return where((size > 0) & (size < math.inf), length, edge)


@vectorize
def fmod(a: Any, b: Any) -> Any:
    """The exact remainder with the sign of a.

    Raises: FrontendError for a Python integer beyond float64.
    """
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        return Scalar(arithmetic.fmod(operand(a), operand(b)))
    return _primitive("fmod", a, b)


@vectorize
def absolute(x: Any) -> Any:
    """The magnitude."""
    return x.__abs__()


@vectorize
def square(x: Any) -> Any:
    """x * x."""
    return x * x


@vectorize
def reciprocal(x: Any) -> Any:
    """1 / x."""
    return 1 / x if isinstance(x, Scalar) else _primitive("reciprocal", float(x))


@vectorize
def sign(x: Any) -> Any:
    """-1, 0 (of -0.0, too) or 1, NaN for NaN; its derivative is zero everywhere."""
    if isinstance(x, Scalar) and x.dtype.is_unsigned:
        return minimum(x, 1)
    return stop_gradient(where(x > 0, 1, where(x < 0, -1, where(x == 0, 0, x))))


@vectorize
def relu(x: Any) -> Any:
    """max(0, x); NaN propagates, the derivative at 0 is 0."""
    return maximum(0, x)


@vectorize
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), accurate on both sides: exp only ever sees what is not positive."""
    positive = x >= 0
    decay = exp(where(positive, -x, x))
    return where(positive, 1, decay) / (1 + decay)


@vectorize
def softplus(x: Any) -> Any:
    """log(1 + exp(x)) without overflow."""
    positive = x > 0
    return where(positive, x, 0) + log1p(exp(where(positive, -x, x)))


@vectorize
def isnan(x: Any) -> Any:
    """Whether the value is NaN."""
    return x != x


@vectorize
def isinf(x: Any) -> Any:
    """Whether the value is plus or minus infinity."""
    return absolute(x) == math.inf


@vectorize
def isfinite(x: Any) -> Any:
    """Whether the value is neither NaN nor infinite."""
    return absolute(x) < math.inf


def _logical(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, bool) and isinstance(b, bool):
        return a & b if name == "and" else a | b
    return Scalar(arithmetic.logic(name, operand(a), operand(b)))


@vectorize
def logical_and(a: Any, b: Any) -> Any:
    """Whether both conditions hold."""
    return _logical("and", a, b)


@vectorize
def logical_or(a: Any, b: Any) -> Any:
    """Whether one of the conditions holds."""
    return _logical("or", a, b)


@vectorize
def logical_xor(a: Any, b: Any) -> Any:
    """Whether exactly one of the conditions holds."""
    return logical_not(a) != logical_not(b)


@vectorize
def logical_not(a: Any) -> Any:
    """Whether the condition does not hold."""
    return not a if isinstance(a, bool) else Scalar(arithmetic.logic("not", operand(a)))


@vectorize
def bitwise_not(a: Any) -> Any:
    """~a, every bit of an integer turned over.

    Raises: FrontendError for a float.
    """
    if isinstance(a, float):
        fail(f"bitwise_not: takes integers or bools, got {a}")
    return not a if isinstance(a, bool) else ~a


@vectorize
def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b.

    A read that only one side needs is made only where that side is taken, so an affine condition
    guards subscripts: `where(i > 0, A[i - 1], 0)`.
    """
    if isinstance(condition, bool):
        return a if condition else b
    return Scalar(arithmetic.select(operand(condition), operand(a), operand(b)))


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """x limited to [min, max]; either bound may be None."""
    if min is not None:
        x = maximum(x, min)
    return x if max is None else minimum(x, max)


def cast(x: Any, dtype: Any) -> Any:
    """x converted to another element type: floats truncate towards zero, a bool is x != 0.

    Raises: FrontendError for an unknown dtype, or a number that it does not hold.
    """
    target = checks.dtype_of(dtype, "cast")

    def convert(value: Any) -> Any:
        if isinstance(value, Scalar):
            return Scalar(arithmetic.convert(value.expr, target, "cast"))
        if target == BOOL:
            value = bool(value)
        elif target.kind == "int" and isinstance(value, float) and math.isfinite(value):
            value = int(value)
        return Scalar(arithmetic.constant(value, target, "cast"))

    return convert(x) if isinstance(x, int) else pointwise(convert, "cast", x)


@vectorize
def stop_gradient(x: Any) -> Any:
    """x, treated as a constant by differentiation."""
    if isinstance(x, Scalar) and x.dtype.is_float:
        return Scalar(scalar.apply("stop_gradient", x.expr))
    return x


def to_tensor(x: Any, what: str) -> Tensor:
    """A tensor, or an array as a constant.

    Raises: FrontendError for what is neither, saying what came instead.
    """
    x = with_constant(x, what)
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Complex):
        refuse(what)
    if isinstance(x, Scalar):
        fail(
            f"{what}: takes tensors and arrays, got {x!r}, a value of an index lambda; write it on "
            "whole tensors, outside of the lambda"
        )
    kind = f"{type(x).__module__}.{type(x).__name__}".removeprefix("builtins.")
    advice = "; ted.full makes a tensor of a number" if operand(x) is not None else ""
    return fail(f"{what}: takes tensors and arrays, got {kind}{advice}")
