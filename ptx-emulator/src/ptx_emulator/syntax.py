"""A PTX module as data: functions, variables, instructions, operands."""

from __future__ import annotations

from dataclasses import dataclass, field

SPACES = frozenset({".shared", ".global", ".const", ".local", ".param"})
WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
TYPES = frozenset(
    {f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)}
    | {"b128", "f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "tf32", "pred"}
)


def width_of(kind: str) -> int:
    """Bytes of a PTX type."""
    if kind in ("pred", "b8", "u8", "s8"):
        return 1
    if kind in ("f16x2", "bf16x2", "tf32"):
        return 4
    return WIDTHS[kind.lstrip("bfsu")]


@dataclass(frozen=True)
class Name:
    """A register, special register, variable, label or function."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A constant; floats carry their bits in `value` and say so in `kind` (`f32`, `f64`)."""

    value: int
    kind: str = "int"


@dataclass(frozen=True)
class Offset:
    """A variable's address plus bytes, outside brackets."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Address:
    """`[base + bytes]`, with coordinates or further parts for tensor copies."""

    base: Name | Immediate
    bytes: int = 0
    parts: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Vector:
    """`{a, b, ...}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Group:
    """`(a, b, ...)` of a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`d|p`: a destination and a predicate that tells about it."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Not:
    """`!p`."""

    operand: Operand


Operand = Name | Immediate | Offset | Address | Vector | Group | Pair | Not


@dataclass(frozen=True)
class Variable:
    """A declared variable or parameter; `bytes` is None for memory sized by the launch."""

    name: str
    space: str
    align: int
    bytes: int | None
    data: bytes = b""


@dataclass(frozen=True)
class Instruction:
    """One instruction, its guard `@p` or `@!p`, and its line of the text."""

    opcode: str
    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    text: str
    guard: str | None = None
    negated: bool = False


@dataclass
class Function:
    """An `.entry` or a `.func`; a label names the instruction that it stands before."""

    name: str
    entry: bool
    line: int
    parameters: list[Variable]
    results: list[Variable] = field(default_factory=list)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Module:
    """A parsed text: what `launch` takes kernels from."""

    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    compiled: dict[str, object] = field(default_factory=dict, repr=False)

    @property
    def kernels(self) -> list[str]:
        """Names of the entries."""
        return [f.name for f in self.functions.values() if f.entry]
