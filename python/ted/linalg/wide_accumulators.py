"""Totals of 16-bit floats in f32 while several loops add to them, rounded once behind the last.

Before: loops on a `tensor<8xbf16>`.  After: the tensor extended, loops on a `tensor<8xf32>`, and
that rounded into the memory of the first.
"""

from __future__ import annotations

from collections.abc import Callable

from ted.linalg.combiners import accumulator_type
from ted.linalg.generics import cast_tensor
from ted.linalg.subdomain import Subdomain
from ted.mlir import ir
from ted.mlir.scalars import element_type, narrowed, widened

Values = list[ir.Value]


def in_wide_totals(
    subdomain: Subdomain, results: Values, emit: Callable[[Values], Values]
) -> Values:
    """What `emit` makes of the results, in f32 where an element may be rounded more than once."""
    repeats = subdomain.writes_at_data or bool(subdomain.reduction_dims)
    kinds = [element_type(r) for r in results]
    totals = [
        cast_tensor(r, accumulator_type(subdomain.combiner, kind, repeats=repeats), widened)
        for r, kind in zip(results, kinds, strict=True)
    ]
    return [
        cast_tensor(t, kind, narrowed, into=r)
        for t, kind, r in zip(emit(totals), kinds, results, strict=True)
    ]
