"""The body of an equation at one point: its reads, its scalar operations, its combined values.

The same code fills the region of a `linalg.generic` and the innermost block of a loop nest.  A read
that indexing maps cannot express becomes `tensor.extract`, under `scf.if` when it is guarded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ted.linalg.combiners import BODY
from ted.linalg.data_reads import checked_load
from ted.linalg.domain_forms import all_hold
from ted.linalg.folded_predicates import chosen, decided_conditions, needed_operations
from ted.linalg.subdomain import Read, Subdomain
from ted.math.narrow_floats import computed, copied, rounded
from ted.mlir import arith, ir
from ted.mlir.queries import defining
from ted.mlir.scalars import (
    affine_value,
    conditional,
    constant,
    element_type,
)
from ted.mlir.storage import element

_CONTRACTABLE = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf")


def read_value(read: Read | None, zero_type: ir.Type, dims: Sequence[ir.Value]) -> ir.Value:
    """The value of an affine read at a point, by `tensor.extract`."""
    if read is None:
        return constant(zero_type, 0)
    kind = element_type(read.tensor)

    def load() -> list[ir.Value]:
        where = [affine_value(e, dims) for e in read.subscripts]
        return [element(read.tensor, where)]

    if not read.guard:
        return load()[0]
    inside = all_hold(read.guard, dims)
    return conditional(inside, [kind], load, lambda: [constant(kind, 0)])[0]


def emit_body(
    subdomain: Subdomain,
    arguments: Sequence[ir.Value],
    dims: Sequence[ir.Value],
    latest: Mapping[ir.Value, ir.Value] | None = None,
) -> tuple[list[ir.Value], list[ir.Value]]:
    """Copy the body here; returns its values and, for a data-dependent write, its indices.

    A select whose condition on indices has one answer on the box is what it chooses.

    Values are computed ones, f32 for f16 and bf16, not yet rounded. For argmax and argmin, which
    compare what would be stored, they are, and the row-major index over the reduction dims is
    appended. `latest` says what stands for tensors from outside.
    """
    known: dict[ir.Value, ir.Value] = dict(latest or {})
    known.update(zip(subdomain.body.arguments, map(computed, arguments), strict=True))
    terminator = subdomain.body.operations[-1]
    decided = decided_conditions(subdomain)
    for op in needed_operations(subdomain.body, decided):
        value = chosen(op, decided)
        if value is not None:
            known[op.results[0]] = computed(known.get(value, value))
        else:
            copy_operation(op, subdomain, known, dims)
    yielded = [computed(known.get(v, v)) for v in terminator.operands]
    if subdomain.combiner in ("argmax", "argmin"):
        value = rounded(yielded[0], element_type(subdomain.inits[0]))
        return [value, _reduction_index(subdomain, dims)], []
    count = len(subdomain.inits)
    return yielded[:count], yielded[count:]


def copy_operation(
    op: ir.Operation,
    subdomain: Subdomain,
    known: dict[ir.Value, ir.Value],
    dims: Sequence[ir.Value],
) -> None:
    """Copy an operation of the body here; `known` has what stands for its values, and gets more."""
    operands = [known.get(v, v) for v in op.operands]
    if op.name == "ted.index":
        which = ir.IntegerAttr(op.attributes["dim"]).value
        value = affine_value(subdomain.coordinates[which], dims)
    elif op.name == "ted.stop_gradient":
        value = computed(operands[0])
    elif op.name == "ted.load":
        value = computed(checked_load(op, operands, ahead=subdomain.ahead))
    else:
        value = copied(op, [computed(v) for v in operands])
        made = defining(value)
        if made is not None and op.name in _CONTRACTABLE:
            made.attributes["fastmath"] = ir.Attribute.parse(BODY)
    known[op.results[0]] = value


def _reduction_index(subdomain: Subdomain, dims: Sequence[ir.Value]) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    return arith.IndexCastOp(i64, affine_value(subdomain.place, dims)).result
