"""Let `ted.compute` take any number of operands of any types, in spite of IRDL.

IRDL gives all operands of one variadic list one type, and wants an attribute with segment sizes
as soon as there are several lists. So the op is declared with many lists, one per run of operands
of equal type. Its first verifier hook, which runs before IRDL's, puts the sizes on the op, and its
last one takes them away. Outside of verification the attribute does not exist: the IR that people
read and write, and the equality of ops, know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from ted.mlir import ext, ir

SEGMENTS = "operandSegmentSizes"
MAX_RUNS = 64

OperandSlots = type(
    "OperandSlots",
    (ext.Operation,),
    {
        "__doc__": "Base class with `MAX_RUNS` lists of operands.",
        "__annotations__": {
            f"operands_{slot}": Sequence[ext.Operand[Any]] for slot in range(MAX_RUNS)
        },
    },
)


def type_runs(op: ir.OpView) -> list[int]:
    """Lengths of the runs of operands of equal type."""
    return [len(list(run)) for _, run in groupby(op.operands, key=lambda value: value.type)]


def add_segments(op: ir.OpView) -> bool:
    """Give IRDL the segment sizes it asks for; always True, to end a verifier hook."""
    runs = type_runs(op)
    sizes = runs + [0] * (MAX_RUNS - len(runs))
    op.attributes[SEGMENTS] = ir.DenseI32ArrayAttr.get(sizes, op.context)
    return True


def remove_segments(op: ir.OpView) -> None:
    """Take the segment sizes away again."""
    if SEGMENTS in op.attributes:
        del op.attributes[SEGMENTS]


def by_position(values: str) -> Callable[[type], type]:
    """Class decorator: accessors of `operands` or `results` that need no segment sizes.

    For lists of single values of which only the last may be optional or variadic.
    """
    kind = {"operands": ext.OperandDef, "results": ext.ResultDef}[values]

    def decorate(cls: Any) -> type:
        fields = [one for one in cls._fields if isinstance(one, kind)]
        for position, one in enumerate(fields):
            setattr(cls, one.name, property(_accessor(values, position, one.variadicity)))
        return cls

    return decorate


def _accessor(values: str, position: int, variadicity: ext.Variadicity) -> Callable[[Any], Any]:
    def get(op: Any) -> Any:
        found = list(getattr(op.operation, values))[position:]
        if variadicity == ext.Variadicity.variadic:
            return found
        if variadicity == ext.Variadicity.optional and not found:
            return None
        return found[0]

    return get
