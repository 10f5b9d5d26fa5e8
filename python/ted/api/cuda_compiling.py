"""A module of equations -> a CUDA program: lower, translate to PTX, read the host's side.

Before: a module of ted ops      After: a `Manifest`: PTX, and what the host does, as data
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ted import dialects
from ted.codegen.manifest import ArraySpec, Check, Manifest
from ted.codegen.manifest_json import dumps
from ted.codegen.nvptx import compile_to_ptx, start_compiler
from ted.codegen.nvptx.translate import mlir_gpu_module_to_llvm_text
from ted.codegen.watching import Doing, ignored
from ted.errors import CompileError, stated_rule
from ted.gpu.host_program import HostProgram, read_host_function
from ted.gpu.pipeline import gpu_stages
from ted.gpu.ted_record_index_errors import CHECKS
from ted.ir.dtypes import BY_MLIR
from ted.ir.equations import System
from ted.ir.pipelines import pipeline_text, run_text
from ted.machine import named_gpu
from ted.mlir import ir
from ted.mlir.aliasing import DONATED
from ted.mlir.queries import functions, symbol_name
from ted.options import CompileOptions


def compile_module(
    module: ir.Module,
    options: CompileOptions,
    *,
    name: str | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    donated: Mapping[int, int] | None = None,
    pipeline: str | None = None,
    libdevice: str | None = None,
    doing: Doing = ignored,
) -> Manifest:
    """Compile a module of one function of ted ops, which is lowered in place, for a GPU.

    `name` is the program's name in messages (default: the function's), `inputs` and `outputs` name
    the arrays (default: their locations' names, else numbers). `donated` says for positions of
    results which input's memory they take over. `pipeline` lowers it (default: that of the
    options), `libdevice` is the file of mathematical functions; `doing` hears what is done.
    Raises: CompileError, PassFailed, VerifyError.
    """
    start_compiler(fast_math=options.fast_math)
    function = next(iter(functions(module)))
    symbol = symbol_name(function)
    takes, gives = _specs(function, inputs, outputs)
    note_donations(module, donated or {})
    run_text(module, pipeline or pipeline_text(gpu_stages(options)), doing)
    doing("PTX")
    host = _host(module, symbol, len(takes))
    ptx = _ptx(module, options, libdevice) if host.kernels else ""
    taken = {source: k for k, source in (donated or {}).items()}
    return Manifest(
        name=name or symbol,
        target=options.machine.name,
        ptx=ptx,
        inputs=tuple(replace(s, donated_to=taken.get(k)) for k, s in enumerate(takes)),
        outputs=tuple(gives),
        kernels=tuple(host.kernels.values()),
        steps=tuple(host.steps),
        buffers=tuple(host.buffers),
        constants=tuple(host.constants),
        checks=_checks(module),
    )


def request_arguments(
    system: System,
    donated: Mapping[int, int],
    options: CompileOptions,
    libdevice: str | None,
) -> dict[str, Any]:
    """What `answer` needs besides the module and the pipeline."""
    return {
        "name": system.name,
        "inputs": [t.name for t in system.inputs],
        "outputs": [t.name for t in system.outputs],
        "donated": list(donated.items()),
        "machine": options.machine.name,
        "deterministic": options.deterministic,
        "fast_math": options.fast_math,
        "tf32": options.tf32,
        "libdevice": libdevice,
    }


def answer(
    source: str, pipeline: str, arguments: Mapping[str, Any], doing: Doing
) -> dict[str, Any]:
    """The manifest of a module as JSON text, by `arguments`.

    Raises: CompileError, PassFailed, VerifyError.
    """
    given = dict(arguments)
    flags = {name: given.pop(name) for name in ("deterministic", "fast_math", "tf32")}
    options = CompileOptions(named_gpu(given.pop("machine")), **flags)
    donated = dict(given.pop("donated"))
    with dialects.session():
        doing("parsing")
        module = ir.Module.parse(source)
        made = compile_module(
            module, options, donated=donated, pipeline=pipeline, doing=doing, **given
        )
    return {"manifest": dumps(made)}


def note_donations(module: ir.Module, donated: Mapping[int, int]) -> None:
    """Say in a program of ted ops which input's memory a result may take over, by positions."""
    function = next(iter(functions(module)))
    inputs = len(function.entry_block.arguments)
    if donated:
        rows = [
            ir.DenseI64ArrayAttr.get([source, inputs + result], function.context)
            for result, source in donated.items()
        ]
        function.operation.attributes[DONATED] = ir.ArrayAttr.get(rows, function.context)


def _host(module: ir.Module, symbol: str, inputs: int) -> HostProgram:
    for function in functions(module):
        if symbol_name(function) == symbol:
            return read_host_function(function, inputs)
    raise CompileError(f"cuda: a module must define {symbol!r}")


def _ptx(module: ir.Module, options: CompileOptions, libdevice: str | None) -> str:
    return compile_to_ptx(
        mlir_gpu_module_to_llvm_text(module),
        options.machine.name,
        fast_math=options.fast_math,
        libdevice=libdevice,
    )


def _specs(
    function: ir.OpView, inputs: Sequence[str] | None, outputs: Sequence[str] | None
) -> tuple[list[ArraySpec], list[ArraySpec]]:
    kind = ir.FunctionType(ir.TypeAttr(function.operation.attributes["function_type"]).value)
    block = function.operation.regions[0].blocks[0]
    names = inputs or [_name(a, f"input{k}") for k, a in enumerate(block.arguments)]
    results = block.operations[-1].operands
    given = outputs or [_name(v, f"output{k}") for k, v in enumerate(results)]
    return (
        [_spec(t, n) for t, n in zip(kind.inputs, names, strict=True)],
        [_spec(t, n) for t, n in zip(kind.results, given, strict=True)],
    )


def _spec(kind: ir.Type, name: str) -> ArraySpec:
    shaped = ir.RankedTensorType(kind)
    return ArraySpec(name, tuple(shaped.shape), BY_MLIR[str(shaped.element_type)].name)


def _name(value: ir.Value, otherwise: str) -> str:
    found = getattr(value.location, "name_str", None)
    return found if isinstance(found, str) and found else otherwise


def _checks(module: ir.Module) -> tuple[Check, ...]:
    attributes = module.operation.attributes
    if CHECKS not in attributes:
        return ()
    found = []
    for row in ir.ArrayAttr(attributes[CHECKS]):
        tensor, dim, extent, place = ir.ArrayAttr(row)
        name, at = ir.StringAttr(tensor).value, ir.StringAttr(place).value
        rule = stated_rule(name)
        whole = f"{rule} {{value}}" + (f", at {at}" if at else "") if rule else ""
        numbers = ir.IntegerAttr(dim).value, ir.IntegerAttr(extent).value
        found.append(Check(name, *numbers, whole, at))
    return tuple(found)
