"""Object files -> libraries, by the compiler for C and the archiver of this machine.

Before: f.o, g.o      After: libfg.a, or libfg.so
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ted.errors import CompileError
from ted.records import dataclass

_TIMEOUT = 600  # seconds


@dataclass(frozen=True)
class Toolchain:
    """The commands that link and archive."""

    compiler: tuple[str, ...] = ("cc",)
    archiver: tuple[str, ...] = ("ar",)

    def archive(self, objects: Sequence[Path], target: Path) -> None:
        """Write a static library.

        Raises: CompileError where the archiver is missing, or fails.
        """
        target.unlink(missing_ok=True)  # it would add to it
        _run(self.archiver, "AR", ["rcs", str(target), *map(str, objects)])

    def link(self, objects: Sequence[Path], target: Path, flags: Sequence[str] = ()) -> None:
        """Write a shared library, which needs no symbol that is not there.

        It stays in a process that closes it: its threads may sleep in it.

        Raises: CompileError where the compiler is missing, or fails.
        """
        named = f"-Wl,-soname,{target.name}"
        given = [*map(str, objects), *flags, "-lm", "-pthread"]
        _run(self.compiler, "CC", ["-shared", "-Wl,-z,nodelete", named, "-o", str(target), *given])


def _run(command: Sequence[str], variable: str, arguments: Sequence[str]) -> None:
    if not command or shutil.which(command[0]) is None:
        raise CompileError(
            f"${variable}: libraries are made by {' '.join(command) or 'a compiler'}, got no such "
            f"command; install one for C, name it by ${variable}, or export library='objects'"
        )
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=_TIMEOUT, check=False
    )
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise CompileError(f"${variable}: {' '.join(command)} must succeed, got {said}")
