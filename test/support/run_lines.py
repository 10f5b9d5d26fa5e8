"""RUN lines of IR tests, run without a shell: by lit, and in the process of a test.

`sed ARGS | not ted-opt ARGS 2>&1 | filecheck ARGS` is what the tests of passes use of a shell. A
tool that starts anew imports the binding and the passes for longer than it works, so each process
of lit imports them once and forks for every line. Lines that ask for more than pipes, and the tests
of the tools themselves, are run by lit's shell.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from lit import Test
from lit.formats import ShTest

PREFIX = "// RUN:"
# Substitutions but for the file itself, lists of commands and files of streams.
_OF_SHELL = re.compile(r"%(?!s\b(?!\.))|&&|;| >|<|\\$")


class RunLines(ShTest):
    """The format of tests whose RUN lines are forks of a process that has loaded the passes."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        """Run a file's lines one after the other until one fails."""
        path = Path(test.getSourcePath())
        commands = forkable(path.read_text())
        if not commands:
            return super().execute(test, litConfig)
        _load()
        for command in commands:
            status, said = _forked(command, path, test.config.environment)
            if status:
                return Test.Result(Test.FAIL, f"{command}\nstatus {status}\n{said}")
        return Test.Result(Test.PASS)


def forkable(text: str) -> list[str]:
    """The commands of a file's RUN lines; none if lit's shell has to run one of them."""
    commands = commands_in(text)
    if len(commands) != text.count("RUN:") or not all(map(_is_simple, commands)):
        return []
    return commands


def commands_in(text: str) -> list[str]:
    """What the RUN lines say."""
    lines = (line for line in text.splitlines() if line.startswith(PREFIX))
    return [line.removeprefix(PREFIX).strip() for line in lines]


def run_line(command: str, path: Path) -> int:
    """Run the stages of a pipe one after the other; the last one decides."""
    status, data = 0, b""
    for stage in _stages(command.replace("%s", str(path)).replace("%%", "%")):
        status, data = run_stage(stage, data)
    return status


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
    for stream in (out, err):
        stream.flush()
    if status and err is not out:
        sys.stderr.write(err.buffer.getvalue().decode())
    return status, out.buffer.getvalue()


def _main(words: list[str]) -> int:
    if words[0] == "not":
        return int(_main(words[1:]) == 0)
    try:
        if words[0] == "ted-opt":
            from ted.tools.ted_opt import main

            return main(words[1:])
        from filecheck.main import main as check

        return int(check(words) or 0)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def _stages(text: str) -> list[list[str]]:
    stages: list[list[str]] = [[]]
    for word in shlex.split(text):
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages


def _is_simple(command: str) -> bool:
    if _OF_SHELL.search(command.replace("%%", "")):
        return False
    tools = ([word for word in stage if word != "not"][:1] for stage in _stages(command))
    return all(tool in (["sed"], ["ted-opt"], ["filecheck"]) for tool in tools)


@functools.cache
def _load() -> None:
    """What `ted-opt` and `filecheck` import when they run."""
    import filecheck.main  # noqa: F401

    import ted.tools.diagnostics
    import ted.tools.observers
    import ted.tools.ted_opt  # noqa: F401
    from ted.ir.passes import PASSES, PIPELINES, target

    modules = [row.package.partition(":")[0] for row in PIPELINES.values()]
    for module in [*modules, *(target(name)[0] for name in PASSES)]:
        importlib.import_module(module)


def _forked(command: str, path: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """The status of a line, and what it says if it fails; a crash is the number of its signal."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            os.environ.clear()
            os.environ.update(environment)
            sys.stdout = sys.stderr = open(writer, "w", encoding="utf-8")  # noqa: SIM115
            status = run_line(command, path)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status != 0)
    os.close(writer)
    with open(reader, encoding="utf-8", errors="replace") as file:
        said = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said
