"""What documents name in backticks is there: files, functions, members of classes, modules."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from hygiene.document_names import Names, spans
from hygiene.test_sources import ROOT, in_checkout, tracked_files

DOCUMENTS = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / folder / "README.md" for folder in (".", "benchmarks", "ptx-emulator")),
    ROOT / "CONTRIBUTING.md",
]


@cache
def names() -> Names:
    return Names(ROOT, tracked_files())


@pytest.mark.parametrize("path", DOCUMENTS, ids=in_checkout)
def test_a_document_names_what_is_there(path: Path) -> None:
    assert [span for span in spans(path.read_text()) if names().missing(span)] == []


@pytest.mark.parametrize(
    "span",
    [
        "gpu/epilogues.py", "pyproject.toml", "test/unit/test_forking.py", "docs/design.md",
        "Problem.epilogue", "Function.options", "CudaFunction.explain", "linalg.generic",
        "ted.nn.softmax", "ted.testing.check_grads", "ted.errors.CompileError", "ted.jvp_of",
        "ted.compile(inputs, outputs)", "check_grads()", "range(4)", "cuda.asarray",
        "x[i] + 1", "torch.Tensor", "--verify", "f.ir(\"asm\")", "ted_fuse_siblings",
    ],
)  # fmt: skip
def test_what_is_there_or_no_name_of_ours_is_taken(span: str) -> None:
    assert not names().missing(span)


@pytest.mark.parametrize(
    "span",
    [
        "gpu/no_such_file.py", "nowhere.toml", "Problem.finish", "Problem.finish()",
        "NoSuchClass.member", "ted.nn.no_such_operator", "ted.no_such_module.x",
        "ted.testing.random_maps",
        "testing.no_such_check", "no_such_function()", "NoSuchClass", "no_such_name",
    ],
)  # fmt: skip
def test_what_is_not_there_is_found(span: str) -> None:
    assert names().missing(span)


def test_blocks_of_code_are_left_to_the_tests_that_run_them() -> None:
    text = "`one` and\n```python\n`two`\n```\n`three`"
    assert spans(text) == ["one", "three"]
