"""Writes at mixed-radix positions -> the same writes into a result of more dims.

Before: `C[i, 32 * j + k] = ...` with k < 32 into `tensor<8x128>`.
After: `C'[i, j, k] = ...` into `tensor.expand_shape` of it, `tensor<8x4x32>`, then collapsed.
With `C[i, 32 * j + k + 64]` it is `C'[i, j + 2, k]`: gradients of parts of a dim write like this.

Flattening, pixel shuffles and the gradients of pools write like this. Both reshapes are views, and
the subdomain becomes an operation on a box instead of a loop nest that computes addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ted.linalg.subdomain import Subdomain
from ted.mlir import ir, tensor
from ted.mlir.affine_forms import linear, single_dim
from ted.mlir.scalars import element_type, shape_of

Values = list[ir.Value]
Digit = tuple[ir.AffineExpr, int]  # a subscript and the extent of its dim


def expanded(subdomain: Subdomain) -> tuple[Subdomain, Callable[[Values], Values]]:
    """The subdomain on expanded results, and what gives its results their shape back."""
    shape = shape_of(subdomain.inits[0])
    if subdomain.writes_at_data:
        return subdomain, lambda results: results
    digits = [_digits(e, n, subdomain) for e, n in zip(subdomain.write, shape, strict=True)]
    found = [d for d in digits if d is not None]
    if len(found) < len(digits) or all(len(d) == 1 for d in found):
        return subdomain, lambda results: results
    groups = _groups(found)
    inner = replace(
        subdomain,
        write=tuple(e for group in found for e, _ in group),
        inits=tuple(_expand(i, groups, [n for g in found for _, n in g]) for i in subdomain.inits),
    )
    return inner, lambda results: [
        tensor.CollapseShapeOp(i.type, r, groups).result
        for r, i in zip(results, subdomain.inits, strict=True)
    ]


def _digits(expr: ir.AffineExpr, extent: int, subdomain: Subdomain) -> list[Digit] | None:
    """The digits of a write position, most significant first.

    A position along one dim is a digit by itself; any other must be a sum over dims whose strides
    and extents fit together, and the leading one counts parts of the result dim from some part on.
    """
    if single_dim(expr) is not None:
        return [(expr, extent)]
    form = linear(expr)
    if form is None or not form.dims:
        return None
    first, *inner = sorted(form.dims, key=lambda d: (-form[d], d))
    size = 1
    for dim in reversed(inner):
        if form[dim] != size:
            return None
        size *= subdomain.extents[dim]
    if not size:
        return None  # an empty box has no digits
    start, rest = divmod(form.constant, size)
    if form[first] != size or rest or extent % size or start < 0:
        return None
    if start + subdomain.extents[first] > extent // size:
        return None
    leading = (ir.AffineExpr.get_dim(first) + start, extent // size)
    return [leading, *((ir.AffineExpr.get_dim(d), subdomain.extents[d]) for d in inner)]


def _expand(value: ir.Value, groups: ir.ArrayAttr, shape: Sequence[int]) -> ir.Value:
    kind = ir.RankedTensorType.get(list(shape), element_type(value))
    return tensor.ExpandShapeOp(kind, value, groups, [], list(shape)).result


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
