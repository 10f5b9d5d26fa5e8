"""Writes at mixed-radix positions -> the same writes into a result of more dims.

Before: `C[i, 32 * j + k] = ...` with k < 32 into `tensor<8x128>`.
After: `C'[i, j, k] = ...` into `tensor.expand_shape` of it, `tensor<8x4x32>`, then collapsed.
With `C[i, 32 * j + k + 7]` it is the same in a slice that begins at 7: gradients of parts of a dim
write like this.

Flattening, pixel shuffles and the gradients of pools write like this. Reshapes and slices are
views, and the subdomain becomes an operation on a box instead of a loop nest that computes
addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from ted.linalg.slices import extract_slice, insert_slice
from ted.linalg.subdomain import Subdomain
from ted.mlir import ir, tensor
from ted.mlir.affine_forms import linear, single_dim
from ted.mlir.scalars import shape_of
from ted.mlir.storage import split_dims
from ted.records import dataclass

Values = list[ir.Value]
Digit = tuple[ir.AffineExpr, int]  # a subscript and the extent of its dim


@dataclass(frozen=True)
class _Place:
    """The part of a dim of a result that is written, and its digits, most significant first."""

    start: int
    digits: tuple[Digit, ...]

    @property
    def size(self) -> int:
        """The positions in it."""
        return prod(extent for _, extent in self.digits)


def expanded(subdomain: Subdomain) -> tuple[Subdomain, Callable[[Values], Values]]:
    """The subdomain on expanded results, and what gives its results their shape back."""
    shape = shape_of(subdomain.inits[0])
    if subdomain.writes_at_data:
        return subdomain, lambda results: results
    places = [_place(e, n, subdomain) for e, n in zip(subdomain.write, shape, strict=True)]
    found = [p for p in places if p is not None]
    if len(found) < len(places) or all(len(p.digits) == 1 for p in found):
        return subdomain, lambda results: results
    digits = [p.digits for p in found]
    groups, sizes = _groups(digits), [n for group in digits for _, n in group]
    part = [p.start for p in found], [p.size for p in found], [1] * len(found)
    parts = [extract_slice(init, *part) for init in subdomain.inits]
    inner = replace(
        subdomain,
        write=tuple(e for group in digits for e, _ in group),
        inits=tuple(split_dims(p, groups, sizes) for p in parts),
    )

    def whole(result: ir.Value, part_of: ir.Value, init: ir.Value) -> ir.Value:
        flat = tensor.CollapseShapeOp(part_of.type, result, groups).result
        return insert_slice(flat, init, *part)

    return inner, lambda results: [
        whole(*row) for row in zip(results, parts, subdomain.inits, strict=True)
    ]


def _place(expr: ir.AffineExpr, extent: int, subdomain: Subdomain) -> _Place | None:
    """Where a write position is.

    One along one dim is a digit by itself; any other must be a sum over dims whose strides and
    extents fit together.
    """
    if single_dim(expr) is not None:
        return _Place(0, ((expr, extent),))
    form = linear(expr)
    if form is None or not form.dims:
        return None
    dims = sorted(form.dims, key=lambda d: (-form[d], d))
    size = 1
    for dim in reversed(dims):
        if form[dim] != size:
            return None
        size *= subdomain.extents[dim]
    if not size or not 0 <= form.constant <= extent - size:
        return None  # an empty box has no digits
    digits = tuple((ir.AffineExpr.get_dim(d), subdomain.extents[d]) for d in dims)
    return _Place(form.constant, digits)


def _groups(digits: Sequence[Sequence[Digit]]) -> ir.ArrayAttr:
    """Which dims of the expanded result make each dim of the old one."""
    i64 = ir.IntegerType.get_signless(64)
    ends = [sum(len(d) for d in digits[: k + 1]) for k in range(len(digits))]
    return ir.ArrayAttr.get(
        [
            ir.ArrayAttr.get([ir.IntegerAttr.get(i64, k) for k in range(end - len(group), end)])
            for group, end in zip(digits, ends, strict=True)
        ]
    )
