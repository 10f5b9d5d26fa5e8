"""Programs of numbers whose type gives way to others -> programs of types that they are stored in.

Before: a: weak_float32[];  y[i]: float32 = x[i] * float32(2 * a[])     a Python float, an argument
After:  a: float64[];       y[i]: float32 = x[i] * float32(2 * a[])

While a program is traced and differentiated, what is made of numbers alone gives way to what is
beside it (`ir/dtypes`).  Then it is computed as Python does, in float64, so that nothing is lost
beside float64; a result that is still weak is rounded to the type of a number alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ted.ir.dtypes import FLOAT64, INT64, WEAK_FLOAT, WEAK_INT, DType, is_weak_type, strong
from ted.ir.equations import (
    Equation,
    Tensor,
    components,
    identity_dims,
    operands,
    whole,
    with_expressions,
)  # fmt: skip
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import cast, const, load, rewrite

_STORED = {WEAK_FLOAT: FLOAT64, WEAK_INT: INT64}


def stored_input(tensor: Tensor) -> Tensor:
    """The input in the type in which it is stored."""
    if not is_weak_type(tensor.dtype):
        return tensor
    return replace(tensor, dtype=_STORED[tensor.dtype])


def with_strong_types(
    outputs: Sequence[Tensor], inputs: Mapping[Tensor, Tensor]
) -> Sequence[Tensor]:
    """The outputs as functions of `inputs[t]` instead of t, without weak types."""
    found = dict(inputs)
    changed: list[Tensor] = []
    for group in components(outputs):
        fresh = [t for t in group if t not in found]
        if any(map(_is_weak, fresh)) or any(o in found for t in fresh for o in operands(t)):
            found.update((t, _shell(t)) for t in fresh)
            changed += fresh
    for tensor in changed:
        found[tensor].equations = tuple(_equation(e, found) for e in tensor.equations)
    return [_alone(t, found.get(t, t)) for t in outputs]


def _shell(tensor: Tensor) -> Tensor:
    return replace(tensor, dtype=_STORED.get(tensor.dtype, tensor.dtype), equations=())


def _is_weak(tensor: Tensor) -> bool:
    return is_weak_type(tensor.dtype) or any(map(is_weak_type, _types(tensor)))


def _types(tensor: Tensor) -> Iterator[DType]:
    return (node.dtype for e in tensor.equations for node in postorder(*e.expressions))


def _equation(equation: Equation, found: Mapping[Tensor, Tensor]) -> Equation:
    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op == "load" and node.attr in found:
            return load(found[node.attr], args)
        if not is_weak_type(node.dtype) or node.op not in ("const", "cast"):
            return None
        dtype = _STORED[node.dtype]
        return const(node.attr, dtype) if node.op == "const" else cast(args[0], dtype)

    return with_expressions(equation, rewrite(equation.expressions, visit))


def _alone(old: Tensor, new: Tensor) -> Tensor:
    """A result in the type that a number has where nothing is beside it."""
    if not is_weak_type(old.dtype):
        return new
    dtype = strong(old.dtype)
    body = cast(load(new, identity_dims(len(new.shape))), dtype)
    equation = whole(new.shape, body, old.location)
    return replace(old, dtype=dtype, fill=None, equations=(equation,), time=None, inner=())
