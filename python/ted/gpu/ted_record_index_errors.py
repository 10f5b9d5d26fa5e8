"""Reports of bad indices -> a record in memory: the pass `ted-record-index-errors`.

Before: `call @ted_index_error(%tensor, %dim, %value, %extent)`
After: an atomic exchange of 0 for the code of the check in the error flag, a further argument of
the function; who wins stores the value. The codes' meanings are an attribute of the module.

Atomic, because threads that meet bad indices would else mix a code with another one's value.
"""

from __future__ import annotations

from ted.errors import CompileError
from ted.linalg.data_reads import ERROR_FUNCTION, indexed_accesses, reports
from ted.mlir import arith, func, ir, llvm, memref, scf
from ted.mlir.addresses import address_of, pointer_to
from ted.mlir.queries import constant_of, functions, symbol_name
from ted.records import dataclass

CHECKS = "ted.checks"  # attribute of the module: tensor, dim, extent, place of each code, from 1
ERRORS = "ted.errors"  # attribute of a function: which argument is the error flag
WORDS = 4


@dataclass(frozen=True)
class TedRecordIndexErrors:
    """Replace every call of the runtime's error function."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: CompileError for a call whose tensor, dim or extent is no constant, or whose tensor
        the module does not name.
        """
        named = len(indexed_accesses(module.operation))
        checks: list[tuple[int, int, int]] = []
        for function in functions(module):
            calls = reports(function.operation)
            if not calls:
                continue
            flag = _add_flag(function)
            for call in calls:
                _record(call, flag, checks, named)
        for op in [o.operation for o in module.body.operations]:
            if op.name == "func.func" and symbol_name(op) == ERROR_FUNCTION:
                op.erase()
        if checks:
            module.operation.attributes[CHECKS] = _table(module, checks)


def error_flag(op: ir.Operation) -> ir.Value | None:
    """The error flag of the function that an operation is in."""
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        parent = parent.operation.parent
    if parent is None or ERRORS not in parent.operation.attributes:
        return None
    position = ir.IntegerAttr(parent.operation.attributes[ERRORS]).value
    return parent.operation.regions[0].blocks[0].arguments[position]


def _add_flag(function: func.FuncOp) -> ir.Value:
    """A further argument of the function."""
    attributes, block = function.operation.attributes, function.entry_block
    kind = ir.MemRefType.get([WORDS], ir.IntegerType.get_signless(64))
    position = len(block.arguments)
    flag = block.add_argument(kind, function.operation.location)
    old = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
    attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([*old.inputs, kind], old.results)
    )
    if "arg_attrs" in attributes:
        given = list(ir.ArrayAttr(attributes["arg_attrs"]))
        attributes["arg_attrs"] = ir.ArrayAttr.get([*given, ir.DictAttr.get({})])
    attributes[ERRORS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), position)
    return flag


def _record(
    call: ir.Operation, flag: ir.Value, checks: list[tuple[int, int, int]], named: int
) -> None:
    tensor, dim, value, extent = call.operands
    known = [constant_of(v) for v in (tensor, dim, extent)]
    numbers = [n for n in known if n is not None]
    if len(numbers) < len(known):
        raise CompileError(f"gpu: a report of an index has constants, got {call}")
    check = (numbers[0], numbers[1], numbers[2])
    if not 0 <= check[0] < named:
        raise CompileError(
            f"gpu: a report of an index is of one of the {named} accesses that the module names, "
            f"got number {check[0]}"
        )
    if check not in checks:
        checks.append(check)
    i64 = ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(call), call.location:
        none, code = (arith.ConstantOp(i64, n).result for n in (0, checks.index(check) + 1))
        old = _exchange(pointer_to(address_of(flag)), none, code)
        won = arith.CmpIOp(arith.CmpIPredicate.eq, old, none).result
        branch = scf.IfOp(won)
        with ir.InsertionPoint(branch.then_block):
            place = arith.ConstantOp(ir.IndexType.get(), 1).result
            memref.StoreOp(value, flag, [place])
            scf.YieldOp([])
    call.erase()


def _exchange(pointer: ir.Value, expected: ir.Value, new: ir.Value) -> ir.Value:
    """What was there; it is replaced if it is what was expected."""
    pair = ir.Type.parse("!llvm.struct<(i64, i1)>")
    order = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 2)  # monotonic
    exchanged = ir.Operation.create(
        "llvm.cmpxchg",
        results=[pair],
        operands=[pointer, expected, new],
        attributes={"success_ordering": order, "failure_ordering": order},
    ).results[0]
    position = ir.DenseI64ArrayAttr.get([0])
    i64 = ir.IntegerType.get_signless(64)
    return llvm.ExtractValueOp(i64, exchanged, position).result


def _table(module: ir.Module, checks: list[tuple[int, int, int]]) -> ir.Attribute:
    i64 = ir.IntegerType.get_signless(64)
    accesses = indexed_accesses(module.operation)
    rows: list[ir.Attribute] = []
    for access, dim, extent in checks:
        name, place = (ir.StringAttr.get(text) for text in accesses[access])
        numbers = [ir.IntegerAttr.get(i64, n) for n in (dim, extent)]
        rows.append(ir.ArrayAttr.get([name, *numbers, place]))
    return ir.ArrayAttr.get(rows)
