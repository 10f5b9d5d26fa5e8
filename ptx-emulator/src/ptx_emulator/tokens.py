"""PTX text -> tokens with line numbers; comments, debug lines and sections disappear."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from ptx_emulator.errors import PtxSyntaxError
from ptx_emulator.syntax import Immediate

_DROPPED_LINES = re.compile(r"^[ \t]*\.(?:loc|file|address_size)\b[^\n]*$", re.MULTILINE)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SECTIONS = re.compile(r"^[ \t]*\.section\b[^{]*\{[^}]*\}", re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<float>0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b | \d+\.\d*(?:[eE][+-]?\d+)?)
  | (?P<int>0[xX][0-9a-fA-F]+U? | 0[bB][01]+U? | \d+U?)
  | (?P<directive>\.[A-Za-z_]\w*(?:::\w+)*)
  | (?P<word>[A-Za-z_$%][\w$]*(?:(?:\.|::)[\w$]+)*)
  | (?P<string>"[^"]*")
  | (?P<mark>[{}()\[\]<>,;:@!|+=*-])
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """A piece of text: its kind (a group name of the token pattern), itself, its line and place."""

    kind: str
    text: str
    line: int
    start: int


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group(0).count("\n") or " "


def without_comments(text: str) -> str:
    """The text with comments, debug lines and debug sections blanked; lines keep their numbers."""
    for pattern in (_COMMENTS, _DROPPED_LINES, _SECTIONS):
        text = pattern.sub(_blank, text)
    return text


def tokens_of(text: str) -> list[Token]:
    """All tokens of a text that went through `without_comments`, and one for its end."""
    tokens, line, position = [], 1, 0
    for match in _TOKEN.finditer(text):
        if match.start() != position:
            break
        kind, piece = match.lastgroup or "", match.group(0)
        if kind == "space":
            line += piece.count("\n")
        else:
            tokens.append(Token(kind, piece, line, position))
        position = match.end()
    if position != len(text):
        got = text[position : position + 20]
        raise PtxSyntaxError(f"ptx: a token, got {got!r} (line {line})")
    tokens.append(Token("end", "the end", line, position))
    return tokens


def number(token: Token) -> Immediate:
    """The constant that a number's token stands for."""
    text = token.text
    if token.kind == "int":
        return Immediate(int(text.rstrip("U"), 0))
    if text[:2] in ("0f", "0F"):
        return Immediate(int(text[2:], 16), "f32")
    if text[:2] in ("0d", "0D"):
        return Immediate(int(text[2:], 16), "f64")
    return Immediate(int.from_bytes(struct.pack("<d", float(text)), "little"), "f64")
