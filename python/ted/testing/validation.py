"""Translation validation: is a module, after a pass, still the same program?

Every function is evaluated before and after at random points of a prime field, where sums and
products are exact and functions have no meaning (`prime_field.py`).  What the field cannot judge,
a function that is new, too large or outside the interpreter, is left unjudged, with a remark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ted.errors import ExecutionError, PassFailed
from ted.ir.passes import PASSES
from ted.ir.remarks import remark
from ted.mlir import ir
from ted.testing.interpreter import interpret
from ted.testing.interpreter_compute import box_of
from ted.testing.interpreter_scan import step_order
from ted.testing.interpreter_sizes import size_rows
from ted.testing.interpreter_values import run_at, shape_and_type
from ted.testing.prime_field import EPSILONS, PRIME, Element, PrimeField

TRIALS = 2
LIMIT = 2**18  # points of the equations of one function
Arrays = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class _Evaluated:
    """A function before a pass: its type, the points, and its results there."""

    kind: str
    inputs: list[Arrays]
    results: list[Arrays]
    sizes: list[dict[str, int]]


@dataclass
class Validator:
    """Watch a pipeline and compare the module around each pass from ops of ted to ops of ted."""

    seed: int = 0
    _before: dict[str, _Evaluated] = field(default_factory=dict)

    def before(self, name: str, module: ir.Module) -> None:
        """Evaluate every function that can be evaluated."""
        self._before = {}
        if not keeps_meaning(name):
            return
        generator = np.random.default_rng(self.seed)
        for function in _functions(module).values():
            found = _evaluated(module, function, generator)
            if isinstance(found, _Evaluated):
                self._before[_symbol(function)] = found
            else:
                remark(f"{name}: @{_symbol(function)} is not validated: {found}")

    def after(self, name: str, module: ir.Module) -> None:
        """Evaluate them again.

        Raises: PassFailed where a result differs.
        """
        functions = _functions(module)
        for symbol, known in self._before.items():
            if symbol not in functions:
                continue  # a private one that nobody calls any more
            if any(known.sizes) and not size_rows(functions[symbol]):
                remark(f"{name}: @{symbol} is not validated: its sizes became numbers")
                continue
            kind = _type(functions[symbol])
            if kind != known.kind:
                raise PassFailed(f"{name}: @{symbol} keeps its type {known.kind}, got {kind}")
            for k, (inputs, wanted) in enumerate(zip(known.inputs, known.results, strict=True)):
                found = _again(name, module, symbol, inputs, known.sizes[k])
                _compare(name, symbol, wanted, found)

    def failed(self, name: str, module: ir.Module) -> None:
        """Nothing to compare."""
        del name, module
        self._before = {}


def keeps_meaning(name: str) -> bool:
    """Whether a pass promises ops of ted that mean the same."""
    lower = ("ted.lowering", "ted.schedules")
    return name in PASSES and not PASSES[name].package.startswith(lower)


def _again(
    name: str, module: ir.Module, symbol: str, inputs: Arrays, sizes: dict[str, int]
) -> Arrays:
    try:
        return interpret(module, inputs, symbol, domain=PrimeField(), sizes=sizes)
    except ExecutionError as error:
        raise PassFailed(f"{name}: @{symbol} could be evaluated before, got {error}") from error


def _compare(name: str, symbol: str, wanted: Arrays, found: Arrays) -> None:
    for position, (before, after) in enumerate(zip(wanted, found, strict=True)):
        for at in np.ndindex(before.shape):
            if before[at] != after[at]:
                raise PassFailed(
                    f"{name}: result {position} of @{symbol} keeps its value at every point, got "
                    f"{before[at]!r} before and {after[at]!r} after at index {list(at)} "
                    f"(in the field of {PRIME} elements)"
                )


# ------------------------------------------------------------------ functions and points


def _functions(module: ir.Module) -> dict[str, ir.Operation]:
    tops = [view.operation for view in module.body.operations]
    named = {_symbol(op): op for op in tops if op.name == "func.func"}
    return {symbol: op for symbol, op in named.items() if list(op.regions[0].blocks)}


def _symbol(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def _type(function: ir.Operation) -> str:
    return str(function.attributes["function_type"])


def _evaluated(
    module: ir.Module, function: ir.Operation, generator: np.random.Generator
) -> _Evaluated | str:
    """The function at random points, or why it cannot be evaluated."""
    if not _calls_are_known(module, function):
        return "it calls a function without body"
    found = _Evaluated(_type(function), [], [], [])
    why = ""
    for most in (1, 0) * TRIALS:  # integers may be indices: zeros are the safest
        if len(found.inputs) == TRIALS:
            break
        sizes = _sizes(function, len(found.inputs))
        with run_at(tuple(sizes.values())):
            points = _points(function)
            if points > LIMIT:
                return f"it has more than {LIMIT} points, got {points}"
            arguments = list(function.regions[0].blocks[0].arguments)
            if not all(map(_is_ranked, arguments)):
                return "its arguments are not tensors of static or symbolic shape"
            point = tuple(_random(a, generator, most) for a in arguments)
        try:
            results = interpret(module, point, _symbol(function), domain=PrimeField(), sizes=sizes)
        except ExecutionError as error:
            why = str(error)
            continue
        found.inputs.append(point)
        found.results.append(results)
        found.sizes.append(sizes)
    return found if found.inputs else why


def _sizes(function: ir.Operation, trial: int) -> dict[str, int]:
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
            total += math.prod(box_of(view))
        elif op.name == "ted.scan":
            total += _steps_again(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return total


def _steps_again(scan: ir.Operation) -> int:
    """The interpreter looks at every point of a scan's equations in every step."""
    view: Any = scan.opview
    return (len(step_order(view)) - 1) * sum(math.prod(box_of(one)) for one in view.computes)


def _calls_are_known(module: ir.Module, function: ir.Operation) -> bool:
    """Whether every function that this one reaches has a body."""
    known, waiting = _functions(module), [_symbol(function)]
    seen: set[str] = set()
    while waiting:
        symbol = waiting.pop()
        if symbol not in known:
            return False
        if symbol in seen:
            continue
        seen.add(symbol)
        operations = [op.operation for op in known[symbol].regions[0].blocks[0].operations]
        waiting += [
            ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            for op in operations
            if op.name == "func.call"
        ]
    return True


def _is_ranked(value: ir.Value) -> bool:
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and (
        kind.has_static_shape or isinstance(kind.encoding, ir.AffineMapAttr)
    )


def _random(value: ir.Value, generator: np.random.Generator, most: int) -> np.ndarray[Any, Any]:
    """Random elements of the field; integers from 0 to `most`."""
    ranked = ir.RankedTensorType(value.type)
    shape, _ = shape_and_type(ranked, PrimeField())
    element = str(ranked.element_type)
    if element not in EPSILONS:
        numbers = generator.integers(0, most, shape, endpoint=True)
        return np.asarray(numbers).astype(PrimeField().array_type(element))
    data = np.empty(shape, object)
    data.ravel()[:] = [Element(int(n)) for n in generator.integers(0, PRIME, data.size)]
    return data
