"""Functions of a module at random points of the prime field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from ted.errors import ExecutionError
from ted.mlir import ir
from ted.records import dataclass
from ted.testing.interpreter import OF_THE_RUNTIME, functions_of, has_body, interpret
from ted.testing.interpreter_compute import box_of
from ted.testing.interpreter_memory import ON_MEMORY, as_memory, is_memory
from ted.testing.interpreter_scalars import NotEvaluated
from ted.testing.interpreter_scan import step_order
from ted.testing.interpreter_sizes import size_rows
from ted.testing.interpreter_values import (
    Cells,
    TooManyPoints,
    at_most,
    empty,
    run_at,
    shape_and_type,
)
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
    """A function: its type, points, and its results there.

    `taken` gives for arguments the results whose memory holds them when a call starts.
    """

    kind: str
    taken: dict[int, int] = field(default_factory=dict)
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
    found, why = Evaluated(type_of(function), _taken(function)), ""
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
    taken: Mapping[int, int] | None = None,
) -> Arrays:
    """The results of a function at a point; or the memory that it takes for them, or all of it.

    Memory for results holds the arguments that they have `taken`, if any, or nothing.

    Raises: NotEvaluated where the interpreter cannot say.
    """
    function = functions_of(module)[symbol]
    check_evaluable(function, sizes)
    _check_callees(module, symbol, bodies)
    arguments = list(function.regions[0].blocks[0].arguments)
    given, own = [Cells(array) for array in point], len(point)
    if any(map(is_memory, arguments)):
        held = {result: point[k] for k, result in (taken or {}).items()}
        arrays = [array for k, array in enumerate(point) if k not in (taken or {})]
        own = len(arrays)
        arrays += [held.get(k) for k in range(len(arguments) - own)]
        with run_at(tuple(sizes.values())):
            pairs = zip(arguments, arrays, strict=True)
            given = [_as_memory(a, array, domain) for a, array in pairs]
    with at_most(LOWERED_LIMIT):
        results = interpret(module, given, symbol, domain=domain, sizes=sizes, bodies=bodies)
    return results or tuple(map(_told, given[own:] or given))


def _taken(function: ir.Operation) -> dict[int, int]:
    if "ted.in_place" not in function.attributes:
        return {}
    pairs = list(ir.DenseI64ArrayAttr(function.attributes["ted.in_place"]))
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def _told(memory: Cells) -> np.ndarray[Any, Any]:
    """What is in memory; None, or NaN among floats, where nobody wrote."""
    if memory.undefined is None or memory.data.dtype.kind == "f":
        return memory.data
    found = memory.data.astype(object)
    found[memory.undefined] = None
    return found


def _as_memory(
    argument: ir.Value, array: np.ndarray[Any, Any] | None, domain: ScalarDomain
) -> Cells:
    """The memory of an argument: that of an array in another shape, or some with nothing in it."""
    if array is None or not array.size:
        return empty(argument.type, domain)
    shape, _ = shape_and_type(argument.type, domain)
    return as_memory(Cells(array.reshape(shape).copy()))


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
        raise NotEvaluated(f"it has {foreign}, which is not evaluated")


def _check_callees(module: ir.Module, symbol: str, bodies: ir.Module | None) -> None:
    """Raises: NotEvaluated when a function that this one reaches is not evaluated."""
    known = _bodies(module, bodies)
    for name in sorted(reachable(module, symbol, bodies) - {symbol}):
        foreign = _first_foreign(known[name]) if name in known else ""
        if foreign:
            raise NotEvaluated(f"it calls @{name}, which has {foreign}, and that is not evaluated")


def _has_shape(kind: ir.Type) -> bool:
    if isinstance(kind, ir.RankedTensorType):
        return kind.has_static_shape or isinstance(kind.encoding, ir.AffineMapAttr)
    return isinstance(kind, ir.MemRefType) and kind.has_static_shape


_ON_TENSORS = ("arith", "func", "linalg", "math", "ted", "tensor")
_KNOWN = ON_MEMORY | {
    "affine.apply", "affine.linearize_index", "affine.max", "affine.min",
    "bufferization.materialize_in_destination", "bufferization.to_tensor", "scf.for",
    "scf.forall", "scf.forall.in_parallel", "scf.if", "scf.yield",
}  # fmt: skip


def _first_foreign(function: ir.Operation) -> str:
    """The first op that is none of tensors, scalars, and memory of static shape."""
    found = ""

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        known = op.name.partition(".")[0] in _ON_TENSORS or op.name in _KNOWN
        if known and all(_has_shape(r.type) for r in op.results if is_memory(r)):
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
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            found.append(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return [name for name in found if name not in OF_THE_RUNTIME]


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
