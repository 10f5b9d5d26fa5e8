"""Processes that compile: started when they are needed, reused, replaced after they died.

LLVM ends its process when it meets what it cannot select, and may crash or loop. So it runs in a
child, which ends with its parent: its input ends then. Requests of several threads to one child
wait for each other; a pool has a child for each. After a fork the new process has no child until it
asks for one.
"""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from io import RawIOBase
from typing import Any, cast

from ted.codegen import llvm_worker
from ted.codegen.watching import Doing, ignored
from ted.errors import CompileError
from ted.forking import Lock, in_child

TIMEOUT = 120.0  # seconds; a large kernel takes a tenth of one


class ChildFailed(Exception):
    """The code generator refused a module, or died of it; the text says why."""


class NotStarted(ChildFailed):
    """There is no process to ask; the text says why."""


class Child:
    """A process of a command, and the lock that gives it one request at a time.

    `command` is asked when a process starts; it may raise CompileError.
    """

    def __init__(self, command: Callable[[], Sequence[str]]) -> None:
        self._command = command
        self._lock = Lock()
        _all.add(self)
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: Any = None  # the file that takes the child's standard error

    @property
    def pid(self) -> int | None:
        """Number of the running process; None when there is none."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process unless it runs: it loads LLVM while the caller does something else.

        A process that cannot be started is the next request's error.
        """
        with self._lock, contextlib.suppress(OSError, CompileError):
            self._running()

    def request(
        self, message: dict[str, Any], timeout: float = TIMEOUT, doing: Doing = ignored
    ) -> dict[str, Any]:
        """Send a request and wait for the reply; `doing` hears what the child says until then.

        Raises: ChildFailed when it reports an error, dies, or is not done in time; NotStarted when
        there is no process; what the command raises.
        """
        with self._lock:
            try:
                process = self._running()
            except OSError as error:
                raise NotStarted(f"no running code generator: {error}") from None
            try:
                reply = self._exchange(process, message, timeout, doing)
            except OSError as error:
                self.stop()
                raise ChildFailed(f"no running code generator: {error}") from None
            except BaseException:  # Ctrl-C too: a late reply would be taken for the next one
                self.stop()
                raise
        if "error" in reply:
            raise ChildFailed(" ".join(reply["error"].split()))
        return reply

    def stop(self) -> None:
        """End the process; the next request starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            self._close(process)
            process.wait()

    def forget(self) -> None:
        """Let go of the process of another process: what a fork does first."""
        process, self._process = self._process, None
        if process is not None:
            self._close(process)
            process.returncode = 0  # not ours to wait for

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        if self._process is None:
            command = self._command()
            pipe = subprocess.PIPE
            messages = tempfile.TemporaryFile("a+b", buffering=0)  # noqa: SIM115 (it outlives this)
            try:
                self._process = subprocess.Popen(
                    command, bufsize=0, stdin=pipe, stdout=pipe, stderr=messages
                )
            except BaseException:
                messages.close()
                raise
            self._messages = messages
        return self._process

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        message: dict[str, Any],
        timeout: float,
        doing: Doing,
    ) -> dict[str, Any]:
        requests, replies = cast("tuple[RawIOBase, RawIOBase]", (process.stdin, process.stdout))
        self._messages.truncate(0)
        late = threading.Event()
        timer = threading.Timer(timeout, lambda: (late.set(), process.kill()))
        timer.start()
        try:
            llvm_worker.write_message(requests, message)
            while (reply := llvm_worker.read_message(replies)) and "doing" in reply:
                doing(reply["doing"])
        except BrokenPipeError:
            reply = None
        finally:
            timer.cancel()
            timer.join()
        if reply is None or late.is_set():
            raise ChildFailed(self._cause_of_death(process, timeout if late.is_set() else None))
        return reply

    def _cause_of_death(self, process: subprocess.Popen[bytes], timeout: float | None) -> str:
        code = process.wait()
        if timeout is not None:
            return f"no result within {timeout:g} s"
        self._messages.seek(0)
        said = self._messages.read().decode(errors="replace").strip().split("\n")
        errors = [k for k, line in enumerate(said) if line.startswith("LLVM ERROR")]
        text = " ".join(" ".join(said[errors[0] : errors[0] + 8] if errors else said[-4:]).split())
        status = f"ended by signal {-code}" if code < 0 else f"ended with status {code}"
        return f"{text} ({status})" if text else status

    def _close(self, process: subprocess.Popen[bytes]) -> None:
        for stream in (process.stdin, process.stdout, self._messages):
            if stream is not None:
                stream.close()


class Pool:
    """Children of one command: as many as threads ask at once, up to `most` of which stay."""

    def __init__(self, command: Callable[[], Sequence[str]], most: int) -> None:
        self._command = command
        self._most = most
        self._idle: list[Child] = []
        self._lock = Lock()

    @property
    def idle(self) -> int:
        """How many children have nothing to do."""
        return len(self._idle)

    def prepare(self, count: int) -> None:
        """Start children until so many, of those that stay, have nothing to do."""
        with self._lock:
            for _ in range(len(self._idle), min(count, self._most)):
                self._idle.append(Child(self._command))
                self._idle[-1].start()

    def request(
        self, message: dict[str, Any], timeout: float, doing: Doing = ignored
    ) -> dict[str, Any]:
        """Let a child that has nothing to do answer; a reply with `worn` is its last.

        Raises: ChildFailed, NotStarted.
        """
        with self._lock:
            child = self._idle.pop() if self._idle else Child(self._command)
        worn = True
        try:
            reply = child.request(message, timeout, doing)
            worn = bool(reply.get("worn"))
            return reply
        finally:
            with self._lock:
                keep = not worn and len(self._idle) < self._most
                if keep:
                    self._idle.append(child)
            if not keep:
                child.stop()


_all: weakref.WeakSet[Child] = weakref.WeakSet()


@in_child
def _forget_all() -> None:
    for one in list(_all):
        one.forget()


def _stop_all() -> None:
    for one in list(_all):
        one.stop()


atexit.register(_stop_all)
