"""RUN lines that lit runs in forks fail where a shell's would, and as loudly."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lit import Test

from support import run_lines

PROGRAM = "func.func @f() { return }\n// CHECK: func.func @{name}\n"


def result_of(path: Path, text: str) -> Any:
    path.write_text(text)
    config = SimpleNamespace(environment=dict(os.environ))
    test = SimpleNamespace(getSourcePath=lambda: str(path), config=config)
    return run_lines.RunLines().execute(test, None)


def run(path: Path, command: str, name: str = "f") -> Any:
    return result_of(path, f"// RUN: {command}\n{PROGRAM.replace('{name}', name)}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "program.mlir"


def test_a_line_whose_text_is_found_passes(path: Path) -> None:
    assert run(path, "ted-opt %s --cse | filecheck %s").code is Test.PASS


def test_a_line_whose_text_is_missing_fails_and_shows_what_was_there(path: Path) -> None:
    result = run(path, "ted-opt %s --cse | filecheck %s", name="g")
    assert result.code is Test.FAIL
    assert "func.func @g" in result.output
    assert "filecheck %s" in result.output


def test_every_line_of_a_file_counts(path: Path) -> None:
    lines = "// RUN: ted-opt %s | filecheck %s\n// RUN: not ted-opt %s\n"
    assert result_of(path, lines + PROGRAM.replace("{name}", "f")).code is Test.FAIL


def test_a_tool_that_dies_is_no_refusal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lines, "_main", lambda words: os.kill(os.getpid(), signal.SIGKILL))
    result = run(path, "not ted-opt %s")
    assert result.code is Test.FAIL
    assert f"status {-signal.SIGKILL}" in result.output


def test_an_error_of_python_is_no_refusal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ted.tools.ted_opt.main", lambda words: 1 // 0)
    result = run(path, "not ted-opt %s")
    assert result.code is Test.FAIL
    assert "ZeroDivisionError" in result.output


@pytest.mark.parametrize(
    "command",
    [
        "ted-opt %s -o %t",
        "ted-opt %S/other.mlir",
        "ted-opt %s.missing",
        "ted-opt - < %s",
        "ted-opt %s && ted-opt %s",
        "ted-run %s",
        "not %python %s",
    ],
)
def test_what_asks_for_a_shell_gets_one(command: str) -> None:
    assert not run_lines.forkable(f"// RUN: ted-opt %s\n// RUN: {command}\n")


def test_a_place_in_a_name_is_no_shell() -> None:
    command = "sed 's/@f(%%A)/@g/' %s | not ted-opt - 2>&1 | filecheck %s --check-prefix=A"
    assert run_lines.forkable(f"// RUN: {command}\n") == [command]
