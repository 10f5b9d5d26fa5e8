"""The innermost loops of machine code as text: do they work on vectors?

A loop is scalar when it moves or computes floating-point numbers one
by one. The remainder of a vectorised loop, which runs for fewer elements than a vector holds, is
recognised by its place: it does the same operations as a vector loop of the same function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from support.control_flow import Instruction, basic_blocks, innermost, successors

_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
_LABEL = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_JUMP = re.compile(r"^(j\w+|b|b\.\w+|cb\w+|tb\w+)\s+(?:.*[\s,])?(?:0x)?([0-9a-f]+)(?: <.*>)?$")
_ALWAYS = re.compile(r"^(jmp|b|ret\w*|br|ud2)\b")
_VECTOR = re.compile(r"^v?\w+(ps|pd|ph)$|^v?p\w*(d|q|w|b)$")
_SCALAR = re.compile(r"^v?\w+s[sdh]$|^f\w+$")
_MOVE = re.compile(r"^v?mov(u|a|dq|nt)\w*$|^v?movap\w$")
_REGISTER = re.compile(r"%([xyz])mm|\bv\d+\.\d+[bhsd]")
_SCALAR_ARM = re.compile(r"\b[sdh]\d+\b")
_WIDTH = {"x": 128, "y": 256, "z": 512, None: 128}


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
        """Whether any operation works on more than one element."""
        return self.width > 0

    @property
    def is_scalar(self) -> bool:
        """Whether floating-point numbers are moved or computed one by one."""
        return not self.is_vector and bool(self.operations)

    @property
    def operations(self) -> frozenset[str]:
        """Floating-point operations without their width: `add`, `mul`, `fmadd`, `mov`."""
        return frozenset(filter(None, map(_stem, self.instructions)))


def _vector_bits(instruction: str) -> int:
    name = instruction.split()[0]
    found = [_WIDTH[m[1]] for m in _REGISTER.finditer(instruction)]
    if not found:
        return 0
    if _MOVE.match(name):  # scalar code copies whole xmm registers, but only vectors go to memory
        return max(found) if "(" in instruction or max(found) > 128 else 0
    return max(found) if _VECTOR.match(name) or "%" not in instruction else 0


def _stem(instruction: str) -> str:
    name = instruction.split()[0]
    if "%" not in instruction and not _SCALAR_ARM.search(instruction):
        return ""
    if not (_SCALAR.match(name) or _vector_bits(instruction)):
        return ""
    stem = re.sub(r"(u|a)?(dq\w*|[sp][sdh])$", "", name.removeprefix("v"))
    return re.sub(r"\d{3}$", "", stem)


def innermost_loops(assembly: str) -> list[Loop]:
    """The innermost loops of all functions in a disassembly, without wrappers for packed calls."""
    loops: list[Loop] = []
    function, code = "", []
    for text in [*assembly.splitlines(), "0 <end>:"]:
        label, line = _LABEL.match(text), _LINE.match(text)
        if label:
            loops += _loops_of(function, code)
            function, code = label[1], []
        elif line:
            code.append(_instruction(int(line[1], 16), line[2].split("#")[0].strip()))
    return loops


def scalar_loops(assembly: str) -> list[Loop]:
    """Scalar innermost loops that are not the remainder of a vector loop."""
    loops = innermost_loops(assembly)
    vectors = [loop for loop in loops if loop.is_vector]
    return [loop for loop in loops if loop.is_scalar and not _is_remainder(loop, vectors)]


def _is_remainder(loop: Loop, vectors: list[Loop]) -> bool:
    return any(v.function == loop.function and loop.operations <= v.operations for v in vectors)


def _instruction(address: int, text: str) -> Instruction:
    jump = _JUMP.match(text)
    return Instruction(address, text, int(jump[2], 16) if jump else None, not _ALWAYS.match(text))


def _loops_of(function: str, code: list[Instruction]) -> list[Loop]:
    if not code or function.startswith("_mlir_"):
        return []
    blocks = basic_blocks(code)
    bodies = innermost(successors(blocks), code[0].address)
    return [
        Loop(function, tuple(i.text for name in sorted(body) for i in blocks[name]))
        for body in sorted(bodies, key=min)
    ]
