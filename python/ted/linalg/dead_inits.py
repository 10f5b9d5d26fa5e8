"""A subdomain whose init does not matter -> the same subdomain on an empty tensor.

Before: `add` into zeros, one point for each element.  After: `set`.
Before: `set` of every element of a filled tensor.  After: `set` on `tensor.empty`.

Gradients are full of both: each adjoint starts as zeros that its first summand covers.
"""

from __future__ import annotations

from dataclasses import replace

from ted.linalg.slices import written_slice
from ted.linalg.subdomain import Subdomain
from ted.mlir import ir, tensor
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of

# Combiner -> the fills that leave one combined value as it is.
_NEUTRAL = {"add": ("0.000000e+00", "0", "false"), "mul": ("1.000000e+00", "1", "true")}

# The second is the slice of a recurrence's history that a step writes.
_WRITTEN_IN_PLACE = ("tensor.empty", "tensor.extract_slice")


def without_superfluous_inits(subdomain: Subdomain) -> Subdomain:
    """Simplify a subdomain; the elements that it leaves alone keep their init."""
    if subdomain.reduction_dims or subdomain.writes_at_data or written_slice(subdomain) is None:
        return subdomain
    if subdomain.combiner in _NEUTRAL and all(
        _is_neutral(i, subdomain.combiner) for i in subdomain.inits
    ):
        subdomain = replace(subdomain, combiner="set")
    if subdomain.combiner != "set" or not _covers(subdomain):
        return subdomain
    return replace(subdomain, inits=tuple(_fresh(i) for i in subdomain.inits))


def _is_neutral(init: ir.Value, combiner: str) -> bool:
    fill = defining(init)
    if fill is not None and fill.name == "tensor.expand_shape":
        return _is_neutral(fill.operands[0], combiner)
    if fill is None or fill.name != "linalg.fill":
        return False
    value = defining(fill.operands[0], "arith.constant")
    if value is None:
        return False
    return str(value.attributes["value"]).split(" ")[0] in _NEUTRAL[combiner]


def _covers(subdomain: Subdomain) -> bool:
    if subdomain.domain:
        return False
    target = written_slice(subdomain)
    assert target is not None, "a sliced write was asked for"
    return target.sizes == shape_of(subdomain.inits[0])


def _fresh(init: ir.Value) -> ir.Value:
    start = defining(init)
    if start is not None and start.name in _WRITTEN_IN_PLACE:
        return init
    if start is not None and start.name == "tensor.expand_shape":
        # A view of the result's memory: a result that starts here must start with its own shape.
        source = _fresh(start.operands[0])
        reshape = start.clone().operation
        reshape.operands[0] = source
        return reshape.results[0]
    return tensor.EmptyOp(list(shape_of(init)), element_type(init)).result
