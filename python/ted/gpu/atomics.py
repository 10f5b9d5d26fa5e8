"""Writes at data -> atomic operations, a thread for each write: what `deterministic=False` allows.

Before: `%a = memref.load %out[%i]`, `%b = arith.addf %a, %x`, `memref.store %b, %out[%i]`
After: `memref.atomic_rmw addf %x, %out[%i]`

Sums are right for every order of the writes, but round as their order happens to be: `ted.lowering.
gpu.owners` is what keeps the order of the program. Other combinations than those of the table, and
other element types, stay with owners: a maximum of floats would lose NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.gpu.owner_scatters import element_at_data, has_memory_of_its_own
from ted.mlir import arith, ir, memref
from ted.mlir.queries import defining
from ted.records import dataclass

_KIND = arith.AtomicRMWKind
_KINDS = {
    ("arith.addf", "f32"): _KIND.addf, ("arith.addf", "f64"): _KIND.addf,
    ("arith.addi", "i32"): _KIND.addi, ("arith.addi", "i64"): _KIND.addi,
    ("arith.maxsi", "i32"): _KIND.maxs, ("arith.maxsi", "i64"): _KIND.maxs,
    ("arith.minsi", "i32"): _KIND.mins, ("arith.minsi", "i64"): _KIND.mins,
    ("arith.maxui", "i32"): _KIND.maxu, ("arith.maxui", "i64"): _KIND.maxu,
    ("arith.minui", "i32"): _KIND.minu, ("arith.minui", "i64"): _KIND.minu,
}  # fmt: skip


@dataclass(frozen=True)
class Update:
    """An element that is read, combined with a value and written again."""

    kind: arith.AtomicRMWKind
    load: ir.Operation
    combine: ir.Operation
    store: ir.Operation

    @property
    def value(self) -> ir.Value:
        """What is combined with the element."""
        left, right = self.combine.operands
        return right if left == self.load.results[0] else left


def update_at_data(nest: Sequence[ir.Operation]) -> Update | None:
    """The update at data of a nest that does nothing else to memory; None if it is different."""
    element = element_at_data(nest)
    if element is None or len(element.loads) != 1 or has_memory_of_its_own(nest):
        return None
    (load,), store = element.loads, element.store
    combine = defining(store.operands[0])
    if combine is None or combine.block != store.block or len(combine.operands) != 2:
        return None
    kind = _KINDS.get((combine.name, str(store.operands[0].type)))
    old = load.results[0]
    is_alone = len(list(old.uses)) == 1 and len(list(combine.results[0].uses)) == 1
    if kind is None or not is_alone or old not in list(combine.operands):
        return None
    return Update(kind, load, combine, store)


def make_atomic(update: Update) -> None:
    """Replace the three operations by one; nobody reads what was there."""
    target, *place = list(update.store.operands)[1:]
    with ir.InsertionPoint(update.store), update.store.location:
        memref.AtomicRMWOp(update.kind, update.value, target, place)
    for op in (update.store, update.combine, update.load):
        op.erase()
