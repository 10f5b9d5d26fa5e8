"""A lowered module -> functions that can be called: the binding's ExecutionEngine at O2.

O3 gains nothing measurable and doubles the time of code generation.  Equal modules are compiled
once per process.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import weakref
from dataclasses import dataclass

from ted.errors import CompileError
from ted.linalg.data_reads import indexed_accesses
from ted.mlir import ExecutionEngine, ir, keep_loop_order

LEVEL = 2
# Machine code lives as long as a function that uses it.
_compiled: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class Compiled:
    """Machine code of a module; addresses stay valid while this object lives.

    `address(name)` is a function `void(void **arguments)`, where arguments[k] points to a pointer
    to the data of argument k: the inputs first, then the results.
    """

    engine: ExecutionEngine
    # The tensor and the user's line of each access, by the number that ted_index_error gets.
    indexed: tuple[tuple[str, str], ...] = ()

    def address(self, name: str = "main") -> int:
        """Address of the wrapper of a function.

        Raises: CompileError when a symbol is missing.
        """
        found = self.engine.raw_lookup(name)
        if not found:
            raise CompileError(f"jit: a symbol of {name!r} is not defined anywhere")
        return found

    def object_code(self) -> bytes:
        """The object file."""
        handle, path = tempfile.mkstemp(suffix=".o")
        os.close(handle)
        try:
            self.engine.dump_to_object_file(path)
            with open(path, "rb") as file:
                return file.read()
        finally:
            os.unlink(path)


def compile_module(module: ir.Module, shared_libraries: tuple[str, ...] = ()) -> Compiled:
    """Compile a module of the LLVM dialect; an equal one gives the same object."""
    text = str(module.operation.get_asm(enable_debug_info=False))
    key = hashlib.sha256("\0".join([text, *shared_libraries]).encode()).hexdigest()
    found = _compiled.get(key)
    if found is None:
        if not shared_libraries:
            _define_allocator(module)
        keep_loop_order()
        engine = ExecutionEngine(module, opt_level=LEVEL, shared_libs=list(shared_libraries))
        found = _compiled[key] = Compiled(engine, tuple(indexed_accesses(module.operation)))
    return found


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
