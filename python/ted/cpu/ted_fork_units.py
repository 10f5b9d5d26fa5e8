"""`ted-fork-units`: functions that call another one for every unit -> the threads of the runtime.

Before: `llvm.func @kernel_5b…(%a, %b) attributes {ted.units = 8}`, a loop around
`llvm.call @kernel_90…(%unit, %a, %b)`
After: it stores `%a` and `%b` in its frame, and calls `ted_parallel_for` with a function that loads
them and calls `@kernel_90…` for one unit

Without the pass the loop is right as it is, on one thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.cpu.unit_loops import UNITS
from ted.mlir import ir
from ted.mlir.queries import operations, symbol_name
from ted.records import dataclass

RUNTIME = "ted_parallel_for"
_DECLARATION = f"llvm.func @{RUNTIME}(!llvm.ptr, !llvm.ptr, i64)"


@dataclass(frozen=True)
class TedForkUnits:
    """The pass."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function that carries the attribute."""
        with module.context, ir.Location.unknown():
            found = [
                op.operation
                for op in module.body.operations
                if op.operation.name == "llvm.func" and UNITS in op.operation.attributes
            ]
            known = {symbol_name(op.operation) for op in module.body.operations}
            for function in found:
                _fork(function, known)


@dataclass(frozen=True)
class _Call:
    """The call for one unit: the callee, and for each argument a parameter, None for the unit."""

    callee: str
    parameters: Sequence[int | None]
    types: Sequence[str]

    @property
    def kept(self) -> list[int]:
        """The arguments that are stored, by their numbers."""
        return [k for k, parameter in enumerate(self.parameters) if parameter is not None]

    @property
    def frame(self) -> str:
        """The type of what is stored."""
        return f"!llvm.struct<({', '.join(self.types[k] for k in self.kept)})>"


def _fork(function: ir.Operation, known: set[str]) -> None:
    """Put a function that forks in place of one; `known` has and gets the names in the module."""
    call, name = _call_of(function), symbol_name(function)
    count = ir.IntegerAttr(function.attributes[UNITS]).value
    parameters = [str(a.type) for a in function.regions[0].blocks[0].arguments]
    made = ir.Module.parse(f"""{_DECLARATION}
      llvm.func @{call.callee}({", ".join(call.types)})
      {_one_unit(call, name)}
      {_all_units(call, name, count, parameters)}""")
    forked = ir.SymbolTable(made.operation)[name]
    for attribute in function.attributes:
        if attribute != UNITS:
            forked.attributes[attribute] = function.attributes[attribute]
    known.discard(name)
    for op in [o.operation for o in made.body.operations]:
        if symbol_name(op) not in known:
            op.clone(ir.InsertionPoint(function))
            known.add(symbol_name(op))
    function.erase()


def _call_of(function: ir.Operation) -> _Call:
    (call,) = operations(function, "llvm.call")
    entry = function.regions[0].blocks[0]
    parameters = [
        ir.BlockArgument(v).arg_number
        if isinstance(v.owner, ir.Block) and v.owner == entry
        else None
        for v in call.operands
    ]
    assert parameters.count(None) == 1, "the number of the unit is made by the loop"
    callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
    return _Call(callee, parameters, [str(v.type) for v in call.operands])


def _one_unit(call: _Call, name: str) -> str:
    """The function that the runtime calls for a unit."""
    lines = []
    for field, k in enumerate(call.kept):
        lines.append(f"%p{k} = llvm.getelementptr %frame[0, {field}] : {_GEP} {call.frame}")
        lines.append(f"%a{k} = llvm.load %p{k} : !llvm.ptr -> {call.types[k]}")
    arguments = ", ".join(
        "%unit" if parameter is None else f"%a{k}" for k, parameter in enumerate(call.parameters)
    )
    return f"""llvm.func @{name}_unit(%frame: !llvm.ptr, %unit: i64) {{
      {_NEWLINE.join(lines)}
      llvm.call @{call.callee}({arguments}) : ({", ".join(call.types)}) -> ()
      llvm.return
    }}"""


def _all_units(call: _Call, name: str, count: int, parameters: Sequence[str]) -> str:
    """The function in place of the loop."""
    lines = []
    for field, k in enumerate(call.kept):
        lines.append(f"%p{k} = llvm.getelementptr %frame[0, {field}] : {_GEP} {call.frame}")
        lines.append(f"llvm.store %x{call.parameters[k]}, %p{k} : {call.types[k]}, !llvm.ptr")
    given = ", ".join(f"%x{k}: {kind}" for k, kind in enumerate(parameters))
    return f"""llvm.func @{name}({given}) {{
      %one = llvm.mlir.constant(1 : i64) : i64
      %frame = llvm.alloca %one x {call.frame} : (i64) -> !llvm.ptr
      {_NEWLINE.join(lines)}
      %body = llvm.mlir.addressof @{name}_unit : !llvm.ptr
      %units = llvm.mlir.constant({count} : i64) : i64
      llvm.call @{RUNTIME}(%body, %frame, %units) : (!llvm.ptr, !llvm.ptr, i64) -> ()
      llvm.return
    }}"""


_GEP = "(!llvm.ptr) -> !llvm.ptr,"
_NEWLINE = "\n      "
