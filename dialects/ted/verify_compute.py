"""Verifier rules of `ted.compute` that need the op alone: attributes, operands, results.

Later rules rely on earlier ones, so their order in `RULES` matters. Each returns what is wrong, or
None. What needs integer sets (bounds, injectivity) is proved by the pass `ted-check-bounds`.
"""

from __future__ import annotations

from typing import Any

from ted.dialects.ted.attributes import (
    COMBINERS,
    ELEMENT_TYPES,
    ITERATORS,
    LOAD_MODES,
    SCATTER_COMBINERS,
    divides_by_numbers,
)
from ted.dialects.ted.operand_types import MAX_RUNS, type_runs
from ted.mlir import integer_set, ir

_KINDS = {
    "extents": ((ir.DenseI64ArrayAttr, ir.AffineMapAttr), "array<i64: ...> or an affine_map"),
    "iterators": (ir.ArrayAttr, "an array of strings"),
    "domain": (ir.IntegerSetAttr, "an affine_set"),
    "reads": (ir.ArrayAttr, "an array of affine_maps"),
    "guards": (ir.ArrayAttr, "an array of affine_sets"),
    "write": (ir.AffineMapAttr, "an affine_map"),
    "combiner": (ir.StringAttr, "a string"),
}
_ELEMENT_KINDS = {
    "iterators": (ir.StringAttr, "a string"),
    "reads": (ir.AffineMapAttr, "an affine_map"),
    "guards": (ir.IntegerSetAttr, "an affine_set"),
}


def attributes_are_present(op: Any) -> str | None:
    """Every attribute is there and of its kind."""
    for name, (kind, text) in _KINDS.items():
        if name not in op.attributes:
            return f"attribute '{name}' must be present as {text}, got none"
        if not isinstance(op.attributes[name], kind):
            return f"attribute '{name}' must be {text}, got {op.attributes[name]}"
    return None


def array_elements_are_of_their_kind(op: Any) -> str | None:
    """Elements of array attributes are strings, maps, sets."""
    for name, (kind, text) in _ELEMENT_KINDS.items():
        for position, element in enumerate(op.attributes[name]):
            if not isinstance(element, kind):
                return f"'{name}' element {position} must be {text}, got {element}"
    return None


def divisors_are_positive_numbers(op: Any) -> str | None:
    """Every `floordiv`, `ceildiv` and `mod` has a meaning."""
    for name, (kind, _) in _KINDS.items():
        if kind is not ir.StringAttr and not divides_by_numbers(op.attributes[name]):
            return f"'{name}' must divide by positive numbers, got {op.attributes[name]}"
    return None


def extents_are_not_negative(op: Any) -> str | None:
    """The box is a box; an extent of zero makes it empty. Symbolic ones depend on sizes alone."""
    sizes = op.symbolic_box
    if sizes is not None:
        return f"extents must have no dims, got {sizes}" if sizes.n_dims else None
    if any(extent < 0 for extent in op.box):
        return f"extents must be zero or positive, got {list(op.box)}"
    return None


def iterators_are_known(op: Any) -> str | None:
    """One iterator per extent."""
    kinds = op.iterator_kinds
    if len(kinds) != op.rank:
        return f"one iterator per extent, got {len(kinds)} iterators and {op.rank} extents"
    for position, kind in enumerate(kinds):
        if kind not in ITERATORS:
            return f"iterator {position} must be one of {', '.join(ITERATORS)}, got '{kind}'"
    if list(kinds) != sorted(kinds):  # "parallel" < "reduction"
        return f"parallel iterators come before reduction iterators, got {list(kinds)}"
    return None


def reads_and_guards_pair_up(op: Any) -> str | None:
    """One guard per read."""
    guards = len(op.attributes["guards"])
    if guards != op.read_count:
        return f"one guard per read, got {op.read_count} reads and {guards} guards"
    return None


def maps_and_sets_range_over_the_box(op: Any) -> str | None:
    """Every map and set has the dims of the box and the sizes as symbols; a write may have more."""
    dims, sizes = op.rank, op.size_count
    named = [("domain", integer_set(op.attributes["domain"]))]
    named += [(f"read {k}", one) for k, one in enumerate(op.read_maps)]
    named += [(f"guard {k}", one) for k, one in enumerate(op.guard_sets)]
    for name, one in named:
        if one.n_symbols != sizes:
            count = f"{sizes} symbols, the sizes" if sizes else "no symbols"
            return f"{name} must have {count}, got {one.n_symbols}"
    if op.data_count < 0:
        return f"write must have the {sizes} sizes as symbols, got {op.write_map.n_symbols}"
    for name, one in [*named, ("write", op.write_map)]:
        if one.n_dims != dims:
            return f"{name} must have one dim per extent, got {one.n_dims} dims and {dims} extents"
    return None


def combiner_is_known(op: Any) -> str | None:
    """The combiner has a meaning and its number of results."""
    name = op.combiner_name
    if name not in COMBINERS:
        return f"combiner must be one of {', '.join(COMBINERS)}, got '{name}'"
    if len(op.results) != COMBINERS[name]:
        return f"combiner '{name}' wants {COMBINERS[name]} result(s), got {len(op.results)}"
    return None


def combiner_fits_the_write(op: Any) -> str | None:
    """`set` reduces nothing; a write whose indices are data meets few combiners."""
    name = op.combiner_name
    if name == "set" and "reduction" in op.iterator_kinds:
        return f"combiner 'set' allows no reduction iterator, got {list(op.iterator_kinds)}"
    if op.data_count and name not in SCATTER_COMBINERS:
        allowed = ", ".join(SCATTER_COMBINERS)
        return f"a write with symbols wants a combiner of {allowed}, got '{name}'"
    return None


def mode_is_known(op: Any) -> str | None:
    """The mode, if there is one, is known, and there is an index for it."""
    if "mode" not in op.attributes:
        return None
    mode = op.attributes["mode"]
    if not isinstance(mode, ir.StringAttr) or mode.value not in LOAD_MODES:
        return f"mode must be one of {', '.join(LOAD_MODES)}, got {mode}"
    if not op.data_count:
        return f"a mode is for a write with symbols, got {mode} and {op.write_map}"
    return None


def operands_are_inputs_then_inits(op: Any) -> str | None:
    """One operand per read, then one init per result."""
    wanted = op.read_count + len(op.results)
    if len(op.operands) != wanted:
        return (
            f"one operand per read and one init per result ({op.read_count} + "
            f"{len(op.results)}), got {len(op.operands)} operands"
        )
    return None


def types_are_tensors_of_known_sizes(op: Any) -> str | None:
    """Operands and results are ranked tensors of known sizes and with a known element type."""
    named = [(f"operand {k}", value.type) for k, value in enumerate(op.operands)]
    named += [(f"result {k}", value.type) for k, value in enumerate(op.results)]
    for name, one in named:
        if not isinstance(one, ir.RankedTensorType) or not has_known_sizes(one):
            return f"{name} must be a tensor with static or symbolic sizes, got {one}"
        if one.encoding is not None and not divides_by_numbers(one.encoding):
            return f"{name} must have sizes that are divided by positive numbers, got {one}"
        if str(one.element_type) not in ELEMENT_TYPES:
            known = ", ".join(ELEMENT_TYPES)
            return f"{name} must have an element type of {known}, got {one.element_type}"
    return None


def has_known_sizes(kind: ir.RankedTensorType) -> bool:
    """Whether every extent is a number, or said by an encoding that maps sizes to extents."""
    if kind.has_static_shape:
        return kind.encoding is None
    if not isinstance(kind.encoding, ir.AffineMapAttr):
        return False
    sizes = kind.encoding.value
    if sizes.n_dims or len(sizes.results) != kind.rank:
        return False
    known = [e.maybe_downcast() for e in sizes.results]
    return all(
        kind.is_dynamic_dim(k) != isinstance(e, ir.AffineConstantExpr)
        and (not isinstance(e, ir.AffineConstantExpr) or e.value == kind.shape[k])
        for k, e in enumerate(known)
    )


def reads_have_the_rank_of_their_input(op: Any) -> str | None:
    """Read k gives one index per dim of input k."""
    for position, (one, value) in enumerate(zip(op.read_maps, op.inputs, strict=True)):
        if len(one.results) != value.type.rank:
            return (
                f"read {position} must give one index per dim of its input, "
                f"got {len(one.results)} and {value.type}"
            )
    return None


def write_has_the_rank_of_the_results(op: Any) -> str | None:
    """The write gives one index per dim of every result."""
    for value in op.results:
        if len(op.write_map.results) != value.type.rank:
            return (
                "write must give one index per dim of the result, "
                f"got {len(op.write_map.results)} and {value.type}"
            )
    return None


def inits_have_the_types_of_the_results(op: Any) -> str | None:
    """Init k has the type of result k."""
    for position, (init, value) in enumerate(zip(op.inits, op.results, strict=True)):
        if init.type != value.type:
            return f"init {position} must have the type of its result {value.type}, got {init.type}"
    return None


def arg_results_are_value_and_index(op: Any) -> str | None:
    """argmax and argmin give a value and an i64 index, of one shape."""
    if COMBINERS[op.combiner_name] != 2:
        return None
    value, index = (result.type for result in op.results)
    if list(value.shape) != list(index.shape) or str(index.element_type) != "i64":
        return (
            f"combiner '{op.combiner_name}' has a value and an i64 index of its shape as results, "
            f"got {value} and {index}"
        )
    return None


def operands_fit_irdl(op: Any) -> str | None:
    """There are not too many runs of operands of equal type."""
    runs = len(type_runs(op.operands))
    if runs > MAX_RUNS:
        return f"at most {MAX_RUNS} runs of operands of equal type, got {runs}; sort them by type"
    return None


RULES = (
    attributes_are_present,
    array_elements_are_of_their_kind,
    divisors_are_positive_numbers,
    extents_are_not_negative,
    iterators_are_known,
    reads_and_guards_pair_up,
    maps_and_sets_range_over_the_box,
    combiner_is_known,
    combiner_fits_the_write,
    mode_is_known,
    operands_are_inputs_then_inits,
    types_are_tensors_of_known_sizes,
    reads_have_the_rank_of_their_input,
    write_has_the_rank_of_the_results,
    inits_have_the_types_of_the_results,
    arg_results_are_value_and_index,
    operands_fit_irdl,
)
