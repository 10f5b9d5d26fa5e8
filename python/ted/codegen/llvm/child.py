"""The parent's side of the code generator: one child process per set of LLVM options.

LLVM ends its process when it meets what it cannot select, and may crash or loop. So it runs in a
child, which is started at the first request, reused, replaced after it died, and ends with its
parent: its input ends then. Requests of several threads wait for each other. After a fork the new
process has no child until it asks for one.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
import threading
from io import RawIOBase
from pathlib import Path
from typing import Any, cast

from ted.codegen.llvm import worker
from ted.errors import CompileError
from ted.forking import Lock, in_child

TIMEOUT = 120.0  # seconds; a large kernel takes a tenth of one
_ALWAYS = ("-enable-loopinterchange=false",)  # ted chooses the order; LLVM's exchange is unsound
_MISSING = "llvm: code for other machines needs llvmlite, got none; pip install llvmlite"


class ChildFailed(Exception):
    """The code generator refused a module, or died of it; the text says why."""


class Child:
    """A code generator process and the lock that gives it one request at a time."""

    def __init__(self, options: tuple[str, ...] = ()) -> None:
        self.options = options
        self._lock = Lock()
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

    def request(self, message: dict[str, Any], timeout: float = TIMEOUT) -> dict[str, Any]:
        """Send a request and wait for the reply.

        Raises: ChildFailed when LLVM reports an error, dies, or is not done in time;
        CompileError when llvmlite is not installed.
        """
        with self._lock:
            try:
                reply = self._exchange(self._running(), message, timeout)
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
            arguments = [worker.__file__, _folder(), *_ALWAYS, *self.options]
            command = [sys.executable, "-I", "-S", *arguments]
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
        self, process: subprocess.Popen[bytes], message: dict[str, Any], timeout: float
    ) -> dict[str, Any]:
        requests, replies = cast("tuple[RawIOBase, RawIOBase]", (process.stdin, process.stdout))
        self._messages.truncate(0)
        late = threading.Event()
        timer = threading.Timer(timeout, lambda: (late.set(), process.kill()))
        timer.start()
        try:
            worker.write_message(requests, message)
            reply = worker.read_message(replies)
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


def _folder() -> str:
    """Where llvmlite lies; the child gets nothing else of this process' path."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or found.origin is None:
        raise CompileError(_MISSING)
    return str(Path(found.origin).parent.parent)


def version() -> str:
    """The version of llvmlite, without importing it.

    Raises: CompileError when it is not installed.
    """
    try:
        return importlib.metadata.version("llvmlite")
    except importlib.metadata.PackageNotFoundError:
        raise CompileError(_MISSING) from None


_children: dict[tuple[str, ...], Child] = {}
_children_lock = Lock()


def child(options: tuple[str, ...] = ()) -> Child:
    """The child with these LLVM options: they hold for a whole process."""
    with _children_lock:
        return _children.setdefault(options, Child(options))


@in_child
def _forget_all() -> None:
    for one in _children.values():
        one.forget()


def _stop_all() -> None:
    for one in _children.values():
        one.stop()


atexit.register(_stop_all)
