"""Dims of extent one -> no dims: of tensors by reshapes, of iterations by their only value.

Before: a subdomain that reads `%mean[i, 0] : tensor<64x1xf32>`.
After: a subdomain that reads `%m[i] : tensor<64xf32>`, where %mean is `tensor.expand_shape %m`.

Reshapes of reshapes cancel, so a chain of equations works on short shapes throughout; tiling,
fusing and matching need no case for constant subscripts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from ted.linalg.generics import filled
from ted.linalg.subdomain import Read, Subdomain
from ted.mlir import ir, memref, tensor
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of
from ted.mlir.storage import is_memory, part, split_dims

Values = list[ir.Value]


def squeezed(subdomain: Subdomain) -> tuple[Subdomain, Callable[[Values], Values]]:
    """The subdomain without unit dims of tensors, and what gives its results their shape back."""
    reads = tuple(r and _squeezed_read(r) for r in subdomain.reads)
    subdomain = without_unit_iterations(replace(subdomain, reads=reads))
    if subdomain.writes_at_data or not any(1 in shape_of(i) for i in subdomain.inits):
        return subdomain, lambda results: results
    shape = shape_of(subdomain.inits[0])
    write = tuple(e for e, extent in zip(subdomain.write, shape, strict=True) if extent != 1)
    inits = tuple(_squeezed_init(i) for i in subdomain.inits)
    return replace(subdomain, write=write, inits=inits), lambda results: [
        expand(r, i.type) for r, i in zip(results, subdomain.inits, strict=True)
    ]


def without_unit_iterations(subdomain: Subdomain) -> Subdomain:
    """Replace iteration dims of extent one by 0."""
    kept = [k for k, extent in enumerate(subdomain.extents) if extent != 1]
    if len(kept) == subdomain.rank:
        return subdomain
    exprs = [
        ir.AffineExpr.get_dim(kept.index(k)) if k in kept else ir.AffineExpr.get_constant(0)
        for k in range(subdomain.rank)
    ]
    short = subdomain.substituted(exprs, tuple(subdomain.extents[k] for k in kept))
    return replace(short, iterators=tuple(subdomain.iterators[k] for k in kept))


def _squeezed_read(read: Read) -> Read:
    shape = shape_of(read.tensor)
    if 1 not in shape:
        return read
    kept = tuple(e for e, extent in zip(read.subscripts, shape, strict=True) if extent != 1)
    return replace(read, tensor=collapse(read.tensor), subscripts=kept)


def _squeezed_init(init: ir.Value) -> ir.Value:
    shape = [extent for extent in shape_of(init) if extent != 1]
    if is_memory(init):
        return collapse(init)
    if defining(init, "tensor.empty") is not None:
        return tensor.EmptyOp(shape, element_type(init)).result
    fill = defining(init, "linalg.fill")
    if fill is not None:
        empty = tensor.EmptyOp(shape, element_type(init)).result
        return filled(empty, fill.operands[0])
    return collapse(init)


def collapse(value: ir.Value) -> ir.Value:
    """The tensor without its unit dims."""
    shape = shape_of(value)
    short = [extent for extent in shape if extent != 1]
    if len(short) == len(shape):
        return value
    owner = defining(value, "tensor.expand_shape", "memref.expand_shape")
    if owner is not None:
        source = owner.operands[0]
        if list(shape_of(source)) == short:
            return source
    if is_memory(value):
        kept = [k for k, extent in enumerate(shape) if extent != 1]
        return part(value, [0] * len(shape), shape, [1] * len(shape), kept)
    kind = ir.RankedTensorType.get(short, element_type(value))
    return tensor.CollapseShapeOp(kind, value, _groups(shape, short)).result


def expand(value: ir.Value, kind: ir.Type) -> ir.Value:
    """The inverse of `collapse`, and of what makes one dim of several neighbours."""
    shape = list(ir.ShapedType(kind).shape)
    if shape == list(shape_of(value)):
        return value
    return split_dims(value, _groups(shape, shape_of(value)), shape)


def reshaped(memory: ir.Value, shape: Sequence[int]) -> ir.Value:
    """Dense memory with dims that are products of its own, or of which its own are products."""
    own = shape_of(memory)
    kind = ir.MemRefType.get(list(shape), element_type(memory))
    if len(shape) > len(own):
        return expand(memory, kind)
    return memref.CollapseShapeOp(kind, memory, _groups(own, shape)).result


def _groups(shape: Sequence[int], joined: Sequence[int]) -> ir.ArrayAttr:
    """The dims that make each joined one: with unit dims after them, the first with all before."""
    groups: list[list[int]] = [[] for _ in joined]
    at = 0
    for k, extent in enumerate(shape if groups else ()):
        at += extent != 1 and prod(shape[d] for d in groups[at]) == joined[at]
        groups[at].append(k)
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [ir.ArrayAttr.get([ir.IntegerAttr.get(i64, k) for k in group]) for group in groups]
    )
