"""The shape of the sources: small files, small functions, no grab bags, nobody's own paths."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from hygiene.statements import statements

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


def faults(path: Path, text: str) -> list[str]:
    """What is wrong with a Python file, each as a line."""
    tree, lines = ast.parse(text), len(text.splitlines())
    found = [f"{lines} lines"] if lines > LONGEST_FILE else []
    found += [] if ast.get_docstring(tree) else ["no module docstring"]
    found += ["name the file after what it holds"] if GRAB_BAGS.match(path.name) else []
    for function in statements(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (function.end_lineno or 0) - function.lineno + 1
            found += [f"{function.name}: {length} lines"] if length > LONGEST_FUNCTION else []
    return [f"{in_checkout(path)}: {fault}" for fault in found]


def test_every_python_file_is_small_and_says_what_it_is() -> None:
    assert len(python_files()) > 1000
    assert [fault for path in python_files() for fault in faults(path, path.read_text())] == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("good.py", '"""Good."""\n', []),
        ("good.py", "x = 1\n", ["no module docstring"]),
        ("utils.py", '"""Good."""\n', ["name the file after what it holds"]),
        ("good.py", '"""Good."""\n' + "x = 1\n" * 600, ["601 lines"]),
        ("good.py", '"""Good."""\nclass A:\n  def f():\n' + "    x = 1\n" * 50, ["f: 51 lines"]),
    ],
)
def test_what_is_wrong_with_a_file_is_found(name: str, text: str, found: list[str]) -> None:
    assert faults(ROOT / name, text) == [f"{name}: {fault}" for fault in found]


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
