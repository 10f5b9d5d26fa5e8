"""Let ops take any number of operands and results of any types, in spite of IRDL.

IRDL gives all operands of one variadic list one type, and wants an attribute with segment sizes
as soon as there are several lists. So an op is declared with many lists, one per run of operands
of equal type. Its first verifier hook, which runs before IRDL's, puts the sizes on the op, and its
last one takes them away. Outside of verification the attribute does not exist: the IR that people
read and write, and the equality of ops, know nothing of it. The same goes for results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from ted.mlir import ext, ir

SEGMENTS = "operandSegmentSizes"
RESULT_SEGMENTS = "resultSegmentSizes"
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

ResultSlots = type(
    "ResultSlots",
    (OperandSlots,),
    {
        "__doc__": "Base class with `MAX_RUNS` lists of operands and as many of results.",
        "__annotations__": {
            f"results_{slot}": Sequence[ext.Result[Any]] for slot in range(MAX_RUNS)
        },
    },
)


def type_runs(values: Iterable[ir.Value]) -> list[int]:
    """Lengths of the runs of values of equal type."""
    return [len(list(run)) for _, run in groupby(values, key=lambda value: value.type)]


def add_segments(op: ir.OpView) -> bool:
    """Give IRDL the segment sizes it asks for; always True, to end a verifier hook."""
    op.attributes[SEGMENTS] = _sizes(op.operands, op.context)
    if isinstance(op, ResultSlots):
        op.attributes[RESULT_SEGMENTS] = _sizes(op.results, op.context)
    return True


def _sizes(values: Iterable[ir.Value], context: ir.Context) -> ir.Attribute:
    runs = type_runs(values)
    return ir.DenseI32ArrayAttr.get(runs + [0] * (MAX_RUNS - len(runs)), context)


def remove_segments(op: ir.OpView) -> bool:
    """Take the segment sizes away again; always True, to end a verifier hook."""
    for name in (SEGMENTS, RESULT_SEGMENTS):
        if name in op.attributes:
            del op.attributes[name]
    return True


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
