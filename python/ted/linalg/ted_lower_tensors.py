"""Linalg on tensors, as other tools write it -> the same on memory: the pass `ted-lower-tensors`.

Before: `linalg.matmul ins(%A, %B : tensor<8x8xf32>, tensor<8x8xf32>) outs(%C)`
After: `linalg.matmul ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c)`

Equations are on memory already (`ted-emit-kernels`), so that nothing is left to do where all of a
module was equations. The work is MLIR's one-shot bufferization; results are in memory that the
caller gives, and arguments stay as they are.
"""

from __future__ import annotations

from ted.errors import PassFailed
from ted.linalg.convert_ted_to_linalg import ConvertTedToLinalg
from ted.linalg.results_in_memory import check_results, set_type, taken_over
from ted.machine import DEFAULT, named_cpu
from ted.mlir import func, ir
from ted.mlir.locations import source_location
from ted.mlir.pass_managers import pass_manager
from ted.mlir.queries import functions, operations, terminator
from ted.mlir.storage import saved
from ted.mlir.strategies import GROUP, check_is_seen
from ted.records import dataclass

_BUFFERIZED = (
    "func.func(canonicalize,cse),one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map}"
)
_WITHOUT_RESULTS = (
    "buffer-results-to-out-params{hoist-static-allocs=1 modify-public-functions=1},canonicalize,cse"
)
_SERIAL = "func.func(scf-forall-to-for)"


@dataclass(frozen=True)
class TedLowerTensors:
    """The pass. `cpu` is a row of `ted.machine.CPUS`, which says how many rows of a recurrence are
    looped over at once; `gpu`: for a GPU, which takes all rows and has no branches.
    """

    cpu: str = DEFAULT
    gpu: bool = False

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: PassFailed for what has no memory, ScheduleError for an attribute that does not fit.
        """
        lowered = [f for f in functions(module) if _has_tensors(f.operation) or _has_results(f)]
        if not lowered:
            return
        check_is_seen(module.operation, (), GROUP)
        for function in lowered:
            _check(function)
        rows = 0 if self.gpu else named_cpu(self.cpu).chains
        ConvertTedToLinalg(rows, ahead=not self.gpu, branches=not self.gpu).run(module)
        names = [function.name.value for function in lowered]
        for function in lowered:
            _keep_arguments(function)
        _upstream(_BUFFERIZED, module)
        for function in functions(module):
            _part_results(function)
        _upstream(_WITHOUT_RESULTS, module)
        if not self.gpu:  # to which loops over rows are kernels
            _upstream(_SERIAL, module)
        for function in functions(module):
            if function.name.value in names:
                set_type(function)


def _upstream(passes: str, module: ir.Module) -> None:
    try:
        pass_manager(f"builtin.module({passes})", module.context).run(module.operation)
    except ir.MLIRError as error:
        found = error.error_diagnostics
        because = f", got {found[0].message}" if found else ""
        place = source_location(found[0].location) if found else None
        raise PassFailed(f"ted-lower-tensors: tensors must have memory{because}", place) from None


def _check(function: func.FuncOp) -> None:
    """Refuse what one-shot bufferization would give no memory, or other memory than is asked for.

    Raises: PassFailed.
    """
    check_results(function, terminator(function.entry_block), "ted-lower-tensors")
    if taken_over(function):
        raise PassFailed(
            "ted-lower-tensors: results take over arguments of functions of equations, got "
            f"@{function.name.value}, which has other operations",
            source_location(function.location),
        )
    for call in operations(function.operation, "func.call"):
        if any(isinstance(v.type, ir.RankedTensorType) for v in (*call.operands, *call.results)):
            raise PassFailed(
                "ted-lower-tensors: functions of tensors must be inlined, which those that call "
                "themselves or have no body cannot be, got a call of "
                f"@{ir.FlatSymbolRefAttr(call.attributes['callee']).value}",
                source_location(call.location),
            )


def _keep_arguments(function: func.FuncOp) -> None:
    """Say that nothing may be written into what the caller gives to be read."""
    kept = ir.Attribute.parse("{bufferization.writable = false}", function.context)
    nothing = ir.Attribute.parse("{}", function.context)
    function.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [
            kept if isinstance(argument.type, ir.RankedTensorType) else nothing
            for argument in function.entry_block.arguments
        ],
        function.context,
    )


def _part_results(function: func.FuncOp) -> None:
    """Let each result be in memory of its own: MLIR gives the caller's to one, and would crash."""
    end, seen = terminator(function.entry_block), set[ir.Value]()
    for k, value in enumerate(end.operands):
        if value in seen:
            with ir.InsertionPoint(end), end.location:
                end.operands[k] = saved(value)
        seen.add(value)


def _has_results(function: func.FuncOp) -> bool:
    """Whether a function returns something, which kernels on memory do not."""
    return bool(len(terminator(function.entry_block).operands))


def _has_tensors(root: ir.Operation) -> bool:
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        values = [*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)]
        found = found or any(isinstance(v.type, ir.RankedTensorType) for v in values)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    root.walk(visit)
    return found
