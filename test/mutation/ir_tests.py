"""IR tests as items of pytest: a RUN line is run in this process, so that a mutant is seen by it.

`sed ARGS | not ted-opt ARGS 2>&1 | filecheck ARGS` is what the tests of passes use of a shell.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest


class IrFile(pytest.File):
    """A `.mlir` file, whose RUN lines are its tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each RUN line."""
        lines = [x for x in self.path.read_text().splitlines() if x.startswith("// RUN:")]
        for number, line in enumerate(lines):
            command = line.removeprefix("// RUN:").strip()
            yield RunLine.from_parent(self, name=str(number), command=command)


class RunLine(pytest.Item):
    """One RUN line."""

    def __init__(self, *, command: str, **rest: object) -> None:
        super().__init__(**rest)
        self.command = command

    def runtest(self) -> None:
        """Run the stages one after the other; the last one decides."""
        text = self.command.replace("%s", str(self.path)).replace("%%", "%")
        data = b""
        for stage in _stages(text):
            status, data = run_stage(stage, data)
        assert status == 0, self.command

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test is."""
        return self.path, 0, f"{self.path.name}: {self.command}"


def _stages(text: str) -> list[list[str]]:
    words = shlex.split(text)
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages


def run_stage(words: list[str], data: bytes) -> tuple[int, bytes]:
    """Run one command of a pipe; its exit status and what goes on in the pipe."""
    both = "2>&1" in words
    kept = [word for word in words if word != "2>&1"]
    if kept[0] == "sed":
        done = subprocess.run(kept, input=data, capture_output=True)
        return done.returncode, done.stdout
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    err = out if both else io.TextIOWrapper(io.BytesIO(), "utf-8")
    stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8")
    with (
        mock.patch.object(sys, "stdin", stdin),
        mock.patch.object(sys, "argv", kept),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        status = _main(kept)
    out.flush()
    return status, out.buffer.getvalue()


def _main(words: list[str]) -> int:
    if words[0] == "not":
        return int(_main(words[1:]) == 0)
    try:
        if words[0] == "ted-opt":
            from ted.tools.ted_opt import main

            return main(words[1:])
        from filecheck.main import main as check

        return check(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Files of IR are test files too."""
    if file_path.suffix != ".mlir":
        return None
    return IrFile.from_parent(parent, path=file_path)
