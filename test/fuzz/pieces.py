"""The corpus: every piece of every IR test, with the flags that the test gives to ted-opt."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ted
from fuzz.mutations import tokens
from ted.dialects import make_context
from ted.mlir import ir

TESTS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Piece:
    """A module of a test, and the flags that the test gives to ted-opt."""

    text: str
    flags: tuple[str, ...]


@cache
def pieces() -> tuple[Piece, ...]:
    """Every piece of every IR test."""
    found: list[Piece] = []
    for path in sorted(TESTS.rglob("*.mlir")):
        source = path.read_text(encoding="utf-8")
        flags = next(iter(_flags(source)), ())
        texts = source.split("// -----\n") if "--split-input-file" in source else [source]
        found += [Piece(code(text), flags) for text in texts if "func" in text]
    return tuple(found)


def code(text: str) -> str:
    """A text of IR without its lines of comments."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


_RUN = re.compile(r"^// RUN: (?:not )?ted-opt (.*?)(?: \d?[|<>].*)?$", re.MULTILINE)


def _flags(source: str) -> Iterator[tuple[str, ...]]:
    for found in _RUN.finditer(source):
        words = shlex.split(found[1].replace("--split-input-file", ""))
        flags = tuple(w for w in words if w.startswith("--") and "verify" not in w and "%" not in w)
        if flags:
            yield flags


@cache
def modules() -> tuple[str, ...]:
    """The pieces that parse and verify."""
    with make_context():
        return tuple(piece.text for piece in pieces() if _verifies(piece.text))


def _verifies(text: str) -> bool:
    try:
        return bool(ir.Module.parse(text).operation.verify())
    except ir.MLIRError:
        return False


@cache
def corpus_tokens() -> tuple[str, ...]:
    """The tokens of all pieces, once each."""
    found = {token for piece in pieces() for token in tokens(piece.text)}
    return tuple(sorted(token for token in found if not token.isspace()))


@cache
def preload() -> None:
    """Import once what every child would import again."""
    for module in pkgutil.walk_packages(ted.__path__, "ted."):
        if module.name not in ("ted.libted_runtime", "ted.codegen.llvm_worker"):  # none of ours
            importlib.import_module(module.name)
