"""Parts of programs for CPUs -> object files, by the binding's ExecutionEngine at O2.

O3 gains nothing measurable and doubles the time of code generation. Code that is not for this
process is text of LLVM's, which `ted.codegen.emission` makes something of.
"""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ted import dialects
from ted.codegen.emission import llvm_text
from ted.codegen.splitting import ELSEWHERE
from ted.codegen.watching import Doing
from ted.errors import CompileError
from ted.ir.pass_driver import plan
from ted.ir.pipeline_text import parse_pipeline
from ted.ir.pipelines import run_text
from ted.mlir import ExecutionEngine, ir, leave_out_unsound_passes
from ted.mlir.queries import operations, symbol_name
from ted.records import dataclass

LEVEL = 2
_VECTOR = 8  # bytes, of which a vector of conditions is shifted
_HANDLES = "/proc/self/fd"  # where a file that has no name is found


def answer(
    source: Sequence[tuple[str, str, int]],
    pipeline: str,
    arguments: Mapping[str, Any],
    doing: Doing,
) -> list[str]:
    """An object, as JSON has it, for each module of `source`: its name, its text, what it weighs.

    They are linked with the `libraries` of the arguments, or are text of LLVM's where there are
    none; `doing` hears the names.
    Raises: TedError of a pass that refuses one; MLIR and LLVM may end the process.
    """
    made: list[str] = []
    libraries = arguments["libraries"]
    with dialects.session() as context:
        steps = plan(parse_pipeline(pipeline), context, verify_each=False)
        for name, text, _ in source:
            doing(name)
            doing("parsing")
            module = run_text(ir.Module.parse(text), pipeline, doing, steps)
            doing("machine code")
            if libraries is None:
                code = llvm_text(module).encode()
            else:
                code = object_of(module, tuple(libraries))
            made.append(base64.b64encode(code).decode())
    return made


def object_of(module: ir.Module, libraries: tuple[str, ...] = ()) -> bytes:
    """The code of a module of the LLVM dialect; `libraries` define what it does not.

    Raises: CompileError when a symbol is not defined anywhere.
    """
    if not libraries:
        _define_allocator(module)
    leave_out_unsound_passes(
        loads_bytes=any(map(_loads_bytes, operations(module.operation, "llvm.func")))
    )
    engine = ExecutionEngine(module, opt_level=LEVEL, shared_libs=list(libraries))
    for name in _elsewhere(module):  # the engine wants to know before it lets go of the object
        engine.raw_register_runtime(name, _Anywhere())
    with _file() as path:
        engine.dump_to_object_file(path)
        with open(path, "rb") as file:
            code = file.read()
    if not code:
        raise CompileError(
            "machine code: every symbol must be defined by the program or its libraries "
            f"({', '.join(libraries) or 'none'}), got an empty object; reinstall ted if its "
            "library is older than its Python code"
        )
    return code


def _loads_bytes(function: ir.Operation) -> bool:
    """Whether a function asks so often for bytes that it may ask for a vector and its neighbour."""
    byte = ir.IntegerType.get_signless(8, function.context)
    found = [op.results[0] for op in operations(function, "llvm.load")]
    users = [use.owner for value in found if value.type == byte for use in value.uses]
    asked = [max([1, *(len(list(one.uses)) for one in user.results)]) for user in users]
    return sum(asked) >= 2 * _VECTOR


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


@dataclass(frozen=True)
class _Anywhere:
    """An address of what another object has, which is never called in this process."""

    value: int = 4096


def _elsewhere(module: ir.Module) -> list[str]:
    return [
        symbol_name(op) for op in module.body.operations if ELSEWHERE in op.operation.attributes
    ]


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
