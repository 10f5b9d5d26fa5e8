"""What indices of a `ted.compute` are computed from and does not fit into 64 bits.

Maps and sets are examined as they are written, by intervals over the box, and where that does not
do over the points of the access.  A body that computes with indices is read as an expression, and
examined as in the frontend.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ted.domain import intervals, parameters, sets
from ted.domain.budget import bounded
from ted.domain.intervals import Interval
from ted.ir.dtypes import BY_MLIR
from ted.ir.equations import Tensor
from ted.ir.from_body import read_body
from ted.ir.index_ranges import WAY_OUT, overflow
from ted.mlir import ir
from ted.mlir.affine_ranges import ranges_within
from ted.mlir.queries import defining
from ted.transforms.compute_sets import ComputeSets, name_of

_NO_ARITHMETIC = frozenset(
    {"ted.index", "ted.load", "ted.size", "arith.constant", "arith.cmpi", "arith.select"}
)
_CASTS = ("arith.index_cast", "arith.index_castui")


def wrapping_indices(op_sets: ComputeSets) -> Iterator[str]:
    """The end of a message for each map, set or body that computes an index beyond 64 bits.

    The body of a step of a scan is examined by what reads it there (`scan_causality.py`).
    """
    if 0 in op_sets.box:
        return
    box = [intervals.of_dim(extent) for extent in op_sets.box]
    for label, expressions, points in _written(op_sets):
        for expression in expressions:
            beyond = _beyond(expression, box)
            if beyond is not None:
                beyond = _beyond(expression, bounded(lambda p=points: sets.dim_ranges(p())) or box)
            if beyond is not None:
                got = f"{_text(expression, op_sets)}, computed in {list(beyond)}"
                yield f"{label}: an index fits into 64 bits, got {got}; {WAY_OUT}"
    is_step = op_sets.op.operation.parent.name == "ted.scan"
    found = None if is_step or not _computes_indices(op_sets, box) else _body(op_sets)
    if found is not None:
        yield f"body: {found}"


def _written(
    op_sets: ComputeSets,
) -> Iterator[tuple[str, Sequence[ir.AffineExpr], Callable[[], Any]]]:
    """The affine expressions of the op, and what gives the points at which they are used."""

    def domain() -> Any:
        return op_sets.domain

    op = op_sets.op
    for access, read, guard in zip(op_sets.reads, op.read_maps, op_sets.guard_sets, strict=True):
        yield access.label, read.results, access.made
        yield f"guard of {access.label}", [row.expr for row in guard.constraints], domain
    yield "write", op.write_map.results, domain
    constraints = [row.expr for row in op_sets.domain_set.constraints]
    yield "domain", constraints, lambda: parameters.box(op_sets.box)


def _beyond(expression: ir.AffineExpr, dims: Sequence[Interval]) -> Interval | None:
    """The interval of the first part that 64 bits do not hold."""
    if isinstance(expression, ir.AffineDimExpr) and intervals.fits(dims[expression.position]):
        return None  # most are a dim by itself
    found = ranges_within(expression, dims)
    return next((interval for interval in found if not intervals.fits(interval)), None)


def _text(expression: ir.AffineExpr, op_sets: ComputeSets) -> str:
    """The expression as it is written, with the user's names of the dims."""
    names = op_sets.dim_names
    return re.sub(r"\bd(\d+)\b", lambda found: names[int(found[1])], str(expression))


def _computes_indices(op_sets: ComputeSets, box: Sequence[Interval]) -> bool:
    operations = op_sets.op.body_block.operations
    return any(_may_leave_its_type(inner.operation, box) for inner in operations)


def _may_leave_its_type(op: ir.Operation, box: Sequence[Interval]) -> bool:
    values = (*op.operands, *op.results)
    if op.name in _NO_ARITHMETIC or not any(isinstance(v.type, ir.IndexType) for v in values):
        return False
    if op.name not in _CASTS:
        return True
    target, dim = op.results[0].type, defining(op.operands[0], "ted.index")
    if isinstance(target, ir.IndexType):
        return False
    interval = None if dim is None else box[ir.IntegerAttr(dim.attributes["dim"]).value]
    return interval is None or not intervals.fits(interval, BY_MLIR[str(target)].range)


def _body(op_sets: ComputeSets) -> str | None:
    known: dict[ir.Value, Tensor] = {}

    def tensor_of(value: ir.Value) -> Tensor:
        if value not in known:
            element = BY_MLIR[str(ir.RankedTensorType(value.type).element_type)]
            known[value] = Tensor(name_of(value) or "t", op_sets.shape_of(value), element)
        return known[value]

    body = read_body(op_sets.op, op_sets.domain, tensor_of, op_sets.symbols)
    roots = [body.value, *body.write]
    return overflow(roots, op_sets.box, op_sets.domain, op_sets.dim_names)
