"""Object files -> functions that can be called: linked into this process by LLVM's ORC.

Equal objects are linked once. llvmlite links, since the binding's engine takes no object file; its
linker keeps all of an object in one piece of memory, so that no part is too far from another.
"""

from __future__ import annotations

import hashlib
import weakref
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from ted.codegen.objects import Object, object_of
from ted.errors import CompileError
from ted.forking import Lock, in_child
from ted.mlir import ir


@dataclass(frozen=True, eq=False)
class Compiled:
    """Machine code in memory; the address stays valid while this object lives.

    `address` is that of a function `void(void **arguments)`, where arguments[k] points to a pointer
    to the data of argument k: the inputs first, then the results.
    """

    made: Object
    address: int
    _tracker: Any


# Machine code lives as long as a function that uses it.
_linked: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()
_names = count()
_lock = Lock()
_of_the_parent: list[Compiled] = []


def link(made: Object, name: str, libraries: tuple[str, ...] = ()) -> Compiled:
    """Put the function of an object into memory; `libraries` define what the object does not.

    Raises: CompileError when a symbol is not defined anywhere.
    """
    key = hashlib.sha256(repr((name, made.indexed, libraries)).encode() + made.code).hexdigest()
    with _lock:
        found = _linked.get(key)
        if found is None:
            found = _linked[key] = _link(made, f"_mlir_{name}", libraries)
        return found


def _link(made: Object, symbol: str, libraries: tuple[str, ...]) -> Compiled:
    from llvmlite import binding as llvm

    engine = _engine()
    for path in libraries:
        llvm.load_library_permanently(path)
    builder = llvm.JITLibraryBuilder().add_object_img(made.code).add_current_process()
    try:
        tracker = builder.export_symbol(symbol).link(engine, f"program {next(_names)}")
    except RuntimeError as error:
        raise CompileError(f"jit: every symbol must be defined, got: {error}") from None
    return Compiled(made, tracker[symbol], tracker)


@cache
def _engine() -> Any:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_lljit_compiler(machine, use_jit_link=True)


@in_child
def _start_anew() -> None:
    """Leave the engine of the parent alone: a thread that linked with it may have held its lock."""
    _of_the_parent.extend(_linked.values())
    _engine.cache_clear()


def compile_module(
    module: ir.Module, libraries: tuple[str, ...] = (), name: str = "main"
) -> Compiled:
    """Machine code of a module of the LLVM dialect, which is made in this process.

    Raises: CompileError when a symbol is not defined anywhere.
    """
    return link(object_of(module, libraries), name, libraries)
