"""Sorts, greatest elements and running totals, of StableHLO, CHLO and tm_tensor -> equations."""

from __future__ import annotations

from collections.abc import Sequence

from ted.api.scanning import scan
from ted.frontend.cumulative import cumprod, cumsum
from ted.frontend.dims import moveaxis
from ted.frontend.elementwise import cast
from ted.frontend.indexing import take_along_axis
from ted.frontend.layout import expand_dims
from ted.frontend.sorting import order_by, topk
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.ir import scalar
from ted.ir.equations import Tensor, identity_dims, whole
from ted.mlir import ir
from ted.raising.accumulations import accumulation
from ted.raising.bodies import body_values
from ted.raising.comparators import KEYS, ORDER
from ted.raising.reading import Reader
from ted.raising.values import Value, place_of, type_of, unraisable


def sort(reader: Reader, op: ir.Operation) -> list[Value]:
    """All operands in the order of the first ones; equal elements stay in theirs.

    Raises: VerifyError for a comparison that is no order of the first operands.
    """
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    tensors = [wrap(reader.tensor(v)) for v in op.operands]
    if ORDER not in op.attributes:
        raise unraisable(op, "the comparison must be less or greater of the first operands")
    order = ir.StringAttr(op.attributes[ORDER]).value
    falls, keys = "greater" in order, tensors[: ir.IntegerAttr(op.attributes[KEYS]).value]
    if "totally" in order:
        keys = [part for key in keys for part in _total(key)]
    at = order_by(keys[::-1], axis, falls)
    return [take_along_axis(t, at, axis).node for t in tensors]


def _total(key: Wrapped) -> list[Wrapped]:
    """What the total order compares: values, and of zeros the signs. No NaN has a sign here."""
    is_float = key.dtype.is_float
    return [key, ~((key == 0) & (1 / key < 0))] if is_float else [key]


def top_k(reader: Reader, op: ir.Operation) -> list[Value]:
    """The greatest elements of the last dim, and where they are."""
    tensor = wrap(reader.tensor(op.operands[0]))
    shape, _ = type_of(op.results[0].type, op.location, op.name)
    _, kind = type_of(op.results[1].type, op.location, op.name)
    values, at = topk(tensor, shape[-1])
    return [values.node, cast(at, kind).node]


_RUNNING = {"add": cumsum, "mul": cumprod}


def running(reader: Reader, op: ir.Operation) -> list[Value]:
    """`tm_tensor.scan`: totals up to each element, and the last ones.

    Raises: VerifyError for totals that leave the element out.
    """
    if not ir.BoolAttr(op.attributes["inclusive"]).value:
        raise unraisable(op, "totals must include their element, got inclusive = false")
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    tensor, _, start = (wrap(reader.tensor(v)) for v in op.operands)
    (block,) = op.regions[0].blocks
    old, new = (Tensor(n, (), tensor.dtype) for n in ("old", "new"))
    total, given = (scalar.load(t, ()) for t in (old, new))
    for arguments in ([total, given], [given, total]):
        part = accumulation(body_values(reader, block, arguments, [])[0], total)
        if part is not None and part.value is given and part.combiner in _RUNNING:
            kind = None if tensor.dtype.is_float else tensor.dtype  # totals of a program wrap
            found = _RUNNING[part.combiner](tensor, axis, dtype=kind)
            return _started(found, start, axis, part.combiner)
    return _stepped(reader, op, tensor, start, axis)


def _started(found: Wrapped, start: Wrapped, axis: int, combiner: str) -> list[Value]:
    """Totals on top of a start."""
    first = expand_dims(start, axis)
    totals = found + first if combiner == "add" else found * first
    return [totals.node, _last(totals, axis)]


def _last(totals: Wrapped, axis: int) -> Tensor:
    return moveaxis(totals, axis, 0)[-1].node


def _stepped(
    reader: Reader, op: ir.Operation, tensor: Wrapped, start: Wrapped, axis: int
) -> list[Value]:
    """Totals of any operation, one element after the other."""
    (block,) = op.regions[0].blocks
    place = place_of(op)

    def step(carry: Wrapped, row: Wrapped) -> tuple[Wrapped, Wrapped]:
        at = identity_dims(carry.ndim)
        values: Sequence[Tensor] = [row.node, carry.node]
        (body,) = body_values(reader, block, [scalar.load(t, at) for t in values], at)
        equation = whole(carry.shape, body, place)
        made = wrap(Tensor("total", carry.shape, carry.dtype, 0, (equation,), place))
        return made, made

    last, totals = scan(step, start, moveaxis(tensor, axis, 0))
    return [moveaxis(totals, 0, axis).node, last.node]


RULES = {
    "stablehlo.sort": sort,
    "tm_tensor.sort": sort,
    "tm_tensor.scan": running,
    "chlo.top_k": top_k,
}
