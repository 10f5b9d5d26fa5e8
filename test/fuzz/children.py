"""Work in a child process with limits on time and memory: its death or hang is an answer.

    child = Child(function, seconds=60)
    child.ask(argument)      # what function(argument) gives, or an Outcome that says it died

One child serves many arguments; a new one is started after a death, and now and then, since
machine code of a process is never given back.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.outcomes import Outcome, failure_of

MEMORY_BYTES = 16 << 30  # of addresses: torch and LLVM reserve far more than they touch
QUESTIONS = 400
START_SECONDS = 600
POLL_SECONDS = 0.2
PATIENCE = 10  # a process that waits for something that never comes uses no seconds


class Child:
    """A process that answers; `function` and its module must be importable by name."""

    def __init__(self, function: Callable[[Any], Any], seconds: float) -> None:
        self._function = function
        self._seconds = seconds
        self._process: Any = None
        self._connection: Any = None
        self._asked = 0

    def ask(self, argument: Any, seconds: float | None = None) -> Any:
        """The answer, or an Outcome of kind `died` or `hung`."""
        if self._process is None or self._asked >= QUESTIONS:
            self.stop()
            self._start()
        self._asked += 1
        limit = self._seconds if seconds is None else seconds
        self._connection.send(argument)
        if not self._answers_within(limit):
            self.stop()
            return Outcome("hung", "hung", f"no answer within {limit:.0f} s", seconds=limit)
        try:
            return self._connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(5)
            code = self._process.exitcode
            self.stop()
            return Outcome("died", f"exit status {code}", f"the process ended with status {code}")

    def _answers_within(self, limit: float) -> bool:
        """Whether there is an answer after so much computing: others may use the machine too."""
        before, start = computed(self._process.pid), time.monotonic()
        while not self._connection.poll(POLL_SECONDS):
            used, waited = computed(self._process.pid) - before, time.monotonic() - start
            if used > limit or waited > PATIENCE * limit:
                return False
        return True

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._function, other), daemon=True)
        self._process.start()
        other.close()
        self._asked = 0
        if not self._connection.poll(START_SECONDS):
            raise RuntimeError("fuzz: a child process did not start")
        self._connection.recv()


def computed(pid: int) -> float:
    """Seconds of computing that a process has used; those of the clock where nobody says."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _serve(function: Callable[[Any], Any], connection: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection.send("ready")
    while True:
        try:
            argument = connection.recv()
        except EOFError:
            return
        try:
            connection.send(function(argument))
        except Exception as error:
            connection.send(failure_of(error))
