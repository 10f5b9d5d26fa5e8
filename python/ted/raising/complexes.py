"""Complex values of MLIR -> pairs of real ones, `Complex`, whose parts equations compute.

Before: %z = tensor.pad %w ...    After: Complex(pad(w.real), pad(w.imag))
Before: complex.mul %a, %b        After: Complex(p * r - q * s, p * s + q * r)

What moves elements is read twice, once for each part. Functions of elements are those of ted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ted.frontend.complex_pairs import Complex, applied
from ted.frontend.scalars import Scalar
from ted.ir import scalar
from ted.ir.dtypes import BY_MLIR
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.raising.values import unraisable

# The functions of ted that ops of the complex dialect are.
_FUNCTIONS = {
    "abs": "absolute", "add": "add", "angle": "angle", "conj": "conj", "cos": "cos",
    "div": "divide", "eq": "equal", "exp": "exp", "expm1": "expm1", "im": "imag", "log": "log",
    "log1p": "log1p", "mul": "multiply", "neg": "negative", "neq": "not_equal", "pow": "power",
    "powi": "power", "re": "real", "rsqrt": "sqrt", "sign": "sign", "sin": "sin", "sqrt": "sqrt",
    "sub": "subtract", "tan": "tan", "tanh": "tanh",
}  # fmt: skip
_BY_PARTS: dict[str, Callable[..., Expr]] = {
    "complex.add": scalar.add, "complex.sub": scalar.sub, "complex.neg": scalar.neg,
}  # fmt: skip


def is_complex(kind: ir.Type) -> bool:
    """Whether a type is one of complex numbers, or of tensors of them."""
    element = kind.element_type if isinstance(kind, ir.RankedTensorType) else kind
    return isinstance(element, ir.ComplexType)


def opened(values: Iterable[Any]) -> list[Any]:
    """The parts of pairs, and what is real, in a row."""
    return [p for v in values for p in ((v.real, v.imag) if isinstance(v, Complex) else (v,))]


def closed(flat: Iterable[Any], pairs: Iterable[bool]) -> list[Any]:
    """The reverse of `opened`: `pairs` says of which values there are two parts."""
    rest = iter(flat)
    return [Complex(next(rest), next(rest)) if is_pair else next(rest) for is_pair in pairs]


def closed_as(flat: Iterable[Any], like: Iterable[ir.Value]) -> list[Any]:
    """The values of a row of parts that stand for others of MLIR."""
    return closed(flat, [is_complex(v.type) for v in like])


def part_of(value: Any, part: str | None) -> Any:
    """The part that is read now, where only one is."""
    return getattr(value, part) if part and isinstance(value, Complex) else value


def each(function: Callable[..., Any], *values: Any) -> Any:
    """A function that is linear in these values."""
    if not isinstance(values[0], Complex):
        return function(*values)
    return Complex(*(function(*(part_of(v, part) for v in values)) for part in ("real", "imag")))


def operation(op: ir.Operation, args: Sequence[Any]) -> Any:
    """What an op of the complex dialect gives for the values of its operands.

    Raises: VerifyError for one that equations have no word for.
    """
    if op.name == "complex.create":
        return Complex(*args)
    if op.name == "complex.constant":
        kind = BY_MLIR[str(ir.ComplexType(op.results[0].type).element_type)]
        number = constant_of(op).item()
        return Complex(scalar.const(number.real, kind), scalar.const(number.imag, kind))
    name = _FUNCTIONS.get(op.name.partition(".")[2])
    if name is None:
        raise unraisable(op, f"has no equations; those that have are {', '.join(_FUNCTIONS)}")
    if not isinstance(args[0], Complex):
        if op.name not in _BY_PARTS:
            raise unraisable(op, "an update of complex numbers must be a sum, or the new value")
        return _BY_PARTS[op.name](*args)
    found = applied(name, *(_wrapped(a) for a in args))
    found = applied("reciprocal", found) if op.name == "complex.rsqrt" else found
    return Complex(found.real.expr, found.imag.expr) if isinstance(found, Complex) else found.expr


def _wrapped(value: Any) -> Any:
    if isinstance(value, Complex):
        return Complex(Scalar(value.real), Scalar(value.imag))
    return Scalar(value)


# ------------------------------------------------------------------ constants


def constant_of(op: ir.Operation) -> Any:
    """The complex numbers of a constant, in its shape.

    The binding gives none of them: they are read from the text, which is exact.
    """
    kind = op.results[0].type
    is_tensor = isinstance(kind, ir.RankedTensorType)
    shape, element = (list(kind.shape), kind.element_type) if is_tensor else ([], kind)
    part = np.dtype(f"float{str(ir.ComplexType(element).element_type)[1:]}")
    text = str(op.get_asm(large_elements_limit=None))
    inner = text[text.index("constant") :].rpartition("> : tensor" if is_tensor else "]")[0]
    if '"0x' in inner:
        flat = np.frombuffer(bytes.fromhex(inner.split('"')[1][2:]), part)
    else:
        words = _NUMBER.findall(re.sub(": f\\d+", "", inner))
        flat = np.array([_number(word, part) for word in words], part)
    found = flat.view(f"complex{16 * part.itemsize}")
    return np.broadcast_to(found[0], shape) if len(found) == 1 else found.reshape(shape)


_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


def _number(word: str, part: np.dtype[Any]) -> Any:
    if word.startswith("0x"):
        return np.array(int(word, 16), f"uint{8 * part.itemsize}").view(part)
    return part.type(word)
