"""The shape of the sources: small files, small functions, no grab bags, nobody's own paths."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 600
LONGEST_FUNCTION = 50
GRAB_BAGS = re.compile(r"^(utils?|helpers?|misc|common|manager)\.py$")
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:work|root|home|tmp|Users)/\w")
TEXT = {".py", ".pyi", ".c", ".h", ".md", ".mlir", ".toml", ".txt", ".cfg", ""}


@cache
def tracked_files() -> list[Path]:
    """Files of the checkout: what git tracks, or everything in the source folders without git."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = done.stdout.splitlines()
    if done.returncode != 0:
        folders = (
            "python", "dialects", "tools", "runtime", "test", "examples", "docs", "ptx-emulator",
        )  # fmt: skip
        names = [str(p.relative_to(ROOT)) for f in folders for p in (ROOT / f).rglob("*.*")]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def python_files() -> list[Path]:
    return [path for path in tracked_files() if path.suffix == ".py"]


def in_checkout(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", python_files(), ids=in_checkout)
def test_a_python_file_is_small_and_says_what_it_is(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert len(text.splitlines()) <= LONGEST_FILE
    assert ast.get_docstring(tree), "no module docstring"
    assert not GRAB_BAGS.match(path.name), "name the file after what it holds"
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    long = [
        f"{f.name}: {f.end_lineno - f.lineno + 1} lines"
        for f in functions
        if f.end_lineno is not None and f.end_lineno - f.lineno + 1 > LONGEST_FUNCTION
    ]
    assert not long


def test_no_file_holds_a_path_of_one_machine() -> None:
    found = [
        f"{in_checkout(path)}:{number}: {line.strip()}"
        for path in tracked_files()
        if path.suffix in TEXT and path != Path(__file__)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not found


def test_every_comment_about_open_work_names_an_issue() -> None:
    marker = re.compile(r"\b(TODO|FIXME|XXX)\b(?!.*#\d+)")
    found = [
        f"{in_checkout(path)}:{number}"
        for path in python_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if marker.search(line)
    ]
    assert not found
