"""Programs for CPUs -> object files, by the binding's ExecutionEngine at O2, in this process.

O3 gains nothing measurable and doubles the time of code generation.
"""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ted import dialects
from ted.codegen.watching import Doing, ignored
from ted.ir.pipelines import run_text
from ted.linalg.data_reads import indexed_accesses
from ted.mlir import ExecutionEngine, ir, keep_loop_order

LEVEL = 2
_HANDLES = "/proc/self/fd"  # where a file that has no name is found


@dataclass(frozen=True)
class Object:
    """An object file, and the tensor and the user's line of each access that it checks.

    `indexed[k]` is what number k of `ted_index_error` means.
    """

    code: bytes
    indexed: tuple[tuple[str, str], ...] = ()


def make(source: str, pipeline: str, libraries: tuple[str, ...], doing: Doing = ignored) -> Object:
    """Lower the text of a module and generate its code; `doing` hears what is done.

    Raises: TedError of a pass that refuses it; MLIR and LLVM may end the process.
    """
    with dialects.session():
        doing("parsing")
        module = run_text(ir.Module.parse(source), pipeline, doing)
        doing("machine code")
        return object_of(module, libraries)


def answer(
    source: str, pipeline: str, arguments: Mapping[str, Any], doing: Doing
) -> dict[str, Any]:
    """An object as JSON has it, linked with the `libraries` of the arguments.

    Raises: TedError of a pass that refuses it; MLIR and LLVM may end the process.
    """
    made = make(source, pipeline, tuple(arguments["libraries"]), doing)
    return {"code": base64.b64encode(made.code).decode(), "indexed": made.indexed}


def unpacked(answered: Mapping[str, Any]) -> Object:
    """The object of an answer."""
    indexed = tuple((tensor, place) for tensor, place in answered["indexed"])
    return Object(base64.b64decode(answered["code"]), indexed)


def object_of(module: ir.Module, libraries: tuple[str, ...] = ()) -> Object:
    """The code of a module of the LLVM dialect; `libraries` define what it does not."""
    if not libraries:
        _define_allocator(module)
    keep_loop_order()
    engine = ExecutionEngine(module, opt_level=LEVEL, shared_libs=list(libraries))
    with _file() as path:
        engine.dump_to_object_file(path)
        with open(path, "rb") as file:
            return Object(file.read(), tuple(indexed_accesses(module.operation)))


@contextlib.contextmanager
def _file() -> Iterator[str]:
    """An empty file: in memory where there are such, for LLVM ends its process on a full disk."""
    with contextlib.ExitStack() as ends:
        handle = _in_memory()
        if handle is not None:
            ends.callback(os.close, handle)
            yield f"{_HANDLES}/{handle}"
        else:
            yield ends.enter_context(tempfile.NamedTemporaryFile(suffix=".o")).name


def _in_memory() -> int | None:
    if hasattr(os, "memfd_create") and os.path.isdir(_HANDLES):
        with contextlib.suppress(OSError):
            return os.memfd_create("object")
    return None


# What libted_runtime provides, without its accounting: for tools that run without the library.
_ALLOCATOR = {
    "_mlir_memref_to_llvm_aligned_alloc": """llvm.func @{name}(%a: i64, %n: i64) -> !llvm.ptr {{
        %one = llvm.mlir.constant(1 : i64) : i64
        %less = llvm.sub %a, %one : i64
        %more = llvm.add %n, %less : i64
        %blocks = llvm.udiv %more, %a : i64
        %size = llvm.mul %blocks, %a : i64
        %p = llvm.call @aligned_alloc(%a, %size) : (i64, i64) -> !llvm.ptr
        llvm.return %p : !llvm.ptr }}
        llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr""",
    "_mlir_memref_to_llvm_free": """llvm.func @{name}(%p: !llvm.ptr) {{
        llvm.call @free(%p) : (!llvm.ptr) -> ()
        llvm.return }}
        llvm.func @free(!llvm.ptr)""",
}


def _define_allocator(module: ir.Module) -> None:
    symbols = ir.SymbolTable(module.operation)
    for name, text in _ALLOCATOR.items():
        if name in symbols:
            symbols[name].operation.erase()
            for op in ir.Module.parse(text.format(name=name), module.context).body.operations:
                op.operation.clone(ir.InsertionPoint.at_block_begin(module.body))
