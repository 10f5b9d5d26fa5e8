"""A program over a batch as programs over a few rows, with what is made of all rows between them.

Before: y[i] = f(x[i])    s += y[r]    z[i] = y[i] / s      over i, r < n
After:  y[i] = f(x[i])    t = s'; t += y[r]                 over i, r < rows, again and again
        z[i] = y[i] / s                                     over i < rows, again and again

This is strip mining on equations, where it needs no proof: which equations may be cut is what
`ted.transforms.row_independence` says. A total passes from one run to the next as the start of the
sum. What reads a total of all rows belongs to a later phase, whose programs run when all rows are
through; tensors without rows are computed once, by a program of the phase. What depends on the
size as a number is an input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ted.domain import parameters
from ted.domain.sizes import Extent, Symbol, estimate, symbolic
from ted.ir.constant_inputs import arguments_of
from ted.ir.dtypes import FLOAT32, DType
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    identity_dims,
    is_recurrence,
    operands,
    rewrite_system,
    whole,
    with_expressions,
)
from ted.ir.expressions import Expr, Number
from ted.ir.graphs import circles
from ted.ir.scalar import as_extent, cast, load, replace_nodes, rewrite, weight
from ted.records import dataclass
from ted.transforms.row_independence import every_row, is_total, numbers_of, row_dim, row_loop

CHEAP = 64
"""A tensor of fewer operations is computed again by every program that reads it: a call of a
program takes as long as some hundred of them."""


@dataclass(frozen=True)
class Program:
    """A part of a system: what it reads and makes are tensors of the whole.

    The sizes of `system` are those of the whole; in a program `by_rows` the batch is any number of
    rows, from 0. `totals` are those of its outputs that start from an input.
    """

    system: System
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    by_rows: bool
    totals: tuple[tuple[Tensor, Tensor], ...]
    rows: Symbol

    @property
    def work_of_row(self) -> int:
        """Weighted operations that one more row costs, a point counted as one more."""
        equations = (e for t in self.system.tensors() for e in t.equations)
        return sum(
            _work(e, without) for e in equations if (without := row_loop(e, self.rows)) is not None
        )


@dataclass(frozen=True)
class RowPrograms:
    """A system whose size `size` is a batch, in parts to run one after another.

    `numbers` are inputs of the parts that are numbers known from the sizes, `starts` those that
    hold one number everywhere, from which totals start.
    """

    size: Symbol
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    programs: tuple[Program, ...]
    numbers: Mapping[Tensor, Extent]
    starts: Mapping[Tensor, Number]

    @property
    def work(self) -> int:
        """Weighted operations that one more row costs, a point counted as one more."""
        return sum(program.work_of_row for program in self.programs if program.by_rows)

    @property
    def elements_without_rows(self) -> int:
        """Elements of weights and totals, which every run of a program of rows reads again."""
        used = {t for p in self.programs if p.by_rows for t in (*p.inputs, *p.outputs)}
        return sum(estimate(t.size) for t in used if row_dim(t, self.size) is None)


def row_programs(system: System, size: Symbol) -> RowPrograms:
    """The parts of a system for a size that `row_independence.refusal` does not refuse."""
    totals = _Totals(size)
    changed, _ = rewrite_system(system, totals.visit)
    parts = _Parts(changed, size, totals.starts)
    return RowPrograms(
        size, system.inputs, changed.outputs, tuple(parts.programs()), totals.numbers, totals.fills
    )


class _Totals:
    """Rewrites a system: totals start from a tensor, and numbers of rows are tensors."""

    def __init__(self, size: Symbol) -> None:
        self._size = size
        self.numbers: dict[Tensor, Extent] = {}
        self.fills: dict[Tensor, Number] = {}
        self.starts: dict[Tensor, Tensor] = {}  # for each total
        self._found: dict[tuple[Expr, DType], Tensor] = {}

    def visit(
        self, tensor: Tensor, equations: tuple[Equation, ...]
    ) -> tuple[Equation, ...] | Tensor:
        equations = tuple(self._with_numbers(e) for e in equations)
        if not is_total(tensor, self._size):
            return equations
        first = next(k for k, e in enumerate(equations) if self._loops(e))
        looped = [e for e in equations if self._loops(e)]
        rest = tuple(e for e in equations[first:] if not self._loops(e))
        kept = _kept_type(tensor.dtype)
        total = self._total(tensor, equations[:first], looped, kept)
        if not rest and kept == tensor.dtype:
            return total
        return replace(tensor, fill=None, equations=(_copy(total, tensor.dtype), *rest))

    def _total(
        self, tensor: Tensor, before: tuple[Equation, ...], looped: Sequence[Equation], kept: DType
    ) -> Tensor:
        if before:
            start = replace(tensor, equations=before)
            if kept != tensor.dtype:
                start = replace(tensor, dtype=kept, fill=None, equations=(_copy(start, kept),))
        else:
            assert tensor.fill is not None, "elements that no equation writes have a fill"
            start = replace(tensor, dtype=kept, fill=None, equations=())
            self.fills[start] = tensor.fill
        joined = tuple(replace(e, body=cast(e.body, kept)) for e in looped)
        total = replace(tensor, dtype=kept, fill=None, equations=(_copy(start, kept), *joined))
        self.starts[total] = start
        return total

    def _loops(self, equation: Equation) -> bool:
        return row_loop(equation, self._size) is not None

    def _with_numbers(self, equation: Equation) -> Equation:
        found = numbers_of(equation.expressions, self._size)
        if not found:
            return equation
        known = {node: load(self._number(node), ()) for node in found}
        return with_expressions(
            equation, [replace_nodes(e, dict(known)) for e in equation.expressions]
        )

    def _number(self, node: Expr) -> Tensor:
        key = (node.args[0], node.dtype)
        if key not in self._found:
            extent = as_extent(node.args[0])
            assert extent is not None, "numbers_of finds extents"
            self._found[key] = Tensor(f"{node.dtype}({extent})", (), node.dtype)
            self.numbers[self._found[key]] = extent
        return self._found[key]


def _kept_type(dtype: DType) -> DType:
    """The type of a total between strips: what is small is rounded once, at the end."""
    return FLOAT32 if dtype.is_float and dtype.bits < FLOAT32.bits else dtype


def _copy(tensor: Tensor, dtype: DType) -> Equation:
    read = load(tensor, identity_dims(len(tensor.shape)))
    return whole(tensor.shape, cast(read, dtype), tensor.location)


Home = tuple[int, bool]


class _Parts:
    """Which program computes a tensor: that of its phase, of rows or not."""

    def __init__(self, system: System, size: Symbol, starts: Mapping[Tensor, Tensor]) -> None:
        self._system = system
        self._size = size
        self._starts = starts
        self._homes = self._homes_of()
        self._cheap = self._cheap_ones()
        self._passed = self._passed_on()

    def programs(self) -> Iterable[Program]:
        """The programs in the order in which they run."""
        for home in sorted(set(self._homes.values())):
            made = tuple(t for t in self._passed if self._homes[t] == home)
            if made:
                yield self._program(home, made)

    def _homes_of(self) -> dict[Tensor, Home]:
        homes: dict[Tensor, Home] = {}
        for group in components(self._system.outputs):
            read = {o for t in group for o in operands(t) if o not in group and o in homes}
            phase = max((homes[o][0] + (o in self._starts) for o in read), default=0)
            for tensor in group:
                if not tensor.is_input:
                    rows = tensor in self._starts or row_dim(tensor, self._size) is not None
                    homes[tensor] = (phase, rows)
        return homes

    def _cheap_ones(self) -> set[Tensor]:
        """Tensors without rows that cost little with all that they are made of; no start is one."""
        starts = set(self._starts.values())
        costs: dict[Tensor, int] = {}
        for group in components(self._system.outputs):
            (tensor, *_) = group
            if is_recurrence(group) or tensor.is_input or tensor in starts:
                continue
            if self._homes[tensor][1]:
                continue
            cost = sum(_work(e) for e in tensor.equations) + estimate(tensor.size)
            cost += sum(costs.get(o, 0) for o in operands(tensor))
            if cost < CHEAP:
                costs[tensor] = cost
        return set(costs)

    def _passed_on(self) -> dict[Tensor, None]:
        """What one program makes for another, or for the caller."""
        found = {t for t in self._system.outputs if not t.is_input}
        for tensor, home in self._homes.items():
            for read in operands(tensor):
                elsewhere = tensor in self._cheap or self._homes.get(read, home) != home
                if read in self._homes and read not in self._cheap and elsewhere:
                    found.add(read)
        return dict.fromkeys(t for t in self._homes if t in found)

    def _program(self, home: Home, made: Sequence[Tensor]) -> Program:
        _, by_rows = home
        given = {t for t in self._passed if self._homes[t] != home and t not in self._cheap}
        groups = circles(made, lambda t: () if t in given else operands(t))
        leaves = [t for group in groups for t in group if t in given or t.is_input]
        rows = replace(self._size, minimum=0, multiple_of=1)
        new = _Copies(self._size, symbolic(rows)).of(groups, leaves)
        read = [t for t in self._system.inputs if t in new]
        inputs = (*read, *arguments_of(t for t in leaves if t not in read))
        system = System(
            tuple(new[t] for t in inputs), tuple(new[t] for t in made), self._system.name
        )
        totals = tuple((t, self._starts[t]) for t in made if t in self._starts)
        return Program(system, inputs, tuple(made), by_rows, totals, rows)


class _Copies:
    """Tensors and equations with another number of rows."""

    def __init__(self, size: Symbol, rows: Extent) -> None:
        self._size = size
        self._rows = rows
        self._new: dict[Tensor, Tensor] = {}

    def of(
        self, groups: Sequence[Sequence[Tensor]], leaves: Sequence[Tensor]
    ) -> dict[Tensor, Tensor]:
        """What tensors become, operands first; leaves become inputs."""
        for group in groups:
            for tensor in group:
                fill = None if tensor in leaves else tensor.fill
                shape = self._extents(tensor.shape, row_dim(tensor, self._size))
                self._new[tensor] = replace(tensor, shape=shape, fill=fill, equations=())
            for tensor in group:
                if tensor not in leaves:
                    self._new[tensor].equations = tuple(map(self._equation, tensor.equations))
        return self._new

    def _extents(self, extents: Sequence[Extent], rows: int | None) -> tuple[Extent, ...]:
        return tuple(self._rows if k == rows else extent for k, extent in enumerate(extents))

    def _equation(self, equation: Equation) -> Equation:
        def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
            return load(self._new[node.attr], args) if node.op == "load" else None

        body, *write = rewrite(equation.expressions, visit)
        extents = self._extents(equation.extents, row_loop(equation, self._size))
        domain = every_row(equation, self._size).intersect(parameters.box(extents))
        return replace(equation, extents=extents, domain=domain, body=body, write=tuple(write))


def _work(equation: Equation, without: int | None = None) -> int:
    points = estimate(math.prod(n for k, n in enumerate(equation.extents) if k != without))
    return points * (weight(equation.body) + 1)
