"""Functions of complex numbers, element by element: ordinary expressions of both parts.

Before: exp(z)      After: Complex(exp(x) * cos(y), exp(x) * sin(y)), one equation for each part

Each function here is of pairs of scalars, and lifted to tensors. Branch cuts are those of numpy; on
them the sign of a zero chooses the side. An operand that is real has no imaginary part, not a 0.
(Source for inverse functions: W. Kahan, Branch Cuts for Complex Elementary Functions, 1987.)
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from ted.frontend import elementwise
from ted.frontend.captures import array_of
from ted.frontend.complex_pairs import Complex, is_complex, on_complex, type_of
from ted.frontend.elementwise import (
    atan2,
    cast,
    expm1,
    hypot,
    log1p,
    logical_not,
    maximum,
    square,
    stop_gradient,
    where,
)
from ted.frontend.locations import fail
from ted.frontend.operators import copysign
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, pointwise, with_constant
from ted.ir.dtypes import FLOAT32, FLOAT64


def complex(real: Any, imag: Any = 0.0) -> Any:
    """real + i imag, of parts that broadcast: complex128 if one is of float64, else complex64.

    Raises: FrontendError for parts that are no real numbers, or do not broadcast.
    """
    for part in (real, imag):
        if is_complex(part):
            fail(f"complex: takes two real tensors, got {part!r}; x + 1j * y adds complex ones")
    return paired(with_constant(real, "complex: real"), with_constant(imag, "complex: imag"))


def paired(real: Any, imag: Any) -> Any:
    """A pair of one shape and one float type, broadcast; of two Python numbers one of Python.

    Raises: FrontendError for what is neither a tensor nor a number.
    """
    parts = real, imag
    types = {part.dtype for part in parts if isinstance(part, (Tensor, Scalar))}
    if not types and not any(map(is_complex, parts)):
        for part in parts:
            if not isinstance(part, (int, float)):
                fail(f"complex: parts must be numbers or tensors, got {part!r}")
        return builtins.complex(*parts)
    wanted = type_of(FLOAT64 if FLOAT64 in types else None).part
    shapes = [getattr(part, "shape", None) for part in parts if isinstance(part, (Tensor, Scalar))]
    if types == {wanted} and len(shapes) == 2 and shapes[0] == shapes[1]:
        return Complex(*parts)

    def part(which: int) -> Any:
        return pointwise(lambda *both: cast(both[which], wanted), "complex", *parts)

    return Complex(part(0), part(1))


def operand(value: Any) -> Any:
    """A complex value as a pair; a real one as it is."""
    if isinstance(value, (list, tuple)):
        value = array_of(value, "complex")
    value = with_constant(value, "complex")
    if not is_complex(value) or isinstance(value, Complex):
        return value
    number = value.item() if hasattr(value, "item") else value
    return Complex(number.real, number.imag)


def lifted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of pairs of scalars on tensors, scalars and numbers."""

    def call(*operands: Any) -> Any:
        pairs = [operand(value) for value in operands]
        flat = [part for x in pairs for part in (parts(x) if isinstance(x, Complex) else (x,))]
        results: list[Any] = []

        def result(which: int) -> Any:
            def on_scalars(*scalars: Any) -> Any:
                left = iter(scalars)
                given = (
                    Complex(next(left), next(left)) if isinstance(x, Complex) else next(left)
                    for x in pairs
                )
                results.append(function(*given))
                last = results[-1]
                value = parts(last)[which] if isinstance(last, Complex) else last
                return _beside(value, scalars)

            return pointwise(on_scalars, name, *flat)

        first = result(0)
        return paired(first, result(1)) if isinstance(results[0], Complex) else first

    return call


def _beside(value: Any, operands: Sequence[Any]) -> Any:
    """A number that is the whole result, of the type of a float operand."""
    types = [x.dtype for x in operands if isinstance(x, Scalar)]
    if isinstance(value, Scalar) or not types:
        return value
    return cast(value, next((t for t in types if t.is_float), FLOAT32))


def parts(z: Any) -> tuple[Any, Any]:
    """Both parts; a real number has None as the second."""
    return (z.real, z.imag) if isinstance(z, Complex) else (z, None)


def _turned(z: Complex) -> Complex:
    """i z."""
    return Complex(-z.imag, z.real)


def _across(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """-i f(i z): sin of sinh, atan of atanh."""

    def turned(z: Any) -> Any:
        found = function(_turned(z))
        return Complex(found.imag, -found.real)

    return turned


def _like(x: Any, number: float) -> Any:
    """A number of the type of a scalar."""
    return cast(number, x.dtype) if isinstance(x, Scalar) else number


def _side(x: Any) -> Any:
    """1 or -1, the sign of a number and of its zero, which has no slope."""
    return copysign(_like(x, 1.0), x)


# ------------------------------------------------------------------ arithmetic


def _add(a: Any, b: Any) -> Any:
    (p, q), (r, s) = parts(a), parts(b)
    return Complex(p + r, s if q is None else q if s is None else q + s)


def _subtract(a: Any, b: Any) -> Any:
    (p, q), (r, s) = parts(a), parts(b)
    return Complex(p - r, -s if q is None else q if s is None else q - s)


def _multiply(a: Any, b: Any) -> Any:
    (p, q), (r, s) = parts(a), parts(b)
    if q is None:
        return Complex(p * r, p * s)
    return Complex(p * r, q * r) if s is None else Complex(p * r - q * s, p * s + q * r)


def _divide(a: Any, b: Any) -> Any:
    (p, q), (r, s) = parts(a), parts(b)
    if s is None:
        return Complex(p / r, q / r)
    if isinstance(p, Scalar):  # Python would raise for z / 0j
        r, s = (x if isinstance(x, Scalar) else cast(x, type_of(p.dtype).part) for x in (r, s))
    # By (|b|^2 / size) without overflow; the result does not depend on the size.
    size, uneven = stop_gradient(maximum(abs(r), abs(s))), abs(r) != abs(s)
    u, v = (where(uneven & (abs(x) == math.inf), _side(x), x / size) for x in (r, s))
    below = r * u + s * v
    if q is None:
        return Complex(p * u / below, -(p * v) / below)
    return Complex((p * u + q * v) / below, (q * u - p * v) / below)


def _power(a: Any, b: Any) -> Any:
    """By products for whole numbers, else exp(b log a), which is 0 where a is 0."""
    if isinstance(b, (int, float)) and abs(b) <= 1024 and b == int(b):
        return _whole_power(a, int(b))
    p, q = parts(a)
    base = a if q is not None else Complex(p, _like(p, 0.0))
    found = _exp(_multiply(_log(base), b))
    zero, at_zero = logical_not(_truth(a)), where(_truth(b), 0.0, 1.0)
    return Complex(where(zero, at_zero, found.real), where(zero, 0.0, found.imag))


def _whole_power(z: Any, exponent: int) -> Any:
    if exponent < 0:
        return _divide(1.0, _whole_power(z, -exponent))
    if not exponent:
        return Complex(_like(z.real, 1.0), _like(z.real, 0.0))
    half = _whole_power(z, exponent // 2) if exponent > 1 else None
    twice = z if half is None else _multiply(half, half)
    return _multiply(twice, z) if exponent % 2 and half is not None else twice


def _truth(z: Any) -> Any:
    p, q = parts(z)
    return p != 0 if q is None else (p != 0) | (q != 0)


def _equal(a: Any, b: Any) -> Any:
    (p, q), (r, s) = parts(a), parts(b)
    return (p == r) & ((0 if q is None else q) == (0 if s is None else s))


def _where(condition: Any, a: Any = None, b: Any = None, size: Any = None, fill: Any = 0) -> Any:
    del fill
    if a is None or b is None or size is not None:
        fail("where: takes (condition, a, b) of complex numbers, or (condition, size=n) of none")
    if isinstance(condition, Complex):
        fail("where: the condition must be of bools, got a complex one; compare it, as z != 0")
    (p, q), (r, s) = parts(a), parts(b)
    imag = where(condition, 0.0 if q is None else q, 0.0 if s is None else s)
    return Complex(where(condition, p, r), imag)


# ------------------------------------------------------------------ functions of one number


def _angle(z: Any) -> Any:
    p, q = parts(z)
    return atan2(_like(p, 0.0) if q is None else q, p)


def _imag(z: Any) -> Any:
    p, q = parts(z)
    return _like(p, 0.0) if q is None else q


def _sign(z: Any) -> Any:
    size = hypot(z.real, z.imag)
    zero = size == 0  # not where it is NaN, as both parts are then
    size = where(zero, 1.0, size)
    return Complex(*(where(zero, 0.0, part / size) for part in (z.real, z.imag)))


def _grown(size: Any, wave: Any) -> Any:
    """size * wave, 0 where the wave is, even of a size that is infinite or NaN."""
    return where((wave == 0) & logical_not(abs(size) < math.inf), 1.0, size) * wave


def _whatever(condition: Any, wave: Any) -> Any:
    """A wave that may be 1 under a condition where it is NaN: of a size of 0, or infinite."""
    return where(condition & (wave != wave), 1.0, wave)


def _exp(z: Any) -> Any:
    x, size = z.real, elementwise.exp(z.real)
    cosine, sine = elementwise.cos(z.imag), elementwise.sin(z.imag)
    real = size * _whatever(abs(x) == math.inf, cosine)
    return Complex(real, _grown(size, _whatever(x == -math.inf, sine)))


def _expm1(z: Any) -> Any:
    x, y = z.real, z.imag
    below = 2 * square(elementwise.sin(y / 2))  # 1 - cos y
    real = expm1(x) * (1 - below) - below
    return Complex(real, _grown(elementwise.exp(x), elementwise.sin(y)))


def _log(z: Any) -> Any:
    x, y = z.real, z.imag
    steep = abs(y) > abs(x)
    most, least = abs(where(steep, y, x)), where(steep, x, y)
    near = (most > 0.5) & (most < 2.0)  # where log of the size would cancel
    most = where(near, most, 1.0)
    small = log1p((most - 1) * (most + 1) + square(least)) / 2
    size = where(near, small, elementwise.log(hypot(x, y)))
    return Complex(size, atan2(y, x))


def _log1p(z: Any) -> Any:
    x, y = z.real, z.imag
    near = maximum(abs(x), abs(y)) < 0.5
    small = log1p(where(near, x * (2 + x) + square(y), 0.0)) / 2
    far = _log(Complex(1 + x, y))
    return Complex(where(near, small, far.real), far.imag)


def _sqrt(z: Any) -> Any:
    x, y, side = z.real, z.imag, _side(z.imag)
    right = x >= 0
    root = elementwise.sqrt(where(right, x, -x) / 2 + hypot(x, y) / 2)
    steep = abs(y) == math.inf  # both parts are infinite then
    root = where(steep, abs(y), root)
    divides = (root != 0) & logical_not(steep)
    other = where(divides, y / (2 * where(divides, root, 1.0)), y)
    return Complex(where(right, root, other * side), where(right, other, root * side))


def _sinh(z: Any) -> Any:
    x, y, of = z.real, z.imag, elementwise
    cosine = _whatever((x == 0) | (abs(x) == math.inf), of.cos(y))
    return Complex(of.sinh(x) * cosine, _grown(of.cosh(x), of.sin(y)))


def _cosh(z: Any) -> Any:
    x, y, of = z.real, z.imag, elementwise
    cosine, sine = _whatever(abs(x) == math.inf, of.cos(y)), _whatever(x == 0, of.sin(y))
    return Complex(of.cosh(x) * cosine, _grown(of.sinh(x), sine))


def _tanh(z: Any) -> Any:
    x, y, side = z.real, z.imag, _side(z.real)
    far = side * x
    y = where((far == math.inf) & logical_not(abs(y) < math.inf), 0.0, y)
    decay, sine, cosine = elementwise.exp(-2 * far), elementwise.sin(y), elementwise.cos(y)
    below = square(expm1(-2 * far)) + 4 * decay * square(cosine)
    return Complex(-side * expm1(-4 * far) / below, 4 * decay * sine * cosine / below)


def _asin(z: Any) -> Any:
    a, b = _sqrt(_subtract(1.0, z)), _sqrt(_add(1.0, z))
    slope = _multiply(Complex(a.real, -a.imag), b).imag
    flat = (abs(z.real) == math.inf) & (abs(z.imag) < math.inf)  # 0 times what is infinite
    below = where(flat, 0.0, _multiply(a, b).real)
    return Complex(atan2(z.real, below), elementwise.asinh(slope))


def _acos(z: Any) -> Any:
    a, b = _sqrt(_subtract(1.0, z)), _sqrt(_add(1.0, z))
    slope = _multiply(Complex(b.real, -b.imag), a).imag
    turn = _unless_infinite(z, 2 * atan2(a.real, b.real), abs(z.imag))
    return Complex(turn, elementwise.asinh(slope))


def _acosh(z: Any) -> Any:
    a, b = _sqrt(_subtract(z, 1.0)), _sqrt(_add(z, 1.0))
    slope = _multiply(Complex(a.real, -a.imag), b).real
    turn = _unless_infinite(z, 2 * atan2(a.imag, b.real), z.imag)
    return Complex(elementwise.asinh(slope), turn)


def _unless_infinite(z: Any, angle: Any, height: Any) -> Any:
    """An angle that is that of (height, z.real) where no part is finite: of no roots then."""
    both = logical_not(abs(z.real) < math.inf) & (abs(z.imag) == math.inf)
    return where(both, atan2(where(both, height, 0.0), where(both, z.real, 1.0)), angle)


def _atanh(z: Any) -> Any:
    side = _side(z.real)
    x, y = side * z.real, side * z.imag
    below = square(1 - x) + square(y)
    size = log1p(4 * where(below == math.inf, 0.0, x) / below) / 4
    turn = atan2(2 * where(abs(y) == math.inf, _side(y), y), (1 - x) * (1 + x) - square(y)) / 2
    return Complex(side * size, side * turn)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": _add, "subtract": _subtract, "multiply": _multiply, "divide": _divide, "power": _power,
    "equal": _equal, "not_equal": lambda a, b: logical_not(_equal(a, b)), "where": _where,
    "negative": lambda z: -z, "positive": lambda z: z, "conj": lambda z: Complex(z.real, -z.imag),
    "real": lambda z: z.real, "imag": _imag, "absolute": lambda z: hypot(z.real, z.imag),
    "angle": _angle, "sign": _sign, "square": lambda z: _multiply(z, z), "truth": _truth,
    "reciprocal": lambda z: _divide(1.0, z), "exp": _exp, "expm1": _expm1, "log": _log,
    "log1p": _log1p, "log2": lambda z: _multiply(_log(z), 1 / math.log(2)),
    "log10": lambda z: _multiply(_log(z), 1 / math.log(10)), "sqrt": _sqrt, "sinh": _sinh,
    "cosh": _cosh, "tanh": _tanh, "asin": _asin, "acos": _acos, "acosh": _acosh, "atanh": _atanh,
    "sin": _across(_sinh), "tan": _across(_tanh), "asinh": _across(_asin), "atan": _across(_atanh),
    "cos": lambda z: _cosh(_turned(z)),
    "isnan": lambda z: (z.real != z.real) | (z.imag != z.imag),
    "isinf": lambda z: (abs(z.real) == math.inf) | (abs(z.imag) == math.inf),
    "isfinite": lambda z: (abs(z.real) < math.inf) & (abs(z.imag) < math.inf),
}  # fmt: skip
on_complex.update({name: lifted(name, function) for name, function in _FUNCTIONS.items()})


def imag(x: Any) -> Any:
    """The imaginary part, element by element; 0 of a real number."""
    return on_complex["imag"](x)


def angle(x: Any) -> Any:
    """The angle of the point (real, imag): 0 or pi of a real number."""
    return on_complex["angle"](x)
