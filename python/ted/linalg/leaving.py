"""Loops over time that may be left: once a condition has failed, later steps change nothing.

Before: `going[t] = select(going[t - 1], c, false)`, `h[t] = select(going[t], n, h[t - 1])`
After: `func.call @ted_loop_goes_on(%going)` at the end of a step, which `ted-leave-loops` makes the
condition of the loop

The proof follows values through a step in which the condition was false before: everything that is
carried to the next step has to be what it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from ted.linalg.folded_predicates import decided_conditions
from ted.linalg.scan_bodies import ScanBody, StepEquation, equations_in
from ted.linalg.scan_steps import DynamicTime
from ted.linalg.step_choices import during
from ted.linalg.storage_folding import Window
from ted.linalg.subdomain import Read, Subdomain
from ted.linalg.uniform_choices import connected, truth
from ted.mlir import arith, func, ir, scf
from ted.mlir.affine_forms import down, linear
from ted.mlir.queries import defining, operations
from ted.mlir.scalars import constant, index, shape_of
from ted.mlir.storage import element
from ted.records import dataclass

GOES_ON = "ted_loop_goes_on"
_FALSE = -1  # what a history is in a step: false, or the number of one as it was the step before


def leaving_condition(
    body: ScanBody, windows: Mapping[int, Window], carried: list[int], time: DynamicTime
) -> int | None:
    """The history of bools after which, once all are false, no step changes what is carried."""
    for k in carried:
        is_bool = str(ir.ShapedType(body.inits[k].type).element_type) == "i1"
        if is_bool and _is_settled(_Step(body, k, time), windows, carried):
            return k
    return None


def _is_settled(step: _Step, windows: Mapping[int, Window], carried: list[int]) -> bool:
    if any(k not in windows or windows[k].size > 1 for k in carried):
        return False
    inner = {op for scan in step.body.nested for op in equations_in(scan)}
    for op, equation in step.body.equations.items():
        if op not in inner:
            step.values[equation.target] = step.value(equation)
    settled = {k: {k} for k in carried} | {step.condition: {_FALSE}}
    return all(step.values.get(k) in settled[k] for k in carried)


@dataclass
class _Step:
    """A step in front of which the condition is false, and what histories are in it."""

    body: ScanBody
    condition: int
    time: DynamicTime
    values: dict[int, int | None] = field(default_factory=dict)

    def value(self, equation: StepEquation) -> int | None:
        """What an equation makes of its history; None for anything."""
        subdomain = during(equation, equation.subdomain, self.time)
        if subdomain is None or not equation.begins or not equation.writes_all(subdomain):
            return None
        known = self._truths(equation, subdomain)
        value = subdomain.body.operations[len(subdomain.body.operations) - 1].operands[0]
        while (op := defining(value, "arith.select")) is not None and op.operands[0] in known:
            value = op.operands[1 if known[op.operands[0]] else 2]
        if truth(value, known) is False:
            return _FALSE
        for argument, read, source in self._reads(equation, subdomain):
            if argument == value and self._is_same_place(equation, subdomain, read, source):
                return self._read(equation, subdomain, read, source)
        return None

    def _truths(self, equation: StepEquation, subdomain: Subdomain) -> dict[ir.Value, bool]:
        known = decided_conditions(subdomain)
        for argument, read, source in self._reads(equation, subdomain):
            if self._read(equation, subdomain, read, source) == _FALSE:
                known[argument] = False
        for view in subdomain.body.operations:
            op = view.operation
            answer = connected(op, known)
            if answer is not None:
                known[op.results[0]] = answer
        return known

    def _reads(
        self, equation: StepEquation, subdomain: Subdomain
    ) -> Iterator[tuple[ir.Value, Read, int]]:
        arguments = subdomain.body.arguments
        for argument, read, source in zip(
            arguments, subdomain.reads, equation.sources, strict=False
        ):
            if read is not None and not read.guard and source is not None:
                yield argument, read, source

    def _read(
        self, equation: StepEquation, subdomain: Subdomain, read: Read, source: int
    ) -> int | None:
        """What is read: a history of this step, or as it was the step before."""
        now = subdomain.write[self.body.times[equation.target]]
        form = linear(down(now - read.subscripts[self.body.times[source]]))
        if form is None or form.terms:
            return None
        ago = -form.constant if self.body.reverse else form.constant
        if ago == 0:
            return self.values.get(source)
        if ago != 1:
            return None
        return _FALSE if source == self.condition else source

    def _is_same_place(
        self, equation: StepEquation, subdomain: Subdomain, read: Read, source: int
    ) -> bool:
        here, there = list(subdomain.write), list(read.subscripts)
        del here[self.body.times[equation.target]], there[self.body.times[source]]
        return here == there and shape_of(read.tensor) == shape_of(subdomain.inits[0])


def emit_condition(slices: ir.Value) -> None:
    """Say at the end of a step that the loop goes on only where one of these bools is true."""
    any_of_them = _any(slices)
    func.CallOp([], ir.FlatSymbolRefAttr.get(GOES_ON), [any_of_them])


def _any(slices: ir.Value) -> ir.Value:
    shape = shape_of(slices)
    found = constant(ir.IntegerType.get_signless(1), 0)

    def level(place: list[ir.Value], found: ir.Value) -> ir.Value:
        if len(place) == len(shape):
            return arith.OrIOp(found, element(slices, place)).result
        if shape[len(place)] == 1:
            return level([*place, index(0)], found)
        loop = scf.ForOp(index(0), index(shape[len(place)]), index(1), [found])
        with ir.InsertionPoint(loop.body):
            inside = level([*place, loop.induction_variable], loop.inner_iter_args[0])
            scf.YieldOp([inside])
        return loop.results[0]

    return level([], found)


def declare_condition(module: ir.Operation) -> None:
    """Declare the function that says so, where a loop may be left."""
    calls = operations(module, "func.call")
    if not any(ir.FlatSymbolRefAttr(c.attributes["callee"]).value == GOES_ON for c in calls):
        return
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), ir.Location.unknown():
        kind = ir.FunctionType.get([ir.IntegerType.get_signless(1)], [])
        func.FuncOp(GOES_ON, kind, visibility="private")
