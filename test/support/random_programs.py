"""Random programs: systems of one to four equations with the index functions of `random_maps`.

`random_contraction` makes one sum of products of reads, together with the plain Python meaning of
every index, so that its gradients can be enumerated.  `random_program` makes chains of equations
with smooth and kinked bodies, data-dependent conditions, maxima and partial writes; differences and
the scatter form of its own gradients check those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.random_maps import (
    EVERYWHERE,
    Condition,
    Formula,
    MapGenerator,
    clamped,
    divided,
    points,
)
from ted.domain import sets
from ted.ir.affine import condition_set
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, System, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import apply, compare, const, dim, index, land, load, mul, select

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Read:
    """A read of an input at formulas, made where a condition holds."""

    tensor: Tensor
    subscripts: tuple[Formula, ...]
    guard: Condition = EVERYWHERE

    def expr(self) -> Expr:
        """The read, zero outside its guard."""
        value = load(self.tensor, [s.expr for s in self.subscripts])
        if self.guard is EVERYWHERE:
            return value
        return select(self.guard.expr, value, const(0, FLOAT64))

    def at(self, point: Sequence[int]) -> tuple[int, ...] | None:
        """The element that is read at a point, if any."""
        if not self.guard.at(point):
            return None
        return tuple(s.at(point) for s in self.subscripts)


@dataclass(frozen=True)
class Contraction:
    """`C[dims 0..parallel] += product of reads` over a box and a condition."""

    extents: tuple[int, ...]
    parallel: int
    where: Condition
    reads: tuple[Read, ...]
    inputs: tuple[Tensor, ...]
    output: Tensor

    @property
    def system(self) -> System:
        """The program for ted."""
        return System(self.inputs, (self.output,))

    def arrays(self, seed: int) -> list[Array]:
        """Small integers as floats, so that every sum of products is exact."""
        generator = np.random.default_rng(seed)
        return [generator.integers(-3, 4, t.static_shape).astype(np.float64) for t in self.inputs]

    def enumerate(self, arrays: Sequence[Array], head: Array) -> tuple[Array, list[Array]]:
        """The result and the gradients, point by point."""
        values = dict(zip(self.inputs, arrays, strict=True))
        result = np.zeros(self.output.static_shape)
        gradients = {t: np.zeros(t.static_shape) for t in self.inputs}
        for point in points(self.extents, self.where):
            target = point[: self.parallel]
            places = [read.at(point) for read in self.reads]
            factors = [
                0.0 if at is None else values[r.tensor][at]
                for r, at in zip(self.reads, places, strict=True)
            ]
            result[target] += np.prod(factors)
            for k, (read, at) in enumerate(zip(self.reads, places, strict=True)):
                if at is not None:
                    others = np.prod(factors[:k] + factors[k + 1 :])
                    gradients[read.tensor][at] += head[target] * others
        return result, list(gradients.values())


def random_contraction(seed: int) -> Contraction:
    """A sum of products of one to three reads with random indices, guards and domain."""
    maps = MapGenerator(seed)
    choose = maps.random
    rank = choose.choice([1, 2, 2, 3, 3, 4])
    extents = maps.extents(rank, 6 if rank < 4 else 4)
    parallel = choose.randint(0, rank)
    where = maps.domain(extents, choose.choice([0, 0, 1, 2]))
    reads: list[Read] = []
    for k in range(choose.choice([1, 1, 2, 3])):
        guard = maps.condition(rank, choose.choice([0, 0, 0, 1]))
        reads.append(_read(maps, f"A{k}", extents, where, guard))
        if choose.random() < 0.2:
            reads.append(_again(maps, reads[-1].tensor, extents))
    body = reads[0].expr()
    for read in reads[1:]:
        body = mul(body, read.expr())
    box = sets.box(extents)
    domain = box.intersect(condition_set(where.expr, box))
    write = tuple(dim(k) for k in range(parallel))
    equation = Equation(extents, parallel, domain, write, "add", body)
    output = Tensor("C", extents[:parallel], FLOAT64, 0, (equation,))
    inputs = tuple(dict.fromkeys(r.tensor for r in reads))
    return Contraction(extents, parallel, where, tuple(reads), inputs, output)


def _read(
    maps: MapGenerator, name: str, extents: tuple[int, ...], where: Condition, guard: Condition
) -> Read:
    """A read of a new input that is just large enough for it."""
    both = Condition(land(where.expr, guard.expr), lambda p: where.at(p) and guard.at(p))
    rank = maps.random.choice([1, 1, 2, 2, 3])
    formulas = [maps.formula(len(extents)) for _ in range(rank)]
    if rank > 1 and maps.random.random() < 0.15:
        formulas[1] = formulas[0]  # a diagonal
    placed = [maps.placed(f, extents, both) for f in formulas]
    tensor = Tensor(name, tuple(size for _, size in placed), FLOAT64)
    return Read(tensor, tuple(f for f, _ in placed), guard)


def _again(maps: MapGenerator, tensor: Tensor, extents: tuple[int, ...]) -> Read:
    """A read of a tensor that is there already: clamped, wrapped around, or where it is inside."""
    subscripts: list[Formula] = []
    guard = EVERYWHERE
    for extent in tensor.static_shape:
        formula = maps.skew(len(extents))
        kind = maps.random.choice(["guard", "guard", "clamp", "mod"])
        if kind == "guard":
            guard = _within(guard, formula, extent)
        elif kind == "clamp":
            formula = clamped(formula, 0, extent - 1)
        else:
            formula = divided("mod", formula, extent)
        subscripts.append(formula)
    return Read(tensor, tuple(subscripts), guard)


def _within(guard: Condition, formula: Formula, extent: int) -> Condition:
    low = compare("le", index(0), formula.expr)
    high = compare("lt", formula.expr, index(extent))
    expr = land(guard.expr, land(low, high))
    return Condition(expr, lambda p: guard.at(p) and 0 <= formula.at(p) < extent)


# ------------------------------------------------------------------ chains of equations


@dataclass(frozen=True)
class RandomProgram:
    """A system with values for its inputs, away from kinks with high probability."""

    system: System
    arrays: tuple[Array, ...]


def random_program(seed: int, fewest_reads: int = 1) -> RandomProgram:
    """One to four equations; later ones read earlier results and fresh inputs."""
    builder = _ProgramBuilder(seed, fewest_reads)
    for k in range(builder.maps.random.choice([1, 2, 2, 3, 4])):
        builder.equation(f"T{k}")
    outputs = [t for t in builder.results if t not in builder.used]
    system = System(tuple(builder.inputs), tuple(outputs))
    generator = np.random.default_rng(seed)
    arrays = tuple(np.asarray(generator.normal(size=t.static_shape)) for t in system.inputs)
    return RandomProgram(system, arrays)


class _ProgramBuilder:
    def __init__(self, seed: int, fewest_reads: int) -> None:
        self.maps = MapGenerator(seed)
        self.fewest_reads = fewest_reads
        self.inputs: list[Tensor] = []
        self.results: list[Tensor] = []
        self.used: set[Tensor] = set()

    def equation(self, name: str) -> None:
        """Append a tensor defined by one equation, now and then over an init."""
        choose = self.maps.random
        rank = choose.choice([1, 2, 2, 3])
        extents = self.maps.extents(rank, 5 if rank < 3 else 4)
        parallel = choose.randint(0, rank)
        where = self.maps.domain(extents, choose.choice([0, 0, 1]))
        body = self.body(extents, where)
        box = sets.box(extents)
        domain = box.intersect(condition_set(where.expr, box))
        combiner = choose.choice(["add", "add", "max"] if parallel < rank else ["add", "set"])
        write, shape = self.write(extents, parallel)
        # A sum starts from zero, so does a partly written tensor; a maximum from a number.
        equation = Equation(extents, parallel, domain, write, combiner, body)
        start = -0.25 if combiner == "max" else 0
        self.results.append(Tensor(name, shape, FLOAT64, start, (equation,)))

    def write(
        self, extents: tuple[int, ...], parallel: int
    ) -> tuple[tuple[Expr, ...], tuple[int, ...]]:
        """The identity, or a strided and shifted slice of a larger tensor."""
        subscripts: list[Expr] = []
        shape: list[int] = []
        for k in range(parallel):
            stride, offset = self.maps.random.choice([(1, 0), (1, 0), (1, 0), (2, 1), (1, 2)])
            subscripts.append(apply("add", mul(dim(k), index(stride)), index(offset)))
            shape.append(extents[k] * stride + offset)
        return tuple(subscripts), tuple(shape)

    def body(self, extents: tuple[int, ...], where: Condition) -> Expr:
        """An expression of one to three reads."""
        choose = self.maps.random
        count = max(choose.choice([1, 2, 2, 3]), self.fewest_reads)
        values = [self.read(extents, where) for _ in range(count)]
        result = self.unary(values[0])
        for value in values[1:]:
            result = self.binary(result, self.unary(value))
        return result

    def read(self, extents: tuple[int, ...], where: Condition) -> Expr:
        """A fresh input, or an earlier tensor where the index stays inside."""
        earlier = [*self.results, *self.inputs]
        choose = self.maps.random
        if earlier and choose.random() < 0.6:
            tensor = choose.choice(earlier)
            self.used.add(tensor)
            return _again(self.maps, tensor, extents).expr()
        guard = self.maps.condition(len(extents), choose.choice([0, 0, 1]))
        read = _read(self.maps, f"x{len(self.inputs)}", extents, where, guard)
        self.inputs.append(read.tensor)
        return read.expr()

    def unary(self, value: Expr) -> Expr:
        """A smooth function of bounded slope, mostly none."""
        name = self.maps.random.choice(["", "", "", "tanh", "sin", "exp", "square", "relu"])
        if name == "square":
            return mul(value, value)
        if name == "relu":
            return apply("maximum", value, const(0.1, FLOAT64))
        if name == "exp":
            return apply("exp", apply("tanh", value))
        return apply(name, value) if name else value

    def binary(self, a: Expr, b: Expr) -> Expr:
        """A combination; a quotient stays away from zero."""
        name = self.maps.random.choice(["add", "sub", "mul", "mul", "maximum", "div", "where"])
        if name == "div":
            return apply("div", a, apply("add", const(2.5, FLOAT64), apply("sin", b)))
        if name == "where":
            return select(compare("lt", a, b), mul(a, b), b)
        return apply(name, a, b)
