"""Which tensors may be computed together, in one loop over a dim that their equations share.

Before: z[i, j] = ...; m[i] max= z[i, j]; p[i, j] = exp(z[i, j] - m[i]); dv[j] += p[i, j] * g[i]
After:  one loop over i, in which `z`, `m` and `p` have *rows*, along dim 0 each, and `dv` is a
*total*, which is there when the loop is over

A group grows from one tensor that is not to be whole: all that read it are in the loop, each at
the row that it is at itself, and so is what lies between two tensors of the group. Of the others
those are in it that are large, and can be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    operands,
    recurrent_tensors,
)
from ted.ir.expressions import Expr
from ted.ir.scalar import dim
from ted.records import dataclass

COMBINED = ("add", "mul", "max", "min")  # in any order
_MOST = 64  # tensors of a loop

Loops = Mapping[Equation, "int | None"]


class Apart(Exception):
    """Tensors that cannot share a loop; the text says which, and why."""


@dataclass(frozen=True)
class Group:
    """The tensors of a loop over `extent` rows: the dim of each along which they are.

    It is None for a total. `loops[e]` is the dim of an equation that the loop is; it is None for
    an equation of a total that is there before the first row.
    """

    extent: int
    rows: Mapping[Tensor, int | None]
    loops: Loops


class Graph:
    """A system, the groups that were made of it, and what is large enough to be worth a loop."""

    def __init__(self, system: System, taken: Sequence[Group], large: Collection[Tensor]) -> None:
        self.large = large
        self.outputs = frozenset(system.outputs)
        self.readers = system.consumers()
        units = [tuple(group.rows) for group in taken]
        self.taken = frozenset(t for unit in units for t in unit)
        order = components(system.outputs, units)
        self.unit = {t: tuple(unit) for unit in order for t in unit}
        self._order = list(self.unit)
        self._place = {t: k for k, t in enumerate(self._order)}
        self._before = self._reached(order, operands)
        self._after = self._reached(reversed(order), self.readers.__getitem__)
        self.recurrent = recurrent_tensors(system.outputs)

    def is_inside(self, tensor: Tensor, group: Group) -> bool:
        """Whether nobody outside of a loop reads the rows of a tensor."""
        readers = self.readers[tensor]
        return (
            group.rows[tensor] is not None
            and tensor not in self.outputs
            and all(r in group.rows for r in readers)
        )

    def between(self, members: Collection[Tensor]) -> list[Tensor]:
        """What reads some of these, and is read by some, be it through others, in order."""
        known = after = before = 0
        for member in members:
            known |= 1 << self._place[member]
            after |= self._after[member]
            before |= self._before[member]
        return self._of_places(after & before & ~known)

    def _reached(
        self, units: Iterable[Sequence[Tensor]], follow: Callable[[Tensor], Iterable[Tensor]]
    ) -> dict[Tensor, int]:
        """The places of all that each tensor leads to, as bits; units come behind what they do."""
        found: dict[Tensor, int] = {}
        for unit in units:  # a loop is one node
            bits = 0
            for target in (o for t in unit for o in follow(t)):
                bits |= 1 << self._place[target] | found.get(target, 0)
            found.update(dict.fromkeys(unit, bits))
        return found

    def _of_places(self, bits: int) -> list[Tensor]:
        found: list[Tensor] = []
        while bits:
            lowest = bits & -bits
            found.append(self._order[lowest.bit_length() - 1])
            bits ^= lowest
        return found


def grown(graph: Graph, seed: Tensor, along: int, *, reads_totals: bool = False) -> Group:
    """The group of a tensor that is not to be whole, with rows along one of its dims.

    With `reads_totals` its tensors may read its totals, which takes several loops.
    Raises: Apart where a tensor that has to be in it cannot be.
    """
    extent = seed.shape[along]
    if not isinstance(extent, int):
        raise Apart(f"{seed} has no known number of rows along dim {along}")
    growth = _Growth(graph, extent, reads_totals)
    growth.take(partial(growth.put_rows, seed, along), graph.readers[seed])
    growth.look_around()
    return Group(extent, growth.rows, growth.loops)


class _Growth:
    """A group while it grows: at any time all that has to be in it is."""

    def __init__(self, graph: Graph, extent: int, reads_totals: bool) -> None:
        self.graph, self.extent, self.reads_totals = graph, extent, reads_totals
        self.rows: dict[Tensor, int | None] = {}
        self.loops: dict[Equation, int | None] = {}

    def take(self, put: Callable[[], None], readers: Sequence[Tensor] = ()) -> None:
        """Put a tensor in, some that read it, and what lies between tensors of the group then.

        Raises: Apart where one of them cannot be in the loop; nothing is taken then.
        """
        with self._all_or_nothing():
            put()
            for reader in readers:
                self._put_reader(reader)
            for other in self._missing():
                self._put_between(other)
            for member in self.rows:
                self._check_reads(member)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = dict(self.rows), dict(self.loops)
        try:
            yield
        except Apart:
            self.rows, self.loops = before
            raise

    def _put_between(self, tensor: Tensor) -> None:
        """Put in what lies between others; of several loops it may come between two as well."""
        try:
            with self._all_or_nothing():
                self._put_reader(tensor)
        except Apart:
            if not self.reads_totals:
                raise

    def _missing(self) -> list[Tensor]:
        found = self.graph.between(self.rows)
        if len(self.rows) + len(found) > _MOST:
            raise Apart(f"more than {_MOST} tensors would be in the loop")
        return found

    def look_around(self) -> None:
        """Take what is large, and may be in the loop: what is read at its row, and what reads."""
        tried: set[Tensor] = set()
        waiting = list(self.rows)
        while waiting:
            tensor = waiting.pop(0)
            for other, put in self._neighbours(tensor):
                if other in self.rows or other in tried:
                    continue
                tried.add(other)
                with suppress(Apart):
                    known = len(self.rows)
                    self.take(put)
                    waiting += list(self.rows)[known:]

    def _neighbours(self, tensor: Tensor) -> Iterator[tuple[Tensor, Callable[[], None]]]:
        for equation in tensor.equations:
            for read in equation.reads:
                at = next(iter(self._places(equation, read)), None)
                if at is not None and read.attr in self.graph.large:
                    yield read.attr, partial(self.put_rows, read.attr, at)
        if self.rows[tensor] is not None and tensor in self.graph.large:
            for reader in self.graph.readers[tensor]:
                yield reader, partial(self._put_reader, reader)

    def _places(self, equation: Equation, read: Expr) -> list[int]:
        """The dims of a tensor along which a read is at the row that the equation is at."""
        loop = self.loops[equation]
        if loop is None:
            return []
        return [k for k, e in enumerate(read.args) if e.op == "dim" and e.attr == loop]

    def _check_reads(self, tensor: Tensor) -> None:
        for equation in tensor.equations:
            for read in equation.reads:
                source: Tensor = read.attr
                if source not in self.rows:
                    continue
                if self.rows[source] is None:
                    if self.reads_totals:
                        continue
                    raise Apart(f"{tensor} reads {source}, which is there when the loop is over")
                if self.rows[source] not in self._places(equation, read):
                    raise Apart(f"{tensor} reads {source} at rows that are not its own")

    def put_rows(self, tensor: Tensor, along: int) -> None:
        """Put in the rows of a tensor along a dim, and of a recurrence it is of.

        Raises: Apart where they are not written row by row.
        """
        self._check_is_free(tensor)
        found = {e: e.write[along] for e in tensor.equations}
        if tensor in self.graph.recurrent and along in tensor.time_dims:
            raise Apart(f"{tensor} is made step by step along dim {along}")
        if tensor.shape[along] != self.extent or any(
            w.op != "dim" or e.extents[w.attr] != self.extent for e, w in found.items()
        ):
            raise Apart(f"{tensor} is not written row by row along dim {along}")
        self.rows[tensor] = along
        self.loops |= {e: w.attr for e, w in found.items()}
        for equation in tensor.equations:
            for read in equation.reads:
                if read.attr in self.graph.unit[tensor] and read.attr not in self.rows:
                    at = next(iter(self._places(equation, read)), None)
                    if at is None:
                        raise Apart(f"{tensor} reads {read.attr} at rows that are not its own")
                    self.put_rows(read.attr, at)

    def _put_reader(self, tensor: Tensor) -> None:
        """Put in what reads rows: with rows of its own, or as a total."""
        if tensor in self.rows:
            return
        self._check_is_free(tensor)
        for member in self.graph.unit[tensor]:
            for equation, loop in self._loops_of_reads(member).items():
                here = None if loop is None else dim(loop)
                places = [k for k, w in enumerate(equation.write) if w is here]
                if places:
                    self.put_rows(member, places[0])
                    return
        loops = self._loops_of_reads(tensor)
        self._check_is_total(tensor, loops)
        self.rows[tensor] = None
        self.loops |= loops

    def _loops_of_reads(self, tensor: Tensor) -> Loops:
        return {e: self._loop_of_reads(tensor, e) for e in tensor.equations}

    def _loop_of_reads(self, tensor: Tensor, equation: Equation) -> int | None:
        """The dim of an equation at which it reads rows; None if it reads none."""
        found: set[Expr] = set()
        for read in equation.reads:
            along = self.rows.get(read.attr)
            if along is not None:
                found.add(read.args[along])
        if len(found) > 1 or any(
            e.op != "dim" or equation.extents[e.attr] != self.extent for e in found
        ):
            raise Apart(f"{tensor} reads several rows at once, or not all of them")
        return next((e.attr for e in found), None)

    def _check_is_free(self, tensor: Tensor) -> None:
        if tensor.is_input or tensor in self.graph.taken:
            raise Apart(f"{tensor} is an input, or of another loop")
        if any(e.wishes for e in tensor.equations):
            raise Apart(f"{tensor} asks to be lowered in a way of its own")

    def _check_is_total(self, tensor: Tensor, loops: Loops) -> None:
        """What rows are added to starts from anything, and does not mind in which order."""
        if tensor in self.graph.recurrent:
            raise Apart(f"{tensor} is of a recurrence that joins rows")
        rest = list(tensor.equations)
        while rest and loops[rest[0]] is None and rest[0].combiner == "set":
            rest.pop(0)
        kinds = {e.combiner for e in rest}
        if kinds == {"set"} and len(rest) == 1 and not rest[0].is_scatter:
            return  # each row gives elements of its own
        if len(kinds) != 1 or not kinds <= set(COMBINED):
            raise Apart(f"{tensor} joins rows by {', '.join(sorted(kinds)) or 'nothing'}")
        for equation, loop in loops.items():
            if loop is not None and loop < equation.parallel:
                raise Apart(f"{tensor} is written at several places of a row")
