"""A lowered program -> the modules that become object files: kernels that take long by themselves.

Before: `@main`, which calls private functions, as `ted-outline-kernels` makes them
After: a module for each large one, and the rest, where these are declarations

An object costs 8 ms by itself, the pipeline 2 and LLVM 6, and so much takes the code of a small
kernel. So only those become objects of their own whose code takes longer: contractions of a few
hundred points, which become register tiles, functions, which become polynomials, and long bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from ted import dialects
from ted.codegen.parts import Part
from ted.codegen.watching import Doing
from ted.ir.pipelines import run_text
from ted.linalg.contractions import MARK
from ted.linalg.data_reads import PLACES, TENSOR_NAMES, indexed_accesses
from ted.math.ted_outline_math import PART
from ted.mlir import func, ir
from ted.mlir.generic import Generic
from ted.mlir.queries import functions, operations

ELSEWHERE = "ted.elsewhere"  # of a declaration: another object has this function
LARGE = 10_000  # weight of the smallest kernel that is an object: its code takes 15 ms and more
# What these add to the weight of a text, whose characters weigh 1. The code of a contraction grows
# with its points, until there is a loop around its tiles.
_FUNCTION, _CONTRACTION, _POINT = 2000, 2000, 40


def answer(
    source: str, pipeline: str, arguments: Mapping[str, Any], doing: Doing
) -> dict[str, Any]:
    """The parts of a lowered module as JSON has them, that of the program first.

    `indexed` has the tensor and the user's line of each access that is checked, by its number.
    Raises: TedError of a pass that refuses it; MLIR may end the process.
    """
    del arguments
    with dialects.session():
        doing("parsing")
        module = run_text(ir.Module.parse(source), pipeline, doing)
        doing("splitting")
        indexed = indexed_accesses(module.operation)
        return {"parts": split(module), "indexed": indexed}


def split(module: ir.Module) -> list[Part]:
    """Take the large kernels out of a module: what is left, and these."""
    for table in (TENSOR_NAMES, PLACES):  # numbers of accesses are arguments of kernels
        if table in module.operation.attributes:
            del module.operation.attributes[table]
    kernels = [one for one in functions(module) if _is_private(one)]
    symbols = ir.SymbolTable(module.operation)
    parts: list[Part] = []
    for kernel in kernels if len(kernels) > 1 else ():  # the calls of one alone take no time
        # By itself: else MLIR numbers the values of the whole module for each kernel.
        weight = _weight(kernel, _text(kernel, alone=True))
        if weight >= LARGE:
            parts.append(Part(kernel.name.value, _own_module(kernel, symbols), weight))
            _declare(kernel)
    public = [one.name.value for one in functions(module) if not _is_private(one)]
    rest = _text(module)
    return [Part(" ".join(public), rest, _weight(module, rest), is_kernel=False), *parts]


def _is_private(function: func.FuncOp) -> bool:
    attribute = function.operation.attributes.get("sym_visibility")
    return attribute is not None and ir.StringAttr(attribute).value == "private"


def _text(op: ir.Module | func.FuncOp, *, alone: bool = False) -> str:
    return str(op.operation.get_asm(assume_verified=True, use_local_scope=alone))


def _weight(op: ir.Module | func.FuncOp, text: str) -> int:
    found = [g for g in operations(op.operation, "linalg.generic") if MARK in g.attributes]
    return len(text) + _FUNCTION * text.count("math.") + sum(map(_of_contraction, found))


def _of_contraction(op: ir.Operation) -> int:
    extents = Generic(op).extents
    return LARGE if extents is None else min(LARGE, _CONTRACTION + _POINT * prod(extents))


def _own_module(kernel: func.FuncOp, symbols: ir.SymbolTable) -> str:
    """The text of a module of a kernel, which others may call, and of the symbols that it uses."""
    with kernel.context, ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes[PART] = ir.StringAttr.get(kernel.name.value)
        end = ir.InsertionPoint(module.body)
        for name in dict.fromkeys(_used(kernel.operation)):
            symbols[name].operation.clone(end)
        copy = kernel.operation.clone(end)
        del copy.attributes["sym_visibility"]
        return _text(module)


def _used(op: ir.Operation) -> list[str]:
    """The names of the symbols in an operation."""
    found: list[str] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        references = [a for a in inner.attributes.values() if isinstance(a, ir.FlatSymbolRefAttr)]
        found.extend(one.value for one in references)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _declare(kernel: func.FuncOp) -> None:
    """Leave the declaration of a kernel in its place."""
    with kernel.context, kernel.location, ir.InsertionPoint(kernel):
        left = func.FuncOp(kernel.name.value, kernel.type, visibility="private")
        left.operation.attributes[ELSEWHERE] = ir.UnitAttr.get()
    kernel.operation.erase()
