"""Groups of tensors -> recurrences over blocks of rows, of which a step holds one block.

Before: z[i, j] over i < n; dv[j] += z[i, j] * g[i]
After:  z'[t, i, j] over i < size, at row `size * t + i`; dv'[t, j] = dv'[t - 1, j], += of block t;
        others read dv'[last, j], and z[size * t + i, j] = z'[t, i, j] if they do at all

No row reads another one, so these are recurrences for what a step keeps: a group of tensors with a
time that `ted.ir.to_ops` makes one `ted.scan` of, whose steps hold what is read again only. Rows
behind the last whole block, the rest, are tensors of their own, with what is added to the totals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ted.domain import parameters, sets
from ted.domain.affine import dim as dim_aff
from ted.ir.affine import aff_to_expr
from ted.ir.equations import (
    Clock,
    Equation,
    System,
    Tensor,
    components,
    identity_dims,
    is_recurrence,
    operands,
    reorder_dims,
    replace_operands,
    whole,
    with_loops,
)
from ted.ir.expressions import Expr
from ted.ir.graphs import circles
from ted.ir.scalar import add, dim, index, load, rewrite
from ted.plan.block_groups import Group
from ted.records import dataclass
from ted.transforms.part_of_box import part_of_box
from ted.transforms.ted_split_dims import with_dim_split

CARRIES = "ted.carries"  # a wish of what begins a total: the slice of the step before, not a copy


@dataclass(frozen=True)
class BlockLoop:
    """A group, and how many rows a block has."""

    group: Group
    size: int

    @property
    def steps(self) -> int:
        """How many whole blocks there are."""
        return self.group.extent // self.size

    @property
    def rest(self) -> range:
        """The rows behind them."""
        return range(self.steps * self.size, self.group.extent)


def in_loops(system: System, loops: Sequence[BlockLoop]) -> System:
    """The system with its loops as recurrences."""
    of = {t: loop for loop in loops for t in loop.group.rows}
    made: dict[Tensor, Tensor] = {}
    together: list[tuple[Tensor, ...]] = []
    for group in components(system.outputs, [tuple(loop.group.rows) for loop in loops]):
        if group[0] in of:
            parts = _Parts(of[group[0]], made)
            parts.make(group)
            together.append((*parts.parts.values(), *parts.copies))
            continue
        for tensor in group:
            made[tensor] = _rebuilt(tensor, made)
    outputs = tuple(made[t] for t in system.outputs)
    return with_loops(replace(system, outputs=outputs), together)


def _rebuilt(tensor: Tensor, made: dict[Tensor, Tensor]) -> Tensor:
    """The tensor on what its operands became; of a recurrence it is the same, and changed."""
    equations = tuple(replace_operands(e, made) for e in tensor.equations)
    if all(a is b for a, b in zip(equations, tensor.equations, strict=True)):
        return tensor
    if tensor.time is not None:
        tensor.equations = equations
        return tensor
    return replace(tensor, equations=equations)


class _Parts:
    """The tensors of a loop with a time: the block of a step, or what was added up by then.

    Behind the blocks a tensor with rows has those of the rest, and a total is added to.
    """

    def __init__(self, loop: BlockLoop, made: dict[Tensor, Tensor]) -> None:
        self.loop, self.rows, self.made = loop, loop.group.rows, made
        self.parts: dict[Tensor, Tensor] = {}
        self.rests: dict[Tensor, Tensor] = {}
        self.copies: list[Tensor] = []  # of positions, which a step searches among values

    def make(self, group: Sequence[Tensor]) -> None:
        """The parts of all, and what others read of them."""
        for unit in circles(group, lambda t: [o for o in operands(t) if o in self.rows]):
            has_steps = is_recurrence(unit)
            for tensor in unit:  # a recurrence reads its own
                self._hold(tensor, tensor.clocks if has_steps else ())
            for tensor in unit:
                self._fill(tensor)

    def _hold(self, tensor: Tensor, clocks: Sequence[Clock]) -> None:
        """Make the part of a tensor, and its rows of the rest, of which clocks tell the steps."""
        along, steps, size = self.rows[tensor], self.loop.steps, self.loop.size
        shape = tensor.shape
        if along is None:
            self.parts[tensor] = replace(tensor, shape=(steps, *shape), equations=())
            self.parts[tensor].clocks = (Clock(0, reverse=False),)
            return
        before, after = shape[:along], shape[along + 1 :]
        part = replace(tensor, shape=(*before, steps, size, *after), equations=())
        moved = (clock._replace(dim=clock.dim + (clock.dim > along)) for clock in clocks)
        part.clocks = (Clock(along, reverse=False), *moved)
        rest = replace(tensor, shape=(*before, len(self.loop.rest), *after), equations=())
        rest.clocks = clocks
        self.parts[tensor], self.rests[tensor] = part, rest

    def _fill(self, tensor: Tensor) -> None:
        """Give the parts of a tensor equations, and others what they read of it."""
        along, part = self.rows[tensor], self.parts[tensor]
        inside = tuple(e for one in tensor.equations for e in self._in_blocks(one, along))
        behind = tuple(e for one in tensor.equations for e in self._behind(one, along))
        if along is None:
            part.equations = (_carried(part), *inside)
            seen = (self._last(tensor, part), *behind)
        else:
            part.equations, self.rests[tensor].equations = inside, behind
            seen = tuple(self._seen_rows(tensor, along))
        self.made[tensor] = replace(tensor, fill=None, equations=seen, time=None, inner=())

    def _last(self, tensor: Tensor, part: Tensor) -> Equation:
        """The total after the last block."""
        at = (index(self.loop.steps - 1), *identity_dims(len(tensor.shape)))
        return whole(tensor.shape, load(part, at), tensor.location)

    def _seen_rows(self, tensor: Tensor, along: int) -> Iterator[Equation]:
        """The rows of all blocks, and those of the rest."""
        copy = _copied(self._kept(self.parts[tensor]))
        row = aff_to_expr(dim_aff(along) * self.loop.size + dim_aff(along + 1))
        yield replace(copy, write=(*copy.write[:along], row, *copy.write[along + 2 :]))
        if self.loop.rest:
            copy = _copied(self.rests[tensor])
            row = add(dim(along), index(self.loop.rest.start))
            yield replace(copy, write=(*copy.write[:along], row, *copy.write[along + 1 :]))

    def _kept(self, part: Tensor) -> Tensor:
        """What others read of a part: a copy, if values of all rows would be kept with it."""
        if not any(e.combiner.startswith("arg") for e in part.equations):
            return part
        copy = replace(part, equations=(_copied(part),), fill=None)
        self.copies.append(copy)
        return copy

    def _in_blocks(self, equation: Equation, along: int | None) -> Iterator[Equation]:
        """The points of an equation in the step of their row; without rows, in the first one."""
        loop = self.loop.group.loops[equation]
        if loop is None:
            body, *write = rewrite(equation.expressions, partial(self._read, {}, ()))
            yield replace(equation, body=body, write=(index(0), *write))
            return
        for cut in self._at_rows(equation, loop, range(self.loop.rest.start)):
            split = with_dim_split(cut, loop, self.loop.size)
            rest = (k for k in range(split.rank) if k != loop)
            made = reorder_dims(split, [loop, *rest])
            row = (dim(0), dim(loop + 1))
            body, *write = rewrite(made.expressions, partial(self._read, self.parts, row))
            if along is None:
                write.insert(0, dim(0))
            else:
                write[along : along + 1] = row
            yield replace(made, parallel=equation.parallel + 1, body=body, write=tuple(write))

    def _behind(self, equation: Equation, along: int | None) -> Iterator[Equation]:
        """The points of an equation in the rest."""
        loop = self.loop.group.loops[equation]
        if loop is None:
            return
        for made in self._at_rows(equation, loop, self.loop.rest):
            row = (dim(loop),)
            body, *write = rewrite(made.expressions, partial(self._read, self.rests, row))
            if along is not None:
                write[along] = dim(loop)
            yield replace(made, body=body, write=tuple(write))

    def _at_rows(self, equation: Equation, loop: int, rows: range) -> Iterator[Equation]:
        """The points of an equation at some rows, if there are any."""
        extent = self.loop.group.extent
        if len(rows) == extent:
            yield equation
        elif rows:
            points = sets.within(equation.domain, loop, rows.start, rows.stop - 1)
            if not points.is_empty():
                yield part_of_box(equation, points, {loop: rows})

    def _read(
        self, parts: Mapping[Tensor, Tensor], row: Sequence[Expr],
        node: Expr, args: tuple[Expr, ...],
    ) -> Expr | None:  # fmt: skip
        """A read on parts, of which an equation reads the row that it is at."""
        if node.op != "load":
            return None
        source: Tensor = node.attr
        if source not in parts:
            return load(self.made.get(source, source), args)
        along = self.rows[source]
        assert along is not None, "what a loop reads of its own has rows"
        return load(parts[source], (*args[:along], *row, *args[along + 1 :]))


def _copied(part: Tensor) -> Equation:
    """All elements of a part, at their own places."""
    read = load(part, identity_dims(len(part.shape)))
    return whole(part.shape, read, part.location)


def _carried(part: Tensor) -> Equation:
    """What was added up before a block."""
    rest = identity_dims(len(part.shape))[1:]
    before = load(part, (add(dim(0), index(-1)), *rest))
    made = whole(part.shape, before, part.location)
    later = made.domain.subtract(parameters.box((1, *part.shape[1:])))
    return replace(made, domain=later, wishes=((CARRIES, "unit"),))
