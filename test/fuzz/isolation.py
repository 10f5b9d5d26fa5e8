"""Run a function in a forked child with limits, and say how that ended.

The child has a temporary file for standard output and error, so many bytes of memory and of files,
and so many seconds. What it does to the process, such as dying, is an end like others.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60  # of the processor; what takes longer is a hang
_WAITING = 10  # times as long by the clock: the machine may be busy, and a hang may sleep
MEMORY = 8 << 30
FILE = 256 << 20


@dataclass(frozen=True)
class End:
    """The end of a child: its exit code, -n for signal n, None after the time; what it printed."""

    code: int | None
    text: str

    @property
    def fault(self) -> str:
        """What is wrong with this end; "" for nothing: any message and exit code 0 to 2 is fine."""
        if self.code is None or -self.code == signal.SIGXCPU:
            return "hang"
        if self.code < 0:
            return f"death ({signal.Signals(-self.code).name})"
        for sign, fault in _SIGNS.items():
            if sign in self.text:
                return fault
        return "" if self.code in (0, 1, 2) else f"exit code {self.code}"


_SIGNS = {
    "Traceback (most recent call last)": "traceback",
    "internal error": "internal error",
    "could not be checked, got": "internal error of the verifier",
    "left invalid IR": "invalid IR",
    "made IR that MLIR refuses": "invalid IR",
    "RuntimeWarning": "warning",
}


def isolated(function: Callable[[], int], folder: Path, seconds: float = SECONDS) -> End:
    """How a function ends in a child in this folder; the function gives an exit code.

    `seconds` are those of the processor that it may take.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as output:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a test runner may have threads; the child has none
            pid = os.fork()
        if pid == 0:
            _child(function, output.fileno(), folder, seconds)
        code = _end(pid, _WAITING * seconds)
        output.seek(0)
        return End(code, output.read(1 << 20).decode(errors="replace"))


def _child(function: Callable[[], int], output: int, folder: Path, seconds: float) -> None:
    code = 99
    try:
        os.chdir(folder)
        os.dup2(output, 1)
        os.dup2(output, 2)
        # A test runner may have put something else there.
        sys.stdout, sys.stderr = (os.fdopen(k, "w", closefd=False) for k in (1, 2))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        for what, most in (
            (resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE),
        ):  # fmt: skip
            resource.setrlimit(what, (most, most))
        cpu = max(1, int(seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))  # SIGXCPU comes before SIGKILL
        code = function()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _end(pid: int, seconds: float) -> int | None:
    """Wait for a child; None when it had to be ended."""
    handle = os.pidfd_open(pid)
    late = not select.select([handle], [], [], seconds)[0]
    os.close(handle)
    if late:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return None if late else code
