"""Sums of products over shared dims -> dense operands and a named operation or a plain generic.

Before: `C[i, j] += A[i + r] * B[...]`, with guards or a domain that say that a read is inside.
After: `linalg.matmul`, `linalg.batch_matmul` or a `linalg.generic` of one multiplication and one
addition whose operands are read forwards and without guards, as vector schedules need them.

Nothing here knows convolution: a guard or a domain that is about one subscript becomes zeros around
that operand, a dim that runs backwards is turned round where the larger operand gains by it, or
the smaller one where it would not be dense.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ted.linalg.constraint_splitting import has_scattered_borders, has_wide_borders
from ted.linalg.generics import emit_generic
from ted.linalg.named_contractions import emit_named
from ted.linalg.padding import (
    LARGEST_GROWTH,
    Paddings,
    forwards,
    is_backward_window,
    may_gather,
    subscript_windows,
)
from ted.linalg.slices import is_plain, written_slice
from ted.linalg.subdomain import Constraint, Read, Subdomain
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.queries import defining
from ted.mlir.scalars import shape_of
from ted.mlir.strategies import Declined

# How often each element of a copy with zeros around it is read, at least, to spare small borders.
READS_OF_COPY = 3
_PRODUCTS = ("arith.mulf", "arith.muli")
_EXTENSIONS = ("arith.extf", "arith.extsi", "arith.extui")  # of factors narrower than their sum


def dense_form(subdomain: Subdomain, *, scattered: bool = False) -> Subdomain | Declined:
    """The same sum over a box, its conditions guards of the factors; nothing is built.

    A product with a factor that has no dim of the result for itself gains where the other one is
    read backwards: turned round, its elements lie in a row. So it does where zeros spare borders
    that would be loops, or for `scattered` ones, which have few elements next to each other.
    """
    why = why_no_sum_of_products(subdomain)
    if why is None and not _gains(subdomain, scattered):
        why = why_no_contraction(subdomain)
    if why is not None:
        return Declined(why)
    if written_slice(subdomain) is None:
        return Declined("it writes no slice of its result")
    dense = _domain_to_guards(subdomain)
    if dense is None:
        return Declined("a condition is about no one factor")
    turned = _turned_forwards(dense)
    for form in (turned, *map(turned.flipped, turned.reduction_dims)):
        if all(r is None or _is_dense(r, form.extents) for r in form.reads):
            return form
    return Declined(f"a factor laid out anew is over {LARGEST_GROWTH} times what it is read from")


def is_contraction(subdomain: Subdomain) -> bool:
    """A sum of products of two reads, each with a parallel dim that the other lacks."""
    return why_no_contraction(subdomain) is None


def why_no_contraction(subdomain: Subdomain) -> str | None:
    """The property that a contraction has and the subdomain lacks; None for a contraction."""
    why = why_no_sum_of_products(subdomain)
    if why is not None:
        return why
    left, right = (_dims(r) for r in subdomain.reads if r is not None)
    parallel = set(subdomain.parallel_dims)
    both = (left - right) & parallel and (right - left) & parallel
    return None if both else "a factor has no dim of the result for itself"


def why_no_sum_of_products(subdomain: Subdomain) -> str | None:
    """The property of sums of products that the subdomain lacks; None for such a sum."""
    if subdomain.combiner != "add" or not subdomain.reduction_dims:
        return "it is no sum"
    if not _is_product(subdomain):
        return "what it sums is no product of two reads"
    left, right = (_dims(r) for r in subdomain.reads if r is not None)
    shared = left & right - set(subdomain.parallel_dims)
    return None if shared else "the factors share no dim that is summed over"


def _gains(subdomain: Subdomain, scattered: bool) -> bool:
    if has_wide_borders(subdomain) or (_reads_backwards(subdomain) and not subdomain.domain):
        return True
    largest = max(prod(shape_of(r.tensor)) for r in subdomain.reads if r is not None)
    often = prod(subdomain.extents) >= READS_OF_COPY * largest
    return scattered and often and has_scattered_borders(subdomain)


def _reads_backwards(subdomain: Subdomain) -> bool:
    """Whether the larger factor is read against the direction of a dim of the sum."""
    return any(_is_backwards(subdomain, dim) for dim in subdomain.reduction_dims)


def _is_backwards(subdomain: Subdomain, dim: int) -> bool:
    """Whether more elements are read backwards than forwards along a dim."""
    return sum(_direction(r, dim) for r in subdomain.reads if r is not None) < 0


def _is_product(subdomain: Subdomain) -> bool:
    """Whether the body is one multiplication of its two reads."""
    *extensions, product, _ = [None, *(op.operation for op in subdomain.body.operations)]
    if len(subdomain.reads) != 2 or None in subdomain.reads:
        return False
    if product is None or product.name not in _PRODUCTS:
        return False
    if any(op.name not in _EXTENSIONS for op in extensions if op is not None):
        return False
    first, second = subdomain.body.arguments
    factors = [_narrow(factor) for factor in product.operands]
    return sorted(factors.index(a) if a in factors else -1 for a in (first, second)) == [0, 1]


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
        if _is_backwards(subdomain, dim):
            subdomain = subdomain.flipped(dim)
    return subdomain


def _direction(read: Read, dim: int) -> int:
    forms = [linear(e) for e in read.subscripts if not is_backward_window(e)]
    factors = [form[dim] for form in forms if form is not None and form[dim]]
    if not factors:
        return 0
    # A guarded read must be padded in memory order, an unguarded one can be copied turned round.
    size = prod(shape_of(read.tensor)) * (1 << 20 if read.guard else 1)
    return size if min(factors) > 0 else -size


def _is_dense(read: Read, extents: tuple[int, ...]) -> bool:
    """Whether the read can be made without a guard, in the order of its dims."""
    if is_plain(read) or _is_padded(read) or may_gather(read, extents):
        return True
    return _is_padded(forwards(read))


def _is_padded(read: Read) -> bool:
    """Whether zeros around the tensor stand for the guard."""
    return is_plain(replace(read, guard=())) and subscript_windows(read, read.guard) is not None


def _dense_read(read: Read, extents: tuple[int, ...], paddings: Paddings) -> Read:
    if is_plain(read):
        return read
    if _is_padded(read):
        return paddings.padded(read, extents)
    if may_gather(read, extents):
        return paddings.gathered(read, extents)
    return _dense_read(paddings.turned(read), extents, paddings)


def emit_contraction(
    dense: Subdomain, paddings: Paddings, results: list[ir.Value]
) -> list[ir.Value]:
    """Emit what `dense_form` found."""
    reads = [r and _dense_read(r, dense.extents, paddings) for r in dense.reads]
    subdomain, target = replace(dense, reads=tuple(reads)), written_slice(dense)
    assert target is not None, "a dense form writes a slice"
    return emit_named(subdomain, target, results) or emit_generic(subdomain, target, results)
