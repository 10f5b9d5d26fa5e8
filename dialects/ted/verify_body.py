"""Verifier rules of the body of `ted.compute` and of the ops that stand in it.

A body is one flat block of scalar ops. Constants and sizes may come from outside, because
upstream canonicalisation moves them there; a tensor comes from outside only as the source of a
`ted.load`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ted.dialects.ted.attributes import (
    ELEMENT_TYPES,
    LOAD_MODES,
    divides_by_numbers,
    scalar_type,
)
from ted.dialects.ted.verify_compute import operands_fit_irdl
from ted.mlir import ir

if TYPE_CHECKING:
    from collections.abc import Sequence

_BODY_DIALECTS = ("arith", "math")
_BODY_OPS = ("ted.index", "ted.load", "ted.size", "ted.stop_gradient", "ted.yield")


def _types(values: Sequence[Any]) -> str:
    return "(" + ", ".join(str(value.type) for value in values) + ")"


def _enclosing_compute(op: Any) -> Any:
    parent = op.operation.parent
    if parent is None or parent.operation.name != "ted.compute":
        return None
    return parent


# ---- the region of ted.compute -------------------------------------------------------------------


def body_is_one_block(op: Any) -> str | None:
    """The op has one region with one block in it."""
    blocks = [len(list(region.blocks)) for region in op.regions]
    if blocks != [1]:
        return f"the body must be one region of one block, got {blocks} blocks"
    return None


def body_has_one_argument_per_read(op: Any) -> str | None:
    """Argument k is a scalar of input k."""
    arguments = list(op.body_block.arguments)
    wanted = [scalar_type(value.type.element_type) for value in op.inputs]
    if [argument.type for argument in arguments] != wanted:
        expected = "(" + ", ".join(map(str, wanted)) + ")"
        return (
            f"the body must have one scalar argument per read {expected}, got {_types(arguments)}"
        )
    return None


def body_ends_in_yield(op: Any) -> str | None:
    """The terminator is ted.yield."""
    operations = list(op.body_block.operations)
    last = operations[-1].operation.name if operations else "an empty block"
    if last != "ted.yield":
        return f"the body must end in ted.yield, got {last}"
    return None


def body_is_scalar(op: Any) -> str | None:
    """Only scalar arithmetic and ted's body ops."""
    for inner in op.body_block.operations:
        name = inner.operation.name
        if name.partition(".")[0] not in _BODY_DIALECTS and name not in _BODY_OPS:
            return f"the body may use arith, math and {', '.join(_BODY_OPS)}, got {name}"
        for value in inner.results:
            if isinstance(value.type, ir.ShapedType):
                return f"values in the body must be scalars, got {value.type} from {name}"
    return None


def body_captures_only_constants(op: Any) -> str | None:
    """Constants, sizes and the source of a load come from outside, and nothing else."""
    for inner in op.body_block.operations:
        operands = list(inner.operands)
        if inner.operation.name == "ted.load":
            operands = operands[1:]
        for operand in operands:
            if operand.owner == op.body_block:
                continue
            if not isinstance(operand.owner, ir.Block):
                if operand.owner.operation.block == op.body_block:
                    continue
                if operand.owner.operation.name in ("arith.constant", "ted.size"):
                    continue
            return (
                "the body may use its own values, constants, sizes, and tensors through ted.load, "
                f"got {operand.type} from outside in {inner.operation.name}"
            )
    return None


def yields_fit_the_write(op: Any) -> str | None:
    """One value, then one index per symbol of the write."""
    element = scalar_type(op.results[0].type.element_type)
    wanted = [element] + [ir.IndexType.get(op.context)] * op.data_count
    if [value.type for value in op.yielded] != wanted:
        expected = "(" + ", ".join(map(str, wanted)) + ")"
        return (
            "ted.yield must give one value of the result's element type and one index per symbol "
            f"of the write {expected}, got {_types(op.yielded)}"
        )
    return None


RULES = (
    body_is_one_block,
    body_has_one_argument_per_read,
    body_ends_in_yield,
    body_is_scalar,
    body_captures_only_constants,
    yields_fit_the_write,
)


# ---- the ops in a body ---------------------------------------------------------------------------


def ends_a_body(op: Any) -> str | None:
    """The parent is ted.compute or ted.scan."""
    parent = op.operation.parent
    name = "no parent" if parent is None else parent.operation.name
    if name not in ("ted.compute", "ted.scan"):
        return f"must stand in the body of a ted.compute or ted.scan, got {name}"
    return None


def stands_in_a_body(op: Any) -> str | None:
    """The parent is ted.compute."""
    if _enclosing_compute(op) is None:
        parent = op.operation.parent
        name = "no parent" if parent is None else parent.operation.name
        return f"must stand in the body of a ted.compute, got {name}"
    return None


def dim_is_in_range(op: Any) -> str | None:
    """`dim` names a dim of the enclosing box."""
    if "dim" not in op.attributes or not isinstance(op.attributes["dim"], ir.IntegerAttr):
        return f"attribute 'dim' must be an i64, got {dict_text(op)}"
    dim = op.attributes["dim"].value
    attributes = _enclosing_compute(op).attributes
    extents = attributes.get("extents")
    if isinstance(extents, ir.AffineMapAttr):
        extents = extents.value.results
    elif not isinstance(extents, ir.DenseI64ArrayAttr):
        return None  # a malformed parent has its own diagnostic
    count = len(extents)
    if not 0 <= dim < count:
        return f"dim must be in [0, {count}) of the enclosing ted.compute, got {dim}"
    return None


def dict_text(op: Any) -> str:
    """The attributes of an op, as text for a message."""
    return "{" + ", ".join(f"{name} = {op.attributes[name]}" for name in op.attributes) + "}"


def results_are_one(op: Any) -> str | None:
    """One result."""
    if len(op.results) != 1:
        return f"must have one result, got {len(op.results)}"
    return None


def index_is_an_index(op: Any) -> str | None:
    """The result is of type index, from no operand."""
    if len(op.operands) or not isinstance(op.results[0].type, ir.IndexType):
        return (
            f"takes nothing and gives an index, got {_types(op.operands)} -> {op.results[0].type}"
        )
    return None


def value_is_one_size(op: Any) -> str | None:
    """`value` maps the sizes of the function to one number."""
    given = op.attributes.get("value")
    if not isinstance(given, ir.AffineMapAttr):
        return f"attribute 'value' must be an affine_map, got {dict_text(op)}"
    if given.value.n_dims or len(given.value.results) != 1:
        return f"value must map sizes to one result, without dims, got {given}"
    if not divides_by_numbers(given):
        return f"value must divide by positive numbers, got {given}"
    return None


def load_has_one_index_per_dim(op: Any) -> str | None:
    """Tensor, predicate, and one index per dim of the tensor."""
    operands = list(op.operands)
    if len(operands) < 2 or not isinstance(operands[0].type, ir.RankedTensorType):
        return f"takes a tensor, a predicate and indices, got {_types(operands)}"
    if operands[1].type != ir.IntegerType.get_signless(1, op.context):
        return f"the predicate must be i1, got {operands[1].type}"
    indices = operands[2:]
    right = all(isinstance(value.type, ir.IndexType) for value in indices)
    if not right or len(indices) != operands[0].type.rank:
        return f"takes one index per dim of {operands[0].type}, got {_types(indices)}"
    return None


def load_gives_the_element_type(op: Any) -> str | None:
    """The result has the scalar type of the tensor's elements."""
    element = scalar_type(op.operands[0].type.element_type)
    if op.results[0].type != element:
        return f"the result must have the tensor's element type {element}, got {op.results[0].type}"
    return None


def mode_is_known(op: Any) -> str | None:
    """The mode says what a bad index does."""
    modes = ", ".join(LOAD_MODES)
    mode = op.attributes.get("mode")
    if not isinstance(mode, ir.StringAttr) or mode.value not in LOAD_MODES:
        return f"attribute 'mode' must be one of {modes}, got {mode}"
    return None


def checked_are_dims(op: Any) -> str | None:
    """Dims that are checked ascend, and there are some, in the mode that checks."""
    checked = op.attributes.get("checked")
    if checked is None:
        return None
    rank = len(op.operands) - 2
    dims = list(checked) if isinstance(checked, ir.DenseI64ArrayAttr) else []
    if not dims or dims != sorted(set(dims)) or not 0 <= dims[0] <= dims[-1] < rank:
        return f"checked must be ascending dims below {rank}, got {checked}"
    mode = op.attributes["mode"]
    return None if mode.value == "check" else f"checked is for mode 'check', got {mode}"


def operand_and_result_agree(op: Any) -> str | None:
    """One operand and one result, of one type of ours."""
    if len(op.operands) != 1 or op.operands[0].type != op.results[0].type:
        return (
            "operand and result must have one type, "
            f"got {_types(op.operands)} -> {_types(op.results)}"
        )
    one = op.results[0].type
    element = one.element_type if isinstance(one, ir.RankedTensorType) else one
    if str(element) not in ELEMENT_TYPES:
        return f"the type must be a tensor or scalar of {', '.join(ELEMENT_TYPES)}, got {one}"
    return None


YIELD_RULES = (ends_a_body, operands_fit_irdl)
INDEX_RULES = (stands_in_a_body, results_are_one, index_is_an_index, dim_is_in_range)
SIZE_RULES = (results_are_one, index_is_an_index, value_is_one_size)
LOAD_RULES = (
    stands_in_a_body,
    results_are_one,
    load_has_one_index_per_dim,
    load_gives_the_element_type,
    mode_is_known,
    checked_are_dims,
)
STOP_GRADIENT_RULES = (results_are_one, operand_and_result_agree)
