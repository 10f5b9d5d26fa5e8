"""A kernel of a module -> code: one closure an instruction, registers in numbered slots.

Shared variables lie at odd multiples of their alignment with gaps between them: a program that
relies on more alignment than it declares, or that runs past a variable, is found out.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptx_emulator.carried import carried_registers
from ptx_emulator.errors import PtxSyntaxError, UnknownInstruction
from ptx_emulator.forms import LEAVES, NUMPY, Array, Form, Lanes, Read, Step, Write, build_step
from ptx_emulator.inlining import inlined
from ptx_emulator.syntax import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Name,
    Not,
    Offset,
    Operand,
    Variable,
    width_of,
)

STORAGE = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_POSITIONS = (
    "tid", "ntid", "ctaid", "nctaid", "cluster_ctaid", "cluster_nctaid", "clusterid", "nclusterid",
)  # fmt: skip
_WORDS = (
    "laneid", "warpid", "nwarpid", "cluster_ctarank", "cluster_nctarank", "lanemask_eq",
    "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "clock", "clock_hi",
    "total_smem_size", "dynamic_smem_size", "smid", "nsmid", "gridid",
)  # fmt: skip
SPECIALS: dict[str, Any] = {
    **{f"%{name}.{axis}": np.uint32 for name in _POSITIONS for axis in "xyz"},
    **{f"%{name}": np.uint32 for name in _WORDS},
    "%clock64": np.uint64,
    "%globaltimer": np.uint64,
    "%is_explicit_cluster": np.bool_,
}
CARRY = "%carry"
GAP = 256


@dataclass
class Layout:
    """Where variables lie: bytes from the start of their space."""

    offsets: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    size: int = 0

    def place(self, variable: Variable, gap: int) -> None:
        """Put a variable at the next odd multiple of its alignment."""
        start = -(-self.size // variable.align)
        self.offsets[variable.name] = (start | 1 if gap else start) * variable.align
        self.variables[variable.name] = variable
        self.size = self.offsets[variable.name] + (variable.bytes or 0) + gap


@dataclass
class Code:
    """A compiled kernel."""

    name: str
    function: Function
    module: Module
    steps: list[Step]
    guards: list[tuple[int, bool] | None]
    leaves: list[bool]
    instructions: list[Instruction]
    slots: list[Any]
    specials: dict[str, int]
    shared: Layout
    local: Layout
    parameters: Layout
    dynamic: str | None
    globals: list[Variable]
    shared_grain: int
    global_grain: int
    only_block_barriers: bool


class Builder:
    """Operands of one kernel: registers and symbols to readers and writers."""

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.function = inlined(module, name)
        self.carried = carried_registers(self.function)
        self.slot_of: dict[str, int] = {}
        self.slots: list[Any] = []
        self.specials: dict[str, int] = {}
        self.shared, self.local, self.parameters = Layout(), Layout(), Layout()
        self.globals: list[Variable] = []
        self.global_of: dict[str, int] = {}
        self.dynamic: str | None = None
        self.position = 0
        self.reads: dict[tuple[str, str], Read] = {}
        self.writes: dict[tuple[str, str], Write] = {}
        self.smallest = {"shared": 16, "global": 16}
        self.only_block_barriers = True
        for variable in self.function.parameters:
            self.parameters.place(variable, 0)
        for variable in [*module.variables.values(), *self.function.variables.values()]:
            self._place(variable)
        if self.dynamic is not None:
            self.shared.place(self._dynamic_variable(), GAP)
            self.shared.size -= GAP

    def _place(self, variable: Variable) -> None:
        if variable.space in ("global", "const"):
            self.global_of[variable.name] = len(self.globals)
            self.globals.append(variable)
        elif variable.bytes is None:
            self.dynamic = variable.name
        else:
            layout = self.shared if variable.space == "shared" else self.local
            layout.place(variable, GAP if variable.space == "shared" else 0)

    def _dynamic_variable(self) -> Variable:
        unsized = [v for v in self.module.variables.values() if v.bytes is None]
        align = max(v.align for v in unsized)
        for variable in unsized[1:]:
            self.shared.variables[variable.name] = variable
        return Variable(unsized[0].name, "shared", align, None)

    def code(self) -> Code:
        """Compile all instructions."""
        source = self.function.instructions
        steps, guards = [], []
        for position, one in enumerate(source):
            self.position = position
            steps.append(build_step(one, self))
            guards.append(one.guard and (self.slot(one.guard), one.negated))
        for extra in self.shared.variables:
            if extra not in self.shared.offsets and self.dynamic:
                self.shared.offsets[extra] = self.shared.offsets[self.dynamic]
        return Code(
            self.function.name, self.function, self.module, steps, guards,
            [one.parts[0] in LEAVES for one in source], source, self.slots, self.specials,
            self.shared, self.local, self.parameters, self.dynamic, self.globals,
            self.smallest["shared"], self.smallest["global"],
            self.only_block_barriers,
        )  # fmt: skip

    # --- registers

    def kind_of(self, name: str) -> str | None:
        """The declared type of a register."""
        registers = self.function.registers
        return registers.get(name) or registers.get(name.rstrip("0123456789"))

    def slot(self, name: str) -> int:
        """The number of a register, special or not."""
        if name in self.slot_of:
            return self.slot_of[name]
        kind = self.kind_of(name)
        if kind is not None:
            dtype = np.bool_ if kind == "pred" else STORAGE.get(width_of(kind))
            if dtype is None:
                raise UnknownInstruction(f"ptx: a register of up to 64 bits, got {name} of .{kind}")
        elif name in SPECIALS:
            dtype = SPECIALS[name]
            self.specials[name] = len(self.slots)
        elif name == CARRY:
            dtype = np.bool_
        else:
            line = self.function.instructions[self.position].line
            raise PtxSyntaxError(f"ptx: a declared name, got {name} (line {line})")
        self.slot_of[name] = len(self.slots)
        self.slots.append(dtype)
        return self.slot_of[name]

    # --- readers and writers

    def read(self, operand: Operand, kind: str) -> Read:
        """Values of an operand as numbers of a type."""
        if not isinstance(operand, Name):
            return self._read(operand, kind)
        key = operand.name, kind
        if key not in self.reads:
            self.reads[key] = self._read(operand, kind)
        return self.reads[key]

    def _read(self, operand: Operand, kind: str) -> Read:
        dtype = np.dtype(NUMPY[kind])
        if isinstance(operand, Not):
            inner = self.read(operand.operand, "pred")
            return lambda m, ix: ~inner(m, ix)
        if isinstance(operand, Immediate):
            value = constant_of(operand, kind)
            return lambda m, ix: value
        if isinstance(operand, Offset) or (
            isinstance(operand, Name) and self._is_variable(operand.name)
        ):
            return self._symbol(operand, dtype)
        if not isinstance(operand, Name):
            raise Form(self.function.instructions[self.position]).unknown("an operand")
        slot = self.slot(operand.name)
        stored = np.dtype(self.slots[slot])
        if stored == dtype:
            return lambda m, ix: m.registers[slot][ix]
        if stored.itemsize == dtype.itemsize and np.bool_ not in (stored.type, dtype.type):
            return lambda m, ix: m.registers[slot][ix].view(dtype)
        unsigned = np.dtype(STORAGE[dtype.itemsize])
        return lambda m, ix: m.registers[slot][ix].astype(unsigned).view(dtype)

    def _is_variable(self, name: str) -> bool:
        return (
            name in self.global_of
            or name in self.shared.variables
            or any(name in layout.offsets for layout in (self.shared, self.local, self.parameters))
        )

    def _symbol(self, operand: Operand, dtype: Any) -> Read:
        assert isinstance(operand, Name | Offset)
        extra = operand.bytes if isinstance(operand, Offset) else 0
        if operand.name in self.global_of:
            number = self.global_of[operand.name]
            return lambda m, ix: np.uint64(m.global_addresses[number] + extra)
        name = operand.name
        if name not in self.shared.offsets and name in self.shared.variables and self.dynamic:
            name = self.dynamic
        for layout in (self.shared, self.local, self.parameters):
            if name in layout.offsets:
                value = dtype.type(layout.offsets[name] + extra)
                return lambda m, ix: value
        return self.read(Name(operand.name), "b64" if dtype.itemsize == 8 else "b32")

    def write(self, operand: Operand, kind: str) -> Write:
        """A writer of numbers of a type into a register, widened to it by their sign."""
        if not isinstance(operand, Name):
            return self._write(operand, kind)
        key = operand.name, kind
        if key not in self.writes:
            self.writes[key] = self._write(operand, kind)
        return self.writes[key]

    def _write(self, operand: Operand, kind: str) -> Write:
        if isinstance(operand, Name) and operand.name == "_":
            return lambda m, ix, value: None
        if not isinstance(operand, Name) or self.kind_of(operand.name) is None:
            raise Form(self.function.instructions[self.position]).unknown("a destination")
        slot = self.slot(operand.name)
        stored, dtype = np.dtype(self.slots[slot]), np.dtype(NUMPY[kind])
        if stored == dtype:

            def write(m: Any, ix: Lanes, value: Any) -> None:
                m.registers[slot][ix] = value

        elif stored.itemsize == dtype.itemsize:

            def write(m: Any, ix: Lanes, value: Any) -> None:
                m.registers[slot][ix] = value.view(stored)

        elif dtype.itemsize < stored.itemsize and stored.type is not np.bool_:
            signed = np.dtype(f"i{stored.itemsize}") if dtype.kind == "i" else stored
            bits = dtype if dtype.kind in "iu" else np.dtype(STORAGE[dtype.itemsize])

            def write(m: Any, ix: Lanes, value: Any) -> None:
                m.registers[slot][ix] = value.view(bits).astype(signed).view(stored)

        else:
            raise Form(self.function.instructions[self.position]).unknown("a wide destination")
        return write

    def address(self, operand: Operand) -> Read:
        """Addresses of `[base + bytes]`, one a lane."""
        if not isinstance(operand, Address):
            raise Form(self.function.instructions[self.position]).unknown("an address")
        if isinstance(operand.base, Immediate):
            start = np.uint64(operand.bytes & 0xFFFF_FFFF_FFFF_FFFF)
            return lambda m, ix: m.spread(start, ix)
        base = self.read(operand.base, "u64")
        extra = np.uint64(operand.bytes & 0xFFFF_FFFF_FFFF_FFFF)
        register = self.kind_of(operand.base.name)
        if register is None:
            return lambda m, ix: m.spread(base(m, ix) + extra, ix)
        if not operand.bytes:
            return base
        if width_of(register) == 4:
            mask = np.uint64(0xFFFF_FFFF)
            return lambda m, ix: (base(m, ix) + extra) & mask
        return lambda m, ix: base(m, ix) + extra

    def carried_slot(self, operand: Operand) -> int | None:
        """The number of a register that is only loaded and stored; None for any other operand."""
        if isinstance(operand, Name) and operand.name in self.carried:
            return self.slot(operand.name)
        return None

    def space_of(self, operand: Operand, space: str) -> str:
        """The space of an access: a function's own parameters are local memory."""
        base = operand.base if isinstance(operand, Address) else None
        own = isinstance(base, Name) and base.name in self.local.offsets
        return "local" if space == "param" and own else space

    def access(self, space: str, count: int) -> None:
        """Note the size of an access, for the grain of race checks."""
        for one in ("shared", "global") if space == "generic" else (space,):
            if one in self.smallest:
                self.smallest[one] = min(self.smallest[one], count)

    def target(self, operand: Operand) -> int:
        """The instruction that a label stands for."""
        name = operand.name if isinstance(operand, Name) else ""
        if name not in self.function.labels:
            raise Form(self.function.instructions[self.position]).unknown("a label")
        return self.function.labels[name]


def constant_of(operand: Immediate, kind: str) -> Any:
    """A constant as a number of a type: float constants keep their bits or are rounded."""
    dtype = np.dtype(NUMPY[kind])
    value, size = operand.value, dtype.itemsize
    if kind == "pred":
        return np.bool_(value)
    if operand.kind != "int" and 8 * size != int(operand.kind[1:]) and kind in ("f32", "f64"):
        code = ("I", "f") if operand.kind == "f32" else ("Q", "d")
        number = struct.unpack(code[1], struct.pack(code[0], value))[0]
        return dtype.type(number)
    bits = value & ((1 << 8 * size) - 1)
    return np.array(bits, STORAGE[size]).view(dtype)[()]


def compiled(module: Module, name: str) -> Code:
    """The code of a kernel, compiled on first use."""
    if name not in module.compiled:
        module.compiled[name] = Builder(module, name).code()
    found = module.compiled[name]
    assert isinstance(found, Code)
    return found


def spread(value: Any, count: int) -> Array:
    """One value for every lane."""
    return np.broadcast_to(value, (count,)) if np.ndim(value) == 0 else value
