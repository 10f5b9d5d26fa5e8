"""The bound on the work of gradients, over random expressions.

    make fuzz ORACLE=work COUNT=5000

Each expression is an element of a tensor: one to six reads at skewed, divided, wrapped and clamped
indices, joined by arithmetic, choices, extrema and steep functions, some parts used twice; over it
a sum, a product, a maximum or nothing. The work of all its gradients is counted exactly, as the
report counts it, and compared with that of the expression: `BOUND` times as much at most. Above
it the report has to say why: what the gradients share is computed for each of them where storing it
would take more memory than any tensor around.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import ted
from fuzz.outcomes import Outcome
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor

BOUND = 5.0
REMARK = "stored they are larger"

Index = Callable[[Sequence[Any]], Any]  # the dims, numbers or indices of ted -> a subscript


class _Expression:
    """A random expression; every choice is one of the seed's."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.parallel = tuple(
            self.random.randint(1, 9) for _ in range(self.random.choice([1, 1, 2]))
        )
        self.reduced = self.random.choice([(), (), (self.random.randint(1, 6),)])
        self.box = (*self.parallel, *self.reduced)
        count = self.random.choice([1, 2, 2, 3, 3, 4, 6])
        tensors = self.random.randint(1, count)
        ranks = [self.random.choice([1, 1, 2]) for _ in range(tensors)]
        self.reads = [
            (k, [self.subscript() for _ in range(ranks[k])])
            for k in (
                *range(tensors),
                *(self.random.randrange(tensors) for _ in range(count - tensors)),
            )
        ]
        self.inputs = [self.input(k, ranks[k]) for k in range(tensors)]

    def subscript(self) -> Index:
        """A sum of dims with factors, now and then divided, wrapped round or clamped."""
        draw = self.random
        first, second = (draw.randrange(len(self.box)) for _ in range(2))
        factor, other = draw.choice([1, 1, 1, 2, 5]), draw.choice([0, 0, 0, 1, 3])
        number = draw.choice([2, 3, 4, 9])

        def skew(dims: Sequence[Any]) -> Any:
            return dims[first] * factor + dims[second] * other

        forms: list[Index] = [
            skew, skew, skew, lambda dims: skew(dims) // number, lambda dims: skew(dims) % number,
            lambda dims: _least(skew(dims), number), lambda dims: skew(dims) % number // 2,
        ]  # fmt: skip
        return draw.choice(forms)

    def input(self, position: int, rank: int) -> Tensor:
        """A tensor just large enough for its reads."""
        points = list(itertools.product(*map(range, self.box)))
        own = [places for k, places in self.reads if k == position]
        shape = [1 + max(places[d](p) for places in own for p in points) for d in range(rank)]
        return ted.placeholder(tuple(shape), "float64", name=f"x{position}")

    def value(self, dims: Sequence[Scalar]) -> Scalar:
        """The element, or what is reduced to it."""
        parts = [self.inputs[k][tuple(at(dims) for at in places)] for k, places in self.reads]
        done = list(parts)
        while len(parts) > 1:
            joined = self.join(self.single(parts.pop(0)), self.single(parts.pop(0)))
            parts.append(joined)
            done.append(joined)
            if self.random.random() < 0.15:
                parts.append(self.random.choice(done))
        return self.single(self.single(parts[0]))

    def single(self, value: Scalar) -> Scalar:
        """A function of one value, mostly none."""
        made: list[Callable[[], Scalar]] = [
            lambda: abs(value), lambda: -value, lambda: value * value, lambda: ted.tanh(value),
            lambda: ted.sqrt(value), lambda: ted.exp(value), lambda: ted.clip(value, -1.0, 1.0),
            lambda: value * 0.5, lambda: value + 1.0, lambda: ted.where(value > 0.5, value, 0.0),
            lambda: ted.log(value), lambda: 1.0 / value,
        ]  # fmt: skip
        return self.random.choice(made)() if self.random.random() < 0.35 else value

    def join(self, a: Scalar, b: Scalar) -> Scalar:
        """A function of two values."""
        made: list[Callable[[], Scalar]] = [
            lambda: a * b, lambda: a * b, lambda: a * b, lambda: a + b, lambda: a - b,
            lambda: ted.maximum(a, b), lambda: ted.minimum(a, b), lambda: a / b,
            lambda: ted.where(a < b, a * b, b), lambda: ted.hypot(a, b), lambda: a**b,
            lambda: ted.fmod(a, b),
        ]  # fmt: skip
        return self.random.choice(made)()

    def tensor(self) -> Tensor:
        """The tensor of all elements."""
        if not self.reduced:
            return ted.compute(self.parallel, lambda *dims: self.value(dims), name="y")
        axis = ted.reduce_axis(self.reduced[0], name="r")
        reducer = self.random.choice([ted.sum, ted.sum, ted.max, ted.min, ted.prod])
        return ted.compute(
            self.parallel, lambda *dims: reducer(self.value((*dims, axis)), axis=axis), name="y"
        )


def _least(a: Any, b: int) -> Any:
    return min(a, b) if isinstance(a, int) else ted.minimum(a, b)


def random_expression(seed: int) -> Tensor:
    """A tensor whose element is a random expression of its inputs."""
    return _Expression(seed).tensor()


def check_expression(seed: int) -> Outcome:
    """The bound of one expression; raises AssertionError above it."""
    y = random_expression(seed)
    head = ted.placeholder(y.shape, "float64", name="head")
    report = ted.differentiate(y, head=head).report()
    assert all(e.exact for e in report.equations), "counts must be exact"
    if report.ratio is None:
        return Outcome("ok", counts={"copies": 1})
    if any(REMARK in said for said in report.remarks):
        return Outcome("ok", values={"ratio with a remark": report.ratio})
    assert report.ratio <= BOUND, f"work above the bound: {report.ratio:.2f} > {BOUND}\n{report}"
    return Outcome("ok", counts={"above 4": report.ratio > 4}, values={"ratio": report.ratio})
