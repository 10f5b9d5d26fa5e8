"""Which maps one loop nest computes: those over the same points that have something in common.

Before: `m[i] = 0.9 * m0[i] + 0.1 * g[i]` and `p[i] = p0[i] - m[i] / sqrt(v[i])`, a loop each
After: both are one kernel, in which `p` takes `m[i]` from a register

Kernels are in order, and a map goes to the place of another one, or that to its, where nothing
between needs it, and no temporary of some size lives longer for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from math import prod
from typing import NamedTuple

from ted.linalg.equation_groups import (
    Candidates,
    captured,
    init_of,
    is_across,
    is_init,
    read_inside,
)
from ted.linalg.kernels import Kernel, inside_of
from ted.linalg.results_in_memory import taken_over
from ted.linalg.strategies import is_of_boxes
from ted.mlir import ir
from ted.mlir.queries import defining, operations
from ted.mlir.scalars import shape_of
from ted.mlir.strategies import ATTRIBUTE, FORM, GROUP, refused
from ted.records import dataclass

MOST_TENSORS = 16  # that a kernel reads and stores: streams of memory
MOST_SMALL = 64  # the same of few points, which are in the first cache
MOST_OPERATIONS = 400  # of a body
MOST_TRIED = 16  # kernels over the same points, the last ones
FEW = 64  # points, which take less time than to begin with them
LIGHT = 1 << 10  # points of what may stand between, as it moves little memory

_NOTHING = "nothing over its points has anything in common with it"
_TOO_MUCH = "a loop has so many operations, and reads and stores so many tensors"


@dataclass(frozen=True)
class Points:
    """Member of a kernel that computes all of its members at each point."""

    group: int


class _Read(NamedTuple):
    tensor: ir.Value
    at: ir.Attribute


@dataclass(frozen=True, eq=False)
class _Maps:
    """A kernel of maps in order: what it reads that others make, and makes that others read."""

    members: tuple[ir.Operation, ...]
    reads: frozenset[_Read]
    results: frozenset[ir.Value]
    stored: frozenset[ir.Value]
    operations: int

    @property
    def write(self) -> ir.Attribute:
        """Where all of them write."""
        return self.members[0].attributes["write"]

    @property
    def box(self) -> tuple[object, ...]:
        """Equal for maps over the same points, which write the same elements."""
        first = self.members[0]
        return first.attributes["extents"], self.write, tuple(shape_of(first.results[0]))


class _Pair(NamedTuple):
    """Two kernels of maps, and where they are in the order."""

    first: _Maps
    last: _Maps
    first_at: int
    last_at: int

    @property
    def ops(self) -> set[ir.Operation]:
        return {*self.first.members, *self.last.members}


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
        if number < 1:
            raise refused(members[0], f"group = NUMBER is 1 or more, got {number}", GROUP)
        order.join_all(members)
        found.update(dict.fromkeys(members, Points(number)))
    free = {op for op, number in maps.items() if number is None}
    found.update((op, order.join(op)) for op in maps if op in free)
    numbers = (k for k in count(1) if k not in asked)
    joined = order.finished()
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
        self._maps: dict[int, _Maps] = {}  # by their place
        self._last: dict[object, dict[ir.Operation, None]] = {}  # a member of each kernel of a box
        self._readers: dict[ir.Value, set[ir.Operation]] = {}
        for op in self._at:
            for value in self._used(op):
                self._readers.setdefault(value, set()).add(op)
        end = table.block.operations[len(table.block.operations) - 1]
        self._results = {self._named(v) for v in end.operands}
        self._taken = dict(self._taken_over(end))
        self._touched: dict[ir.Operation, set[ir.Value]] = {}  # arguments that results take
        for argument, maker in self._taken.items():
            for op in (maker, *self._readers.get(argument, ())):
                self._touched.setdefault(op, set()).add(argument)

    def _taken_over(self, end: ir.OpView) -> Iterator[tuple[ir.Value, ir.Operation]]:
        """The arguments that are memory of results, and what makes these."""
        for argument, result in taken_over(self.table.block.owner).items():
            maker = defining(self._named(end.operands[result]))
            if maker is not None and maker in self._at:
                yield self.table.block.arguments[argument], maker

    def finished(self) -> list[Kernel]:
        """The kernels that there are now."""
        return [
            replace(k, inside=inside_of(k.members, self.table)) if k.is_of_points else k
            for k in self.kernels if k is not None
        ]  # fmt: skip

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
        why = _NOTHING
        last = self._last.setdefault(self._of(self._at[op]).box, {})
        for other in list(islice(reversed(last), MOST_TRIED)):
            broken = self._join(other, op)
            if broken is None:
                del last[other]
            elif broken != _NOTHING:
                why = broken
        last[op] = None
        return why

    def _join(self, one: ir.Operation, op: ir.Operation, is_asked: bool = False) -> str | None:
        """Let the kernels of two maps be one; or why they are none."""
        first_at, last_at = sorted((self._at[one], self._at[op]))
        pair = _Pair(self._of(first_at), self._of(last_at), first_at, last_at)
        why = self._why_apart(pair) or (None if is_asked else self._why_not(pair))
        if why is not None:
            return why
        place = next((k for k in self._places(pair) if not self._is_worse(pair, k)), None)
        if place is None and is_asked:
            place = next(self._places(pair), None)
        if place is None:
            return "what is computed between needs one, or a tensor would be kept for longer"
        self._put(pair, place)
        return None

    def _put(self, pair: _Pair, place: int) -> None:
        """One kernel in the place of two."""
        at = self._kernel(place).place
        maps = self._together(pair)
        self._at.update(dict.fromkeys(maps.members, place))
        for gone in pair.first_at, pair.last_at:
            self.kernels[gone] = None
            self._maps.pop(gone, None)
        self.kernels[place] = Kernel(maps.members, at=at)
        self._maps[place] = maps

    # ---- which -----------------------------------------------------------------------------------

    def _places(self, pair: _Pair) -> Iterator[int]:
        """Where two kernels can be one, in the order of kernels."""
        if self._may_sink(pair):
            yield pair.last_at
        if self._may_rise(pair):
            yield pair.first_at

    def _is_worse(self, pair: _Pair, place: int) -> bool:
        """Whether one kernel there holds more, or copies what two do not."""
        is_longer = self._is_kept if place == pair.last_at else self._is_early
        return is_longer(pair) or self._copies(pair, place) or self._holds_more(pair)

    def _why_apart(self, pair: _Pair) -> str | None:
        """Why maps can be no kernel, whatever is computed between; None where they can."""
        first, last = pair.first, pair.last
        if first.box != last.box:
            return "they have other points, or write other elements"
        if any(
            self._named(r.tensor) in first.results
            and (r.tensor not in first.results or r.at != first.write)
            for r in last.reads
        ):
            return "it reads another element than that of its point"
        return None

    def _why_not(self, pair: _Pair) -> str | None:
        first, last = pair.first, pair.last
        points = prod(self.table.equations[first.members[0]].extents)
        common = [r for r in last.reads if r in first.reads or r.tensor in first.results]
        if points > FEW and all(prod(shape_of(r.tensor)) < points for r in common):
            return _NOTHING
        if first.operations + last.operations > MOST_OPERATIONS:
            return _TOO_MUCH
        reads = {r.tensor for r in first.reads | last.reads if r.tensor not in first.results}
        most = MOST_TENSORS if points > FEW else MOST_SMALL
        if len(reads) + len(self._stored(pair)) > most:
            return _TOO_MUCH
        return None

    def _stored(self, pair: _Pair) -> set[ir.Value]:
        """The results of two kernels that others read, if they are one."""
        ours = pair.ops
        return {
            v for v in pair.first.stored | pair.last.stored
            if v in self._results or not self._readers.get(v, set()) <= ours
        }  # fmt: skip

    def _may_sink(self, pair: _Pair) -> bool:
        """Whether what reads results of the first kernel is behind the second one, or in both."""
        readers = {r for v in pair.first.stored for r in self._readers.get(v, ())}
        return all(self._at[r] > pair.last_at for r in readers - pair.ops)

    def _may_rise(self, pair: _Pair) -> bool:
        """Whether all that the second kernel uses is there at the first one, or made in them."""
        position, place = self.table.position, self._kernel(pair.first_at).place
        used = {u for op in pair.last.members for v in captured(op) for u in (v, self._named(v))}
        return all(
            self._at[maker] < pair.first_at
            if maker in self._at
            else position[maker] < position[place]
            for maker in {defining(v) for v in used} - pair.ops
            if maker is not None and maker.name != "tensor.empty"
        )

    def _holds_more(self, pair: _Pair) -> bool:
        """Whether a temporary ends with the first kernel in whose memory a result of the second
        one could be, and cannot be in that of a kernel of both: this reads elsewhere in it, or
        other types."""
        if not any(map(self._is_temporary, pair.last.stored)):
            return False
        types = {v.type for v in pair.first.results}
        return any(
            self._is_temporary(v)
            and prod(shape_of(v)) > LIGHT
            and self._last_reader(v) == pair.first_at
            and (r.at != pair.first.write or v.type not in types)
            for r in pair.first.reads for v in [self._named(r.tensor)]
        )  # fmt: skip

    def _last_reader(self, value: ir.Value) -> int:
        return max(self._at[reader] for reader in self._readers[value])

    def _is_kept(self, pair: _Pair) -> bool:
        """Whether a temporary would be kept for longer, if what reads it moved down."""
        reads = {self._named(r.tensor) for r in pair.first.reads}
        last = (self._last_reader(v) for v in reads if self._is_temporary(v))
        return any(k < pair.last_at for k in last) and self._is_work_between(pair)

    def _is_early(self, pair: _Pair) -> bool:
        """Whether a temporary would be kept for longer, if what makes it moved up."""
        return any(map(self._is_temporary, pair.last.stored)) and self._is_work_between(pair)

    def _copies(self, pair: _Pair, place: int) -> bool:
        """Whether a result would be written over an argument that is read later, or elsewhere."""
        joined = pair.ops
        for argument in {a for op in joined for a in self._touched.get(op, ())}:
            maker = self._taken[argument]
            where = place if maker in joined else self._at[maker]
            for reader in self._readers.get(argument, set()) - {maker}:
                its = place if reader in joined else self._at[reader]
                if its > where or (its == where and not self._reads_own(reader, argument)):
                    return True
        return False

    def _reads_own(self, op: ir.Operation, tensor: ir.Value) -> bool:
        own = op.attributes["write"]
        return all(r.at == own for r in self._reads(op) if self._named(r.tensor) == tensor)

    def _is_temporary(self, value: ir.Value) -> bool:
        return defining(value) in self._at and value not in self._results

    def _is_work_between(self, pair: _Pair) -> bool:
        between = [k for k in self.kernels[pair.first_at + 1 : pair.last_at] if k is not None]
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

    def _of(self, place: int) -> _Maps:
        """The maps of a kernel."""
        if place not in self._maps:
            (op,) = self._kernel(place).members
            result = frozenset(op.results)
            size = len(op.regions[0].blocks[0].operations)
            self._maps[place] = _Maps((op,), frozenset(self._reads(op)), result, result, size)
        return self._maps[place]

    def _together(self, pair: _Pair) -> _Maps:
        first, last = pair.first, pair.last
        members = sorted(pair.ops, key=self.table.position.__getitem__)
        results = first.results | last.results
        reads = frozenset(r for r in first.reads | last.reads if r.tensor not in results)
        operations = first.operations + last.operations
        return _Maps(tuple(members), reads, results, frozenset(self._stored(pair)), operations)

    def _reads(self, op: ir.Operation) -> tuple[_Read, ...]:
        maps = list(ir.ArrayAttr(op.attributes["reads"]))
        return tuple(_Read(v, m) for v, m in zip(op.operands, maps, strict=False))

    def _used(self, op: ir.Operation) -> set[ir.Value]:
        return {self._named(v) for v in (*op.operands, *read_inside(op))}

    def _named(self, value: ir.Value) -> ir.Value:
        return self.table.names.get(value, value)
