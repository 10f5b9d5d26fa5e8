"""PTX text -> `Module`: declarations, functions, and instructions with resolved scopes."""

from __future__ import annotations

import re
import struct
from functools import lru_cache

from ptx_emulator.errors import PtxSyntaxError
from ptx_emulator.scopes import Body
from ptx_emulator.syntax import (
    SPACES,
    TYPES,
    Address,
    Function,
    Group,
    Immediate,
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
from ptx_emulator.tokens import Token, number, tokens_of, without_comments

_LINKAGE = frozenset({".visible", ".extern", ".weak", ".common"})
_MARKS_OF_FUNCTIONS = frozenset({".noreturn", ".explicitcluster", ".blocksareclusters"})
_COUNTS_OF_FUNCTIONS = frozenset(
    {".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".reqnctapercluster"}
)


@lru_cache(maxsize=64)
def parse(text: str) -> Module:
    """Read a PTX text; instructions are looked at when a kernel is first launched.

    Raises: PtxSyntaxError with the line.
    """
    return Parser(without_comments(text)).module()


class Parser:
    """A cursor over the tokens of a module."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.at = 0

    # --- the cursor

    @property
    def token(self) -> Token:
        """The token at hand."""
        return self.tokens[self.at]

    def wrong(self, wanted: str) -> PtxSyntaxError:
        """The error for the token at hand."""
        return PtxSyntaxError(f"ptx: {wanted}, got {self.token.text!r} (line {self.token.line})")

    def take(self) -> Token:
        """The token at hand, passed over."""
        token = self.tokens[self.at]
        if token.kind == "end":
            raise self.wrong("more text")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        """Pass over a token if it has this text."""
        if self.token.text != text:
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> Token:
        """Pass over a token that must have this text."""
        if self.token.text != text:
            raise self.wrong(repr(text))
        return self.take()

    def word(self) -> str:
        """A name."""
        if self.token.kind != "word":
            raise self.wrong("a name")
        return self.take().text

    def integer(self) -> int:
        """An integer, maybe negative."""
        sign = -1 if self.accept("-") else 1
        if self.token.kind != "int":
            raise self.wrong("an integer")
        return sign * number(self.take()).value

    def kind(self) -> str:
        """A type, `.u32` or the like."""
        kind = self.take().text.removeprefix(".")
        if kind not in TYPES:
            self.at -= 1
            raise self.wrong("a type")
        return kind

    # --- declarations

    def module(self) -> Module:
        """All of the text."""
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
            elif text in SPACES:
                for variable in self.declaration(".extern" in linkage):
                    module.variables[variable.name] = variable
            elif text == ".pragma":
                self.skip_past(";")
            else:
                raise self.wrong("a declaration")
        return module

    def skip_past(self, text: str) -> None:
        """Pass over everything up to a text."""
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
        """What stands before the name in a declaration."""
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
            elif self.token.text in SPACES:
                self.take()
            else:
                break
        kind = self.kind()
        while self.token.kind == "directive":  # of a pointer parameter: its space and alignment
            if self.take().text == ".align":
                self.integer()
        return align or lanes * width_of(kind), kind if lanes == 1 else f"{kind}*{lanes}"

    def declared(self, space: str, align: int, kind: str, extern: bool) -> Variable:
        """One name of a declaration with its extents and initial value."""
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
        """The values in braces, nested ones in order."""
        if not self.accept("{"):
            return [self.constant()]
        values = self.initial_values()
        while self.accept(","):
            values += self.initial_values()
        self.expect("}")
        return values

    def constant(self) -> Immediate:
        """A number, maybe negative."""
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
        """An `.entry` or a `.func`."""
        line = self.token.line
        entry = self.take().text == ".entry"
        results = self.parameters() if self.token.text == "(" else []
        name = self.word()
        parameters = self.parameters() if self.token.text == "(" else []
        function = Function(name, entry, line, parameters, results)
        while self.token.text not in ("{", ";"):
            self.directive(function)
        if not self.accept(";"):
            Body(self, function).read()
        return function

    def parameters(self) -> list[Variable]:
        """The parameters or results in parentheses."""
        self.expect("(")
        found = []
        while not self.accept(")"):
            self.take()  # .param, or .reg of a function's parameter
            align, kind = self.alignment_and_type()
            found.append(self.declared("param", align, kind, False))
            self.accept(",")
        return found

    def directive(self, function: Function) -> None:
        """One directive between the parameters and the body."""
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
        """Operands up to a closing text."""
        if self.accept(end):
            return ()
        found = [self.operand()]
        while self.accept(","):
            found.append(self.operand())
        self.expect(end)
        return tuple(found)

    def operand(self) -> Operand:
        """One operand."""
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
        """What follows `[`."""
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


def _encoded(value: Immediate, kind: str) -> bytes:
    width = width_of(kind)
    if value.kind == "int" or int(re.sub(r"\D", "", value.kind)) == 8 * width:
        return (value.value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    number_ = struct.unpack("<d", struct.pack("<Q", value.value))[0]
    return struct.pack("<f", number_)
