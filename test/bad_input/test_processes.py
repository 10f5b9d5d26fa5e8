"""Ways to run Python, and ends of a process, that a user of ted may meet: none leaves a worker."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import zipapp
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps import swept

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes")

PROGRAM = """
import numpy as np, ted
x = ted.placeholder((3,), name="x")
print(ted.compile([x], ted.exp(x) * 2.0)(np.zeros(3, "float32")))
"""
ANSWER = "[2. 2. 2.]\n"
# A compilation that takes longer than anything here, and what its worker is.
LONG = """
import os, signal, subprocess, sys, threading, time, ted
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's background
def long():
    x = y = ted.placeholder((64, 256), name="x")
    for k in range(150):
        y = ted.sin(y) if k % 2 else y * 1.1
    ted.compile([x], ted.sum(y))
def short():
    x = ted.placeholder((3,), name="x")
    ted.compile([x], x * 2.0)
def worker():
    from ted.codegen import children
    while True:
        for child in list(children._all):
            if child.pid and child._is_ready:
                return child.pid
        time.sleep(0.01)
"""
# What happens during the compilation, and what is printed then.
ENDS = {
    "a_thread_is_left_at_the_end": (
        "threading.Thread(target=long, daemon=True).start(); worker(); print('left')", "left\n"
    ),
    "a_worker_is_killed": (
        "threading.Thread(target=lambda: os.kill(worker(), signal.SIGKILL)).start()\n"
        "try: long()\n"
        "except ted.errors.CompileError as error: print('signal 9' in str(error))\n"
        "short(); print('next')", "True\nnext\n"
    ),
    "an_interrupt": (
        "threading.Thread(target=lambda: (worker(), os.kill(0, signal.SIGINT))).start()\n"
        "try: long()\n"
        "except KeyboardInterrupt: print('interrupted')\n"
        "short(); print('next')", "interrupted\nnext\n"
    ),
    "an_interrupt_of_a_worker_that_was_stopped": (
        "def stop():\n"
        "    os.kill(worker(), signal.SIGSTOP); os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=stop).start()\n"
        "try: long()\n"
        "except KeyboardInterrupt: print('interrupted')\n"
        "short(); print('next')", "interrupted\nnext\n"
    ),
    "a_fork": (
        "threading.Thread(target=long, daemon=True).start(); worker()\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "child = os.fork()\n"
        "short()\n"
        "if not child: sys.exit(0)\n"
        "print(os.waitpid(child, 0)[1])", "0\n"
    ),
    "this_process_is_killed": (
        "threading.Thread(target=long).start(); worker(); print('killed', flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)", "killed\n"
    ),
}  # fmt: skip


def closed(*streams: int) -> Callable[[], None]:
    def close() -> None:
        for k in streams:
            os.close(k)

    return close


def in_file(folder: Path, text: str = PROGRAM) -> list[str]:
    (folder / "program.py").write_text(text)
    return ["program.py"]


def zipped(folder: Path) -> list[str]:
    in_file(folder).append((folder / "program.py").rename(folder / "__main__.py").name)
    zipapp.create_archive(folder, folder.parent / "program.pyz")
    return [str(folder.parent / "program.pyz")]


SPAWNED = (
    PROGRAM
    + """
import multiprocessing
if multiprocessing.current_process().name == "MainProcess":
    multiprocessing.get_context("spawn").Process(target=print, args=("spawned",)).start()
"""
)
DELETED = "import os; os.rmdir(os.getcwd())" + PROGRAM
# The arguments of Python for a folder, and those of the process.
WAYS: dict[str, tuple[Callable[[Path], list[str]], dict[str, Any]]] = {
    "standard input": (lambda _: ["-"], {"input": PROGRAM}),
    "a string": (lambda _: ["-c", f"exec({PROGRAM!r}, {{}})"], {}),
    "isolated": (lambda folder: ["-I", *in_file(folder)], {}),
    "optimized": (lambda folder: ["-OO", *in_file(folder)], {}),
    "a zip file": (zipped, {}),
    "no streams": (in_file, {"preexec_fn": closed(0, 2)}),
    "a deleted folder": (lambda _: ["-c", DELETED], {}),
    "spawned": (lambda folder: in_file(folder, SPAWNED), {}),
}


def output(folder: Path, arguments: list[str], **options: Any) -> str:
    """What an interpreter prints; nothing that it started may be left after it."""
    mark = f"TED_TEST_OF={folder}"
    environment = {**os.environ, "TED_CACHE_DIR": "", "PYTHONWARNINGS": "error"}
    environment |= dict([mark.split("=", 1)])
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=200, check=False, start_new_session=True, **options,
    )  # fmt: skip
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert [x for x in done.stderr.splitlines() if ": compiling for " not in x] == []
    end = time.monotonic() + 20
    while processes(mark) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes(mark) == []
    return done.stdout


def processes(mark: str) -> list[str]:
    """The processes in whose environment something stands."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() + b"\0" in path.read_bytes():
                found.append(path.parent.name)
    return found


@pytest.mark.fast(1)
@swept("way", WAYS, ["standard input", "isolated", "no streams"])
def test_a_program_runs_however_python_was_started(way: str, tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    arguments, options = WAYS[way]
    found = output(folder, arguments(folder), **options)
    assert found == ANSWER * (2 if way == "spawned" else 1) + "spawned\n" * (way == "spawned")


@pytest.mark.fast(1)
@swept("end", ENDS, ["a_thread_is_left_at_the_end", "a_worker_is_killed", "an_interrupt", "a_fork"])
def test_a_compilation_ends_with_what_started_it(end: str, tmp_path: Path) -> None:
    text, printed = ENDS[end]
    assert output(tmp_path, ["-c", LONG + text]) == printed
