"""Which maps one loop nest computes: those over the same points that have something in common.

Before: `m[i] = 0.9 * m0[i] + 0.1 * g[i]` and `p[i] = p0[i] - m[i] / sqrt(v[i])`, a loop each
After: both are one kernel, in which `p` takes `m[i]` from a register

Kernels are in order, and a map goes to the place of another one, or that to its, where nothing
between needs it, and no temporary of some size lives longer for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import prod
from typing import NamedTuple

from ted.linalg.equation_groups import Candidates, init_of, is_across, is_init, read_inside
from ted.linalg.kernels import Kernel, inside_of
from ted.linalg.results_in_memory import taken_over
from ted.linalg.strategies import is_of_boxes
from ted.mlir import ir
from ted.mlir.queries import defining, operations
from ted.mlir.scalars import shape_of
from ted.mlir.strategies import ATTRIBUTE, FORM, GROUP, refused
from ted.records import dataclass

MOST_TENSORS = 16  # that a kernel reads and writes, unless of few points: streams of memory
MOST_OPERATIONS = 400  # of a body
MOST_TRIED = 16  # kernels over the same points, the last ones
FEW = 64  # points, which take less time than to begin with them
LIGHT = 1 << 10  # points of what may stand between, as it moves little memory


@dataclass(frozen=True)
class Points:
    """Member of a kernel that computes all of its members at each point."""

    group: int


class _Read(NamedTuple):
    tensor: ir.Value
    at: ir.Attribute


@dataclass(frozen=True, eq=False)
class _Map:
    """An equation with all that it reads."""

    op: ir.Operation
    reads: tuple[_Read, ...]
    operations: int

    @property
    def result(self) -> ir.Value:
        return self.op.results[0]

    @property
    def write(self) -> ir.Attribute:
        return self.op.attributes["write"]

    @property
    def box(self) -> tuple[object, ...]:
        """Equal for maps over the same points, which write the same elements."""
        return self.op.attributes["extents"], self.write, tuple(shape_of(self.result))


class _Pair(NamedTuple):
    """Two kernels of maps, and where they are in the order."""

    first: Sequence[_Map]
    last: Sequence[_Map]
    here: int
    now: int


def why_no_map(op: ir.Operation, table: Candidates) -> str | None:
    """Why an equation is computed apart from others over its points; None where it need not be."""
    subdomain = table.equations[op]
    is_plain = not subdomain.domain and not any(r is None or r.guard for r in subdomain.reads)
    rules = (
        (not subdomain.is_empty, "it has no points"),
        (subdomain.combiner == "set" and len(op.results) == 1, "it is no map"),
        (is_plain, "it is computed or read under a condition"),
        (not subdomain.writes_at_data and not operations(op, "ted.load"), "an index is data"),
        (op not in table.tested, "a condition is tested in front of its points"),
        (not {FORM, ATTRIBUTE} & {*op.attributes}, "it asks for something else"),
        (not _is_chained(op.results[0]), "it is what another one starts from, or starts from it"),
    )
    broken = next((why for holds, why in rules if not holds), None)
    if broken is None and is_across(subdomain, table.cpu):
        return "it reads or writes across rows, in tiles"
    return broken if broken or is_of_boxes(subdomain, 0) else "it takes several operations"


def _is_chained(value: ir.Value) -> bool:
    is_new = defining(init_of(value), "tensor.empty", "linalg.fill") is not None
    return not is_new or any(map(is_init, value.uses))


def common_points(
    kernels: Sequence[Kernel], table: Candidates, maps: Mapping[ir.Operation, int | None]
) -> tuple[list[Kernel], dict[ir.Operation, Points | str]]:
    """The kernels of a block with maps of them joined; their groups, or why they are alone.

    `maps` have the number of the group that is asked for, or None.

    Raises: ScheduleError for a group that cannot be.
    """
    order = _Order(kernels, table)
    asked: dict[int, list[ir.Operation]] = {}
    for op, number in maps.items():
        if number is not None:
            asked.setdefault(number, []).append(op)
    found: dict[ir.Operation, Points | str] = {}
    for number, members in asked.items():
        order.join_all(members)
        found.update(dict.fromkeys(members, Points(number)))
    free = [op for op, number in maps.items() if number is None]
    found.update((op, order.join(op)) for op in free)
    numbers = (k for k in count(1) if k not in asked)
    joined = [kernel for kernel in order.kernels if kernel is not None]
    for kernel in joined:
        if kernel.is_of_points and kernel.members[0] in free:
            found.update(dict.fromkeys(kernel.members, Points(next(numbers))))
    return joined, found


class _Order:
    """Kernels one behind the other; where one has gone to another there is none."""

    def __init__(self, kernels: Sequence[Kernel], table: Candidates) -> None:
        self.table = table
        self.kernels: list[Kernel | None] = list(kernels)
        self._at = {op: k for k, kernel in enumerate(kernels) for op in kernel.equations}
        self._maps: dict[ir.Operation, _Map] = {}
        self._last: dict[object, list[ir.Operation]] = {}  # by boxes, a member of each kernel
        self._readers: dict[ir.Value, set[ir.Operation]] = {}
        for op in self._at:
            for value in self._used(op):
                self._readers.setdefault(value, set()).add(op)
        end = table.block.operations[len(table.block.operations) - 1]
        self._results = {self._named(v) for v in end.operands}
        self._taken = dict(self._taken_over(end))

    def _taken_over(self, end: ir.OpView) -> Iterator[tuple[ir.Value, ir.Operation]]:
        """The arguments that are memory of results, and what makes these."""
        for argument, result in taken_over(self.table.block.owner).items():
            maker = defining(self._named(end.operands[result]))
            if maker is not None and maker in self._at:
                yield self.table.block.arguments[argument], maker

    def join_all(self, members: Sequence[ir.Operation]) -> None:
        """Join what is asked for.

        Raises: ScheduleError.
        """
        first, *others = members
        if not others:
            raise refused(first, "a group has two maps, got one", GROUP)
        for op in others:
            why = self._join(first, op, is_asked=True)
            if why is not None:
                raise refused(op, f"members of a group share points, got: {why}", GROUP)

    def join(self, op: ir.Operation) -> str:
        """Join a map with what is before it, the last ones first; or why with none."""
        why = "nothing over its points has anything in common with it"
        last = self._last.setdefault(self._map(op).box, [])
        for other in reversed(last[-MOST_TRIED:]):
            broken = self._join(other, op)
            if broken is None:
                last.remove(other)
            why = broken or why
        last.append(op)
        return why

    def _join(self, one: ir.Operation, op: ir.Operation, is_asked: bool = False) -> str | None:
        """Let the kernels of two maps be one; or why they are none, empty if for no reason."""
        here, now = sorted((self._at[one], self._at[op]))
        first, last = ([*map(self._map, self._kernel(k).members)] for k in (here, now))
        why = self._why_apart(first, last) or (None if is_asked else self._why_not(first, last))
        if why is not None:
            return why
        place = self._place(_Pair(first, last, here, now), is_asked)
        if place is None:
            return "what is computed between needs one, or a tensor would be kept for longer"
        at = self._kernel(place).place
        members = sorted((m.op for m in (*first, *last)), key=self.table.position.__getitem__)
        self._at.update(dict.fromkeys(members, place))
        self.kernels[here] = self.kernels[now] = None
        inside = inside_of(members, self.table)
        self.kernels[place] = Kernel(tuple(members), inside=inside, at=at)
        return None

    # ---- which -----------------------------------------------------------------------------------

    def _place(self, pair: _Pair, is_asked: bool) -> int | None:
        """Where two kernels are one, in the order of kernels; None where they cannot."""
        if self._may_sink(pair) and (is_asked or not self._is_worse(pair, pair.now)):
            return pair.now
        if self._may_rise(pair) and (is_asked or not self._is_worse(pair, pair.here)):
            return pair.here
        return None

    def _is_worse(self, pair: _Pair, place: int) -> bool:
        is_longer = self._is_kept(pair) if place == pair.now else self._is_early(pair)
        return is_longer or self._copies({m.op for m in (*pair.first, *pair.last)}, place)

    def _why_apart(self, first: Sequence[_Map], last: Sequence[_Map]) -> str | None:
        """Why maps can be no kernel, whatever is computed between; None where they can."""
        if first[0].box != last[0].box:
            return "they have other points, or write other elements"
        made = {_Read(m.result, m.write) for m in first}
        tensors = {m.result for m in first}
        if any(self._named(r.tensor) in tensors and r not in made for m in last for r in m.reads):
            return "it reads another element than that of its point"
        return None

    def _why_not(self, first: Sequence[_Map], last: Sequence[_Map]) -> str | None:
        points = prod(self.table.equations[first[0].op].extents)
        known = {r for m in first for r in m.reads} | {_Read(m.result, m.write) for m in first}
        common = [r for m in last for r in m.reads if r in known]
        if points > FEW and all(prod(shape_of(r.tensor)) < points for r in common):
            return ""
        tensors = {r.tensor for m in (*first, *last) for r in (*m.reads, _Read(m.result, m.write))}
        body = sum(m.operations for m in (*first, *last))
        if body > MOST_OPERATIONS or (points > FEW and len(tensors) > MOST_TENSORS):
            return "a loop has so many operations, and reads and writes so many tensors"
        return None

    def _may_sink(self, pair: _Pair) -> bool:
        """Whether what reads results of the first kernel is behind the second one, or in both."""
        ours = {m.op for m in (*pair.first, *pair.last)}
        readers = {r for m in pair.first for r in self._readers.get(m.result, ())} - ours
        return all(self._at[r] > pair.now for r in readers)

    def _may_rise(self, pair: _Pair) -> bool:
        """Whether all that the second kernel uses is there at the first one, or made in them."""
        ours = {m.op for m in (*pair.first, *pair.last)}
        position, place = self.table.position, self._kernel(pair.here).place
        makers = {defining(v) for m in pair.last for v in self._used(m.op)}
        return all(
            self._at[maker] < pair.here if maker in self._at else position[maker] < position[place]
            for maker in makers - ours
            if maker is not None and maker.name != "tensor.empty"
        )

    def _is_kept(self, pair: _Pair) -> bool:
        """Whether a temporary would be kept for longer, if what reads it moved down."""
        reads = {self._named(r.tensor) for m in pair.first for r in m.reads}
        last = (max(self._at[r] for r in self._readers[v]) for v in reads if self._is_temporary(v))
        return any(k < pair.now for k in last) and self._is_work_between(pair)

    def _is_early(self, pair: _Pair) -> bool:
        """Whether a temporary would be kept for longer, if what makes it moved up."""
        return any(self._is_temporary(m.result) for m in pair.last) and self._is_work_between(pair)

    def _copies(self, joined: set[ir.Operation], place: int) -> bool:
        """Whether a result would be written over an argument that is read later, or elsewhere."""
        for argument, maker in self._taken.items():
            readers = self._readers.get(argument, set())
            if joined.isdisjoint({maker, *readers}):
                continue
            where = place if maker in joined else self._at[maker]
            for reader in readers - {maker}:
                its = place if reader in joined else self._at[reader]
                if its > where or (its == where and not self._reads_own(reader, argument)):
                    return True
        return False

    def _reads_own(self, op: ir.Operation, tensor: ir.Value) -> bool:
        this = self._map(op)
        return all(r.at == this.write for r in this.reads if r.tensor == tensor)

    def _is_temporary(self, value: ir.Value) -> bool:
        return defining(value) in self._at and value not in self._results

    def _is_work_between(self, pair: _Pair) -> bool:
        between = [k for k in self.kernels[pair.here + 1 : pair.now] if k is not None]
        equations = self.table.equations
        return any(
            op not in equations or prod(equations[op].extents) > LIGHT
            for kernel in between for op in kernel.equations
        )  # fmt: skip

    def _kernel(self, place: int) -> Kernel:
        kernel = self.kernels[place]
        assert kernel is not None, "where a map is there is a kernel"
        return kernel

    # ---- what is read ----------------------------------------------------------------------------

    def _map(self, op: ir.Operation) -> _Map:
        if op not in self._maps:
            maps = list(ir.ArrayAttr(op.attributes["reads"]))
            reads = tuple(_Read(v, m) for v, m in zip(op.operands, maps, strict=False))
            self._maps[op] = _Map(op, reads, len(op.regions[0].blocks[0].operations))
        return self._maps[op]

    def _used(self, op: ir.Operation) -> set[ir.Value]:
        return {self._named(v) for v in (*op.operands, *read_inside(op))}

    def _named(self, value: ir.Value) -> ir.Value:
        return self.table.names.get(value, value)
