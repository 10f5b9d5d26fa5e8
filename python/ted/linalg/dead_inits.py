"""A subdomain whose init does not matter -> the same subdomain on an empty tensor.

Before: `add` into zeros, one point for each element.  After: `set`.
Before: `set` of every element of a filled tensor.  After: `set` on `tensor.empty`.

Gradients are full of both: each adjoint starts as zeros that its first summand covers.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ted.linalg.slices import written_slice
from ted.linalg.subdomain import Start, Subdomain
from ted.mlir import ir, tensor
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of
from ted.mlir.storage import is_memory

# Combiner -> the fills that leave one combined value as it is.
_NEUTRAL = {"add": ("0.000000e+00", "0", "false"), "mul": ("1.000000e+00", "1", "true")}

# The second is the slice of a recurrence's history that a step writes.
_WRITTEN_IN_PLACE = ("tensor.empty", "tensor.extract_slice")


def without_superfluous_inits(subdomain: Subdomain) -> Subdomain:
    """Simplify a subdomain; the elements that it leaves alone keep their init."""
    if subdomain.reduction_dims or subdomain.writes_at_data or written_slice(subdomain) is None:
        return subdomain
    values = _start_values(subdomain)
    if subdomain.combiner in _NEUTRAL and all(_is_neutral(v, subdomain.combiner) for v in values):
        subdomain = replace(subdomain, combiner="set")
    if subdomain.combiner != "set" or not _covers(subdomain):
        return subdomain
    if subdomain.starts:
        pairs = zip(subdomain.starts, subdomain.inits, strict=True)
        return replace(subdomain, starts=tuple(_left(start, init) for start, init in pairs))
    return replace(subdomain, inits=tuple(_fresh(i) for i in subdomain.inits))


def _left(start: Start | None, init: ir.Value) -> Start | None:
    """What memory still starts with, where a view of it is written as a whole."""
    is_all = start is not None and prod(shape_of(start.memory)) == prod(shape_of(init))
    return replace(start, value=None) if start is not None and is_all else start


def _start_values(subdomain: Subdomain) -> list[ir.Value | None]:
    """What each result is everywhere before; None where it is more, or nothing."""
    if subdomain.starts:
        return [start and start.value for start in subdomain.starts]
    return [_fill_value(init) for init in subdomain.inits]


def _fill_value(init: ir.Value) -> ir.Value | None:
    fill = defining(init)
    if fill is not None and fill.name == "tensor.expand_shape":
        return _fill_value(fill.operands[0])
    return None if fill is None or fill.name != "linalg.fill" else fill.operands[0]


def _is_neutral(filled: ir.Value | None, combiner: str) -> bool:
    value = None if filled is None else defining(filled, "arith.constant")
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
    if is_memory(init):
        return init
    if start is not None and start.name in _WRITTEN_IN_PLACE:
        return init
    if start is not None and start.name == "tensor.expand_shape":
        # A view of the result's memory: a result that starts here must start with its own shape.
        source = _fresh(start.operands[0])
        reshape = start.clone().operation
        reshape.operands[0] = source
        return reshape.results[0]
    return tensor.EmptyOp(list(shape_of(init)), element_type(init)).result
