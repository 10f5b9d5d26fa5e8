"""Object files of a program -> a function that can be called: LLVM's ORC links it.

Equal programs are linked once. llvmlite links, since the binding's engine takes no object file; its
linker keeps all of an object in one piece of memory, so that no part is too far from another, and
calls from one object to another go by a table where they are too far.
"""

from __future__ import annotations

import hashlib
import weakref
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from ted.codegen.parts import Objects
from ted.errors import CompileError
from ted.forking import Lock, in_child
from ted.records import dataclass

if TYPE_CHECKING:
    from ted.mlir import ir


@dataclass(frozen=True, eq=False)
class Compiled:
    """Machine code in memory; the address stays valid while this object lives.

    `address` is that of a function `void(void **arguments)`, where arguments[k] points to a pointer
    to the data of argument k: the inputs first, then the results.
    """

    made: Objects
    address: int
    _tracker: Any = None


# Machine code lives as long as a function that uses it.
_linked: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()
_names = count()
_lock = Lock()
_of_the_parent: list[Compiled] = []


def link(made: Objects, name: str, libraries: tuple[str, ...] = ()) -> Compiled:
    """Put the function of a program into memory; `libraries` define what its objects do not.

    Raises: CompileError when a symbol is not defined anywhere.
    """
    digest = hashlib.sha256(repr((name, made.indexed, libraries)).encode())
    for code in made.objects:
        digest.update(len(code).to_bytes(8, "big") + code)
    key = digest.hexdigest()
    with _lock:
        found = _linked.get(key)
        if found is None:
            found = _linked[key] = _link(made, f"_mlir_{name}", libraries)
        return found


def _link(made: Objects, symbol: str, libraries: tuple[str, ...]) -> Compiled:
    from llvmlite import binding as llvm

    engine = _engine()
    for path in libraries:
        llvm.load_library_permanently(path)
    builder = llvm.JITLibraryBuilder()
    for code in made.objects:
        builder.add_object_img(code)
    builder.add_current_process().export_symbol(symbol)
    try:
        tracker = builder.link(engine, f"program {next(_names)}")
    except RuntimeError as error:
        raise CompileError(f"jit: every symbol must be defined, got: {error}") from None
    return Compiled(made, tracker[symbol], tracker)


@cache
def _engine() -> Any:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
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
    from ted.codegen.objects import object_of  # what links objects of the disk needs no MLIR
    from ted.linalg.data_reads import indexed_accesses

    indexed = tuple(indexed_accesses(module.operation))
    return link(Objects((object_of(module, libraries),), indexed), name, libraries)
