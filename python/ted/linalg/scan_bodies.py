"""What a `ted.scan` says: its histories, and the equations of a step in their order.

Operand, block argument, yielded value and result k are states of history k.  The equations of the
scans inside of a step are among those of the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from ted.errors import ScheduleError
from ted.forking import cached_property
from ted.linalg.subdomain import Subdomain, from_compute
from ted.linalg.timestamps import Timestamp, over_steps, over_times, with_timestamp
from ted.mlir import ir
from ted.mlir.locations import source_location
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, shape_of
from ted.mlir.storage import is_memory
from ted.plan.block_loops import CARRIES
from ted.records import dataclass

_UNROLLED = 8  # terms of a sum that stand side by side
_FEW = 4  # such a part of the operations of a step is better tested than all of them repeated


@dataclass(frozen=True)
class StepEquation:
    """An equation of a step: which history it writes, and which its operands are (or None).

    The first equation of a history begins it: from there on its newest slice is that of this step.
    """

    op: ir.Operation
    subdomain: Subdomain
    timestamp: Timestamp | None  # also None where there is no point
    target: int
    sources: tuple[int | None, ...]
    begins: bool
    begun: frozenset[int]
    loads: Mapping[ir.Operation, int] = field(default_factory=dict)  # histories read at data
    fixed: tuple[tuple[int, ir.Value], ...] = ()  # dims that are times of scans around this one
    performed: bool = True  # at the times of those
    updates: bool = False  # each element of what it begins is made of the same one a step before

    @property
    def carries(self) -> bool:
        """Whether it only copies the slice of the step before, which asks for no copy."""
        return CARRIES in self.op.attributes

    def has_begun(self, history: int) -> bool:
        """Whether a history's newest slice is that of this step where the equation reads it."""
        return history in self.begun and not (self.updates and history == self.target)

    def writes_all(self, subdomain: Subdomain) -> bool:
        """Whether a part of it, in some steps, writes every element of their slices, as a map."""
        assert self.timestamp is not None, "it has points in these steps"
        axis, time, shape = self.timestamp.axis, self.timestamp.dim, shape_of(subdomain.inits[0])
        write = [e for k, e in enumerate(subdomain.write) if k != axis]
        dims = [ir.AffineExpr.get_dim(k) for k in range(subdomain.rank) if k != time]
        extents = [n for k, n in enumerate(subdomain.extents) if k != time]
        is_whole = write == dims and extents == [n for k, n in enumerate(shape) if k != axis]
        is_map = subdomain.combiner == "set" and len(subdomain.inits) == 1
        return is_map and is_whole and not subdomain.domain

    def on(self, copy: ir.Operation) -> StepEquation:
        """The same equation with the operands of a copy of its op."""
        operands, body = list(copy.operands), copy.regions[0].blocks[0]
        reads = tuple(
            read and replace(read, tensor=tensor)
            for read, tensor in zip(self.subdomain.reads, operands, strict=False)
        )
        inits = tuple(operands[len(reads) :])
        subdomain = replace(self.subdomain, reads=reads, inits=inits, body=body)
        copies = zip(loads_in(self.op), loads_in(copy), strict=True)
        loads = {new: self.loads[old] for old, new in copies if old in self.loads}
        return replace(self, subdomain=subdomain, loads=loads)

    def at_same_times(
        self, subdomain: Subdomain, timestamp: Timestamp | None
    ) -> tuple[Subdomain, Timestamp | None]:
        """A subdomain of the same points, or of some, in a box of the same times."""
        mine = self.timestamp
        if mine is None or timestamp is None or mine.factor != 1 or timestamp.factor != 1:
            return subdomain, timestamp
        return over_times(subdomain, timestamp, *mine.span(self.subdomain))


class ScanBody:
    """The attributes and equations of one `ted.scan`."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.inits = list(op.operands)
        self.times = list(ir.DenseI64ArrayAttr(op.attributes["times"]))
        self.steps = ir.IntegerAttr(op.attributes["steps"]).value
        self.reverse = ir.BoolAttr(op.attributes["reverse"]).value
        self.block = op.regions[0].blocks[0]
        *self.inner, self.end = [view.operation for view in self.block.operations]
        self.nested = [op for op in self.inner if op.name == "ted.scan"]

    @cached_property
    def history(self) -> dict[ir.Value, int]:
        """The history that each value of the body is a state of."""
        found = {argument: k for k, argument in enumerate(self.block.arguments)}
        _follow(self.inner, found)
        return found

    @cached_property
    def equations(self) -> dict[ir.Operation, StepEquation]:
        """The equations of a step, in order; what scans inside of it write begins before them."""
        found: dict[ir.Operation, StepEquation] = {}
        begun: set[int] = set()
        for op in self.inner:
            begun |= self.written(op) if op.name == "ted.scan" else set()
            for equation in equations_in(op):
                target = next(self.history[r] for r in equation.results if r in self.history)
                begins, subdomain, timestamp = target not in begun, from_compute(equation), None
                if not subdomain.is_empty:
                    subdomain, timestamp = with_timestamp(subdomain, self.times[target])
                if timestamp is not None:
                    subdomain, timestamp = over_steps(subdomain, timestamp, self.steps)
                begun.add(target)
                sources = tuple(self.history.get(v) for v in equation.operands)
                loads = {
                    one: self.history[one.operands[0]]
                    for one in loads_in(equation)
                    if one.operands[0] in self.history
                }
                made = StepEquation(
                    equation, subdomain, timestamp, target, sources, begins, frozenset(begun), loads
                )
                found[equation] = replace(made, updates=self._is_update(made))
        return found

    @cached_property
    def carrying(self) -> set[int]:
        """Histories whose slice of a step begins as that of the step before.

        Raises: ScheduleError for an equation that asks for it, and says something else.
        """
        carrying = [e for e in self.equations.values() if e.carries]
        for equation in carrying:
            self._check_carries(equation)
        return {e.target for e in carrying}

    def _check_carries(self, equation: StepEquation) -> None:
        """What asks not to be copied begins a history, as it was a step before."""
        subdomain, before = equation.subdomain, self._before(equation)
        body = equation.op.regions[0].blocks[0]
        yielded = body.operations[len(body.operations) - 1].operands[0]
        read = subdomain.reads[0] if len(subdomain.reads) == 1 else None
        same = read is not None and list(read.subscripts) == before
        is_own = equation.sources[0] == equation.target and equation.begins
        if not (same and is_own and yielded == body.arguments[0]):
            raise ScheduleError(
                f"{CARRIES}: an equation that asks for it begins a total as it was in the step "
                f"before, got {str(equation.op)[:200]}",
                source_location(equation.op.location),
            )

    def _before(self, equation: StepEquation) -> list[ir.AffineExpr]:
        """Where an element stands in its history that an equation writes a step later."""
        before, axis = list(equation.subdomain.write), self.times[equation.target]
        before[axis] = before[axis] + (1 if self.reverse else -1)
        return before

    def _is_update(self, equation: StepEquation) -> bool:
        """Whether an equation makes each element of a slice of what it was a step before.

        It begins the slice, all of it in every step, and reads no other element of its history.
        """
        subdomain, timestamp = equation.subdomain, equation.timestamp
        if timestamp is None or timestamp.factor != 1 or not equation.begins:
            return False
        is_always = subdomain.extents[timestamp.dim] == self.steps
        if not (is_always and equation.writes_all(subdomain)):
            return False
        pairs = zip(subdomain.reads, equation.sources, strict=False)
        own = [r for r, source in pairs if r is not None and source == equation.target]
        before = self._before(equation)
        is_own = bool(own) and all(list(r.subscripts) == before for r in own)
        return is_own and equation.target not in equation.loads.values()

    @cached_property
    def divided(self) -> dict[ir.Operation, int]:
        """Maps in which conditions change once, and when, if they are a small part of a step.

        They are tested in the loop, as a stretch of time repeats all that is in a step: those that
        stand beside scans, or write at one step of theirs.  Loops that may be left keep stretches,
        in which the last steps are known to change nothing.
        """
        if self._may_be_left:
            return {}
        once = (op for nested in self.nested for op in _at_one_time(ScanBody(nested)))
        beside = (op for op in self.inner if op in self.equations)
        found: dict[ir.Operation, int] = {}
        for op in (*beside, *once):
            equation = self.equations[op]
            subdomain, timestamp = equation.subdomain, equation.timestamp
            if timestamp is None or timestamp.factor > 1 or subdomain.reduction_dims:
                continue
            if equation.carries:
                continue
            cuts = timestamp.cuts(subdomain) - {0, self.steps}
            if len(cuts) == 1:
                (found[op],) = cuts
        code = {op: _code_of(op, e.subdomain) for op, e in self.equations.items()}
        return found if sum(code[op] for op in found) * _FEW <= sum(code.values()) else {}

    @property
    def _may_be_left(self) -> bool:
        """Whether a step reads a condition of an earlier one."""
        bools = {k for k, v in enumerate(self.inits) if str(element_type(v)) == "i1"}
        for equation in self.equations.values():
            now = equation.subdomain.write[self.times[equation.target]]
            for read, source in zip(equation.subdomain.reads, equation.sources, strict=False):
                if source in bools and read and read.subscripts[self.times[source]] != now:
                    return True
            if bools.intersection(equation.loads.values()):
                return True
        return False

    def divides(self, op: ir.Operation, span: tuple[int, int]) -> bool:
        """Whether conditions of an equation change within a stretch of time."""
        return op in self.divided and span[0] < self.divided[op] < span[1]

    def written(self, nested: ir.Operation) -> set[int]:
        """The histories of a scan inside of a step."""
        return {self.history[v] for v in nested.operands}

    @cached_property
    def indivisible(self) -> set[int]:
        """Histories that are no windows: without equations, of two results, or read elsewhere."""
        found = set(range(len(self.inits))) - {e.target for e in self.equations.values()}
        found |= {e.target for op, e in self.equations.items() if not self._is_of_one(op)}
        found |= {k for k, init in enumerate(self.inits) if is_memory(init)}
        for value, k in self.history.items():
            owners = [use.owner.operation for use in value.uses]
            if not all(map(self._is_understood, owners)):
                found.add(k)
        return found

    def _is_of_one(self, op: ir.Operation) -> bool:
        """Whether an equation gives one history, at most with values that nobody reads."""
        if len(op.results) == 1:
            return True
        starts, around = defining(list(op.operands)[-2], "linalg.fill"), self.op.parent
        is_flat = not self.nested and (around is None or around.operation.name != "ted.scan")
        return is_flat and starts is not None and not list(op.results[0].uses)

    def _is_understood(self, user: ir.Operation) -> bool:
        """Whether what uses a state is an equation, a read at data in one, or hands it on."""
        around = user.parent
        reader = around.operation if user.name == "ted.load" and around is not None else user
        return reader in self.equations or passes_on(user)

    def state(self, history: int) -> ir.Value:
        """The value that stands for a history before a step."""
        return self.block.arguments[history]


def _code_of(op: ir.Operation, subdomain: Subdomain) -> int:
    """How many operations an equation becomes, roughly: sums are unrolled."""
    return len(op.regions[0].blocks[0].operations) * (_UNROLLED if subdomain.reduction_dims else 1)


def _at_one_time(body: ScanBody) -> list[ir.Operation]:
    """The equations beside scans of a step that are performed in one step only."""
    found = [(op, body.equations[op].timestamp) for op in body.inner if op in body.equations]
    return [op for op, timestamp in found if timestamp is not None and not timestamp.factor]


def loads_in(op: ir.Operation) -> list[ir.Operation]:
    """The reads at data in the body of an equation, in order."""
    body = op.regions[0].blocks[0]
    return [view.operation for view in body.operations if view.operation.name == "ted.load"]


def equations_in(op: ir.Operation) -> list[ir.Operation]:
    """An equation, or those of a scan inside of a step and of the scans in that one."""
    if op.name == "ted.scan":
        return [
            e for view in op.regions[0].blocks[0].operations for e in equations_in(view.operation)
        ]
    return [op] if op.name == "ted.compute" else []


def _follow(ops: list[ir.Operation], found: dict[ir.Value, int]) -> None:
    for op in ops:
        if op.name == "ted.scan":
            block = op.regions[0].blocks[0]
            pairs = zip(op.operands, block.arguments, strict=True)
            found.update({argument: found[v] for v, argument in pairs})
            _follow([view.operation for view in block.operations], found)
        for init, result in _chained(op):
            if init in found:
                found[result] = found[init]


def passes_on(op: ir.Operation) -> bool:
    """Whether an operation hands states on, and reads none."""
    return op.name == "ted.scan" or (op.name == "ted.yield" and is_inside_scan(op))


def is_inside_scan(op: ir.Operation) -> bool:
    """Whether an operation stands in the body of a scan."""
    return op.parent is not None and op.parent.name == "ted.scan"


def _chained(op: ir.Operation) -> list[tuple[ir.Value, ir.Value]]:
    """Each init of an equation, or of a scan, with its result."""
    if op.name not in ("ted.compute", "ted.scan"):
        return []
    results = list(op.results)
    return list(zip(list(op.operands)[-len(results) :], results, strict=True))
