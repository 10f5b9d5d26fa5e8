"""The body of a function: nested scopes -> one flat list of instructions.

A nested `{ }` may declare registers, variables and labels of its own.  Each such name becomes one
that no other scope uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ptx_emulator.syntax import (
    SPACES,
    Address,
    Function,
    Group,
    Instruction,
    Name,
    Not,
    Offset,
    Operand,
    Pair,
    Vector,
)

if TYPE_CHECKING:
    from ptx_emulator.parsing import Parser


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


class Body:
    """The instructions of one function and the scopes that they are written in."""

    def __init__(self, parser: Parser, function: Function) -> None:
        self.parser, self.function = parser, function
        self.scope = _Scope(0, None)
        self.scopes = 1
        self.raw: list[tuple[Instruction, _Scope]] = []
        self.raw_tables: list[tuple[str, list[str], _Scope]] = []

    def read(self) -> None:
        """Read up to the closing brace."""
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
        """One declaration, label or instruction."""
        parser = self.parser
        text = parser.token.text
        if text == ".reg":
            self.registers()
        elif text in SPACES:
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
        """`.reg .type name, name<count>;`."""
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
        """A label, or a table of branch targets."""
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
        """One instruction with its guard."""
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
