"""Which attributes of an operation are read, which are left aside and why; others are errors.

Before: %0 = arith.addf %a, %b {roundingmode = #arith.roundingmode<upward>}
After:  VerifyError: arith.addf: attribute 'roundingmode' must be to_nearest_even, got upward

The operations that can be raised are those of the table; what is in no row of it is refused where
it is read, by its own name.  Names with a dot belong to other dialects than the operation's: MLIR
lets every tool drop them, and so do we.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from ted.ir.dtypes import BY_MLIR, accumulator
from ted.mlir import ir
from ted.raising.values import unraisable

# What an attribute has to be, for one that no other value is accepted of; None where it is that.
Test = Callable[[ir.Operation, ir.Attribute], str | None]
READ = "read by a rule of ours, or by the pass of MLIR that lowers the operation"
UNDEFINED = "what it excludes is not defined, so that any value is right"
PERMITS = "it permits other values, and does not ask for them"
PROMISE = "it says how data are, which ours need not know"
SHAPES = "the types say it"
STORED = "it says how things are kept, called or shown, and nothing of values"
GIVEN = "it is for the function that the caller gives, who binds what it says"
EXACT = "products and sums are those of the type itself, the highest precision that there is"


def _nearest(_: ir.Operation, value: ir.Attribute) -> str | None:
    return (
        None
        if str(value) in ("0 : i32", "#arith.roundingmode<to_nearest_even>")
        else "to_nearest_even"
    )


def _default_accuracy(_: ir.Operation, value: ir.Attribute) -> str | None:
    return None if "mode" not in str(value) or "DEFAULT" in str(value) else "DEFAULT"


def _own_algorithm(op: ir.Operation, value: ir.Attribute) -> str | None:
    """What our products are: factors of the operands' type once, sums in its accumulator."""
    given = dict(re.findall(r"(\w+) = (\w+)", str(value)))
    kinds = [str(ir.RankedTensorType(v.type).element_type) for v in op.operands]
    types = [given["lhs_precision_type"], given["rhs_precision_type"]]
    sums = {accumulator(BY_MLIR[k]).mlir for k in kinds if k in BY_MLIR}
    counts = [given[f"{side}_component_count"] for side in ("lhs", "rhs")]
    once = [*counts, given["num_primitive_operations"]] == ["1"] * 3
    if types == kinds and {given["accumulation_type"]} == sums and once:
        return None
    return f"that of {', '.join(kinds)} with sums in {', '.join(sorted(sums))}"


def _rows(*rows: tuple[str, Mapping[str, str | Test]]) -> dict[str, dict[str, str | Test]]:
    """By name or pattern; a pattern's attributes are those of every operation that it fits."""
    found: dict[str, dict[str, str | Test]] = {}
    for names, attributes in rows:
        for name in names.split():
            found.setdefault(name, {}).update(attributes)
    return found


SEGMENTS = {"operandSegmentSizes": READ}
SLICE = {"static_offsets": READ, "static_sizes": READ, "static_strides": READ, **SEGMENTS}
WINDOW = {"padding": READ, "window_dimensions": READ, "window_strides": READ}

TABLE = _rows(
    ("arith.* math.* complex.*", {"fastmath": PERMITS}),
    ("arith.* math.fma", {"roundingmode": _nearest}),
    ("arith.*", {"overflowFlags": UNDEFINED, "isExact": UNDEFINED, "nonNeg": UNDEFINED}),
    ("arith.cmpi arith.cmpf", {"predicate": READ}),
    ("arith.constant complex.constant stablehlo.constant", {"value": READ}),
    ("tensor.*", {}),
    ("tensor.collapse_shape tensor.expand_shape",
     {"reassociation": SHAPES, "static_output_shape": SHAPES}),
    ("tensor.concat", {"dim": READ}),
    ("tensor.extract_slice tensor.insert_slice tensor.parallel_insert_slice", SLICE),
    ("tensor.pad", {"static_low": READ, "static_high": SHAPES, "nofold": STORED, **SEGMENTS}),
    ("tensor.gather", {"gather_dims": READ, "unique": PROMISE}),
    ("tensor.scatter", {"scatter_dims": READ, "unique": PROMISE}),
    ("ub.poison", {"value": UNDEFINED}),
    ("bufferization.materialize_in_destination", {"restrict": STORED, "writable": STORED}),
    ("bufferization.alloc_tensor", {"memory_space": STORED, **SEGMENTS}),
    ("scf.* cf.*", {}),
    ("scf.for", {"unsignedCmp": READ}),
    ("scf.parallel", SEGMENTS),
    ("scf.forall", {"mapping": STORED, "staticLowerBound": READ, "staticUpperBound": READ,
                    "staticStep": READ, **SEGMENTS}),
    ("scf.index_switch", {"cases": READ}),
    ("affine.for", {"lowerBoundMap": READ, "upperBoundMap": READ, "step": READ, **SEGMENTS}),
    ("affine.apply affine.min affine.max", {"map": READ}),
    ("cf.assert", {"msg": STORED}),
    ("func.func builtin.module", {"sym_name": READ, "sym_visibility": STORED}),
    ("func.func", {"function_type": READ, "arg_attrs": STORED, "res_attrs": STORED,
                   "no_inline": STORED}),
    ("func.call", {"callee": READ, "arg_attrs": STORED, "res_attrs": STORED, "no_inline": STORED}),
    ("func.return builtin.unrealized_conversion_cast", {}),
    ("linalg.*", {
        "indexing_maps": READ, "iterator_types": READ, "cast": READ, "dimensions": READ,
        "dilations": READ, "strides": READ, "permutation": READ, "kind": READ, "dim": READ,
        "dimension": READ, "inner_dims_pos": READ, "outer_dims_perm": READ,
        "static_inner_tiles": READ, "doc": STORED, "library_call": STORED, **SEGMENTS}),
    ("""stablehlo.abs stablehlo.add stablehlo.and stablehlo.atan2 stablehlo.bitcast_convert
     stablehlo.case stablehlo.ceil stablehlo.clamp stablehlo.complex stablehlo.convert
     stablehlo.count_leading_zeros stablehlo.divide stablehlo.dynamic_reshape
     stablehlo.dynamic_update_slice stablehlo.floor stablehlo.if stablehlo.imag stablehlo.is_finite
     stablehlo.maximum stablehlo.minimum stablehlo.multiply stablehlo.negate stablehlo.not
     stablehlo.optimization_barrier stablehlo.or stablehlo.popcnt stablehlo.power stablehlo.real
     stablehlo.real_dynamic_slice stablehlo.remainder stablehlo.reshape stablehlo.return
     stablehlo.round_nearest_afz stablehlo.round_nearest_even stablehlo.select stablehlo.shift_left
     stablehlo.shift_right_arithmetic stablehlo.shift_right_logical stablehlo.sign
     stablehlo.subtract stablehlo.while stablehlo.xor""", {}),
    ("""stablehlo.cbrt stablehlo.cosine stablehlo.exponential stablehlo.exponential_minus_one
     stablehlo.log stablehlo.log_plus_one stablehlo.logistic stablehlo.rsqrt stablehlo.sine
     stablehlo.sqrt stablehlo.tan stablehlo.tanh""", {"result_accuracy": _default_accuracy}),
    ("""stablehlo.batch_norm_grad stablehlo.batch_norm_inference
     stablehlo.batch_norm_training""", {"epsilon": READ, "feature_index": READ}),
    ("stablehlo.cholesky", {"lower": READ}),
    ("stablehlo.tuple", {}),
    ("stablehlo.get_tuple_element", {"index": READ}),
    ("stablehlo.broadcast", {"broadcast_sizes": READ}),
    ("stablehlo.broadcast_in_dim", {"broadcast_dimensions": READ}),
    ("stablehlo.compare", {"compare_type": READ, "comparison_direction": READ}),
    ("stablehlo.composite", {"composite_attributes": GIVEN, "decomposition": READ, "name": READ,
                             "version": READ}),
    ("stablehlo.concatenate stablehlo.get_dimension_size", {"dimension": READ}),
    ("stablehlo.convolution", {
        "batch_group_count": READ, "dimension_numbers": READ, "feature_group_count": READ,
        "lhs_dilation": READ, "rhs_dilation": READ, "padding": READ, "window_reversal": READ,
        "window_strides": READ, "precision_config": EXACT}),
    ("stablehlo.custom_call", {
        "call_target_name": READ, "backend_config": GIVEN, "api_version": STORED,
        "has_side_effect": STORED, "called_computations": STORED, "operand_layouts": STORED,
        "result_layouts": STORED, "output_operand_aliases": STORED}),
    ("stablehlo.dot stablehlo.dot_general", {"precision_config": EXACT}),
    ("stablehlo.dot_general", {"algorithm": _own_algorithm, "dot_dimension_numbers": READ}),
    ("stablehlo.dynamic_broadcast_in_dim", {
        "broadcast_dimensions": READ, "known_expanding_dimensions": SHAPES,
        "known_nonexpanding_dimensions": SHAPES}),
    ("stablehlo.dynamic_iota stablehlo.iota", {"iota_dimension": READ}),
    ("stablehlo.dynamic_slice", {"slice_sizes": READ}),
    ("stablehlo.einsum stablehlo.unary_einsum", {"einsum_config": READ}),
    ("stablehlo.fft", {"fft_length": READ, "fft_type": READ}),
    ("stablehlo.gather", {"dimension_numbers": READ, "slice_sizes": READ,
                          "indices_are_sorted": PROMISE}),
    ("stablehlo.map stablehlo.reduce stablehlo.reverse", {"dimensions": READ}),
    ("stablehlo.pad", {"edge_padding_high": READ, "edge_padding_low": READ,
                       "interior_padding": READ}),
    ("stablehlo.reduce_precision", {"exponent_bits": READ, "mantissa_bits": READ}),
    ("stablehlo.reduce_window", {"base_dilations": READ, "window_dilations": READ, **WINDOW}),
    ("stablehlo.rng_bit_generator", {"rng_algorithm": READ}),
    ("stablehlo.scatter", {"scatter_dimension_numbers": READ, "indices_are_sorted": PROMISE,
                           "unique_indices": PROMISE}),
    ("stablehlo.select_and_scatter", WINDOW),
    ("stablehlo.slice", {"start_indices": READ, "limit_indices": READ, "strides": READ}),
    ("stablehlo.sort", {"dimension": READ, "is_stable": PERMITS}),
    ("stablehlo.torch_index_select", {"batch_dims": READ, "dim": READ}),
    ("stablehlo.transpose", {"permutation": READ}),
    ("stablehlo.triangular_solve", {"left_side": READ, "lower": READ, "transpose_a": READ,
                                    "unit_diagonal": READ}),
    ("""chlo.acos chlo.acosh chlo.asin chlo.asinh chlo.atan chlo.atanh chlo.bessel_i1e chlo.cosh
     chlo.digamma chlo.erf chlo.erf_inv chlo.erfc chlo.lgamma chlo.next_after chlo.polygamma
     chlo.sinh chlo.square chlo.tan chlo.zeta""", {}),
    ("chlo.top_k", {"k": SHAPES}),
    ("tm_tensor.scan", {"dimension": READ, "inclusive": READ, **SEGMENTS}),
    ("tm_tensor.sort", {"dimension": READ, **SEGMENTS}),
    ("tm_tensor.scatter", {"dimension_map": READ, "unique_indices": PROMISE, **SEGMENTS}),
)  # fmt: skip


def attributes_of(name: str) -> dict[str, str | Test] | None:
    """The attributes that an operation may have; None for one that is in no row."""
    rows = [row for pattern, row in TABLE.items() if fnmatchcase(name, pattern)]
    return {key: value for row in rows for key, value in row.items()} if rows else None


def check_attributes(module: ir.Module) -> None:
    """Refuse attributes that nobody reads; what ours satisfy and a pass does not know goes.

    Raises: VerifyError with the name of the attribute.
    """
    known: dict[str, dict[str, str | Test] | None] = {}
    wrong: list[tuple[ir.Operation, str]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name not in known:
            known[op.name] = attributes_of(op.name)
        rule = None if known[op.name] is None else _broken_rule(op, known[op.name] or {})
        if rule is None:
            return ir.WalkResult.ADVANCE
        wrong.append((op, rule))
        return ir.WalkResult.INTERRUPT

    module.operation.walk(visit)
    for op, rule in wrong:
        raise unraisable(op, rule)


def _broken_rule(op: ir.Operation, known: dict[str, str | Test]) -> str | None:
    for name in list(op.attributes):
        if "." in name:
            continue
        verdict = known.get(name)
        if isinstance(verdict, str):
            continue
        value = op.attributes[name]
        if verdict is None:
            listed = ", ".join(known) or "none"
            return f"attributes must be those that are read, {listed}; got '{name} = {value}'"
        wanted = verdict(op, value)
        if wanted is not None:
            return f"attribute '{name}' must be {wanted}, got {value}"
        if name == "algorithm":
            del op.attributes[name]
    return None
