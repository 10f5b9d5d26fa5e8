"""Errors name the user's line wherever it was typed: a file, a cell, a prompt, a string."""

from __future__ import annotations

import copy
import linecache
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import CompileError, ExecutionError, FrontendError, TedError

CALL = """x = ted.placeholder((3,), "float64", name="x")
f = ted.compile([x], x * 2)
f(np.ones(4))
"""
BOUNDS = """x = ted.placeholder((3,), "float64", name="x")
y = ted.compute((4,), lambda i: x[i])
f = ted.compile([x], y)
"""
TARGET = """x = ted.placeholder((3,), "float64", name="x")
ted.compile([x], x, target="gpu")
"""
PROGRAMS: dict[str, tuple[str, type[TedError], int]] = {
    "call": (CALL, ExecutionError, 3),
    "bounds": (BOUNDS, FrontendError, 2),
    "target": (TARGET, CompileError, 2),
}


def error_of(source: str, file: str) -> TedError:
    with pytest.raises(TedError) as caught:
        exec(compile(source, file, "exec"), {"ted": ted, "np": np})
    return caught.value


@pytest.mark.parametrize("case", PROGRAMS)
@pytest.mark.parametrize(
    "file", ["<string>", "<stdin>", "/nowhere/1234.py", 'a "b"\\c.py', "\udcff"]
)
def test_an_error_names_the_line_of_code_without_a_file(case: str, file: str) -> None:
    source, kind, line = PROGRAMS[case]
    error = error_of(source, file)
    assert type(error) is kind
    assert error.location is not None
    assert error.location.line == line
    assert str(error).endswith(f":{line})")


@pytest.mark.parametrize("case", PROGRAMS)
def test_an_error_in_a_notebook_shows_the_line(case: str, monkeypatch: Any) -> None:
    source, _, line = PROGRAMS[case]
    cell = "<ipython-input-3-0123abcd>"
    entry = (len(source), None, source.splitlines(keepends=True), cell)
    monkeypatch.setitem(linecache.cache, cell, entry)
    text = source.splitlines()[line - 1]
    assert str(error_of(source, cell)).endswith(f" ({cell}:{line}: {text})")


def test_a_file_of_that_name_elsewhere_is_not_looked_for(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "elsewhere.py").write_text("another program\n" * 9)
    monkeypatch.syspath_prepend(tmp_path)
    assert str(error_of(CALL, "elsewhere.py")).endswith(" (elsewhere.py:3)")


def test_an_error_at_the_prompt_names_it() -> None:
    typed = "import ted, numpy as np\n" + CALL
    found = subprocess.run(
        [sys.executable, "-q", "-i"], input=typed, capture_output=True, text=True,
        env={**os.environ, "PYTHONWARNINGS": "default"}, check=True,
    )  # fmt: skip
    assert "ExecutionError: main: argument 'x': expected shape (3,), got (4,) (<stdin>:1" in (
        found.stderr
    )


def test_what_lies_between_the_user_and_ted_is_not_the_users_line() -> None:
    x = ted.placeholder((3,))
    for misuse in (
        lambda: copy.deepcopy([x]),
        lambda: np.asarray_chkfinite(x),
        lambda: np.ptp(x),
        lambda: sorted([x, x]),
    ):
        with pytest.raises(TedError) as caught:
            misuse()
        assert caught.value.location is not None
        assert caught.value.location.file == __file__


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_an_index_that_is_data_names_the_line_of_the_access(target: str) -> None:
    x = ted.placeholder((3,), "float32", name="x")
    k = ted.placeholder((2,), "int64", name="k")
    y = ted.compute((2,), lambda i: x[k[i]], name="y")
    line = y.node.location
    assert line is not None
    f = ted.compile([x, k], y, target=target)
    arrays: list[Any] = [np.ones(3, "f4"), np.array([1, 7])]
    with ted.testing.emulated_gpu():
        given = arrays if target == "cpu" else [ted.cuda.asarray(a) for a in arrays]
        with pytest.raises(ExecutionError) as caught:
            np.asarray(f(*given) if target == "cpu" else f(*given).numpy())
    text = "main: index out of range: tensor x has extent 3 in dim 0, got index 7, at "
    assert caught.value.message == f"{text}{line}"


def test_an_error_keeps_what_it_says_apart_from_the_place() -> None:
    error = error_of(CALL, "<string>")
    assert error.message == "main: argument 'x': expected shape (3,), got (4,)"
