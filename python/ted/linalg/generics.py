"""Subdomains over a whole box, written to a strided rectangle -> `linalg.generic` on slices.

Before: a subdomain.  After: slices of operands and of the running result, `linalg.generic`; of
tensors, `tensor.insert_slice` too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.linalg.bodies import emit_body, read_value
from ted.linalg.combiners import accumulator_type, combine
from ted.linalg.loop_order import loop_order
from ted.linalg.slices import Operand, WrittenSlice, is_plain, read_hull
from ted.linalg.subdomain import Subdomain
from ted.mlir import ir, linalg
from ted.mlir.affine_forms import dims_used, substitute
from ted.mlir.filling import build_fill
from ted.mlir.generic import empty_generic, written_by
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, narrowed, shape_of, widened
from ted.mlir.storage import empty
from ted.mlir.strategies import Wishes, attach

Values = list[ir.Value]


def emit_generic(subdomain: Subdomain, target: WrittenSlice, results: Values) -> Values:
    """Apply the subdomain to the running results; returns the new ones."""
    kinds = [element_type(r) for r in results]
    totals = [
        accumulator_type(subdomain.combiner, kind, repeats=bool(subdomain.reduction_dims))
        for kind in kinds
    ]
    slices = [target.of(r) for r in results]
    begins = subdomain.begins or (None,) * len(results)
    started = [totals_of(*one) for one in zip(slices, totals, begins, strict=True)]
    finished = _generic(subdomain, target, started)
    rounded = [
        cast_tensor(f, kind, narrowed, into=s)
        for f, kind, s in zip(finished, kinds, slices, strict=True)
    ]
    return [target.back_into(part, r) for part, r in zip(rounded, results, strict=True)]


def totals_of(part: ir.Value, total: ir.Type, begin: ir.Value | None) -> ir.Value:
    """A part of a result as totals of a type, from what it is everywhere if that is known."""
    if begin is None or element_type(part) == total:
        return cast_tensor(part, total, widened)
    return filled(empty(shape_of(part), total, part), widened(begin, total))


def _generic(subdomain: Subdomain, target: WrittenSlice, outs: Values) -> Values:
    order = loop_order(subdomain)
    plain = plain_reads(subdomain)
    operands = [*plain.values(), *shape_operands(subdomain, target, list(plain.values()))]
    written = [Operand(o, tuple(target.subscripts)) for o in outs]

    def body(arguments: Sequence[ir.Value]) -> Values:
        values = body_values(subdomain, plain, arguments, order)
        totals = list(arguments[len(operands) :])
        return combine(subdomain, totals, values)

    kinds = [subdomain.iterators[d] for d in order]
    return build_generic(operands, written, order, kinds, body, subdomain.wishes)


def plain_reads(subdomain: Subdomain) -> dict[int, Operand]:
    """The reads that can be operands of a generic, by position."""
    return {
        k: read_hull(r, subdomain.extents)
        for k, r in enumerate(subdomain.reads)
        if r is not None and is_plain(r)
    }


def body_values(
    subdomain: Subdomain,
    plain: dict[int, Operand],
    arguments: Sequence[ir.Value],
    order: Sequence[int],
) -> Values:
    """The values of the body inside a generic whose first `arguments` are the plain reads."""
    dims = linalg_indices(subdomain.rank, order)
    given = dict(zip(plain, arguments, strict=False))
    reads = [
        given[k] if k in given else read_value(r, subdomain.body.arguments[k].type, dims)
        for k, r in enumerate(subdomain.reads)
    ]
    values, _ = emit_body(subdomain, reads, dims)
    return values


def shape_operands(
    subdomain: Subdomain, target: WrittenSlice, operands: list[Operand]
) -> list[Operand]:
    """An empty operand for the dims whose extent linalg can read off no other operand."""
    subscripts = [e for o in operands for e in o.subscripts] + target.subscripts
    seen = {e.position for e in subscripts if isinstance(e, ir.AffineDimExpr)}
    missing = [d for d in range(subdomain.rank) if d not in seen]
    if not missing:
        return []
    shape = [subdomain.extents[d] for d in missing]
    room = empty(shape, ir.IntegerType.get_signless(8), subdomain.inits[0])
    return [Operand(room, tuple(ir.AffineExpr.get_dim(d) for d in missing))]


def build_generic(
    ins: Sequence[Operand],
    outs: Sequence[Operand],
    order: Sequence[int],
    kinds: Sequence[str],
    body: Callable[[Sequence[ir.Value]], Values],
    wishes: Wishes = (),
) -> Values:
    """A `linalg.generic` whose loop k runs over dim order[k] of the operands' subscripts."""
    rank = len(order)
    place = [ir.AffineExpr.get_dim(list(order).index(d)) for d in range(rank)]
    maps = [
        ir.AffineMap.get(rank, 0, [_renamed(e, place) for e in o.subscripts]) for o in (*ins, *outs)
    ]
    op = empty_generic(
        [o.value for o in ins], [o.value for o in outs], maps, [k == "reduction" for k in kinds]
    )
    block = op.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        linalg.YieldOp(body(list(block.arguments)))
    _drop_unused_indices(block)
    attach(op, wishes)
    return written_by(op)


def _drop_unused_indices(block: ir.Block) -> None:
    for op in list(block.operations):
        if op.operation.name == "linalg.index" and not list(op.operation.results[0].uses):
            op.operation.erase()


def _renamed(expr: ir.AffineExpr, place: Sequence[ir.AffineExpr]) -> ir.AffineExpr:
    return substitute(place, expr) if dims_used(expr) else expr


def filled(into: ir.Value, value: ir.Value) -> ir.Value:
    """A tensor of one value everywhere."""
    made = build_fill(value, into)
    return into if made is None else made


def starts_alike(init: ir.Value) -> bool:
    """Whether what a tensor starts from is the same everywhere, or nothing."""
    return defining(init, "tensor.empty", "linalg.fill") is not None


def started(shape: Sequence[int], init: ir.Value) -> ir.Value:
    """A tensor of another shape that starts as one of those does."""
    room = empty(shape, element_type(init), init)
    fill = defining(init, "linalg.fill")
    return room if fill is None else filled(room, fill.operands[0])


def linalg_indices(rank: int, order: Sequence[int]) -> Values:
    """`linalg.index` of every dim, by dim; the builder drops the unused ones."""
    found = {d: linalg.IndexOp(k).result for k, d in enumerate(order)}
    return [found[d] for d in range(rank)]


def cast_tensor(
    value: ir.Value,
    kind: ir.Type,
    convert: Callable[[ir.Value, ir.Type], ir.Value],
    into: ir.Value | None = None,
) -> ir.Value:
    """Element-wise conversion of a whole tensor; `into` is the destination if there is one."""
    if element_type(value) == kind:
        return value
    shape = shape_of(value)
    into = empty(shape, kind, value) if into is None else into
    dims = tuple(ir.AffineExpr.get_dim(k) for k in range(len(shape)))
    return build_generic(
        [Operand(value, dims)], [Operand(into, dims)], range(len(shape)),
        ["parallel"] * len(shape), lambda a: [convert(a[0], kind)],
    )[0]  # fmt: skip
