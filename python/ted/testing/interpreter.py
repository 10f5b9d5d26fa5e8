"""The reference interpreter, an oracle: it evaluates ted ops directly, point by point.

Scalars are numpy scalars of exactly the element type, points run in row-major order, and no code is
shared with the equations, the transforms or the lowerings that it checks.  It counts the weighted
operations that it executes.  An element of `tensor.empty` that reaches a result is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ted.dialects import session
from ted.dialects.ted import ComputeOp
from ted.errors import ExecutionError
from ted.mlir import ir
from ted.mlir.queries import symbol_name
from ted.records import dataclass
from ted.testing import interpreter_scalars as scalars
from ted.testing.interpreter_compute import run_compute
from ted.testing.interpreter_memory import as_memory, is_memory
from ted.testing.interpreter_regions import AtOperation, run_op
from ted.testing.interpreter_scan import ScanSteps, check_is_bounded
from ted.testing.interpreter_sizes import bound_sizes
from ted.testing.interpreter_values import (
    Cells,
    TooManyPoints,
    name_of,
    place_of,
    run_at,
    shape_and_type,
    size_of,
)
from ted.testing.scalar_domains import MACHINE, ScalarDomain

Arrays = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class OperationCount:
    """One executed `ted.compute`: its name, its points, and the weighted operations they cost."""

    name: str
    combiner: str
    points: int
    operations: int


@dataclass
class Counts:
    """What an interpretation executed, op by op in execution order."""

    per_op: list[OperationCount] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Weighted operations of all ops."""
        return sum(c.operations for c in self.per_op)

    @property
    def points(self) -> int:
        """Iteration points of all ops."""
        return sum(c.points for c in self.per_op)


def _check_options(function: Any, counts: Any, domain: Any, sizes: Any, bodies: Any) -> None:
    """Raises: ExecutionError for an option of another kind."""
    rules = (
        ("function: a name", function, isinstance(function, str)),
        ("counts: a Counts, or None", counts, counts is None or isinstance(counts, Counts)),
        ("domain: a domain of scalars", domain, hasattr(type(domain), "array_type")),
        ("sizes: a dict of numbers, or None", sizes, sizes is None or isinstance(sizes, Mapping)),
        ("bodies: a module, or None", bodies, bodies is None or isinstance(bodies, ir.Module)),
    )
    for rule, given, fits in rules:
        if not fits:
            raise ExecutionError(f"interpret: {rule}, got {given!r}")


def interpret(
    module: ir.Module | str,
    inputs: Sequence[np.ndarray[Any, Any] | Cells],
    function: str = "main",
    counts: Counts | None = None,
    domain: ScalarDomain = MACHINE,
    sizes: Mapping[str, int] | None = None,
    bodies: ir.Module | None = None,
) -> Arrays:
    """Run `function` of a module, given as an object or as text, on arrays of its exact types.

    `domain` says what scalars are: by default the numbers of the machine. Symbolic sizes follow
    from the shapes of the arrays, where not given by name. `bodies` is another module of the same
    context that has the functions which this one only declares. An argument that is memory takes
    an array, which is written, or `Cells` that say which of them nobody wrote.

    Raises: ExecutionError for what is no module, an unknown function, inputs of other types, an
    access outside its tensor, or a result that is not all written.
    """
    parsed = parsed_module(module) if isinstance(module, str) else module
    if not isinstance(parsed, ir.Module):
        raise ExecutionError(f"interpret: a module or its text, got {module!r}")
    _check_options(function, counts, domain, sizes, bodies)
    with parsed.context, np.errstate(all="ignore"):
        check_is_bounded(parsed)
        program = _Program(parsed, Counts() if counts is None else counts, domain, bodies)
        callee = program.functions.get(function)
        if callee is None:
            raise ExecutionError(f"interpret: a function of the module, got {function}")
        given = _cells(inputs)
        with run_at(bound_sizes(callee, [c.data.shape for c in given], sizes or {})):
            results = program.call(callee, _checked_inputs(callee, given, domain))
    return tuple(_defined(r, k, function) for k, r in enumerate(results))


def parsed_module(text: str) -> ir.Module:
    """A module from its text, in the context of a session.

    Raises: ExecutionError for text that is no module.
    """
    with session():
        try:
            return ir.Module.parse(text)
        except ir.MLIRError as error:
            raise ExecutionError(f"interpret: a module or its text, got {error}") from None


def _cells(inputs: Any) -> list[Cells]:
    try:
        return [v if isinstance(v, Cells) else Cells(np.asarray(v)) for v in inputs]
    except (TypeError, ValueError) as error:  # no list; lists of several lengths
        raise ExecutionError(f"interpret: inputs are a list of arrays, got {error}") from None


def _checked_inputs(
    callee: ir.Operation, inputs: Sequence[Cells], domain: ScalarDomain
) -> list[Cells]:
    arguments = list(callee.regions[0].blocks[0].arguments)
    if len(arguments) != len(inputs):
        raise ExecutionError(f"interpret: {len(arguments)} inputs, got {len(inputs)}")
    for position, (argument, cells) in enumerate(zip(arguments, inputs, strict=True)):
        array = cells.data
        shape, dtype = shape_and_type(argument.type, domain)
        if array.shape != shape or array.dtype != dtype:
            name = name_of(argument, str(position))
            wanted, given = f"{dtype}{list(shape)}", f"{array.dtype}{list(array.shape)}"
            raise ExecutionError(f"interpret: argument {name} of type {wanted}, got {given}")
    pairs = zip(arguments, inputs, strict=True)
    return [as_memory(cells) if is_memory(argument) else cells for argument, cells in pairs]


def _defined(result: Any, position: int, function: str) -> np.ndarray[Any, Any]:
    if not isinstance(result, Cells):
        return np.asarray(result)
    if result.undefined is not None and result.undefined.any():
        first = [int(n) for n in np.argwhere(result.undefined)[0]]
        raise ExecutionError(
            f"interpret: every element of result {position} of {function} is written, "
            f"got none at index {first}"
        )
    return result.data


def functions_of(module: ir.Module) -> dict[str, ir.Operation]:
    """The functions of a module by name."""
    tops = [view.operation for view in module.body.operations]
    found = [op for op in tops if op.name == "func.func"]
    return {symbol_name(op): op for op in found}


def has_body(function: ir.Operation) -> bool:
    """Whether a function is more than a declaration."""
    return bool(list(function.regions[0].blocks))


OF_THE_RUNTIME = ("ted_index_error", "ted_loop_goes_on")


def _called_in_the_runtime(name: str) -> list[Any]:
    """No result: a loop that goes on changes nothing when it might be left.

    Raises: ExecutionError for what is told about an index.
    """
    if name == "ted_index_error":
        raise ExecutionError("interpret: every index is inside of its tensor, got one outside")
    return []


class _Program:
    """The functions of a module and the counts of a run."""

    def __init__(
        self, module: ir.Module, counts: Counts, domain: ScalarDomain, bodies: ir.Module | None
    ) -> None:
        self.functions = functions_of(module)
        for name, op in functions_of(bodies).items() if bodies else ():
            if has_body(op) and not (name in self.functions and has_body(self.functions[name])):
                self.functions[name] = op
        self.counts = counts
        self.domain = domain

    def call(self, callee: ir.Operation, arguments: Sequence[Any]) -> list[Any]:
        """Run the one block of a function."""
        block = callee.regions[0].blocks[0]
        environment: dict[ir.Value, Any] = dict(zip(block.arguments, arguments, strict=True))
        for view in block.operations:
            op = view.operation
            if op.name == "func.return":
                return [environment[v] for v in op.operands]
            results = self.run(op, environment)
            environment.update(zip(op.results, results, strict=True))
        raise ExecutionError("interpret: a function that returns, got no func.return")

    def run(self, op: ir.Operation, environment: dict[ir.Value, Any]) -> list[Any]:
        if op.name == "ted.compute":
            view: Any = op.opview
            results, points = run_compute(view, environment, domain=self.domain)
            self.count(view, points)
            return results
        if op.name == "ted.scan":
            return self.scan(op, environment)
        if op.name == "ted.size":
            return [size_of(op)]
        try:
            return run_op(op, environment, self.domain, self.named)
        except ExecutionError as error:
            if op.name == "func.call" or isinstance(error, TooManyPoints | AtOperation):
                raise
            raise type(error)(error.message, place_of(op.location)) from None

    def named(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Run a function of the module."""
        callee = self.functions.get(name)
        if name in OF_THE_RUNTIME:
            return _called_in_the_runtime(name)
        if callee is None or not has_body(callee):
            raise ExecutionError(f"interpret: a call of a function with a body, got @{name}")
        return self.call(callee, arguments)

    def scan(self, op: ir.Operation, environment: dict[ir.Value, Any]) -> list[Any]:
        """Run the body of a scan once a step, on the histories so far."""
        points: Counter[ir.Operation] = Counter()
        scan: Any = op.opview
        states = self._steps(ScanSteps(scan), environment, points)
        for view, _ in scan.writers():
            self.count(view, points[view.operation])
        return states

    def _steps(
        self, steps: ScanSteps, environment: dict[ir.Value, Any], points: Counter[ir.Operation]
    ) -> list[Any]:
        scan: Any = steps.op
        inner = dict(environment)
        operations = [view.operation for view in scan.body_block.operations][:-1]
        states = [environment[v] for v in scan.inits]
        for time in steps.order:
            steps.time = time
            inner.update(zip(scan.body_block.arguments, states, strict=True))
            for one in operations:
                view: Any = one.opview
                if one.name == "ted.compute":
                    results, taken = run_compute(view, inner, steps.step(view, inner), self.domain)
                    points[one] += taken
                elif one.name == "ted.scan":
                    results = self._steps(ScanSteps(view, steps), inner, points)
                else:
                    results = self.run(one, inner)
                inner.update(zip(one.results, results, strict=True))
            states = [inner[v] for v in scan.yielded]
        return states

    def count(self, op: ComputeOp, points: int) -> None:
        """Note what an op has executed."""
        combiner = op.combiner_name
        weight = scalars.body_weight(op.body_block) + (combiner != "set")
        name = name_of(op.operation.results[0], "")
        self.counts.per_op.append(OperationCount(name, combiner, points, points * weight))
