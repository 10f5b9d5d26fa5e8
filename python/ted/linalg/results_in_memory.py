"""What passes that put results into memory of the caller's ask of a function first."""

from __future__ import annotations

from ted.errors import PassFailed
from ted.mlir import func, ir
from ted.mlir.locations import source_location

# Pairs: an argument that is no memory of its own, and the result whose memory it is.
IN_PLACE = "ted.in_place"


def check_results(function: func.FuncOp, end: ir.Operation, step: str) -> None:
    """Results have memory when their sizes are known.

    Raises: PassFailed, named for the step, for a result that is no tensor of static size.
    """
    for position, value in enumerate(end.operands):
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
            raise PassFailed(
                f"{step}: results must be tensors of static sizes, got "
                f"{kind} as result {position} of @{function.name.value}",
                source_location(end.location),
            )


def taken_over(function: ir.OpView) -> dict[int, int]:
    """For each argument that is no memory of its own the result whose memory it is."""
    attributes = function.operation.attributes
    if IN_PLACE not in attributes:
        return {}
    pairs = list(ir.DenseI64ArrayAttr(attributes[IN_PLACE]))
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def set_type(function: func.FuncOp) -> None:
    """The type follows from the arguments, whose memory is that of no other one."""
    kinds = [a.type for a in function.entry_block.arguments]
    attributes = function.operation.attributes
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, []))
    noalias, nothing = ir.Attribute.parse("{llvm.noalias}"), ir.Attribute.parse("{}")
    attributes["arg_attrs"] = ir.ArrayAttr.get(
        [noalias if isinstance(kind, ir.MemRefType) else nothing for kind in kinds]
    )
    for gone in ("res_attrs", IN_PLACE):
        if gone in attributes:
            del attributes[gone]
