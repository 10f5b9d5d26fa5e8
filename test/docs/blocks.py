"""Fenced code blocks of documents and docstrings, and how to run them.

A `mlir` block is read and verified by ted-opt; a first line `// ted-opt <flags>` gives it flags.
The `python` blocks of a document run in order in one namespace, those of a docstring by themselves.
A `text` block right after one is what it prints. To write the outputs anew after a change:

    python test/docs/blocks.py
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^( *)```(\w*) *\n(.*?)^\1``` *$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One block: its first line in the file, its text without indentation, what it prints."""

    path: Path
    line: int
    language: str
    text: str
    expected: str | None = None
    output: tuple[int, int] = (0, 0)  # where the expected text stands in the file

    @property
    def name(self) -> str:
        """Where the block is."""
        return f"{self.path.relative_to(ROOT)}:{self.line}"

    @property
    def flags(self) -> list[str]:
        """The flags for ted-opt that the block asks for."""
        first = self.text.partition("\n")[0]
        return first.split()[2:] if first.startswith("// ted-opt ") else []


def documents() -> list[Path]:
    """The texts for people."""
    folders = (ROOT, ROOT / "docs", ROOT / "ptx-emulator")
    return [page for folder in folders for page in sorted(folder.glob("*.md"))]


def sources() -> list[Path]:
    """The modules whose docstrings may hold blocks."""
    folders = ("python/ted", "dialects", "tools")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def blocks_in(path: Path, text: str, first_line: int = 1) -> Iterator[Block]:
    """The blocks of a text that starts at a line of a file."""
    found = list(_FENCE.finditer(text))
    for k, match in enumerate(found):
        if match[2] not in ("mlir", "python"):
            continue
        after = found[k + 1] if k + 1 < len(found) else None
        line = first_line + text.count("\n", 0, match.start(3))
        own = _dedented(match[3], len(match[1]))
        if after is None or after[2] != "text" or text[match.end() : after.start()].strip():
            yield Block(path, line, match[2], own)
        else:
            yield Block(path, line, match[2], own, after[3], after.span(3))


def document_blocks(path: Path, language: str) -> list[Block]:
    return [b for b in blocks_in(path, path.read_text()) if b.language == language]


def docstring_blocks(language: str) -> list[Block]:
    return [b for path in sources() for b in _of_docstrings(path) if b.language == language]


def _of_docstrings(path: Path) -> Iterator[Block]:
    text = path.read_text()
    if "```" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node) is not None and isinstance(node.body[0], ast.Expr):
            yield from blocks_in(path, ast.get_docstring(node) or "", node.body[0].lineno)


def _dedented(text: str, width: int) -> str:
    return "".join(line[width:] if line.strip() else "\n" for line in text.splitlines(True))


def run_python(blocks: Iterable[Block]) -> Iterator[tuple[Block, str]]:
    """Run blocks in one module, as a script; what each printed. Lines are those of their file."""
    module = ModuleType("__main__")
    for block in blocks:
        code = compile("\n" * (block.line - 1) + block.text, str(block.path), "exec")
        printed = io.StringIO()
        outer, sys.modules["__main__"] = sys.modules["__main__"], module
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, module.__dict__)
        finally:
            sys.modules["__main__"] = outer
        yield block, printed.getvalue()


def rewritten(path: Path) -> str:
    """The document with the outputs that its python blocks have now."""
    text = path.read_text()
    results = list(run_python(document_blocks(path, "python")))
    for block, printed in reversed(results):
        if block.expected is not None:
            start, end = block.output
            text = text[:start] + printed + text[end:]
    return text


if __name__ == "__main__":
    for document in [Path(name).resolve() for name in sys.argv[1:]] or documents():
        document.write_text(rewritten(document))
