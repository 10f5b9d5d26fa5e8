"""Sums of products over shared dims -> dense operands and a named operation or a plain generic.

Before: `C[i, j] += A[i + r] * B[...]`, with guards or a domain that say that a read is inside.
After: `linalg.matmul`, `linalg.batch_matmul` or a `linalg.generic` of one multiplication and one
addition whose operands are read forwards and without guards, as vector schedules need them.

Nothing here knows convolution: a guard or a domain that is about one subscript becomes zeros around
that operand, a dim that runs backwards is turned round where the larger operand gains by it.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ted.linalg.generics import emit_generic
from ted.linalg.named_contractions import emit_named
from ted.linalg.padding import Paddings, subscript_windows
from ted.linalg.slices import is_plain, written_slice
from ted.linalg.subdomain import Constraint, Read, Subdomain
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.queries import defining
from ted.mlir.scalars import shape_of

_PRODUCTS = ("arith.mulf", "arith.muli")
_EXTENSIONS = ("arith.extf", "arith.extsi")  # of factors narrower than their sum


def as_contraction(subdomain: Subdomain, paddings: Paddings) -> Subdomain | None:
    """The subdomain with dense operands, or None when it is none or cannot be dense."""
    if not is_contraction(subdomain) or written_slice(subdomain) is None:
        return None
    dense = _domain_to_guards(subdomain)
    if dense is None:
        return None
    dense = _turned_forwards(dense)
    reads = [_dense_read(r, dense.extents, paddings) for r in dense.reads if r is not None]
    if any(r is None for r in reads):
        return None
    return replace(dense, reads=tuple(reads))


def is_contraction(subdomain: Subdomain) -> bool:
    """A sum of products of two reads, each with a parallel dim that the other lacks."""
    *extensions, product, _ = [None, *(op.operation for op in subdomain.body.operations)]
    if subdomain.combiner != "add" or not subdomain.reduction_dims or len(subdomain.reads) != 2:
        return False
    if product is None or product.name not in _PRODUCTS or None in subdomain.reads:
        return False
    if any(op.name not in _EXTENSIONS for op in extensions if op is not None):
        return False
    first, second = subdomain.body.arguments
    factors = [_narrow(factor) for factor in product.operands]
    if sorted(factors.index(a) if a in factors else -1 for a in (first, second)) != [0, 1]:
        return False
    left, right = (_dims(r) for r in subdomain.reads if r is not None)
    parallel = set(subdomain.parallel_dims)
    return bool((left - right) & parallel and (right - left) & parallel and left & right - parallel)


def _narrow(factor: ir.Value) -> ir.Value:
    """The factor before it was extended."""
    owner = defining(factor, *_EXTENSIONS)
    return factor if owner is None else owner.operands[0]


def _dims(read: Read) -> set[int]:
    return dims_used(*read.subscripts)


def _domain_to_guards(subdomain: Subdomain) -> Subdomain | None:
    """Constraints of the domain as guards: where an operand is 0, a sum gains nothing."""
    reads = list(subdomain.reads)
    for constraint in subdomain.domain:
        k = factor_about(constraint, subdomain)
        if k is None:
            return None
        read = reads[k]
        assert read is not None, "a contraction has two reads"
        reads[k] = replace(read, guard=(*read.guard, constraint))
    return replace(subdomain, domain=(), reads=tuple(reads))


def factor_about(constraint: Constraint, subdomain: Subdomain) -> int | None:
    """The factor of which zeros around it can stand for a constraint; None for neither."""
    for k, read in enumerate(subdomain.reads):
        if read is not None and subscript_windows(read, (constraint,)) is not None:
            return k
    return None


def _turned_forwards(subdomain: Subdomain) -> Subdomain:
    """Flip each reduction dim along which more elements are read backwards than forwards."""
    for dim in subdomain.reduction_dims:
        weight = sum(_direction(r, dim) for r in subdomain.reads if r is not None)
        if weight < 0:
            subdomain = subdomain.flipped(dim)
    return subdomain


def _direction(read: Read, dim: int) -> int:
    forms = [linear(e) for e in read.subscripts]
    factors = [form[dim] for form in forms if form is not None and form[dim]]
    if not factors:
        return 0
    # A guarded read must be padded in memory order, an unguarded one can be copied turned round.
    size = prod(shape_of(read.tensor)) * (1 << 20 if read.guard else 1)
    return size if min(factors) > 0 else -size


def _dense_read(read: Read, extents: tuple[int, ...], paddings: Paddings) -> Read | None:
    if is_plain(read):
        return read
    if is_plain(replace(read, guard=())):
        padded = paddings.padded(read, extents)
        if padded is not None:
            return padded
    return paddings.gathered(read, extents)


def emit_contraction(subdomain: Subdomain, results: list[ir.Value]) -> list[ir.Value]:
    """Emit a dense contraction; its result slice exists by construction."""
    target = written_slice(subdomain)
    assert target is not None, "as_contraction accepts sliced writes only"
    return emit_named(subdomain, target, results) or emit_generic(subdomain, target, results)
