"""Every block of code in the documents and docstrings runs, and prints what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.blocks import (
    ROOT,
    Block,
    docstring_blocks,
    document_blocks,
    documents,
    run_python,
)
from ted.tools import ted_opt

MLIR = [*(b for path in documents() for b in document_blocks(path, "mlir")),
        *docstring_blocks("mlir")]  # fmt: skip


def _lines(text: str) -> str:
    """The text but for the numbers of lines in documents, which change with what is above."""
    return re.sub(r"(\.md):\d+", r"\1", text.strip())


@pytest.mark.parametrize("block", MLIR, ids=lambda b: b.name)
def test_ted_opt_accepts_a_block_of_ir(
    block: Block, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "block.mlir"
    source.write_text(block.text)
    result = ted_opt.main([*block.flags, str(source)])
    printed = capfd.readouterr()
    assert result == 0, printed.err
    if block.expected is not None:
        assert _lines(printed.out) == _lines(block.expected)


@pytest.mark.fast(1)
@pytest.mark.parametrize("path", documents(), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_python_of_a_document_prints_what_the_document_says(path: Path) -> None:
    if path.name == "jax.md":  # which has no package for the oldest Python
        pytest.importorskip("jax")
    for block, printed in run_python(document_blocks(path, "python")):
        if block.expected is not None:
            assert _lines(printed) == _lines(block.expected), block.name


def test_the_python_of_docstrings_runs() -> None:
    for block in docstring_blocks("python"):
        for _, printed in run_python([block]):
            if block.expected is not None:
                assert _lines(printed) == _lines(block.expected), block.name


def test_the_language_is_documented_with_ir() -> None:
    """The blocks of the ops are found at all."""
    assert sum(b.path.name == "ops.py" for b in MLIR) >= 4
