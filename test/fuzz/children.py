"""Work in a child process with limits on time and memory: its death or hang is an answer.

    child = Child(function, seconds=60)
    child.ask(argument)      # what function(argument) gives, or an Outcome that says it died

One child serves many arguments; a new one is started after a death, and now and then, since
machine code of a process is never given back.
"""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from typing import Any

from fuzz.outcomes import Outcome, failure_of

MEMORY_BYTES = 16 << 30  # of addresses: torch and LLVM reserve far more than they touch
QUESTIONS = 400
START_SECONDS = 120


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
        if not self._connection.poll(limit):
            self.stop()
            return Outcome("hung", "hung", f"no answer within {limit:.0f} s")
        try:
            return self._connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(5)
            code = self._process.exitcode
            self.stop()
            return Outcome("died", f"exit status {code}", f"the process ended with status {code}")

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
