"""The lessons of docs/extending.md: each change applies, and its program needs it and works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pytest

from docs.blocks import ROOT

DOCUMENT = ROOT / "docs" / "extending.md"
# Where the sources lie in an installation.
PLACES = {"python/ted/": "ted/", "dialects/": "ted/dialects/", "tools/": "ted/tools/"}
_LESSON = re.compile(
    r"^## (.+?)\n.*?^```diff\n(.*?)^```$.*?^```py\n(.*?)^```\n```text\n(.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Lesson:
    """A change, a program, and what it prints."""

    name: str
    change: str
    program: str
    expected: str


def lessons() -> list[Lesson]:
    """Those of the document, in order."""
    text = DOCUMENT.read_text()
    parts = re.split(r"^(?=## )", text, flags=re.M)[1:]
    found = [_LESSON.match(part) for part in parts]
    assert all(found), "every section has a change, a program and what it prints"
    return [Lesson(*match.groups()) for match in found if match is not None]


LESSONS = lessons()


def place(name: str, tree: Path) -> Path:
    """Where a file of the checkout is in a copy."""
    for source, target in PLACES.items():
        if name.startswith(source):
            return tree / (target + name.removeprefix(source))
    return tree / name


def hunks(change: str) -> Iterator[tuple[str, str, str]]:
    """The file, the old lines and the new ones of each place that a change is about."""
    name, old, new = "", "", ""
    for line in [*change.splitlines(), "@@"]:
        if line.startswith(("--- ", "+++ ", "@@")):
            if old or new:
                yield name, old, new
            old, new = "", ""
            name = line.removeprefix("+++ b/") if line.startswith("+++ ") else name
            continue
        assert line[:1] in (" ", "+", "-", ""), line
        old += f"{line[1:]}\n" if line[:1] != "+" else ""
        new += f"{line[1:]}\n" if line[:1] != "-" else ""


def apply(change: str, tree: Path) -> list[Path]:
    """Change the files of a copy; the old lines must be there, once. What was changed."""
    found = []
    for name, old, new in hunks(change):
        path = place(name, tree)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            before = (ROOT / name).read_text() if (ROOT / name).exists() else ""
            path.write_text(before)
        text = path.read_text()
        assert (text == "") if not old else text.count(old) == 1, f"{name}: {old}"
        path.write_text(text.replace(old, new) if old else new)
        found.append(path)
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package as it would be installed, native part included."""
    tree = tmp_path_factory.mktemp("sources")
    without = shutil.ignore_patterns("*.pyc.*")  # what others are about to write
    for source, target in PLACES.items():
        shutil.copytree(ROOT / source, tree / target, ignore=without, dirs_exist_ok=True)
    for built in resources.files("ted").iterdir():
        if built.name.endswith((".so", ".dylib", ".dll", ".pyd")):
            shutil.copy(str(built), tree / "ted" / built.name)
    return tree


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python on a copy; without `site`, which would find the checkout first."""
    packages = [p for p in sys.path if p.endswith("site-packages")]
    return subprocess.run(
        [sys.executable, "-S", *arguments], cwd=tree, text=True, capture_output=True, timeout=300,
        env={"PYTHONPATH": ":".join([str(tree), *packages]), "PATH": "", "HOME": str(tree)},
    )  # fmt: skip


def check_ir(path: Path, tree: Path) -> int:
    """Run the lines of an IR test that one tool and a check make; how many there were."""
    count = 0
    for line in path.read_text().splitlines():
        if line.startswith("// RUN: ted-opt "):
            tool, check = line.removeprefix("// RUN: ted-opt ").split(" | filecheck ")
            printed = run(tree, "-m", "ted.tools.ted_opt", *_words(tool, path))
            assert printed.returncode == 0, printed.stderr
            checked = subprocess.run(
                [sys.executable, "-m", "filecheck.main", *_words(check, path)],
                input=printed.stdout, text=True, capture_output=True,
            )  # fmt: skip
            assert checked.returncode == 0, checked.stderr
            count += 1
    return count


def _words(text: str, path: Path) -> list[str]:
    return [word.replace("%s", str(path)) for word in shlex.split(text)]


@pytest.mark.fast(1)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_does_what_it_says(lesson: Lesson, sources: Path, tmp_path: Path) -> None:
    tree = tmp_path / "changed"
    shutil.copytree(sources, tree)
    changed = apply(lesson.change, tree)
    tests = [path for path in changed if path.suffix == ".mlir"]
    assert all(check_ir(path, tree) for path in tests)
    program = tmp_path / "program" / "lesson.py"  # Python looks for modules beside it first
    program.parent.mkdir()
    program.write_text(lesson.program)
    result = run(tree, str(program))
    assert result.returncode == 0, result.stderr
    assert result.stdout == lesson.expected
    without = run(sources, str(program))
    assert (without.returncode, without.stdout) != (0, lesson.expected), "the change is needed"


def test_there_are_the_five_lessons() -> None:
    names = [lesson.name for lesson in LESSONS]
    assert names == [
        "A scalar operation", "A combiner", "A pass", "A strategy", "A machine",
    ]  # fmt: skip
