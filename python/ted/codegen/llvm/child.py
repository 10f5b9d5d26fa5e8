"""The code generator of LLVM for other machines: one child process per set of LLVM options."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

from ted.codegen import llvm_worker
from ted.codegen.children import Child, interpreter
from ted.errors import CompileError
from ted.forking import Lock

_ALWAYS = ("-enable-loopinterchange=false",)  # ted chooses the order; LLVM's exchange is unsound
_MISSING = "llvm: code for other machines needs llvmlite, got none; pip install llvmlite"


def command(options: tuple[str, ...] = ()) -> list[str]:
    """What starts a code generator.

    Raises: CompileError when llvmlite is not installed; OSError when there is no interpreter.
    """
    arguments = [llvm_worker.__file__, _folder(), *_ALWAYS, *options]
    return [interpreter(), "-I", "-S", *arguments]


def _folder() -> str:
    """Where llvmlite lies; the child gets nothing else of this process' path."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        raise CompileError(_MISSING)
    return str(Path(found.origin).parent.parent)


def version() -> str:
    """The version of llvmlite, without importing it.

    Raises: CompileError when it is not installed.
    """
    try:
        return importlib.metadata.version("llvmlite")
    except importlib.metadata.PackageNotFoundError:
        raise CompileError(_MISSING) from None


_children: dict[tuple[str, ...], Child] = {}
_children_lock = Lock()


def child(options: tuple[str, ...] = ()) -> Child:
    """The child with these LLVM options: they hold for a whole process."""
    with _children_lock:
        return _children.setdefault(options, Child(lambda: command(options)))
