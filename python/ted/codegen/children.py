"""Processes that compile: started when they are needed, reused, replaced after they died.

LLVM ends its process when it meets what it cannot select, and may crash or loop. So it runs in a
child, which ends with its parent: its input ends then. What a command starts need not be a code
generator (`sys.executable` may be another interpreter, or a program that embeds this one), so a
child says first that it is ready. Requests of several threads to one child wait for each other; a
pool has a child for each. After a fork the new process has no child until it asks for one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from io import RawIOBase
from typing import Any, cast

from ted.codegen import llvm_worker
from ted.codegen.watching import Doing, ignored
from ted.errors import CompileError
from ted.forking import Lock, in_child

TIMEOUT = 120.0  # seconds; a large kernel takes a tenth of one
START_TIMEOUT = 120.0  # seconds; a process is ready after half of one
INSIDE = "TED_CODE_GENERATOR"  # set in the environment of what is started, which drops it
_ALONE = {"OPENBLAS_NUM_THREADS": "1"}  # threads of numpy take a tenth of the start, and do nothing
_DYING = 5.0  # seconds between the end of a process' replies and its own


def interpreter() -> str:
    """The program that runs Python code.

    Raises: OSError where it need not be one: nothing is known of it, it holds the user's program,
    or it was started as a code generator and is not one.
    """
    if not sys.executable or getattr(sys, "frozen", False) or INSIDE in os.environ:
        raise OSError(f"sys.executable must be a Python interpreter, got {sys.executable!r}")
    return sys.executable


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
        self._is_ready = self._is_busy = self._left = False
        self._messages: Any = None  # the file that takes the child's standard error

    @property
    def pid(self) -> int | None:
        """Number of the running process; None when there is none."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process unless it runs: it loads LLVM while the caller does something else.

        A process that cannot be started is the next request's error.
        """
        with self._lock, contextlib.suppress(OSError, RuntimeError, CompileError):
            self._running()

    def request(
        self, message: dict[str, Any], timeout: float = TIMEOUT, doing: Doing = ignored
    ) -> dict[str, Any]:
        """Send a request and wait for the reply; `doing` hears what the child says until then.

        Raises: ChildFailed when it reports an error, dies, or is not done in time; NotStarted when
        there is no process; what the command raises; SystemExit when the interpreter has ended.
        """
        with self._lock:
            try:
                process = self._running()
            except (OSError, RuntimeError) as error:  # RuntimeError while the interpreter ends
                raise NotStarted(f"no running code generator: {error}") from None
            with self._stopped_by_errors():
                self._is_busy = True
                if not self._is_ready:
                    self._await(process)
                reply = self._exchange(process, message, timeout, doing)
                self._is_busy = False
        if "error" in reply:
            raise ChildFailed(" ".join(reply["error"].split()))
        return reply

    def stop(self) -> None:
        """End the process; the next request starts another."""
        process, self._process, self._is_busy = self._process, None, False
        if process is not None:
            _kill(process)
            self._close(process)
            process.wait()

    def leave(self) -> None:
        """End the process as the interpreter ends, although a daemon thread may wait for it."""
        process = self._process
        if not self._is_busy or process is None:
            self.stop()
        else:
            self._left = True
            _kill(process)
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
                    command, bufsize=0, stdin=pipe, stdout=pipe, stderr=messages,
                    start_new_session=True, env={**os.environ, INSIDE: "1", **_ALONE},
                )  # fmt: skip
            except BaseException:
                messages.close()
                raise
            self._messages, self._is_ready = messages, False
        return self._process

    @contextlib.contextmanager
    def _stopped_by_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:  # Ctrl-C too: a late reply would be taken for the next one
            self.stop()
            if self._left:
                raise SystemExit from None  # the thread of it is left, too, and has nobody to tell
            if isinstance(error, OSError):
                raise ChildFailed(f"no running code generator: {error}") from None
            raise

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a new process says that it is ready."""
        try:
            with _deadline(process, START_TIMEOUT) as late:
                said = llvm_worker.read_message(cast("RawIOBase", process.stdout))
            if said != llvm_worker.READY:
                raise ChildFailed(self._cause_of_death(process, START_TIMEOUT if late else None))
        except (ChildFailed, ValueError) as error:
            program = cast("Sequence[str]", process.args)[0]
            raise NotStarted(f"{program} is no code generator: {error}") from None
        self._is_ready = True

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        message: dict[str, Any],
        timeout: float,
        doing: Doing,
    ) -> dict[str, Any]:
        requests, replies = cast("tuple[RawIOBase, RawIOBase]", (process.stdin, process.stdout))
        self._messages.truncate(0)
        with _deadline(process, timeout) as late:
            try:
                llvm_worker.write_message(requests, message)
                while (reply := llvm_worker.read_message(replies)) and "doing" in reply:
                    doing(reply["doing"])
            except BrokenPipeError:
                reply = None
        if reply is None or late:
            raise ChildFailed(self._cause_of_death(process, timeout if late else None))
        return reply

    def _cause_of_death(self, process: subprocess.Popen[bytes], timeout: float | None) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_DYING)
        code = process.poll()
        if timeout is not None:
            return f"no result within {timeout:g} s"
        if code is None:
            return "its replies are none"
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


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process, and those that it forked: they hear of nothing while LLVM works."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


@contextlib.contextmanager
def _deadline(process: subprocess.Popen[bytes], seconds: float) -> Iterator[list[bool]]:
    """Kill a process after some seconds; the list is not empty when that was done."""
    late: list[bool] = []
    timer = threading.Timer(seconds, lambda: (late.append(True), _kill(process)))
    timer.daemon = True
    try:
        with contextlib.suppress(RuntimeError):  # no thread may be started: the wait has no end
            timer.start()  # Ctrl-C may come while it starts
        yield late
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()


class Pool:
    """Children of one command: as many as threads ask at once, up to `most` of which stay."""

    def __init__(self, command: Callable[[], Sequence[str]], most: int) -> None:
        self._command = command
        self._most = most
        self._idle: list[Child] = []
        self._lock = Lock()

    def prepare(self) -> None:
        """Start a child unless one has nothing to do."""
        with self._lock:
            if not self._idle:
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


@atexit.register
def _leave_all() -> None:
    for one in list(_all):
        one.leave()
