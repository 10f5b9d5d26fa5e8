"""Graphs of `torch.export` -> modules of linalg, by the binding's own importer and pipelines."""

from __future__ import annotations

import importlib
from typing import Any

from ted.errors import TedError
from ted.mlir import BINDING, PassManager, ir, load_foreign_dialects, make_context

_TO_BACKEND = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{backend-legal-ops= extra-library=})"
)
_TO_LINALG = (
    "builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true})"
)


def _part(name: str) -> Any:
    try:
        return importlib.import_module(f"{BINDING}.extras.{name}")
    except ModuleNotFoundError as error:
        raise TedError(
            f"mlir: the binding must have an importer of torch, got {error}; install torch-mlir"
        ) from error


def decompositions() -> Any:
    """The operators of torch that the importer wants to be taken apart before.

    Raises: TedError if the binding has no importer.
    """
    return _part("fx_decomp_util").get_decomposition_table()


def torch_module(graph: Any) -> ir.Module:
    """A graph whose placeholders are tensors as a module of torch's dialect, with function `main`.

    Raises: TedError if the binding has no importer, or that knows no such node.
    """
    context = make_context()
    load_foreign_dialects(context)
    importer = _part("fx_importer").FxImporter(context=context)
    try:
        importer.import_stateless_graph(graph, func_name="main")
    except (NotImplementedError, TypeError, ValueError, LookupError) as error:
        raise TedError(f"torch: the importer of the binding must know each node, {error}") from None
    return importer.module


def answer(source: str, *_: Any) -> str:
    """The text of a module of torch's dialect in linalg on tensors, for a worker that makes it.

    Raises: TedError that names the operation that has no lowering.
    """
    context = make_context()
    load_foreign_dialects(context)
    module = ir.Module.parse(source, context)
    to_linalg(module)
    return str(module.operation.get_asm(enable_debug_info=True))


def linalg_module(text: str) -> ir.Module:
    """The module of a text that `answer` made."""
    context = make_context()
    load_foreign_dialects(context)
    to_linalg(ir.Module.parse("module {}", context))  # loads the dialects of what the passes make
    return ir.Module.parse(text, context)


def to_linalg(module: ir.Module) -> None:
    """Lower torch's dialect to linalg on tensors, in place.

    Raises: TedError that names the operation that has no lowering.
    """
    with module.context:
        try:
            for pipeline in (_TO_BACKEND, _TO_LINALG):
                PassManager.parse(pipeline).run(module.operation)
        except ir.MLIRError as error:
            rule = "each operator must have a lowering to linalg"
            raise TedError(f"torch: {rule}, {_reason(str(error), module)}") from None


def _reason(text: str, module: ir.Module) -> str:
    """The first line of a message of MLIR that says what is wrong.

    It can name a constant that an operator takes: then the operators that are left stand behind.
    """
    lines = [line for line in text.splitlines() if "error:" in line]
    found = lines[0].strip() if lines else text
    left = ", ".join(operators(module)) if "'torch.constant." in found else ""
    return f"{found}; what is left: {left}" if left else found


def operators(module: ir.Module) -> list[str]:
    """The names of the operators of torch in a module."""
    names: dict[str, None] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "torch.operator":
            names[ir.StringAttr(op.attributes["name"]).value] = None
        elif op.name.startswith("torch.aten."):
            names[op.name] = None
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return list(names)
