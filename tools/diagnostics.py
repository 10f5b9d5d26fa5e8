"""Collect the diagnostics of a context; print them, or compare them with what a test expects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from ted.errors import SourceLocation

if TYPE_CHECKING:
    from ted.mlir import ir


@dataclass(frozen=True)
class Found:
    """One diagnostic or note; `line` is None when its place is not in the input."""

    kind: str
    message: str
    file: str
    line: int | None
    column: int


@dataclass
class Diagnostics:
    """Everything that was reported while this object was attached to a context."""

    path: str
    found: list[Found] = field(default_factory=list)

    def attach(self, context: ir.Context) -> None:
        """Receive every diagnostic of the context, errors too."""
        context.emit_error_diagnostics = True
        context.attach_diagnostic_handler(self._receive)

    def _receive(self, diagnostic: ir.Diagnostic) -> bool:
        try:
            self._add(diagnostic)
            for note in diagnostic.notes:
                # MLIR adds the whole op as a note; it helps nobody who has the line.
                if not note.message.startswith("see current operation"):
                    self._add(note)
        except RuntimeError:  # damaged bytecode: what it says of itself need not be UTF-8
            kind = str(diagnostic.severity).rpartition(".")[2].lower()
            self.found.append(Found(kind, "bytes that are no text", self.path, None, 0))
        return True

    def _add(self, diagnostic: ir.Diagnostic) -> None:
        from ted.mlir.locations import source_location

        kind = str(diagnostic.severity).rpartition(".")[2].lower()
        place = source_location(diagnostic.location)
        if place is None:
            self.found.append(Found(kind, diagnostic.message, self.path, None, 0))
            return
        # The parser calls text that came from no file "-".
        file = self.path if place.file == "-" else place.file
        line = place.line if place.line > 0 else None
        self.found.append(Found(kind, diagnostic.message, file, line, place.column))

    def add(self, kind: str, message: str, place: SourceLocation | None) -> None:
        """Report an error or a remark of ours, at the user's line when it has one."""
        if place is None:
            self.found.append(Found(kind, message, self.path, None, 0))
            return
        file = self.path if place.file == "-" else place.file
        self.found.append(Found(kind, message, file, place.line, place.column))

    @property
    def has_error(self) -> bool:
        """Whether an error was reported."""
        return any(one.kind == "error" for one in self.found)

    def print(self, source: str, stream: TextIO) -> None:
        """Print what was found, each with its line of the input and a caret."""
        lines = source.splitlines()
        for one in self.found:
            place = one.file if one.line is None else f"{one.file}:{one.line}:{one.column}"
            print(f"{place}: {one.kind}: {one.message}", file=stream)
            if one.file == self.path and one.line is not None and one.line <= len(lines):
                caret = " " * max(one.column - 1, 0) + "^"
                print(f"{lines[one.line - 1]}\n{caret}", file=stream)


# ---- --verify-diagnostics ------------------------------------------------------------------------

_EXPECTED = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(?:@([+-]\d+|above|below|unknown))? *"
    r"\{\{(.*)\}\}\s*$"
)


@dataclass
class Expected:
    """One `expected-error@+1 {{text}}` of the input; `line` is None for `@unknown`."""

    kind: str
    text: str
    pattern: re.Pattern[str]
    line: int | None
    written_at: int
    met: bool = False

    def matches(self, one: Found, path: str) -> bool:
        """Whether a diagnostic is the expected one."""
        line = one.line if one.file == path else None
        return (
            self.kind == one.kind and self.line == line and bool(self.pattern.search(one.message))
        )


def expectations(source: str) -> list[Expected]:
    """Every expectation that the comments of an input state."""
    expected: list[Expected] = []
    waiting: list[Expected] = []  # for the next line that is not an expectation itself
    previous = 0
    for number, line in enumerate(source.splitlines(), start=1):
        found = _EXPECTED.search(line)
        if found is None:
            for one in waiting:
                one.line = number
            waiting, previous = [], number
            continue
        kind, is_regex, where, text = found.groups()
        pattern = _pattern(text) if is_regex else re.compile(re.escape(text))
        one = Expected(kind, text, pattern, _line(where, number, previous), number)
        expected.append(one)
        if where == "below":
            waiting.append(one)
    return expected


def _line(where: str | None, number: int, previous: int) -> int | None:
    if where in ("unknown", "below"):
        return None
    return previous if where == "above" else number + int(where or 0)


def _pattern(text: str) -> re.Pattern[str]:
    """The text of an `expected-error-re`: literal, with regular expressions in double braces."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(p if k % 2 else re.escape(p) for k, p in enumerate(parts)))


def unmet(diagnostics: Diagnostics, source: str) -> Sequence[str]:
    """What is wrong with the diagnostics: expected ones that are missing, and unexpected ones."""
    expected = expectations(source)
    wrong: list[str] = []
    for one in diagnostics.found:
        open_ones = [e for e in expected if not e.met and e.matches(one, diagnostics.path)]
        if open_ones:
            open_ones[0].met = True
            continue
        place = f"{one.file}:{one.line or 'unknown'}"
        wrong.append(f"{place}: error: unexpected {one.kind}: {one.message}")
    wrong += [
        f'{diagnostics.path}:{e.written_at}: error: expected {e.kind} "{e.text}" was not produced'
        for e in expected
        if not e.met
    ]
    return wrong
