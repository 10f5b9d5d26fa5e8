"""The emulator is an oracle: it shares nothing with what it checks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ptx_emulator

SOURCES = sorted(Path(ptx_emulator.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_nothing_of_ted_is_imported(source: Path) -> None:
    tree = ast.parse(source.read_text())
    named = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    named += [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert not [name for name in named if name.partition(".")[0] == "ted"]
