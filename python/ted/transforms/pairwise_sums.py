"""The equations that take a sum of products step by step (`contraction_order.py`).

Before: D[i, l] += a[i, j] * b[j, k] * c[k, l]
After:  t[i, k] += a[i, j] * b[j, k];  D[i, l] += t[i, k] * c[k, l]

Operands of contractions that are computed from several reads get tensors of their own, for these
are read many times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from ted.ir.equations import Equation, Tensor, identity_dims
from ted.ir.expressions import Expr
from ted.ir.scalar import dim, index, load, loads, substitute
from ted.records import dataclass
from ted.transforms.contraction_order import Dims, Step
from ted.transforms.separable_points import Points
from ted.transforms.sums_of_products import product


@dataclass
class PairwiseSum:
    """An equation of a tensor on its way to equations of fewer points.

    `fits` says of dims whether a tensor over them is small enough, `share` gives the tensor that is
    there already for one that is equal.
    """

    tensor: Tensor
    equation: Equation
    factors: Sequence[Expr]
    fits: Callable[[Dims], bool]
    share: Callable[[Tensor], Tensor]
    left: Points = field(init=False)  # where what is not summed yet is

    def __post_init__(self) -> None:
        """Begin with all points."""
        self.left = Points.of(self.equation)

    def rewritten(self, last: Step, absent: Dims) -> Equation:
        """The equation without dims that nothing depends on, in which steps before are read.

        Raises: CoupledError.
        """
        if absent:  # they were counted as a box
            counted, self.left = self.left.apart(absent, absent)
            counted.require_box()
        own = frozenset(range(self.equation.parallel))
        body = self._body(last) if last.parts and own <= last.dims else self._value(last)
        made = self._over(self.left, self.left.dims, self.equation.parallel, body)
        write = _renumbered(self.equation.write, self.left.dims)
        return replace(made, write=tuple(write))

    def _value(self, step: Step) -> Expr:
        """A factor as it stands, or a read of the tensor of a step."""
        if not step.parts:
            return self.factors[step.factor]
        return self._stored(self._body(step), step.dims, step.kept)

    def _body(self, step: Step) -> Expr:
        values = [self._value(part) for part in step.parts]
        if step.contracts:
            values = [self._plain(v, p.kept) for v, p in zip(values, step.parts, strict=True)]
        return product(values)

    def _plain(self, value: Expr, dims: Dims) -> Expr:
        computed = len(loads(value)) > 1 and self.fits(dims)
        return self._stored(value, dims, dims) if computed else value

    def _stored(self, body: Expr, dims: Dims, kept: Dims) -> Expr:
        """A read of a new tensor over the dims that are kept."""
        points, self.left = self.left.apart(dims, dims - kept)
        shown = _as_read(body, kept)
        made = self._over(points, (*shown, *sorted(dims - kept)), len(kept), body)
        combiner = "set" if dims == kept else "add"
        made = replace(made, write=identity_dims(len(kept)), combiner=combiner)
        tensor = Tensor(
            f"{self.tensor.name}_factor", made.extents[: len(kept)], body.dtype, 0, (made,),
            self.equation.location,
        )  # fmt: skip
        return load(self.share(tensor), [dim(d) for d in shown])

    def _over(self, points: Points, order: Sequence[int], parallel: int, body: Expr) -> Equation:
        """The equation with another body, over points with their dims in this order."""
        names = self.equation.dim_names
        return replace(
            self.equation, extents=tuple(self.equation.extents[d] for d in order),
            parallel=parallel, domain=points.ordered(order), body=_renumbered([body], order)[0],
            dim_names=tuple(names[d] for d in order) if names else (),
        )  # fmt: skip


def _as_read(body: Expr, dims: Dims) -> list[int]:
    """Dims in the order in which the reads of a body have them, so that they are read forwards."""
    found = [d for read in loads(body) for a in read.args for d in sorted(a.dims)]
    return [d for d in dict.fromkeys((*found, *sorted(dims))) if d in dims]


def _renumbered(roots: Sequence[Expr], order: Sequence[int]) -> list[Expr]:
    """Expressions with dim `order[k]` as dim k."""
    places = {d: dim(k) for k, d in enumerate(order)}
    used = max(order, default=-1) + 1
    return substitute(roots, [places.get(d, index(0)) for d in range(used)])
