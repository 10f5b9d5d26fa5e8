"""Machine code as text."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

from ted.errors import CompileError


def disassemble(code: bytes) -> str:
    """Text of an object file, by objdump.

    Raises: CompileError when objdump is missing.
    """
    tool = shutil.which("objdump")
    if tool is None:
        raise CompileError("asm: objdump is needed to show machine code, install binutils")
    handle, path = tempfile.mkstemp(suffix=".o")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(code)
        arguments = [tool, "-d", "--no-show-raw-insn", path]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(f"asm: objdump failed, got {done.stderr.strip()}")
        return done.stdout.split("\n", 3)[-1]  # the first lines name a temporary file
    finally:
        os.unlink(path)
