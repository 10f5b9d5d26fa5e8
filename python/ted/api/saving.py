"""Programs for CPUs as files, from which `ted.load` makes functions without a compiler.

Before: a `Portable`      After: the bytes of `ted.runtime.saved`
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ted.api.host import is_foreign
from ted.codegen.exported.entries import packed_object_file
from ted.codegen.exported.toolchain import Toolchain
from ted.errors import CompileError
from ted.machine import Cpu
from ted.options import CompileOptions
from ted.records import dataclass
from ted.runtime.buffers import ArgSpec
from ted.runtime.library import library_path
from ted.runtime.saved import SYMBOL, About, pack


@dataclass(frozen=True, eq=False)
class Portable:
    """A program for files: its name, the function in texts for LLVM, and what it is called with.

    `constants` are the arrays of the last inputs, `donated` gives for results the inputs that they
    overwrite, `accesses[k]` are the tensor and the user's line of check number k.
    """

    name: str
    symbol: str
    texts: tuple[str, ...]
    inputs: tuple[ArgSpec, ...]
    outputs: tuple[ArgSpec, ...]
    constants: tuple[Any, ...]
    donated: Mapping[int, int]
    accesses: tuple[tuple[str, str], ...]
    cpu: Cpu
    options: CompileOptions
    has_notes: bool = False


def toolchain() -> Toolchain:
    """The tools of this machine, which $CC and $AR name.

    Raises: CompileError where those are no commands.
    """
    return Toolchain(*(_command(*pair) for pair in (("CC", "cc"), ("AR", "ar"))))


def _command(variable: str, default: str) -> tuple[str, ...]:
    text = os.environ.get(variable) or default
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise CompileError(f"export: ${variable} is a command, got {text!r}: {error}") from None


def check_portable(code: Portable, what: str) -> None:
    """Code for files says nothing.

    Raises: CompileError for other code.
    """
    if code.has_notes:
        raise CompileError(
            f"{what}: a program for files returns its results alone, got {code.name!r}, which "
            "prints or checks when ted calls it; compile it without ted.print, ted.check and "
            "debug_nans"
        )


def saved_bytes(code: Portable, single: bool) -> bytes:
    """The contents of a file.

    Raises: CompileError where there is no compiler for C, or LLVM does not compile the program.
    """
    check_portable(code, "save")
    if is_foreign(code.cpu):
        raise CompileError(
            f"save: code for another architecture is linked by a compiler for it, got "
            f"'cpu:{code.cpu.name}'; ted.export(f, folder, library='objects') writes its object"
        )
    count = len(code.inputs) + len(code.outputs)
    about = About(
        name=code.name,
        single=single,
        inputs=code.inputs,
        outputs=code.outputs,
        donated=code.donated,
        accesses=code.accesses,
        features=code.cpu.features,
        threads=code.options.threads or 0,
        target=f"cpu:{code.cpu.name}",
        subnormals=code.options.subnormals,
    )
    machine = packed_object_file(SYMBOL, code.symbol, code.texts, count, code.cpu)
    try:
        return pack(about, _linked(machine), code.constants)
    except OSError as error:
        raise CompileError(
            f"save: $CC links code in a folder for a moment, got {error}; name a folder for it by "
            "$TMPDIR"
        ) from None


def _linked(machine: bytes) -> bytes:
    """The shared library of an object file."""
    with tempfile.TemporaryDirectory(prefix="ted-") as name:
        folder, beside = Path(name), Path(library_path())
        source, library = folder / "code.o", folder / "code.so"
        source.write_bytes(machine)
        toolchain().link([source], library, (f"-L{beside.parent}", "-lted_runtime", "-Wl,-s"))
        return library.read_bytes()
