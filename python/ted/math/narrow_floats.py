"""Bodies compute f16 and bf16 in f32: `%c = arith.addf %a, %b : bf16` -> the same on f32.

16-bit floats are numbers of memory. A read is extended, every operation takes and gives f32, and
what an equation stores is rounded once, at the store: so a result has the same bits whether or not
the machine has instructions for the type. Only what a program converts by itself is rounded in
between, for that may be why it does so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ted.math.arithmetic import element
from ted.mlir import ir
from ted.mlir.scalars import constant, narrowed, widened, wider

_FROM_INTEGERS = ("arith.sitofp", "arith.uitofp")


def is_narrow(kind: ir.Type) -> bool:
    """Whether the type is a float of 16 bits."""
    return isinstance(kind, (ir.F16Type, ir.BF16Type))


@lru_cache(maxsize=256)
def is_of_narrow(kind: ir.Type) -> bool:
    """Whether the type is a float of 16 bits, or a vector of such."""
    return is_narrow(element(kind))


def computed(value: ir.Value) -> ir.Value:
    """A value as bodies compute with it."""
    return widened(value, wider(value.type))


def rounded(value: ir.Value, kind: ir.Type) -> ir.Value:
    """The number of a 16-bit type that is nearest to a computed value, as a computed value."""
    return computed(narrowed(value, kind)) if is_narrow(kind) else value


def copied(op: ir.Operation, operands: list[ir.Value]) -> ir.Value:
    """A copy of a scalar operation here, on computed operands; gives its computed result."""
    kind = op.results[0].type
    convert = _CONVERSIONS.get(op.name)
    if convert is not None and (is_narrow(kind) or is_narrow(op.operands[0].type)):
        return convert(operands[0], kind)
    if op.name == "arith.constant" and is_narrow(kind):
        return constant(wider(kind), ir.FloatAttr(op.attributes["value"]).value)
    clone = op.clone().operation
    for k, operand in enumerate(operands):
        clone.operands[k] = operand
    if not is_narrow(kind):
        return clone.results[0]
    clone.results[0].set_type(wider(kind))
    return rounded(clone.results[0], kind) if op.name in _FROM_INTEGERS else clone.results[0]


_CONVERSIONS: dict[str, Callable[[ir.Value, ir.Type], ir.Value]] = {
    "arith.extf": lambda value, kind: widened(value, kind),
    "arith.truncf": rounded,
}
