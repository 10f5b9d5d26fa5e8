"""`ted-time-kernels`: a program that calls kernels -> one that also says how each of them went.

Before: `func @main(%x, %y) { call @kernel_1(...); call @kernel_2(...) }`
After: `func @main(%x, %y, %times: memref<6xi64>)`, which gets the nanoseconds of a clock before and
after each call, and what it met of small numbers, in the order of the calls. What stands between
the calls, such as taking memory, is in none of them.
"""

from __future__ import annotations

from ted.errors import PassFailed
from ted.mlir import func, ir, memref
from ted.mlir.queries import functions
from ted.mlir.scalars import index
from ted.records import dataclass

CLOCK, MET = "ted_nanoseconds", "ted_small_met"  # of libted_runtime
NOTES = (CLOCK, CLOCK, MET)  # of each kernel: one before it, two after it


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
            kind = ir.MemRefType.get([len(NOTES) * len(kernels)], _i64())
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
                _observe(call, times, len(NOTES) * k)
            if kernels:
                with ir.InsertionPoint.at_block_begin(module.body):
                    for name in dict.fromkeys(NOTES):
                        func.FuncOp(name, ([], [_i64()]), visibility="private")


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


def _observe(call: ir.Operation, times: ir.Value, place: int) -> None:
    with ir.InsertionPoint(call):
        _note(NOTES[0], times, place)
    with ir.InsertionPoint.after(call):
        for k, name in enumerate(NOTES[1:], 1):
            _note(name, times, place + k)


def _note(name: str, times: ir.Value, place: int) -> None:
    said = func.CallOp([_i64()], name, []).results[0]
    memref.store(said, times, [index(place)])


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)
