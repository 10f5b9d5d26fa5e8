"""What a function of C is made of: its versions, each with its parameters and checked accesses.

Before: the inputs and results of a program      After: an `Interface`, whose names C accepts
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ted.errors import CompileError
from ted.machine import Cpu
from ted.records import dataclass

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The type of an element in C; of halves their bits.
C_TYPES = {
    "float64": "double", "float32": "float", "float16": "uint16_t", "bfloat16": "uint16_t",
    "int64": "int64_t", "int32": "int32_t", "int16": "int16_t", "int8": "int8_t",
    "uint64": "uint64_t", "uint32": "uint32_t", "uint16": "uint16_t", "uint8": "uint8_t",
    "bool": "uint8_t",
}  # fmt: skip
# Words that name nothing else in C or in C++, and macros of headers that most programs include.
_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
char32_t char8_t class compl concept const const_cast consteval constexpr constinit continue
co_await co_return co_yield decltype default delete do double dynamic_cast else enum
explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register
reinterpret_cast requires restrict return short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true try typedef typeid typename
union unsigned using virtual void volatile wchar_t while xor xor_eq
EOF NULL assert errno linux stderr stdin stdout unix
"""
_KEYWORDS = frozenset(_WORDS.split())


@dataclass(frozen=True)
class Parameter:
    """An array of a call: `name` is C's, `constant` the bytes of one that callers do not give."""

    name: str
    element_type: str
    shape: tuple[int, ...]
    count: int
    element_bytes: int
    is_result: bool
    constant: bytes | None = None


@dataclass(frozen=True)
class Version:
    """A program of fixed sizes: LLVM's text of its modules, the function in them that is called.

    `parameters` are its inputs, constants and results; `accesses[k]` are the tensor and the user's
    line of check number k.
    """

    texts: tuple[str, ...]
    symbol: str
    parameters: tuple[Parameter, ...]
    accesses: tuple[tuple[str, str], ...]

    @property
    def given(self) -> tuple[Parameter, ...]:
        """The parameters that callers give."""
        return tuple(p for p in self.parameters if p.constant is None)


@dataclass(frozen=True)
class Interface:
    """A function of C of one or several sizes, for the CPUs of a row.

    `subnormals` is what its calls do about them, as in `ted.options`.
    """

    name: str
    versions: tuple[Version, ...]
    cpu: Cpu
    threads: int = 0
    subnormals: str | None = None
    about: str = ""

    @property
    def given(self) -> tuple[Parameter, ...]:
        """The parameters of the first version."""
        return self.versions[0].given

    def count_name(self, parameter: Parameter) -> str:
        """The constant of C that is its number of elements."""
        return f"{self.name}_{parameter.name}_count"


def checked_name(name: object, what: str) -> str:
    """A name for C.

    Raises: CompileError for what is no identifier, or a word of C or C++.
    """
    if isinstance(name, str) and IDENTIFIER.fullmatch(name) and name not in _KEYWORDS:
        return name
    raise CompileError(
        f"export: {what} is an identifier of C and C++ that is no word of theirs, got {name!r}"
    )


def c_names(names: Iterable[str]) -> list[str]:
    """Names that differ and that C accepts, as near to the given ones as can be."""
    found: list[str] = []
    for name in names:
        near = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "array"
        near = f"_{near}" if near[0].isdigit() else near
        near = f"{near}_" if near in _KEYWORDS else near
        one, number = near, 2
        while one in found:
            one, number = f"{near}_{number}", number + 1
        found.append(one)
    return found


def check_declared(interfaces: Sequence[Interface]) -> None:
    """Functions of one library declare names that differ.

    Raises: CompileError where two declare the same, as f of x_y and f_x of y do.
    """
    known: dict[str, str] = {}
    for one in interfaces:
        for name in (one.name, *(one.count_name(p) for p in one.given)):
            if name in known:
                raise CompileError(
                    f"export: functions of a library declare names that differ, got {name!r} of "
                    f"{known[name]} and of {one.name}; export one of them under another name"
                )
            known[name] = one.name


def check_versions(name: str, versions: Sequence[Version]) -> None:
    """Versions take the same arguments, of other numbers of elements.

    Raises: CompileError where they do not.
    """
    known: dict[tuple[int, ...], Version] = {}
    first = [(p.name, p.element_type, len(p.shape)) for p in versions[0].given]
    for one in versions:
        kinds = [(p.name, p.element_type, len(p.shape)) for p in one.given]
        if kinds != first:
            raise CompileError(
                f"export: versions of {name} take arguments of the same names, types and ranks, "
                f"got {_said(versions[0])} and {_said(one)}"
            )
        counts = tuple(p.count for p in one.given)
        if counts in known:
            raise CompileError(
                f"export: versions of {name} are told by the numbers of elements of their arrays, "
                f"got {_said(known[counts])} and {_said(one)}; export them under two names"
            )
        known[counts] = one


def _said(version: Version) -> str:
    return "(" + ", ".join(f"{p.name}: {p.element_type}{[*p.shape]}" for p in version.given) + ")"
