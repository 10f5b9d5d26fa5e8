"""Reads and writes whose indices are data: tested before use, so that no program can crash.

A bad index in mode `check` calls `ted_index_error(tensor, dim, value, extent)` of the runtime,
which records the first one and returns. Where the test is made at the access, the read then gives 0
and the write is left out; where it was made ahead (`index_tests.py`), the index is moved inside,
which costs no branch. `clip` moves the index to the nearest element, `drop` gives 0 silently,
`unchecked` trusts the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.errors import stated_rule
from ted.mlir import arith, func, ir, scf
from ted.mlir.locations import source_location
from ted.mlir.queries import defining, operations
from ted.mlir.scalars import all_of, conditional, constant, element_type, index, shape_of
from ted.mlir.storage import element
from ted.records import dataclass

ERROR_FUNCTION = "ted_index_error"
TENSOR_NAMES = "ted.indexed_tensors"
PLACES = "ted.indexed_places"  # the user's line of each access, as text, empty where not known
_VIEWS = ("memref.expand_shape", "memref.collapse_shape", "memref.subview")
AHEAD = "ahead"  # the mode of an access of mode `check` whose indices were tested before


@dataclass(frozen=True)
class Access:
    """An element of a tensor at indices that are data, where the predicate holds, if there is one.

    `tested` are the dims whose index may be outside.
    """

    target: ir.Value
    place: tuple[ir.Value, ...]
    tested: tuple[int, ...]
    predicate: ir.Value | None = None

    def extent(self, dim: int) -> int:
        """The extent of the tensor in a dim."""
        return shape_of(self.target)[dim]

    def _compared(self, dim: int, predicate: arith.CmpIPredicate) -> ir.Value:
        # Unsigned: a negative index is a huge one, so one comparison does for both ends.
        return arith.CmpIOp(predicate, self.place[dim], index(self.extent(dim))).result

    def is_inside(self, dim: int) -> ir.Value:
        """Whether the index of a dim is inside."""
        return self._compared(dim, arith.CmpIPredicate.ult)

    def is_bad(self, dim: int) -> ir.Value:
        """Whether the access is made and the index of a dim is outside."""
        outside = self._compared(dim, arith.CmpIPredicate.uge)
        return outside if self.predicate is None else arith.AndIOp(self.predicate, outside).result

    def report(self) -> None:
        """Tell the runtime about each index that is outside."""
        for dim in self.tested:
            branch = scf.IfOp(self.is_bad(dim))
            with ir.InsertionPoint(branch.then_block):
                _call(self, dim)
                scf.YieldOp([])


def load_access(op: ir.Operation, operands: Sequence[ir.Value]) -> Access:
    """What a `ted.load` reads: `operands` are the tensor, the predicate and the indices."""
    source, predicate, *where = operands
    return Access(source, tuple(where), checked_dims(op), predicate)


def checked_dims(op: ir.Operation) -> tuple[int, ...]:
    """The dims of its tensor whose index a `ted.load` checks."""
    if ir.StringAttr(op.attributes["mode"]).value != "check":
        return ()
    if "checked" in op.attributes:
        return tuple(ir.DenseI64ArrayAttr(op.attributes["checked"]))
    return tuple(range(len(op.operands) - 2))


def checked_load(op: ir.Operation, operands: Sequence[ir.Value], *, ahead: bool) -> ir.Value:
    """A `ted.load` at a point, whose indices are tested here or were tested ahead."""
    access = load_access(op, operands)
    mode = ir.StringAttr(op.attributes["mode"]).value
    kind = element_type(access.target)
    return guarded(
        access, AHEAD if ahead and mode == "check" else mode, [kind],
        lambda place: [element(access.target, place)],
        lambda: [constant(kind, 0)],
    )[0]  # fmt: skip


def guarded(
    access: Access,
    mode: str,
    types: list[ir.Type],
    make: Callable[[list[ir.Value]], list[ir.Value]],
    otherwise: Callable[[], list[ir.Value]],
) -> list[ir.Value]:
    """Make an access if its predicate and `mode` allow it."""
    place = list(access.place)
    if mode == AHEAD:
        if any(access.extent(dim) == 0 for dim in access.tested):
            return otherwise()
        for dim in access.tested:
            place[dim] = arith.MinUIOp(place[dim], index(access.extent(dim) - 1)).result
    if mode == "clip":
        place = [_clipped(i, e) for i, e in zip(place, shape_of(access.target), strict=True)]
    limited = range(len(place)) if mode == "drop" else access.tested if mode == "check" else ()
    given = [] if access.predicate is None else [access.predicate]
    conditions = [*given, *map(access.is_inside, limited)]
    if not conditions:
        return make(place)

    def refused() -> list[ir.Value]:
        if mode == "check":
            access.report()
        return otherwise()

    allowed = all_of(conditions)
    return conditional(allowed, types, lambda: make(place), refused)


def _clipped(value: ir.Value, extent: int) -> ir.Value:
    low = arith.MaxSIOp(value, index(0)).result
    return arith.MinSIOp(low, index(extent - 1)).result


def _call(access: Access, dim: int) -> None:
    i64 = ir.IntegerType.get_signless(64)
    known = [constant(i64, n) for n in (_identifier(_viewed(access.target)), dim)]
    value = arith.IndexCastOp(i64, access.place[dim]).result
    func.CallOp([], ERROR_FUNCTION, [*known, value, constant(i64, access.extent(dim))])


def _viewed(value: ir.Value) -> ir.Value:
    """The memory that a view is of; a tensor is itself."""
    while (view := defining(value, *_VIEWS)) is not None:
        value = view.operands[0]
    return value


def _module_of(op: ir.Operation) -> ir.Operation:
    while op.parent is not None:
        op = op.parent.operation
    return op


def _identifier(target: ir.Value) -> int:
    """Number of an access in the module's tables of names and places, entered on first use."""
    block = ir.InsertionPoint.current.block
    module = _module_of(block.owner.operation)
    known = indexed_accesses(module)
    name = tensor_name(target)
    around = target.location if stated_rule(name) else ir.Location.current  # where it was stated
    place = None if around is None else source_location(around)
    access = name, "" if place is None else str(place)
    if access not in known:
        known.append(access)
        for table, texts in zip((TENSOR_NAMES, PLACES), zip(*known, strict=True), strict=True):
            module.attributes[table] = ir.ArrayAttr.get([ir.StringAttr.get(t) for t in texts])
        declare_error_function(module)
    return known.index(access)


def indexed_accesses(module: ir.Operation) -> list[tuple[str, str]]:
    """The tensor and the place of each access that is checked, by its number."""
    names, places = (
        [ir.StringAttr(a).value for a in ir.ArrayAttr(module.attributes[table])]
        if table in module.attributes else []
        for table in (TENSOR_NAMES, PLACES)
    )  # fmt: skip
    return list(zip(names, places or [""] * len(names), strict=True))


def declare_error_function(module: ir.Operation) -> None:
    """Declare the runtime's error function in the module, once."""
    body = module.regions[0].blocks[0]
    if ERROR_FUNCTION in ir.SymbolTable(module):
        return
    i64 = ir.IntegerType.get_signless(64)
    with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
        func.FuncOp(ERROR_FUNCTION, ir.FunctionType.get([i64] * 4, []), visibility="private")


def reports(root: ir.Operation) -> list[ir.Operation]:
    """The calls inside an operation that report an index that is outside."""
    return [
        call
        for call in operations(root, "func.call")
        if ir.FlatSymbolRefAttr(call.attributes["callee"]).value == ERROR_FUNCTION
    ]


def tensor_name(value: ir.Value) -> str:
    """The user's name of a tensor, from its location, else a description of what it is."""
    location = value.location if hasattr(value, "location") else ir.Location.unknown()
    name = getattr(location, "name_str", None)
    if name:
        return name
    if isinstance(value, ir.BlockArgument):
        return f"argument {value.arg_number}"
    return "an intermediate tensor"
