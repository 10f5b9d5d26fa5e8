"""One product that an equation sums: the steps in which it is taken, and whether they pay.

Before: D[i, l] += a[i, j] * b[j, k] * c[k, l]      n^4 points, no product of matrices
After:  steps with 2 n^3 points, each a product of matrices

What does not depend on any dim goes to the smallest factor.  Dims that nothing depends on are
counted instead of summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ted.domain.sizes import estimate, is_symbolic
from ted.forking import cached_property
from ted.ir.equations import Equation, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import const, loads
from ted.records import dataclass
from ted.transforms.contraction_order import Dims, Network, Step
from ted.transforms.pairwise_sums import PairwiseSum
from ted.transforms.sums_of_products import Factors, product

SMALL = 2**20  # elements of a tensor that caches hold: sums may be that large, whatever is read
LARGEST_COUNT = 2**31  # of points that are counted: what every type holds, floats to their rounding


@dataclass(frozen=True)
class FactoredProduct:
    """The factors of a product that an equation of a tensor sums."""

    tensor: Tensor
    equation: Equation
    given: Factors

    @cached_property
    def absent(self) -> Dims:
        """The dims that are summed over and that nothing depends on."""
        return frozenset(self.equation.reduction_dims).difference(*(f.dims for f in self.given))

    @cached_property
    def factors(self) -> tuple[Expr, ...]:
        """What depends on dims, the rest multiplied to the smallest of these."""
        scalars = [f for f in self.given if not f.dims]
        found = [f for f in self.given if f.dims]
        if self.absent:
            scalars.append(const(self._count, self.equation.body.dtype))
        if not found:
            return (product(scalars),)
        smallest = min(range(len(found)), key=lambda k: self.volume(found[k].dims))
        found[smallest] = product([*scalars, found[smallest]])
        return tuple(found)

    @cached_property
    def steps(self) -> Step | None:
        """The steps of least work; None if there are none, or a count is not known."""
        extents = self.equation.extents
        if is_symbolic(extents[d] for d in self.absent):
            return None
        if self.absent and self._count >= LARGEST_COUNT:
            return None
        dims = tuple(f.dims for f in self.factors)
        result = self._own & frozenset().union(*dims)
        return Network(dims, result, self.volume, max(SMALL, self._limit)).best()

    @property
    def pays(self) -> bool:
        """Whether its steps take at most half of the points, or become contractions for no more."""
        if self.takes_half:
            return True
        steps = self.steps
        if steps is None or not self._has_contraction(steps) or self._is_contraction:
            return False
        return steps.work + self._spread <= self._points * len(self.factors)

    @property
    def takes_half(self) -> bool:
        """Whether its steps take at most half of the points."""
        return self.steps is not None and 2 * (self.steps.points + self._spread) <= self._points

    @property
    def contracts(self) -> bool:
        """Whether its steps are contractions, or it is one as it stands."""
        return self.steps is not None and self._has_contraction(self.steps)

    def rewritten(self, share: Callable[[Tensor], Tensor]) -> Equation:
        """The equation that sums it by its steps.

        Raises: CoupledError.
        """
        assert self.steps is not None, "asked for where it pays"
        sums = PairwiseSum(self.tensor, self.equation, self.factors, self._fits, share)
        return sums.rewritten(self.steps, self.absent)

    def volume(self, dims: Dims) -> int:
        """The number of points over dims."""
        return estimate(math.prod(self.equation.extents[d] for d in dims))

    # -------------------------------------------------------------- what it costs

    @property
    def _own(self) -> Dims:
        return frozenset(range(self.equation.parallel))

    @property
    def _count(self) -> int:
        return math.prod(n for d in self.absent if isinstance(n := self.equation.extents[d], int))

    @property
    def _points(self) -> int:
        return self.volume(frozenset(range(self.equation.rank)))

    @property
    def _spread(self) -> int:
        """The points of a map at the end, for elements that have the same sum."""
        assert self.steps is not None, "asked for where there are steps"
        is_map = not self.steps.parts or not self._own <= self.steps.dims
        return self.volume(self._own) if is_map else 0

    @cached_property
    def _limit(self) -> int:
        tensors = (self.tensor, *self.equation.sources)
        return max(estimate(t.size) for t in tensors)

    def _fits(self, dims: Dims) -> bool:
        return self.volume(dims) <= self._limit

    def _has_contraction(self, step: Step) -> bool:
        if step.contracts and all(map(self._can_be_operand, step.parts)):
            return True
        return any(map(self._has_contraction, step.parts))

    def _can_be_operand(self, part: Step) -> bool:
        """Whether an operand of a contraction is a tensor, or can be made one."""
        is_read = bool(part.parts) or len(loads(self.factors[part.factor])) == 1
        return is_read or self._fits(part.kept)

    @property
    def _is_contraction(self) -> bool:
        """Whether lowering finds two factors as it is: smaller ones join those with their dims."""
        groups = sorted({f.dims for f in self.factors}, key=len)
        while len(groups) > 2:
            small = groups.pop(0)
            if not any(small <= dims for dims in groups):
                return False
        return len(groups) == 2 and _contract(groups, self._own)


def _contract(factors: Sequence[Dims], own: Dims) -> bool:
    one, other = factors
    return bool((one & other) - own and (one - other) & own and (other - one) & own)
