"""Functions of a module at random points of the prime field."""

from __future__ import annotations

import math
from dataclasses import field
from itertools import zip_longest
from typing import Any

import numpy as np

from ted.errors import ExecutionError
from ted.mlir import ir
from ted.records import dataclass
from ted.testing.interpreter import functions_of, has_body, interpret
from ted.testing.interpreter_compute import box_of
from ted.testing.interpreter_scalars import NotEvaluated
from ted.testing.interpreter_scan import step_order
from ted.testing.interpreter_sizes import size_rows
from ted.testing.interpreter_values import TooManyPoints, at_most, run_at, shape_and_type
from ted.testing.prime_field import (
    EPSILONS,
    PRIME,
    Element,
    PrimeField,
    without_division_by_zero,
)
from ted.testing.scalar_domains import ScalarDomain

TRIALS = 2
TIED = (-1, 1, 2)  # numbers of a point with ties
LIMIT = 2**18  # points of one function
# A lowered function copies and goes through loops; its points are not those of its equations.
LOWERED_LIMIT = 8 * LIMIT
Arrays = tuple[np.ndarray[Any, Any], ...]
FIELD = PrimeField()
NO_BODY = "it calls a function without body"


@dataclass(frozen=True)
class Evaluated:
    """A function: its type, points, and its results there."""

    kind: str
    inputs: list[Arrays] = field(default_factory=list)
    results: list[Arrays] = field(default_factory=list)
    sizes: list[dict[str, int]] = field(default_factory=list)


def evaluate(
    module: ir.Module,
    symbol: str,
    generator: np.random.Generator,
    bodies: ir.Module | None = None,
    ties: bool = False,
) -> Evaluated | str:
    """A function at random points, or why it cannot be evaluated.

    With `ties` also at a point of few different numbers, if that divides by none that is zero.
    """
    function = functions_of(module)[symbol]
    if not _calls_are_known(module, symbol, bodies):
        return NO_BODY
    found, why = Evaluated(type_of(function)), ""
    for most in (1, 0) * TRIALS:  # integers may be indices: zeros are the safest
        if len(found.inputs) == TRIALS:
            break
        sizes = sizes_of(function, len(found.inputs))
        try:
            point = random_point(function, sizes, generator, most)
            results = at_point(module, symbol, point, sizes, bodies)
        except NotEvaluated as error:
            return error.message
        except ExecutionError as error:
            why = error.message
            continue
        found.inputs.append(point)
        found.results.append(results)
        found.sizes.append(sizes)
    for most in (1, 0) if ties and found.inputs else ():
        sizes = sizes_of(function, 0)
        point = random_point(function, sizes, generator, most, TIED)
        try:
            with without_division_by_zero():
                results = at_point(module, symbol, point, sizes, bodies)
        except ExecutionError:
            continue
        found.inputs.append(point)
        found.results.append(results)
        found.sizes.append(sizes)
        break
    return found if found.inputs else why


def at_point(
    module: ir.Module,
    symbol: str,
    point: Arrays,
    sizes: dict[str, int],
    bodies: ir.Module | None = None,
    domain: ScalarDomain = FIELD,
) -> Arrays:
    """The results of a function at a point; or the memory that it takes for them, or all of it.

    Raises: NotEvaluated where the interpreter cannot say.
    """
    function = functions_of(module)[symbol]
    check_evaluable(function, sizes)
    arguments = list(function.regions[0].blocks[0].arguments)
    given = [*point]
    if any(isinstance(a.type, ir.MemRefType) for a in arguments):
        with run_at(tuple(sizes.values())):
            pairs = zip_longest(arguments, given)
            given = [_as_memory(a, array, domain) for a, array in pairs]
    with at_most(LOWERED_LIMIT):
        results = interpret(module, given, symbol, domain=domain, sizes=sizes, bodies=bodies)
    return results or tuple(given[len(point) :]) or tuple(given)


def _as_memory(
    argument: ir.Value, array: np.ndarray[Any, Any] | None, domain: ScalarDomain
) -> np.ndarray[Any, Any]:
    """The memory of an argument: that of an array in another shape, or some with nothing in it."""
    shape, dtype = shape_and_type(argument.type, domain)
    if array is not None and array.size:
        return array.reshape(shape).copy()
    element = str(ir.ShapedType(argument.type).element_type)
    return np.full(shape, domain.number(element, math.nan if element in EPSILONS else -77), dtype)


def type_of(function: ir.Operation) -> str:
    """The type of a function, as text."""
    return str(function.attributes["function_type"])


def check_evaluable(function: ir.Operation, sizes: dict[str, int]) -> None:
    """Look whether a function may be evaluated before that is begun.

    Raises: NotEvaluated when it is too large, or takes anything but tensors.
    """
    with run_at(tuple(sizes.values())):
        points = _points(function)
    if points > LIMIT:
        raise TooManyPoints(f"it has more than {LIMIT} points, got {points}")
    arguments = list(function.regions[0].blocks[0].arguments)
    if not all(_has_shape(a.type) for a in arguments):
        raise NotEvaluated("its arguments are not tensors of static or symbolic shape")
    foreign = _first_foreign(function)
    if foreign:
        raise NotEvaluated(f"it has {foreign}, and what works on memory is not evaluated")


def _has_shape(kind: ir.Type) -> bool:
    if isinstance(kind, ir.RankedTensorType):
        return kind.has_static_shape or isinstance(kind.encoding, ir.AffineMapAttr)
    return isinstance(kind, ir.MemRefType) and kind.has_static_shape


_ON_TENSORS = ("affine", "arith", "func", "linalg", "math", "scf", "ted", "tensor")
_AT_THE_EDGES = ("bufferization.to_tensor", "bufferization.materialize_in_destination")


def _first_foreign(function: ir.Operation) -> str:
    """The first op that is none of tensors and scalars."""
    found = ""

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        known = op.name.partition(".")[0] in _ON_TENSORS or op.name in _AT_THE_EDGES
        memory = any(isinstance(r.type, ir.MemRefType) for r in op.results)
        on_memory = op.name.startswith("linalg.") and op.regions and not len(op.results)
        if (known and not memory and not on_memory) or op.name == "linalg.yield":
            return ir.WalkResult.ADVANCE
        found = op.name
        return ir.WalkResult.INTERRUPT

    function.walk(visit)
    return found


def sizes_of(function: ir.Operation, trial: int) -> dict[str, int]:
    """What symbolic sizes are: the least values that are promised, then larger ones."""
    found: dict[str, int] = {}
    for k, (name, least, step) in enumerate(size_rows(function)):
        found[name] = (-(-least // step) + trial * (k + 2)) * step
    return found


def _points(function: ir.Operation) -> int:
    total = 0

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal total
        if op.name == "ted.compute":
            view: Any = op.opview
            total += math.prod(box_of(view)) * _times_looked_at(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return total


def _times_looked_at(op: ir.Operation) -> int:
    """The interpreter looks at every point of a scan's equations in every step."""
    steps, around = 1, op.parent
    while around is not None and around.name == "ted.scan":
        scan: Any = around.opview
        steps, around = steps * len(step_order(scan)), around.operation.parent
    return steps


def reachable(module: ir.Module, symbol: str, bodies: ir.Module | None = None) -> set[str]:
    """The functions that a function calls, itself included."""
    known = _bodies(module, bodies)
    found, waiting = {symbol}, [symbol]
    while waiting:
        function = known.get(waiting.pop())
        fresh = set(_callees(function)) - found if function else set[str]()
        found |= fresh
        waiting += fresh
    return found


def _bodies(module: ir.Module, bodies: ir.Module | None) -> dict[str, ir.Operation]:
    """The functions with a body; those of `bodies` where the module has only declarations."""
    found: dict[str, ir.Operation] = {}
    for one in filter(None, (bodies, module)):
        found.update({n: f for n, f in functions_of(one).items() if has_body(f)})
    return found


def _callees(function: ir.Operation) -> list[str]:
    operations = [view.operation for view in function.regions[0].blocks[0].operations]
    calls = [op for op in operations if op.name == "func.call"]
    return [ir.FlatSymbolRefAttr(op.attributes["callee"]).value for op in calls]


def _calls_are_known(module: ir.Module, symbol: str, bodies: ir.Module | None) -> bool:
    """Whether every function that this one reaches has a body."""
    return reachable(module, symbol, bodies) <= set(_bodies(module, bodies))


def random_point(
    function: ir.Operation,
    sizes: dict[str, int],
    generator: np.random.Generator,
    most: int,
    chosen: tuple[int, ...] = (),
) -> Arrays:
    """Random elements of the field, or of those chosen, for every argument; integers from 0 to
    `most`.
    """
    check_evaluable(function, sizes)
    with run_at(tuple(sizes.values())):
        arguments = function.regions[0].blocks[0].arguments
        return tuple(_random(a.type, generator, most, chosen) for a in arguments)


def _random(
    kind: ir.Type, generator: np.random.Generator, most: int, chosen: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    shape, _ = shape_and_type(kind, FIELD)
    element = str(ir.ShapedType(kind).element_type)
    if element not in EPSILONS:
        numbers = generator.integers(0, most, shape, endpoint=True)
        return np.asarray(numbers).astype(FIELD.array_type(element))
    return random_elements(shape, generator, chosen)


def random_elements(
    shape: tuple[int, ...], generator: np.random.Generator, chosen: tuple[int, ...] = ()
) -> np.ndarray[Any, Any]:
    """An array of random elements of the field, or of those chosen."""
    data = np.empty(shape, object)
    draw = (
        generator.choice(chosen, data.size) if chosen else generator.integers(0, PRIME, data.size)
    )
    data.ravel()[:] = [Element(int(n)) for n in draw]
    return data


def as_reals(point: Arrays, generator: np.random.Generator) -> Arrays:
    """Random floats in place of the elements of the field; integers as they are."""
    return tuple(
        np.asarray(generator.normal(size=a.shape)) if a.dtype == object else a for a in point
    )
