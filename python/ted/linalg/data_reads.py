"""Reads and writes whose indices are data: checked before use, so that no program can crash.

A bad index in mode `check` calls `ted_index_error(tensor, dim, value, extent)` of the runtime,
which records the first one and returns; the read then gives 0 and the write is left out.  `clip`
moves the index to the nearest element, `drop` gives 0 silently, `unchecked` trusts the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.mlir import arith, func, ir, scf, tensor
from ted.mlir.locations import source_location
from ted.mlir.scalars import conditional, constant, element_type, index, shape_of

ERROR_FUNCTION = "ted_index_error"
TENSOR_NAMES = "ted.indexed_tensors"
PLACES = "ted.indexed_places"  # the user's line of each access, as text, empty where not known


def checked_load(op: ir.Operation, operands: list[ir.Value]) -> ir.Value:
    """A `ted.load` at a point: `operands` are the tensor, the predicate and the indices."""
    source, predicate, *where = operands
    mode = ir.StringAttr(op.attributes["mode"]).value
    kind = element_type(source)
    return guarded(
        predicate, source, where, mode, [kind],
        lambda place: [tensor.ExtractOp(source, place).result],
        lambda: [constant(kind, 0)],
    )[0]  # fmt: skip


def guarded(
    predicate: ir.Value | None,
    target: ir.Value,
    where: Sequence[ir.Value],
    mode: str,
    types: list[ir.Type],
    access: Callable[[list[ir.Value]], list[ir.Value]],
    otherwise: Callable[[], list[ir.Value]],
) -> list[ir.Value]:
    """Make an access of `target` at data-dependent indices if the predicate and `mode` allow it."""
    shape, place = shape_of(target), list(where)
    if mode == "clip":
        place = [_clipped(i, e) for i, e in zip(place, shape, strict=True)]
    if mode in ("clip", "unchecked"):
        if predicate is None:
            return access(place)
        return conditional(predicate, types, lambda: access(place), otherwise)
    insides = [_inside(i, e) for i, e in zip(place, shape, strict=True)]
    allowed = predicate
    for inside in insides:
        allowed = inside if allowed is None else arith.AndIOp(allowed, inside).result
    if allowed is None:
        return access(place)

    def refused() -> list[ir.Value]:
        if mode == "check":
            _report(predicate, target, place, insides)
        return otherwise()

    return conditional(allowed, types, lambda: access(place), refused)


def _inside(value: ir.Value, extent: int) -> ir.Value:
    # Unsigned: a negative index is a huge one, so one comparison does for both ends.
    return arith.CmpIOp(arith.CmpIPredicate.ult, value, index(extent)).result


def _clipped(value: ir.Value, extent: int) -> ir.Value:
    low = arith.MaxSIOp(value, index(0)).result
    return arith.MinSIOp(low, index(extent - 1)).result


def _report(
    predicate: ir.Value | None,
    target: ir.Value,
    place: Sequence[ir.Value],
    insides: Sequence[ir.Value],
) -> None:
    i64 = ir.IntegerType.get_signless(64)
    true = constant(ir.IntegerType.get_signless(1), 1)
    identifier = _identifier(target)
    for k, (value, inside) in enumerate(zip(place, insides, strict=True)):
        bad = arith.XOrIOp(inside, true).result
        bad = bad if predicate is None else arith.AndIOp(predicate, bad).result
        branch = scf.IfOp(bad)
        with ir.InsertionPoint(branch.then_block):
            number = arith.IndexCastOp(i64, value).result
            extent = shape_of(target)[k]
            arguments = [constant(i64, n) for n in (identifier, k)]
            func.CallOp([], ERROR_FUNCTION, [*arguments, number, constant(i64, extent)])
            scf.YieldOp([])


def _module_of(op: ir.Operation) -> ir.Operation:
    while op.parent is not None:
        op = op.parent.operation
    return op


def _identifier(target: ir.Value) -> int:
    """Number of an access in the module's tables of names and places, entered on first use."""
    block = ir.InsertionPoint.current.block
    module = _module_of(block.owner.operation)
    known = indexed_accesses(module)
    around = ir.Location.current
    place = None if around is None else source_location(around)
    access = tensor_name(target), "" if place is None else str(place)
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


def tensor_name(value: ir.Value) -> str:
    """The user's name of a tensor, from its location, else a description of what it is."""
    location = value.location if hasattr(value, "location") else ir.Location.unknown()
    name = getattr(location, "name_str", None)
    if name:
        return name
    if isinstance(value, ir.BlockArgument):
        return f"argument {value.arg_number}"
    return "an intermediate tensor"
