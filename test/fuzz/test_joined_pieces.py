"""Random pieces of one tensor, shifted, strided, turned round and over parts of boxes, joined.

On whole numbers every order of a sum is exact, so the values are equal bit for bit.
"""

from __future__ import annotations

import random

import pytest

from support.same_values import check_same_values
from sweeps import blocks
from ted.domain import parameters, sets
from ted.domain.bounds import out_of_bounds_witness
from ted.ir.affine import piecewise
from ted.ir.dtypes import FLOAT64, INT32, DType
from ted.ir.equations import Equation, System, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import add, apply, compare, const, dim, index, load, mul, neg, select, sub
from ted.transforms.ted_join_pieces import join_pieces
from ted.transforms.ted_simplify import started_with_stores


class Drawn:
    """A tensor that is the sum of random pieces, and what it reads."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.dtype: DType = self.draw.choice([FLOAT64, FLOAT64, INT32])
        rank = self.draw.randint(1, 3)
        self.shape = tuple(self.draw.choice([1, 4, 7, 11]) for _ in range(rank))
        self.stride = self.draw.choice([1, 1, 2])
        self.inputs: list[Tensor] = []

    def system(self) -> System:
        """The tensor begins with a store, zeros, or threes, to which nothing is joined."""
        pieces = [self._piece() for _ in range(self.draw.randint(2, 6))]
        fill = self.draw.choice([0, 0, 0, 0, 3])
        zeros = Tensor("T", self.shape, self.dtype, fill)
        equations = tuple(pieces) if fill else started_with_stores(zeros, pieces)
        starts = fill == 0 and equations[0].combiner == "set" and equations[0].covers(self.shape)
        result = Tensor("T", self.shape, self.dtype, None if starts else fill, equations)
        return System(tuple(self.inputs), (result,))

    def _piece(self) -> Equation:
        order = list(range(len(self.shape)))
        if self.draw.random() < 0.2:
            self.draw.shuffle(order)
        sides = [self._side(extent) for extent in self.shape]
        pinned = [self.draw.random() < 0.1 for _ in sides]
        kept = [k for k in order if not pinned[k]]
        extents = tuple(sides[k][1] for k in kept)
        write = [self._subscript(*sides[k], None if pinned[k] else kept.index(k))
                 for k in range(len(sides))]  # fmt: skip
        domain = self._domain(extents, write)
        return Equation(extents, len(extents), domain, tuple(write), "add", self._body(extents))

    def _side(self, extent: int) -> tuple[int, int]:
        """The first element that a piece writes along a dim, and how many."""
        first = min(self.draw.choice([0, 0, 1, 2]), extent - 1)
        most = (extent - first - 1) // self.stride + 1
        return first, max(1, most - self.draw.choice([0, 0, 1, 2]))

    def _subscript(self, first: int, count: int, at: int | None) -> Expr:
        if at is None:
            return index(first)
        if self.draw.random() < 0.15:
            last = index(first + self.stride * (count - 1))
            return sub(last, mul(dim(at), index(self.stride)))
        return add(mul(dim(at), index(self.stride)), index(first))

    def _domain(self, extents: tuple[int, ...], write: list[Expr]) -> object:
        points = parameters.box(extents)
        rank = len(extents)
        while rank and self.draw.random() < 0.3:
            coefficients = [self.draw.choice([0, 0, 1, -1]) for _ in range(rank)]
            limit = sets.linear(rank, coefficients, self.draw.randint(0, 6))
            points = points.intersect(limit.ge_set(sets.constant_aff(rank, 0)))
        places = [piecewise(e, points) for e in write]
        assert out_of_bounds_witness(points, places, self.shape) is None
        return points

    def _body(self, extents: tuple[int, ...]) -> Expr:
        read = load(self._input(extents), [dim(k) for k in range(len(extents))])
        body = self.draw.choice([
            lambda: read,
            lambda: neg(read),
            lambda: mul(read, const(self.draw.randint(-3, 3), self.dtype)),
            lambda: mul(read, load(self._input(extents), [dim(k) for k in range(len(extents))])),
            lambda: add(read, const(self.draw.randint(1, 3), self.dtype)),
            lambda: apply("maximum", read, const(1, self.dtype)),
        ])()  # fmt: skip
        if extents and self.draw.random() < 0.2:
            return select(compare("le", dim(0), index(2)), body, const(0, self.dtype))
        return body

    def _input(self, extents: tuple[int, ...]) -> Tensor:
        equal = [t for t in self.inputs if t.shape == extents]
        if equal and self.draw.random() < 0.5:
            return self.draw.choice(equal)
        self.inputs.append(Tensor(f"x{len(self.inputs)}", extents, self.dtype))
        return self.inputs[-1]


def check(seed: int) -> bool:
    """Whether pieces were joined; raises where a value differs."""
    system = Drawn(seed).system()
    joined, _ = join_pieces(system)
    check_same_values(system, joined, seed=seed)
    ((old,), (new,)) = system.outputs, joined.outputs
    assert len(new.equations) <= len(old.equations)
    return len(new.equations) < len(old.equations)


@pytest.mark.fast(1)
@blocks(40, 20)
def test_joined_pieces_have_the_values_of_random_pieces(seeds: range) -> None:
    assert sum(check(seed) for seed in seeds) > len(seeds) // 10, "too few of them are joined"
