"""Files that repeat a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from ted.errors import PassFailed
from ted.ir.reproducer import reproducer_text, split_reproducer, write_reproducer


def test_a_reproducer_gives_module_and_pipeline_back(tmp_path: Path) -> None:
    pipeline = 'builtin.module(x{path="a\\b"})'
    text, found = split_reproducer(reproducer_text("module {}\n", pipeline))
    assert found == pipeline
    assert text.split() == ["//", "run", "with:", "ted-opt", "--run-reproducer", "module", "{}"]
    assert text.count("\n") == reproducer_text("module {}\n", pipeline).count("\n")
    assert split_reproducer("module {}") == ("module {}", None)
    path = tmp_path / "again.mlir"
    assert write_reproducer(path, "module {}", "cse") == f"ted-opt {path} --run-reproducer"
    assert split_reproducer(path.read_text())[1] == "cse"
    with pytest.raises(PassFailed, match="reproducer: must be a writable file, got"):
        write_reproducer(tmp_path / "missing" / "again.mlir", "module {}", "cse")
