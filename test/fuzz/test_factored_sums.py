"""Random sums of products of few dims each, over boxes and parts of them, before and after.

On whole numbers every order of a sum is exact, so the values are equal bit for bit.
"""

from __future__ import annotations

import random

import pytest

from support.same_values import check_same_values
from sweeps import blocks
from ted.domain import parameters, sets
from ted.ir.dtypes import FLOAT64, INT32, DType
from ted.ir.equations import Equation, System, Tensor, identity_dims
from ted.ir.expressions import Expr
from ted.ir.scalar import FALSE, add, compare, const, dim, div, load, mul, neg, select, sub
from ted.transforms.ted_factor_sums import factor_sums


class Drawn:
    """A random equation, and what it reads."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.dtype: DType = self.draw.choice([FLOAT64, FLOAT64, INT32])
        self.extents = tuple(self.draw.choice([1, 3, 5, 8]) for _ in range(self.draw.randint(2, 5)))
        self.parallel = self.draw.randint(1, len(self.extents) - 1)
        self.inputs: list[Tensor] = []

    def system(self) -> System:
        """One tensor, which this is the only equation of, or the second."""
        rank, shape = len(self.extents), self.extents[: self.parallel]
        terms = [self._product() for _ in range(self.draw.choice([1, 1, 2, 3]))]
        body = terms[0]
        for term in terms[1:]:
            body = self.draw.choice([add, sub])(body, term)
        if self.draw.random() < 0.2:
            body = mul(self._factor(range(self.parallel)), body)
        equation = Equation(
            self.extents, self.parallel, self._domain(rank), identity_dims(self.parallel), "add",
            body,
        )  # fmt: skip
        result = Tensor("T", shape, self.dtype, self.draw.choice([0, 3]), (equation,))
        return System(tuple(self.inputs), (result,))

    def _product(self) -> Expr:
        factors = [self._factor(range(len(self.extents))) for _ in range(self.draw.randint(2, 4))]
        result = factors[0]
        for factor in factors[1:]:
            result = mul(result, factor)
        if self.dtype.is_float and self.draw.random() < 0.1:
            result = div(result, const(2.0, self.dtype))
        return neg(result) if self.draw.random() < 0.2 else result

    def _factor(self, among: range) -> Expr:
        """A read over some dims, at times masked, or a sum of two."""
        dims = self.draw.sample(list(among), min(len(among), self.draw.choice([0, 1, 2, 2, 2])))
        if self.draw.random() < 0.1:
            return const(self.draw.randint(-2, 3), self.dtype)
        tensor = self._input(dims)
        value = load(tensor, [dim(d) for d in dims])
        if dims and self.draw.random() < 0.15:
            value = select(self._mask(dims), value, const(0, self.dtype))
        return add(value, value) if self.draw.random() < 0.15 else value

    def _mask(self, dims: list[int]) -> Expr:
        return FALSE if len(dims) < 2 else compare("le", dim(dims[0]), dim(dims[1]))

    def _input(self, dims: list[int]) -> Tensor:
        shape = tuple(self.extents[d] for d in dims)
        equal = [t for t in self.inputs if t.shape == shape]
        if equal and self.draw.random() < 0.4:
            return self.draw.choice(equal)
        self.inputs.append(Tensor(f"x{len(self.inputs)}", shape, self.dtype))
        return self.inputs[-1]

    def _domain(self, rank: int) -> object:
        points = parameters.box(self.extents)
        while self.draw.random() < 0.3:
            a, b = self.draw.choice(range(rank)), self.draw.choice(range(rank))
            coefficients = [0] * rank
            coefficients[a] += 1
            coefficients[b] -= self.draw.choice([1, 1, 2])
            limit = sets.linear(rank, coefficients, self.draw.randint(-2, 3))
            points = points.intersect(limit.ge_set(sets.constant_aff(rank, 0)))
        return points


def check(seed: int) -> bool:
    """Whether the equation changed; raises where a value differs, or a tensor is too large."""
    system = Drawn(seed).system()
    factored, _ = factor_sums(system, through=True)
    check_same_values(system, factored, seed=seed)
    largest = max(t.size for t in system.tensors())
    assert all(t.size <= largest for t in factored.tensors()), f"seed {seed}"
    return factored.outputs[0] is not system.outputs[0]


@pytest.mark.fast(1)
@blocks(50, 20)
def test_factored_sums_have_the_values_of_random_sums(seeds: range) -> None:
    assert sum(check(seed) for seed in seeds) > len(seeds) // 10, "too few of them change"
