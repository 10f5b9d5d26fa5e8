"""Are two programs the same function?  `equivalent` says so, or gives a counterexample.

Programs of sums, products and constants are polynomials: they are compared at random points of a
field of 2**61 - 1 elements, where nothing rounds, and the chance that different ones agree follows
from their degrees.  Quotients are compared like that too, and at points of floats, where
denominators may be zero.  Everything else, order and functions, is compared at points of floats
alone: random ones, and ones with ties, zeros and the constants of both programs, where such
programs differ if they differ at an edge.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ted.errors import ExecutionError
from ted.frontend.checks import integer
from ted.frontend.trees import flatten
from ted.mlir import ir
from ted.records import dataclass
from ted.testing.degrees import Degree, Degrees
from ted.testing.field_evaluation import (
    LOWERED_LIMIT,
    Arrays,
    Evaluated,
    at_point,
    evaluate,
    type_of,
)
from ted.testing.interpreter import functions_of, interpret, parsed_module
from ted.testing.interpreter_scalars import NotEvaluated
from ted.testing.interpreter_values import at_most
from ted.testing.prime_field import EPSILONS, PRIME, simplest
from ted.testing.real_numbers import Reals
from ted.testing.tracing import module_of, nodes, traced

Program = Callable[..., Any] | tuple[Any, Any] | ir.Module | str
TOLERANCE = 1e-9
MOST_CONSTANTS = 16


@dataclass(frozen=True)
class Counterexample:
    """Inputs at which two programs differ, and one element where they do."""

    inputs: Arrays
    result: int
    index: tuple[int, ...]
    values: tuple[Any, Any]

    def __str__(self) -> str:
        first, second = self.values
        return f"result {self.result} at index {list(self.index)} is {first} and {second}"


@dataclass(frozen=True)
class Equivalence:
    """A verdict, true or false, and what it means."""

    equal: bool
    meaning: str
    counterexample: Counterexample | None = None

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        if self.counterexample is None:
            return f"equivalent: {self.meaning}"
        return f"different: {self.counterexample} ({self.meaning})"


def equivalent(
    f: Program, g: Program, args: Sequence[Any] | None = None, seed: int = 0, points: int = 36
) -> Equivalence:
    """Whether two programs are the same function of real numbers, whatever their float types.

    A program is a function of tensors, traced on the types of `args` (arrays, or nests of them), a
    pair (outputs, inputs) of tensors, or a module, as an object or text, with a function @main.
    The result is true, or false with `.counterexample`: `inputs`, `result`, `index`, both `values`.
    `.meaning` says what was compared: polynomials have a bound on the chance to be taken for equal
    although they are not; for programs with order or functions equality means `points` points of
    floats, to a relative 1e-9.  NaN is equal to NaN alone.
    Raises: ExecutionError where it cannot be compared: other inputs or results, too many points, or
    no point at which both can be evaluated, what is no program; FrontendError for a seed or points
    that are no integers.
    """
    seed, points = integer(seed, "equivalent: seed") % 2**64, integer(points, "equivalent: points")
    pair = (_module(f, args), _module(g, args))
    if any("main" not in functions_of(m) for m in pair):
        raise ExecutionError("equivalent: modules with a function @main, got one without")
    kinds = [_FLOAT.sub("float", type_of(functions_of(m)["main"])) for m in pair]
    if kinds[0] != kinds[1]:
        raise ExecutionError(f"equivalent: two programs of one type, got {kinds[0]} and {kinds[1]}")
    generator = np.random.default_rng(seed)
    known = evaluate(pair[0], "main", generator)
    if isinstance(known, str):
        raise ExecutionError(f"equivalent: a program that can be evaluated, got one where {known}")
    degree, formal = _degree(pair, known), _in_field(pair, known)
    if degree is not None and formal is not None:
        found = _in_floats(pair, _floats(pair, known, generator, points))
        return Equivalence(False, f"as {_what(degree)} in {_FIELD}", found or formal)
    meanings = [] if formal is not None else [_formal_meaning(degree, known)]
    if degree is None or degree.below:
        meanings.append(f"at {points} points of floats, to a relative {TOLERANCE}")
        found = _in_floats(pair, _floats(pair, known, generator, points))
        if found is not None:
            return Equivalence(False, meanings[-1], found)
    return Equivalence(True, "; ".join(meanings))


_FLOAT = re.compile(r"bf16|f16|f32|f64")
_FIELD = f"the field of {PRIME} elements"


def _module(program: Program, args: Sequence[Any] | None) -> ir.Module:
    if isinstance(program, str):
        return parsed_module(program)
    if isinstance(program, ir.Module):
        return program
    if not callable(program):
        if not isinstance(program, (tuple, list)) or len(program) != 2:
            raise ExecutionError(
                "equivalent: a program is a function of tensors, a pair (outputs, inputs) of "
                f"tensors or a module, got {program!r}"
            )
        outputs, inputs = program
        return module_of(nodes(inputs, "equivalent"), nodes(outputs, "equivalent"))
    if not isinstance(args, (tuple, list)):
        got = "none" if args is None else type(args).__name__
        raise ExecutionError(
            "equivalent: functions are traced on args, a list with one array per argument, got "
            f"{got}; for one argument write [x]"
        )
    arrays = [np.asarray(leaf) for _, leaf in flatten(list(args))[0]]
    outputs, inputs = traced(program, list(args), arrays, what="equivalent")
    return module_of(inputs, outputs)


# ------------------------------------------------------------------ in the field


def _degree(pair: Sequence[ir.Module], known: Evaluated) -> Degree | None:
    """That of the difference of two elements, at most; None where they are no polynomials, nor
    quotients of them, or depend on integers.
    """
    point = known.inputs[0]
    if any(a.dtype != object for a in point):
        return None
    inputs = [np.full(a.shape, Degree(1), object) for a in point]
    most = [Degree(), Degree()]
    for k, module in enumerate(pair):
        try:
            with at_most(LOWERED_LIMIT):
                results = interpret(module, inputs, domain=Degrees(), sizes=known.sizes[0])
        except NotEvaluated:
            return None
        for one in (d for r in results if r.dtype == object for d in r.ravel()):
            most[k] = Degree(max(most[k].above, one.above), max(most[k].below, one.below))
    return most[0] + most[1]


def _in_field(pair: Sequence[ir.Module], known: Evaluated) -> Counterexample | None:
    """Where the second program differs from what is known of the first."""
    for inputs, wanted, sizes in zip(known.inputs, known.results, known.sizes, strict=True):
        found = at_point(pair[1], "main", inputs, sizes)
        for k, (a, b) in enumerate(zip(wanted, found, strict=True)):
            for at in np.ndindex(a.shape):
                if a[at] != b[at]:
                    return Counterexample(inputs, k, at, (a[at], b[at]))
    return None


def _what(degree: Degree | None) -> str:
    if degree is None:
        return "expressions of formal functions"
    return "quotients of polynomials" if degree.below else "polynomials"


def _formal_meaning(degree: Degree | None, known: Evaluated) -> str:
    """What it means that two programs are the same at points of the field."""
    count = len(known.inputs)
    meaning = f"as {_what(degree)}, at {count} points of {_FIELD}"
    if any(known.sizes):
        meaning += f" and sizes {known.sizes}"
    if degree is not None:
        meaning += f", by chance at most ({degree.above} / {PRIME})**{count}"
    return meaning


# ------------------------------------------------------------------ in floats


def _floats(
    pair: Sequence[ir.Module], known: Evaluated, generator: np.random.Generator, count: int
) -> Iterator[tuple[Arrays, dict[str, int]]]:
    """Points: the numbers of the programs, ones between and beyond them, and random ones."""
    edges = np.array(sorted({-1.0, 0.0, 1.0, 2.0, *_constants(pair)}))
    far = 1 + 2 * np.abs(edges).max()
    between = np.array([-far, *(edges[1:] + edges[:-1]) / 2, far])
    chosen: list[Callable[[tuple[int, ...]], Any]] = [
        lambda shape: generator.choice(edges, shape),
        lambda shape: generator.normal(size=shape),
        lambda shape: generator.choice(between, shape),
        lambda shape: generator.uniform(0.05, 0.95, shape),
        lambda shape: generator.choice([-far, far], shape),
        lambda shape: generator.choice([-1.0, 1.0], shape) * 10 ** generator.uniform(-2, 1, shape),
    ]
    trials = itertools.cycle(zip(known.inputs, known.sizes, strict=True))
    for k, (point, sizes) in zip(range(count), trials, strict=False):
        draw = chosen[k // len(known.inputs) % len(chosen)]
        inputs = [
            np.asarray(draw(a.shape), np.float64) if a.dtype == object else _whole(a, k, generator)
            for a in point
        ]
        yield tuple(inputs), sizes


def _whole(known: np.ndarray[Any, Any], k: int, generator: np.random.Generator) -> Any:
    """Integers that were indices of the first program, small ones, and the ends of their type."""
    if k % 2 == 0:
        return known
    if known.dtype.kind == "b":
        return generator.random(known.shape) < 0.5
    ends = np.iinfo(known.dtype)
    if k % 4 == 1:
        least = max(-2, ends.min)
        return np.asarray(generator.integers(least, 4, known.shape)).astype(known.dtype)
    chosen = [ends.min, max(-1, ends.min), 0, ends.max]
    return generator.choice(np.array(chosen, known.dtype), known.shape)


def _constants(pair: Sequence[ir.Module]) -> list[float]:
    """Numbers of the programs, and their negatives."""
    found: dict[float, None] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        kind = str(op.results[0].type) if len(op.results) else ""
        if op.name == "arith.constant" and kind in EPSILONS:
            value = ir.FloatAttr(op.attributes["value"]).value
            if np.isfinite(value):
                number = float(simplest(value, kind))
                found.update({number: None, -number: None})
        return ir.WalkResult.ADVANCE

    for module in pair:
        module.operation.walk(visit)
    return list(found)[:MOST_CONSTANTS]


def _in_floats(
    pair: Sequence[ir.Module], points: Iterator[tuple[Arrays, dict[str, int]]]
) -> Counterexample | None:
    """The first point where two programs differ, and the element that differs most there.

    Raises: ExecutionError where neither can be evaluated at any point.
    """
    error, compared = "", False
    for inputs, sizes in points:
        first, second = (_outcome(module, inputs, sizes) for module in pair)
        if isinstance(first, str) and isinstance(second, str):
            error = first
        elif isinstance(first, str) or isinstance(second, str):
            values = [o if isinstance(o, str) else "no error" for o in (first, second)]
            return Counterexample(inputs, 0, (), (values[0], values[1]))
        else:
            compared = True
            worst = _worst(inputs, first, second)
            if worst is not None:
                return worst
    if not compared:
        raise ExecutionError(f"equivalent: a point at which both can be evaluated, got {error}")
    return None


def _outcome(module: ir.Module, inputs: Arrays, sizes: dict[str, int]) -> Arrays | str:
    """The results, or the error that the program ends in."""
    try:
        return at_point(module, "main", inputs, sizes, domain=Reals())
    except NotEvaluated:
        raise
    except ExecutionError as error:
        return error.message


def _worst(inputs: Arrays, first: Arrays, second: Arrays) -> Counterexample | None:
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        off = _distance(a, b)
        if off.size and off.max() > TOLERANCE:
            at = tuple(int(n) for n in np.unravel_index(off.argmax(), off.shape))
            return Counterexample(inputs, k, at, (a[at], b[at]))
    return None


def _distance(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How far elements are apart, of the largest finite one; 1 where one is NaN or infinite."""
    if a.dtype.kind != "f":
        return (a != b).astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    scale = max(1.0, float(np.max(np.abs(np.where(finite, a, 0)), initial=0)))
    with np.errstate(invalid="ignore"):
        gap = np.abs(np.where(finite, a, 0) - np.where(finite, b, 0)) / scale
    return np.where(same, 0.0, np.where(finite, gap, 1.0))
