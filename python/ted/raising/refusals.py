"""What has no equations whatever its operands are, and why, by the names of ops and types."""

from __future__ import annotations

from ted.errors import VerifyError
from ted.mlir import ir
from ted.mlir.locations import source_location

_RANDOM = (
    "random numbers are drawn from a state outside of the program; export the model after "
    ".eval(), or give the numbers as an input"
)
_DEVICES = "one program has one device; export it for one, or write the sum over devices outside"
_EFFECTS = "a program has no effects but its results; give as arguments what it would receive"
_MEMORY = "values are tensors and not memory; raise before bufferization"
_SIZES = "tensors must have static sizes; give the sizes before raising"

REASONS: dict[str, str] = {
    **dict.fromkeys(
        (
            "ml_program.global_load", "ml_program.global_store", "stablehlo.rng",
        ),
        _RANDOM,
    ),
    **dict.fromkeys(
        (
            "stablehlo.all_gather", "stablehlo.all_reduce", "stablehlo.all_to_all",
            "stablehlo.collective_broadcast", "stablehlo.collective_permute",
            "stablehlo.cross-replica-sum",
            "stablehlo.partition_id", "stablehlo.reduce_scatter", "stablehlo.replica_id",
            "stablehlo.async_start", "stablehlo.async_done",
        ),
        _DEVICES,
    ),
    **dict.fromkeys(
        (
            "stablehlo.after_all", "stablehlo.create_token", "stablehlo.infeed",
            "stablehlo.outfeed", "stablehlo.recv", "stablehlo.send",
        ),
        _EFFECTS,
    ),
    **dict.fromkeys(
        (
            "affine.load", "affine.store", "affine.vector_load", "affine.vector_store",
            "affine.dma_start", "affine.dma_wait", "affine.prefetch", "bufferization.clone",
            "bufferization.dealloc", "bufferization.dealloc_tensor", "bufferization.to_buffer",
            "bufferization.to_tensor",
        ),
        _MEMORY,
    ),
    **dict.fromkeys(
        (
            "linalg.winograd_filter_transform", "linalg.winograd_input_transform",
            "linalg.winograd_output_transform",
        ),
        "parts of a convolution have no equations; import the program before it is taken apart",
    ),
    **dict.fromkeys(
        (
            "stablehlo.set_dimension_size", "stablehlo.dynamic_broadcast_in_dim",
            "stablehlo.dynamic_conv", "stablehlo.dynamic_gather", "stablehlo.dynamic_iota",
            "stablehlo.dynamic_pad", "stablehlo.dynamic_reshape", "stablehlo.real_dynamic_slice",
        ),
        _SIZES,
    ),
}  # fmt: skip


def check_is_known(op: ir.Operation) -> None:
    """See that an op has equations, as far as its name and its types say.

    Raises: VerifyError where it has none.
    """
    if op.name in REASONS:
        raise refusal(op, REASONS[op.name])
    if op.name == "stablehlo.bitcast_convert" and _is_of_complex_bits(op):
        raise refusal(op, f"bits of complex numbers have no equations, got {_types_of(op)}")
    if op.name == "stablehlo.reduce_precision" and not _number(op, "mantissa_bits"):
        raise refusal(op, "mantissa_bits must be positive, got 0, which makes NaN infinite")
    for result in op.results:
        kind = result.type
        if isinstance(kind, ir.RankedTensorType):
            if not kind.has_static_shape:
                raise refusal(op, f"tensors must have static sizes, got {kind}; give the sizes "
                              "before raising, as with an example of each input")  # fmt: skip
            if kind.encoding is not None:
                raise refusal(op, f"tensors must have no encoding, got {kind}")
            kind = kind.element_type
        if str(kind).startswith(_KINDS):
            raise refusal(op, f"values must be tensors or scalars of numbers, got {result.type}")


_KINDS = (
    "!quant.", "!stablehlo.token", "!stablehlo.future", "memref", "vector", "f8E", "f6E", "f4E",
)  # fmt: skip


def _is_of_complex_bits(op: ir.Operation) -> bool:
    return "complex<" in _types_of(op) and op.operands[0].type != op.results[0].type


def _types_of(op: ir.Operation) -> str:
    return f"{op.operands[0].type} to {op.results[0].type}"


def _number(op: ir.Operation, name: str) -> int:
    return ir.IntegerAttr(op.attributes[name]).value


def refusal(op: ir.Operation, rule: str) -> VerifyError:
    """The error of an op that breaks a rule of what can be raised."""
    return VerifyError(f"{op.name}: {rule}", source_location(op.location))
