"""Loop nests that update elements at data: which loops count updates, which are columns.

Before: `for s { for p { out[index[s], p] = out[index[s], p] + values[s, p] } }`
After: `Updates`: rounds s, of which several may meet at one element; columns p, of which none do
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from ted.gpu.nest_points import Counter, candidates, chain_of, copied_nest, run_once
from ted.gpu.owner_scatters import Element, element_at_data, has_memory_of_its_own
from ted.gpu.points import delinearized, plus
from ted.mlir import ir
from ted.mlir.queries import is_inside, operations
from ted.records import dataclass


@dataclass(frozen=True)
class Updates:
    """A nest whose points (rounds, columns) update one element each.

    `columns` has a counter for each dim of the result whose subscript it is, in their order.
    """

    nest: tuple[ir.Operation, ...]
    chain: tuple[Counter, ...]  # all loops, outermost first
    columns: tuple[Counter, ...]
    column_dims: tuple[int, ...]
    element: Element

    @property
    def target(self) -> ir.Value:
        """The memory that is updated."""
        return self.element.store.operands[1]

    @property
    def kind(self) -> ir.Type:
        """Type of its elements."""
        return ir.MemRefType(self.target.type).element_type

    @property
    def shape(self) -> list[int]:
        """Its extents."""
        return list(ir.MemRefType(self.target.type).shape)

    @property
    def rounds(self) -> list[Counter]:
        """The counters of updates, outermost first."""
        return [c for c in self.chain if c not in self.columns]

    @property
    def bin_dims(self) -> list[int]:
        """The dims of the result that are at data, or at some other function of the counters."""
        return [d for d in range(len(self.shape)) if d not in self.column_dims]

    @property
    def count(self) -> int:
        """Updates of a column."""
        return prod(c.extent for c in self.rounds)

    @property
    def width(self) -> int:
        """Columns."""
        return prod(c.extent for c in self.columns)

    @property
    def bins(self) -> int:
        """Elements of a column."""
        return prod(self.shape[d] for d in self.bin_dims)

    def on(self, copies: Sequence[ir.Operation]) -> Updates:
        """The same of a copy of the nest."""
        loops = candidates(copies, is_marked=False)
        moved = {
            c: replace(c, loop=loop) for c, loop in zip(self.chain, loops, strict=False)
        }  # fmt: skip
        element = element_at_data(copies)
        assert element is not None, "a copy updates what the nest does"
        chain, columns = (tuple(moved[c] for c in cs) for cs in (self.chain, self.columns))
        return Updates(tuple(copies), chain, columns, self.column_dims, element)


def make_update(
    updates: Updates,
    number: ir.Value,
    columns: Sequence[ir.Value],
    edit: Callable[[Updates], None] = lambda _: None,
) -> None:
    """The code of one update of a column, after a change of the nest that it comes from."""
    rounds = delinearized(number, [c.extent for c in updates.rounds])
    counters = [*updates.rounds, *updates.columns]
    points = dict(zip(counters, [*rounds, *columns], strict=True))
    values = [plus(points[c], c.range[0]) for c in updates.chain]
    here = updates.on(copied_nest(updates.nest))
    edit(here)
    for counter, value in zip(here.chain, values, strict=True):
        run_once(counter.loop, value)


def updates_of(nest: Sequence[ir.Operation]) -> Updates | None:
    """What a nest updates at data; None if it does something else too, or in another form."""
    element = element_at_data(nest)
    if element is None or has_memory_of_its_own(nest):
        return None
    chain = chain_of(nest, is_marked=False)
    if len(chain) < len(candidates(nest, is_marked=False)) or not _is_around(chain, element.store):
        return None
    place, shape = list(element.store.operands)[2:], element.store.operands[1].type
    found: dict[int, Counter] = {}
    for d, (subscript, extent) in enumerate(zip(place, ir.MemRefType(shape).shape, strict=True)):
        counter = next((c for c in chain if c.value == subscript), None)
        if (
            counter is not None
            and counter.range == (0, extent - 1)
            and counter not in found.values()
        ):
            found[d] = counter
    return Updates(tuple(nest), tuple(chain), tuple(found.values()), tuple(found), element)


def _is_around(chain: Sequence[Counter], store: ir.Operation) -> bool:
    """Whether these are all the loops around a store."""
    if not chain or not is_inside(store, chain[-1].loop):
        return False
    loops = [loop for c in chain[:1] for loop in operations(c.loop, "scf.for", "scf.while")]
    around = [loop for loop in loops if is_inside(store, loop)]
    return len(around) == len(chain)
