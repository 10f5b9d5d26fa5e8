"""Groups of tensors -> recurrences over blocks of rows, of which a step holds one block.

Before: z[i, j] over i < n; dv[j] += z[i, j] * g[i]
After:  z'[t, i, j] over i < size, at row `size * t + i`; dv'[t, j] = dv'[t - 1, j], += of block t;
        others read dv'[last, j], and z[size * t + i, j] = z'[t, i, j] if they do at all

No row reads another one, so these are recurrences for what a step keeps: a group of tensors with a
time that `ted.ir.to_ops` makes one `ted.scan` of, whose steps hold what is read again only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.domain import parameters
from ted.domain.affine import dim as dim_aff
from ted.ir.affine import aff_to_expr
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    identity_dims,
    operands,
    reorder_dims,
    replace_operands,
    whole,
)
from ted.ir.expressions import Expr
from ted.ir.graphs import circles
from ted.ir.scalar import add, dim, index, load, rewrite
from ted.plan.block_groups import Group
from ted.records import dataclass
from ted.transforms.ted_split_dims import with_dim_split

CARRIES = "ted.carries"  # a wish of what begins a total: the slice of the step before, not a copy


@dataclass(frozen=True)
class BlockLoop:
    """A group, and how many rows a block has, which divide all."""

    group: Group
    size: int

    @property
    def steps(self) -> int:
        """How many blocks there are."""
        return self.group.extent // self.size


def in_loops(system: System, loops: Sequence[BlockLoop]) -> System:
    """The system with its loops as recurrences."""
    of = {t: loop for loop in loops for t in loop.group.rows}
    made: dict[Tensor, Tensor] = {}
    together: list[tuple[Tensor, ...]] = []
    for group in components(system.outputs, [tuple(loop.group.rows) for loop in loops]):
        if group[0] in of:
            parts = _Parts(of[group[0]], made)
            parts.make(group)
            together.append(tuple(parts.parts.values()))
            continue
        for tensor in group:
            made[tensor] = _rebuilt(tensor, made)
    outputs = tuple(made[t] for t in system.outputs)
    return replace(system, outputs=outputs, together=tuple(together))


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
    """The tensors of a loop with a time: the block of a step, or what was added up by then."""

    def __init__(self, loop: BlockLoop, made: dict[Tensor, Tensor]) -> None:
        self.loop, self.rows, self.made = loop, loop.group.rows, made
        self.parts: dict[Tensor, Tensor] = {}

    def make(self, group: Sequence[Tensor]) -> None:
        """The parts of all, and what others read of them."""
        for (tensor,) in circles(group, lambda t: [o for o in operands(t) if o in self.rows]):
            along = self.rows[tensor]
            self.parts[tensor] = part = self._part(tensor, along)
            seen = self._last(tensor, part) if along is None else self._rows(tensor, part, along)
            self.made[tensor] = replace(tensor, fill=None, equations=(seen,), time=None, inner=())

    def _part(self, tensor: Tensor, along: int | None) -> Tensor:
        steps, shape = self.loop.steps, tensor.shape
        if along is None:
            held, time = (steps, *shape), 0
        else:
            held, time = (*shape[:along], steps, self.loop.size, *shape[along + 1 :]), along
        part = replace(tensor, shape=held, equations=(), time=time, reverse=False, inner=())
        equations = [self._equation(e, along) for e in tensor.equations]
        part.equations = (*([_carried(part)] if along is None else []), *equations)
        return part

    def _last(self, tensor: Tensor, part: Tensor) -> Equation:
        """The total after the last block."""
        at = (index(self.loop.steps - 1), *identity_dims(len(tensor.shape)))
        return whole(tensor.shape, load(part, at), tensor.location)

    def _rows(self, tensor: Tensor, part: Tensor, along: int) -> Equation:
        """The rows of all blocks."""
        dims = identity_dims(len(part.shape))
        write = (*dims[:along], self._row(along, along + 1), *dims[along + 2 :])
        return replace(whole(part.shape, load(part, dims), tensor.location), write=write)

    def _row(self, step: int, row: int) -> Expr:
        return aff_to_expr(dim_aff(step) * self.loop.size + dim_aff(row))

    def _equation(self, equation: Equation, along: int | None) -> Equation:
        """The points of an equation in the step of their row; without rows, in the first one."""
        loop = self.loop.group.loops[equation]
        if loop is None:
            body, *write = self._on_parts(equation.expressions, None)
            return replace(equation, body=body, write=(index(0), *write))
        split = with_dim_split(equation, loop, self.loop.size)
        rest = (k for k in range(split.rank) if k != loop)
        made = reorder_dims(split, [loop, *rest])
        body, *write = self._on_parts(made.expressions, loop)
        if along is None:
            write.insert(0, dim(0))
        else:
            write[along : along + 1] = dim(0), dim(loop + 1)
        return replace(made, parallel=equation.parallel + 1, body=body, write=tuple(write))

    def _on_parts(self, expressions: Sequence[Expr], loop: int | None) -> list[Expr]:
        """The expressions on parts, of which an equation reads the row that it is at."""

        def moved(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
            if node.op != "load":
                return None
            source: Tensor = node.attr
            if source not in self.parts:
                return load(self.made.get(source, source), args)
            along = self.rows[source]
            assert along is not None, "what a loop reads of its own has rows"
            assert loop is not None, "and is read at a row"
            at = (*args[:along], dim(0), dim(loop + 1), *args[along + 1 :])
            return load(self.parts[source], at)

        return rewrite(expressions, moved)


def _carried(part: Tensor) -> Equation:
    """What was added up before a block."""
    rest = identity_dims(len(part.shape))[1:]
    before = load(part, (add(dim(0), index(-1)), *rest))
    made = whole(part.shape, before, part.location)
    later = made.domain.subtract(parameters.box((1, *part.shape[1:])))
    return replace(made, domain=later, wishes=((CARRIES, "unit"),))
