"""Tensor maps among the operands of a launch.

The host function has no code, so a map is a cast that says how the driver encodes it:
`%map = builtin.unrealized_conversion_cast %memory : memref<4096xbf16> to !llvm.ptr
{ted.tensor_map = {offset = 0, dims = [64, 64], strides = [128], box = [64, 64], ...}}`
"""

from __future__ import annotations

from ted.gpu.templates.tensor_maps import TensorMap
from ted.mlir import ir

CAST = "builtin.unrealized_conversion_cast"
MAP = "ted.tensor_map"
_LISTS = ("dims", "strides", "box")


def tensor_map_value(memory: ir.Value, given: TensorMap) -> ir.Value:
    """The operand of a launch for a map of memory."""
    i64 = ir.IntegerType.get_signless(64)
    lists = {name: ir.DenseI64ArrayAttr.get(list(getattr(given, name))) for name in _LISTS}
    names = {name: ir.StringAttr.get(getattr(given, name)) for name in ("element", "swizzle")}
    attributes: dict[str, ir.Attribute] = {
        **lists,
        **names,
        "offset": ir.IntegerAttr.get(i64, given.offset),
    }
    return ir.Operation.create(
        CAST,
        results=[ir.Type.parse("!llvm.ptr")],
        operands=[memory],
        attributes={MAP: ir.DictAttr.get(attributes)},
    ).results[0]


def tensor_map_of(op: ir.Operation | None) -> TensorMap | None:
    """The map that an operation makes, of its operand; None if it makes none."""
    if op is None or op.name != CAST or MAP not in op.attributes:
        return None
    given = ir.DictAttr(op.attributes[MAP])
    dims, strides, box = (tuple(ir.DenseI64ArrayAttr(given[name])) for name in _LISTS)
    element, swizzle = (ir.StringAttr(given[name]).value for name in ("element", "swizzle"))
    offset = ir.IntegerAttr(given["offset"]).value
    return TensorMap("", element, offset, dims, strides, box, swizzle)
