"""Pipeline text <-> tree: `builtin.module(func.func(canonicalize,ted-x{opt=1}),cse)`.

The grammar is MLIR's, so that a pipeline may mix passes of MLIR and of ted at any depth:

    pipeline := element (`,` element)*
    element  := name (`{` options `}`)? | anchor `(` pipeline? `)`
"""

from __future__ import annotations

import re
from functools import lru_cache

from ted.errors import PassFailed
from ted.records import dataclass

_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_MAX_DEPTH = 100
_CLOSING = {"{": "}", "'": "'", '"': '"'}


@dataclass(frozen=True)
class Element:
    """A pass with its options, or an anchor with the pipeline that runs on such ops."""

    name: str
    options: str = ""
    children: tuple[Element, ...] | None = None

    def __str__(self) -> str:
        if self.children is not None:
            return f"{self.name}({','.join(map(str, self.children))})"
        return f"{self.name}{{{self.options}}}" if self.options else self.name

    def passes(self) -> list[str]:
        """Names of the passes below this element, in order."""
        if self.children is None:
            return [self.name]
        return [name for child in self.children for name in child.passes()]


@lru_cache(maxsize=64)  # a process compiles by a few pipelines
def parse_pipeline(text: str) -> Element:
    """Parse a pipeline; without an anchor around it, it runs on `builtin.module`.

    Raises: PassFailed, with the column, if the text is not a pipeline.
    """
    reader = _Reader(text)
    elements = reader.elements()
    if reader.position != len(text):
        reader.fail("expected ',' or the end")
    if len(elements) == 1 and elements[0].children is not None:
        return _anchored(elements[0])
    return Element("builtin.module", children=elements)


def _anchored(element: Element) -> Element:
    if element.name in ("builtin.module", "any"):
        return Element("builtin.module", children=element.children)
    return Element("builtin.module", children=(element,))


def parse_options(text: str) -> dict[str, str]:
    """Split `a=1 b={x y} c` into names and values; a bare name has the value `""`.

    Raises: PassFailed for a name that is given twice.
    """
    options: dict[str, str] = {}
    position = 0
    while (position := _skip_blanks(text, position)) < len(text):
        end = position
        while end < len(text) and not text[end].isspace():
            end = _closed(text, end) if text[end] in _CLOSING else end + 1
        name, _, value = text[position:end].partition("=")
        if name in options:
            raise PassFailed(f"pipeline: an option is given once, got '{name}' again in '{text}'")
        options[name] = _unquoted(value)
        position = end
    return options


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _unquoted(value: str) -> str:
    quoted = len(value) >= 2 and _CLOSING.get(value[0]) == value[-1]
    return value[1:-1] if quoted else value


def _closed(text: str, start: int) -> int:
    """The position after the bracket or quote that closes the one at `start`; len + 1 if none."""
    opening, closing = text[start], _CLOSING[text[start]]
    depth, position = 1, start + 1
    while position < len(text) and depth:
        if text[position] == closing:
            depth -= 1
        elif text[position] == opening:
            depth += 1
        position += 1
    return position if depth == 0 else len(text) + 1


class _Reader:
    """A position in the text; each method reads one rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0

    def fail(self, rule: str) -> None:
        got = self.text[self.position :] or "the end"
        column = self.position + 1
        raise PassFailed(f"pipeline: {rule} at column {column} of '{self.text}', got '{got}'")

    def elements(self) -> tuple[Element, ...]:
        found: list[Element] = []
        self.blanks()
        if self.peek() in ("", ")"):
            return ()
        while True:
            found.append(self.element())
            self.blanks()
            if self.peek() != ",":
                return tuple(found)
            self.position += 1
            self.blanks()

    def element(self) -> Element:
        name = self.name()
        self.blanks()
        if self.peek() == "(":
            self.position += 1
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                self.fail(f"expected at most {_MAX_DEPTH} pipelines around a pass")
            children = self.elements()
            if self.peek() != ")":
                self.fail("expected ')'")
            self.position += 1
            self.depth -= 1
            return Element(name, children=children)
        return Element(name, self.options())

    def name(self) -> str:
        found = _NAME.match(self.text, self.position)
        if found is None:
            self.fail("expected the name of a pass")
        assert found is not None
        self.position = found.end()
        return found.group()

    def options(self) -> str:
        if self.peek() != "{":
            return ""
        start = self.position
        end = _closed(self.text, start)
        if end > len(self.text):
            self.fail("expected '}'")
        self.position = end
        return self.text[start + 1 : end - 1].strip()

    def blanks(self) -> None:
        self.position = _skip_blanks(self.text, self.position)

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]
