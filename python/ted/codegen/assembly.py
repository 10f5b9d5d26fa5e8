"""Machine code as text, and its innermost loops: do they work on vectors?

`disassemble` needs `objdump`. An innermost loop is a backward jump with no other one inside it; it is
scalar when it does floating-point arithmetic on single elements and none on vectors.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from ted.errors import CompileError

_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
_LABEL = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_JUMP = re.compile(r"^(j\w+|loop\w*|b\.?\w*|cb\w+|tb\w+)\s+(?:.*\s)?(?:0x)?([0-9a-f]+)(?: <.*>)?$")
_X86_VECTOR = re.compile(r"^v?\w+(ps|pd|ph)$|^vp?\w*(d|q|w|b)$")
_X86_SCALAR = re.compile(r"^v?(add|sub|mul|div|max|min|sqrt|fn?m(add|sub)\w*|ucomi|comi|cvt\w*)s[sdh]$")
_MOVE = re.compile(r"^v?mov(u|a|dq|nt)\w*$")
_REGISTER = re.compile(r"%([xyz])mm|\bv\d+\.(\d+)[bhsd]")
_WIDTH = {"x": 128, "y": 256, "z": 512}


@dataclass(frozen=True)
class Loop:
    """An innermost loop: its function, its instructions and what they work on."""

    function: str
    instructions: tuple[str, ...]

    @property
    def width(self) -> int:
        """Bits of the widest vector operation, 0 without any."""
        return max(map(_vector_bits, self.instructions), default=0)

    @property
    def is_vector(self) -> bool:
        return self.width > 0

    @property
    def is_scalar(self) -> bool:
        """Floating-point arithmetic on single elements only."""
        return not self.is_vector and any(
            _X86_SCALAR.match(i.split()[0]) for i in self.instructions
        )


def _vector_bits(instruction: str) -> int:
    name = instruction.split()[0]
    found = [_WIDTH[m[1]] if m[1] else 128 for m in _REGISTER.finditer(instruction)]
    if not found:
        return 0
    if _MOVE.match(name):  # scalar code copies whole xmm registers, but only vectors go to memory
        return max(found) if "(" in instruction or max(found) > 128 else 0
    return max(found) if _X86_VECTOR.match(name) or "%" not in instruction else 0


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


def innermost_loops(assembly: str) -> list[Loop]:
    """The innermost loops of all functions in a disassembly."""
    loops: list[Loop] = []
    function, lines = "", []
    for text in [*assembly.splitlines(), "0 <end>:"]:
        label, line = _LABEL.match(text), _LINE.match(text)
        if label:
            loops += _loops_of(function, lines)
            function, lines = label[1], []
        elif line:
            lines.append((int(line[1], 16), line[2].split("#")[0].strip()))
    return loops


def _loops_of(function: str, lines: list[tuple[int, str]]) -> list[Loop]:
    place = {address: k for k, (address, _) in enumerate(lines)}
    spans = []
    for k, (_, instruction) in enumerate(lines):
        jump = _JUMP.match(instruction)
        start = place.get(int(jump[2], 16)) if jump else None
        if start is not None and start <= k:
            spans.append((start, k))
    inner = [s for s in spans if not any(t != s and s[0] <= t[0] and t[1] <= s[1] for t in spans)]
    return [Loop(function, tuple(i for _, i in lines[a : b + 1])) for a, b in inner]


def host_vector_bits() -> int:
    """Width of the host's widest vector registers, as the compiler uses them."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = file.read()
    except OSError:
        return 128
    return 512 if "avx512f" in flags else 256 if "avx2" in flags else 128
