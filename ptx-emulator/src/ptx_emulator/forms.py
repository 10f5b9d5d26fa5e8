"""The table of instructions, and what a builder of one sees of the text.

A builder turns one instruction into a `Step`, a function of the machine and of the lanes that
execute it.  It takes the modifiers that it knows; what is left over is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ptx_emulator.errors import UnknownInstruction
from ptx_emulator.syntax import TYPES, Instruction, Operand, Vector

if TYPE_CHECKING:
    from ptx_emulator.building import Builder

Array = np.ndarray[Any, Any]
Lanes = Any  # slice(None) for all lanes, else their sorted numbers
Step = Callable[[Any, Lanes], Any]  # (machine, lanes) -> None, or where the lanes go next
Read = Callable[[Any, Lanes], Any]  # (machine, lanes) -> a value per lane, or one for all
Write = Callable[[Any, Lanes, Any], None]
Build = Callable[["Form", "Builder"], Step]
_B = TypeVar("_B", bound=Build)

NUMPY: dict[str, Any] = {
    "pred": np.bool_,
    "b8": np.uint8, "u8": np.uint8, "s8": np.int8,
    "b16": np.uint16, "u16": np.uint16, "s16": np.int16, "f16": np.float16, "bf16": np.uint16,
    "b32": np.uint32, "u32": np.uint32, "s32": np.int32, "f32": np.float32,
    "f16x2": np.uint32, "bf16x2": np.uint32, "tf32": np.uint32,
    "b64": np.uint64, "u64": np.uint64, "s64": np.int64, "f64": np.float64,
}  # fmt: skip

INSTRUCTIONS: dict[str, Build] = {}
LEAVES: set[str] = set()  # instructions that move lanes elsewhere: branches, barriers, waits


def instruction(*names: str, leaves: bool = False) -> Callable[[_B], _B]:
    """Enter a builder into the table; `leaves` if its step may say where lanes go next."""

    def enter(build: _B) -> _B:
        for name in names:
            INSTRUCTIONS[name] = build
        if leaves:
            LEAVES.update(names)
        return build

    return enter


class Form:
    """An instruction's modifiers, to be taken, and its operands."""

    def __init__(self, source: Instruction) -> None:
        self.source = source
        self.rest = list(source.parts[1:])
        self.operands: tuple[Operand, ...] = source.operands

    def unknown(self, what: str) -> UnknownInstruction:
        """The error to raise for something of this instruction that is not known."""
        return UnknownInstruction(
            f"ptx: {what} that the interpreter knows, got `{self.source.text}` "
            f"(line {self.source.line})"
        )

    def flag(self, *names: str) -> bool:
        """Whether any of the modifiers is there; takes all of them."""
        before = len(self.rest)
        self.rest = [r for r in self.rest if r not in names]
        return len(self.rest) != before

    def one(self, *names: str) -> str | None:
        """The first modifier that is among `names`, taken."""
        for position, name in enumerate(self.rest):
            if name in names:
                return self.rest.pop(position)
        return None

    def needed(self, *names: str) -> str:
        """Like `one`, and an error if there is none."""
        found = self.one(*names)
        if found is None:
            raise self.unknown(f"one of the modifiers {', '.join(names)}")
        return found

    def kind(self, *allowed: str) -> str:
        """The last type among the modifiers, taken."""
        for position in reversed(range(len(self.rest))):
            if self.rest[position] in TYPES:
                kind = self.rest.pop(position)
                if allowed and kind not in allowed:
                    break
                return kind
        raise self.unknown("a type")

    def count(self, *counts: int) -> int:
        """The number of operands, one of `counts`."""
        if len(self.operands) not in counts:
            raise self.unknown("a number of operands")
        return len(self.operands)

    def vector(self, position: int, count: int | None = None) -> tuple[Operand, ...]:
        """The items of an operand in braces; one operand without braces is a vector of one."""
        operand = self.operands[position]
        items = operand.items if isinstance(operand, Vector) else (operand,)
        if count is not None and len(items) != count:
            raise self.unknown(f"a vector of {count} operands")
        return items

    def done(self) -> None:
        """Raise UnknownInstruction for modifiers that nobody took."""
        if self.rest:
            raise self.unknown(f"a modifier in place of .{self.rest[0]}")


def build_step(source: Instruction, builder: Builder) -> Step:
    """Compile one instruction."""
    build = INSTRUCTIONS.get(source.parts[0])
    form = Form(source)
    if build is None:
        raise form.unknown("an instruction")
    try:
        step = build(form, builder)
    except IndexError:
        raise form.unknown("operands") from None
    form.done()
    return step
