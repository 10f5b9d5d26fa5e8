"""PTX text -> `Module`: declarations, functions, and instructions with resolved scopes.

A nested `{ }` may declare registers, variables and labels of its own.  Each such name becomes one
that no other scope uses, so that a function is one flat list of instructions.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ted.testing.ptx.errors import PtxSyntaxError
from ted.testing.ptx.syntax import (
    TYPES,
    Address,
    Function,
    Group,
    Immediate,
    Instruction,
    Module,
    Name,
    Not,
    Offset,
    Operand,
    Pair,
    Variable,
    Vector,
    width_of,
)
from ted.testing.ptx.tokens import Token, number, tokens_of, without_comments

_LINKAGE = frozenset({".visible", ".extern", ".weak", ".common"})
_SPACES = frozenset({".shared", ".global", ".const", ".local", ".param"})
_MARKS_OF_FUNCTIONS = frozenset({".noreturn", ".explicitcluster", ".blocksareclusters"})
_COUNTS_OF_FUNCTIONS = frozenset(
    {".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".reqnctapercluster"}
)


@lru_cache(maxsize=64)
def parse(text: str) -> Module:
    """Read a PTX text; instructions are looked at when a kernel is first launched.

    Raises: PtxSyntaxError with the line.
    """
    return _Parser(without_comments(text)).module()


@dataclass
class _Scope:
    """Names declared between a pair of braces, and what each became."""

    number: int
    parent: _Scope | None
    names: dict[str, str] = field(default_factory=dict)
    families: dict[str, str] = field(default_factory=dict)

    def resolve(self, name: str) -> str:
        """The name of a register, variable or label as all of the function knows it."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            stem = name.rstrip("0123456789")
            if stem in scope.families:
                return scope.families[stem] + name[len(stem) :]
            scope = scope.parent
        return name

    def unique(self, name: str) -> str:
        return name if self.number == 0 else f"{name}@{self.number}"


class _Parser:
    """A cursor over the tokens of a module."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0

    # --- the cursor

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def wrong(self, wanted: str) -> PtxSyntaxError:
        return PtxSyntaxError(f"ptx: {wanted}, got {self.token.text!r} (line {self.token.line})")

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind == "end":
            raise self.wrong("more text")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.token.text != text:
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> Token:
        if self.token.text != text:
            raise self.wrong(repr(text))
        return self.take()

    def word(self) -> str:
        if self.token.kind != "word":
            raise self.wrong("a name")
        return self.take().text

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        if self.token.kind != "int":
            raise self.wrong("an integer")
        return sign * number(self.take()).value

    def kind(self) -> str:
        kind = self.take().text.removeprefix(".")
        if kind not in TYPES:
            self.at -= 1
            raise self.wrong("a type")
        return kind

    # --- declarations

    def module(self) -> Module:
        module = Module()
        while self.token.kind != "end":
            linkage = set()
            while self.token.text in _LINKAGE:
                linkage.add(self.take().text)
            text = self.token.text
            if text == ".version":
                self.take()
                module.version = self.take().text
            elif text == ".target":
                self.take()
                module.target = self.word()
                while self.accept(","):
                    self.word()
            elif text in (".entry", ".func"):
                function = self.function()
                known = module.functions.get(function.name)
                if known is None or function.instructions:
                    module.functions[function.name] = function
            elif text in _SPACES:
                for variable in self.declaration(".extern" in linkage):
                    module.variables[variable.name] = variable
            elif text == ".pragma":
                self.skip_past(";")
            else:
                raise self.wrong("a declaration")
        return module

    def skip_past(self, text: str) -> None:
        while self.take().text != text:
            pass

    def declaration(self, extern: bool = False) -> list[Variable]:
        """`.space .align n .type name[count] = {...}, name... ;`."""
        space = self.take().text[1:].split("::")[0]
        align, kind = self.alignment_and_type()
        variables = [self.declared(space, align, kind, extern)]
        while self.accept(","):
            variables.append(self.declared(space, align, kind, extern))
        self.expect(";")
        return variables

    def alignment_and_type(self) -> tuple[int, str]:
        align, lanes = 0, 1
        while True:
            if self.accept(".align"):
                align = self.integer()
            elif self.accept(".attribute"):
                self.skip_past(")")
            elif self.accept(".ptr"):
                pass
            elif self.token.text in (".v2", ".v4"):
                lanes = int(self.take().text[2:])
            elif self.token.text in _SPACES:
                self.take()
            else:
                break
        kind = self.kind()
        while self.token.kind == "directive":  # of a pointer parameter: its space and alignment
            if self.take().text == ".align":
                self.integer()
        return align or lanes * width_of(kind), kind if lanes == 1 else f"{kind}*{lanes}"

    def declared(self, space: str, align: int, kind: str, extern: bool) -> Variable:
        name = self.word()
        element, _, lanes = kind.partition("*")
        size: int | None = width_of(element) * int(lanes or 1)
        while self.accept("["):
            if self.accept("]"):
                size = None if extern else 0
            else:
                size = (size or 0) * self.integer()
                self.expect("]")
        data = b""
        if self.accept("="):
            data = b"".join(_encoded(v, element) for v in self.initial_values())
            size = max(size or 0, len(data))
        return Variable(name, space, align, size, data)

    def initial_values(self) -> list[Immediate]:
        if not self.accept("{"):
            return [self.constant()]
        values = self.initial_values()
        while self.accept(","):
            values += self.initial_values()
        self.expect("}")
        return values

    def constant(self) -> Immediate:
        if self.token.kind in ("word", "directive"):
            raise self.wrong("a number as initial value")
        negative = self.accept("-")
        value = number(self.take())
        if not negative:
            return value
        if value.kind == "int":
            return Immediate(-value.value)
        return Immediate(value.value ^ (1 << (31 if value.kind == "f32" else 63)), value.kind)

    # --- functions

    def function(self) -> Function:
        line = self.token.line
        entry = self.take().text == ".entry"
        results = self.parameters() if self.token.text == "(" else []
        name = self.word()
        parameters = self.parameters() if self.token.text == "(" else []
        function = Function(name, entry, line, parameters, results)
        while self.token.text not in ("{", ";"):
            self.directive(function)
        if not self.accept(";"):
            _Body(self, function).read()
        return function

    def parameters(self) -> list[Variable]:
        self.expect("(")
        found = []
        while not self.accept(")"):
            self.take()  # .param, or .reg of a function's parameter
            align, kind = self.alignment_and_type()
            found.append(self.declared("param", align, kind, False))
            self.accept(",")
        return found

    def directive(self, function: Function) -> None:
        name = self.take().text
        if name == ".pragma":
            self.skip_past(";")
        elif name in _COUNTS_OF_FUNCTIONS:
            counts = [self.integer()]
            while self.accept(","):
                counts.append(self.integer())
            function.directives[name[1:]] = tuple(counts)
        elif name in _MARKS_OF_FUNCTIONS:
            function.directives[name[1:]] = ()
        else:
            self.at -= 1
            raise self.wrong("a directive of a function")

    # --- operands

    def operands(self, end: str) -> tuple[Operand, ...]:
        if self.accept(end):
            return ()
        found = [self.operand()]
        while self.accept(","):
            found.append(self.operand())
        self.expect(end)
        return tuple(found)

    def operand(self) -> Operand:
        token = self.token
        if self.accept("{"):
            return Vector(self.operands("}"))
        if self.accept("("):
            return Group(self.operands(")"))
        if self.accept("["):
            return self.address()
        if self.accept("!"):
            return Not(self.operand())
        if token.kind in ("int", "float") or token.text == "-":
            return self.constant()
        name = Name(self.word())
        if self.accept("|"):
            return Pair(name, self.operand())
        if self.accept("+"):
            return Offset(name.name, self.integer())
        if self.token.text == "-":
            return Offset(name.name, self.integer())
        return name

    def address(self) -> Address:
        base = self.operand()
        if isinstance(base, Immediate):
            base = Offset("", base.value)
        if isinstance(base, Name):
            base = Offset(base.name, 0)
        if not isinstance(base, Offset):
            raise self.wrong("an address")
        parts = self.operands("]") if self.accept(",") else ()
        if not parts and self.tokens[self.at - 1].text != "]":
            self.expect("]")
        origin = Name(base.name) if base.name else Immediate(0)
        return Address(origin, base.bytes, parts)


class _Body:
    """The instructions of one function and the scopes that they are written in."""

    def __init__(self, parser: _Parser, function: Function) -> None:
        self.parser, self.function = parser, function
        self.scope = _Scope(0, None)
        self.scopes = 1
        self.raw: list[tuple[Instruction, _Scope]] = []
        self.raw_tables: list[tuple[str, list[str], _Scope]] = []

    def read(self) -> None:
        parser = self.parser
        parser.expect("{")
        depth = 1
        while depth:
            if parser.accept("{"):
                depth += 1
                self.scope = _Scope(self.scopes, self.scope)
                self.scopes += 1
            elif parser.accept("}"):
                depth -= 1
                self.scope = self.scope.parent or self.scope
            elif not parser.accept(";"):
                self.statement()
        self.function.instructions = [_resolved(i, scope) for i, scope in self.raw]
        for name, targets, scope in self.raw_tables:
            self.function.tables[name] = [scope.resolve(t) for t in targets]

    def statement(self) -> None:
        parser = self.parser
        text = parser.token.text
        if text == ".reg":
            self.registers()
        elif text in _SPACES:
            for variable in parser.declaration():
                name = self.scope.unique(variable.name)
                self.scope.names[variable.name] = name
                self.function.variables[name] = replace(variable, name=name)
        elif text == ".pragma":
            parser.skip_past(";")
        elif parser.token.kind == "word" and parser.tokens[parser.at + 1].text == ":":
            self.label()
        else:
            self.instruction()

    def registers(self) -> None:
        parser = self.parser
        parser.expect(".reg")
        kind = parser.kind()
        while True:
            name = parser.word()
            unique = self.scope.unique(name)
            if parser.accept("<"):
                parser.integer()
                parser.expect(">")
                self.scope.families[name] = f"{unique}."
                self.function.registers[f"{unique}."] = kind
            else:
                self.scope.names[name] = unique
                self.function.registers[unique] = kind
            if not parser.accept(","):
                break
        parser.expect(";")

    def label(self) -> None:
        parser = self.parser
        name = parser.word()
        parser.expect(":")
        unique = self.scope.unique(name)
        self.scope.names[name] = unique
        if parser.token.text in (".branchtargets", ".calltargets", ".callprototype"):
            if parser.take().text != ".branchtargets":
                raise parser.wrong("a table of branch targets")
            targets = [parser.word()]
            while parser.accept(","):
                targets.append(parser.word())
            parser.expect(";")
            self.raw_tables.append((unique, targets, self.scope))
            return
        self.function.labels[unique] = len(self.raw)

    def instruction(self) -> None:
        parser = self.parser
        start, line = parser.token.start, parser.token.line
        guard, negated = None, False
        if parser.accept("@"):
            negated = parser.accept("!")
            guard = parser.word()
        if parser.token.kind != "word":
            raise parser.wrong("an instruction")
        opcode = parser.word()
        operands = parser.operands(";")
        text = " ".join(parser.text[start : parser.tokens[parser.at - 1].start].split())
        parts = tuple(opcode.split("."))
        found = Instruction(opcode, parts, operands, line, text, guard, negated)
        self.raw.append((found, self.scope))


def _encoded(value: Immediate, kind: str) -> bytes:
    width = width_of(kind)
    if value.kind == "int" or int(re.sub(r"\D", "", value.kind)) == 8 * width:
        return (value.value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    number_ = struct.unpack("<d", struct.pack("<Q", value.value))[0]
    return struct.pack("<f", number_)


def _resolved(instruction: Instruction, scope: _Scope) -> Instruction:
    guard = instruction.guard and scope.resolve(instruction.guard)
    operands = tuple(resolved_operand(o, scope.resolve) for o in instruction.operands)
    return replace(instruction, guard=guard, operands=operands)


def resolved_operand(operand: Operand, resolve) -> Operand:
    """The operand with all names in it replaced."""

    def each(items: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return tuple(resolved_operand(item, resolve) for item in items)

    match operand:
        case Name(name):
            return Name(resolve(name))
        case Offset(name, count):
            return Offset(resolve(name), count)
        case Address(base, count, parts):
            base = Name(resolve(base.name)) if isinstance(base, Name) else base
            return Address(base, count, each(parts))
        case Vector(items):
            return Vector(each(items))
        case Group(items):
            return Group(each(items))
        case Pair(first, second):
            return Pair(resolved_operand(first, resolve), resolved_operand(second, resolve))
        case Not(inner):
            return Not(resolved_operand(inner, resolve))
        case _:
            return operand
