"""Modules of the LLVM dialect -> machine code that is not for this process, by llvmlite's LLVM.

Before: `llvm.func @f() attributes {target_cpu = "generic"}`      After: `f:` and `ret`, as text
for an assembler, or an object file for a linker

The binding makes code for its own process alone. llvmlite's LLVM has every architecture; the code
is the schedule's all the same.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, cast

from ted.codegen.llvm.literals import rewrite_literals
from ted.codegen.llvm.request import Request, compile_cached
from ted.machine import Cpu
from ted.mlir import ir, llvm
from ted.records import dataclass

_WHAT = "machine code"
# The attribute of `ted-annotate-functions` as LLVM 24 writes it, and as LLVM 22 reads it.
_SUBNORMALS = "denormal_fpenv(dynamic)", '"denormal-fp-math"="dynamic,dynamic"'


def llvm_text(module: ir.Module) -> str:
    """The text of a module of the LLVM dialect as llvmlite's LLVM reads it."""
    text = cast("Any", llvm).translate_module_to_llvmir(module.operation)
    return rewrite_literals(text.replace(*_SUBNORMALS))


def assembly(texts: Sequence[str], cpu: Cpu) -> str:
    """The assembly of modules that call each other, for a row of CPUs.

    Raises: CompileError when LLVM does not compile them.
    """
    request = Request(tuple(texts), *_machine(cpu), keep=None, anywhere=True)
    return compile_cached(request, _WHAT)["assembly"]


@dataclass(frozen=True)
class Called:
    """A function of modules that call each other, and the name by which others call it."""

    name: str
    symbol: str
    texts: tuple[str, ...]


def shared_object(text: str, called: Sequence[Called], cpu: Cpu, keep: str) -> bytes:
    """An object file whose code may lie anywhere; all that it shows is the function `keep`.

    Raises: CompileError when LLVM does not compile it.
    """
    linked = tuple((one.name, one.symbol, one.texts) for one in called)
    machine = _machine(cpu)
    request = Request(
        (text,), *machine, keep=(keep,), output="object", anywhere=True, linked=linked
    )
    return base64.b64decode(compile_cached(request, _WHAT)["object"])


def _machine(cpu: Cpu) -> tuple[str, str, str]:
    features = ",".join(f"+{feature}" for feature in cpu.features)
    return f"{cpu.architecture}-unknown-linux-gnu", cpu.base, features
