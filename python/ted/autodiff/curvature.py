"""Second derivatives along many directions, summed: what a Laplacian adds to a tangent.

Before: C[i] = tanh(A[i])         After: C_lap[i] = A_lap[i] * (1 - C[i]*C[i])
                                         C_lap[i] += A_dot[d, i] * -2 * C[i] * C_dot[d, i]

Of y = F(u) the second derivative along a curve is F'(u) u_ddot + F''(u)(u_dot, u_dot). The first
summand is linear in u_ddot: summed over directions it is the tangent of F for the sum of all
u_ddot, one tensor. The second one is the table of rules of forward mode applied twice to a body,
and its sum over directions is that of the equation. (Collapsed Taylor mode, arXiv 2505.13644.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ted.autodiff.jvp import push_body, tangent_of_point
from ted.domain import parameters, sets
from ted.domain.sizes import Extent
from ted.ir.equations import Equation, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import dim, load, rewrite
from ted.records import dataclass


@dataclass(frozen=True)
class Directions:
    """The tangents of a program along one direction and along all of them.

    Shapes: `along[t]` as t, `along_all[along[t]]` with the dims of `extents`, which count the
    directions, in front.
    """

    along: Mapping[Tensor, Tensor]
    along_all: Mapping[Tensor, Tensor]
    extents: tuple[Extent, ...]

    def curvature(self, tensor: Tensor, equation: Equation) -> Equation | None:
        """What one equation adds to the sum of second derivatives beside its tangent."""
        first = push_body(equation.body, self.along, equation.location)
        second = None if first is None else push_body(first, self.along, equation.location)
        if second is None:
            return None
        body = tangent_of_point(tensor, equation, second)
        return self.summed(replace(equation, combiner="add", body=body))

    def summed(self, equation: Equation) -> Equation:
        """An equation that adds what it does along one direction, over all of them."""
        rank = equation.rank
        extents = (*equation.extents, *self.extents)
        inner = [sets.dim_aff(len(extents), k) for k in range(rank)]
        points = sets.preimage(equation.domain, len(extents), inner)
        directions = [dim(rank + k) for k in range(len(self.extents))]
        (body,) = rewrite([equation.body], lambda node, args: self._read(node, args, directions))
        return replace(
            equation, extents=extents, body=body, dim_names=(),
            domain=points.intersect(parameters.box(extents)),
        )  # fmt: skip

    def _read(self, node: Expr, args: tuple[Expr, ...], directions: Sequence[Expr]) -> Expr | None:
        if node.op != "load" or node.attr not in self.along_all:
            return None
        return load(self.along_all[node.attr], (*directions, *args))
