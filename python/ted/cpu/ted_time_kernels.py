"""`ted-time-kernels`: a program that calls kernels -> one that also says when each began and ended.

Before: `func @main(%x, %y) { call @kernel_1(...); call @kernel_2(...) }`
After: `func @main(%x, %y, %times: memref<4xi64>)`, which gets the nanoseconds of a clock before and
after each call, in the order of the calls. What stands between the calls, such as taking memory,
is in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.errors import PassFailed
from ted.mlir import func, ir, memref
from ted.mlir.queries import functions
from ted.mlir.scalars import index

CLOCK = "ted_nanoseconds"  # of libted_runtime


@dataclass(frozen=True)
class TedTimeKernels:
    """Give the one public function the argument, and let it fill that."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: PassFailed where there is not one public function.
        """
        with module.context, ir.Location.unknown():
            function = program_of(module)
            kernels = kernel_calls(function)
            kind = ir.MemRefType.get([2 * len(kernels)], _i64())
            times = function.entry_block.add_argument(kind, function.location)
            inputs = [*function.type.inputs, kind]
            made = ir.FunctionType.get(inputs, function.type.results)
            function.operation.attributes["function_type"] = ir.TypeAttr.get(made)
            if "arg_attrs" in function.operation.attributes:
                given = ir.ArrayAttr(function.operation.attributes["arg_attrs"])
                function.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(
                    [*given, ir.DictAttr.get({})]
                )
            for k, call in enumerate(kernels):
                _time(call, times, 2 * k)
            if kernels:
                with ir.InsertionPoint.at_block_begin(module.body):
                    func.FuncOp(CLOCK, ([], [_i64()]), visibility="private")


def program_of(module: ir.Module) -> func.FuncOp:
    """The public function of a module.

    Raises: PassFailed where there is not one.
    """
    public = [f for f in functions(module) if "sym_visibility" not in f.operation.attributes]
    if len(public) != 1:
        names = ", ".join(f.name.value for f in public) or "none"
        raise PassFailed(f"ted-time-kernels: a module has one public function, got {names}")
    return public[0]


def kernel_calls(function: func.FuncOp) -> list[ir.Operation]:
    """The calls at the top of a function."""
    operations = (view.operation for view in function.entry_block.operations)
    return [op for op in operations if op.name == "func.call"]


def _time(call: ir.Operation, times: ir.Value, place: int) -> None:
    with ir.InsertionPoint(call):
        _note(times, place)
    with ir.InsertionPoint.after(call):
        _note(times, place + 1)


def _note(times: ir.Value, place: int) -> None:
    now = func.CallOp([_i64()], CLOCK, []).results[0]
    memref.store(now, times, [index(place)])


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)
