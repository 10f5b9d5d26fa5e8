"""What the tools share: their errors, their standard streams, and what Ctrl-C does.

Exit code 0 is success, 1 an error, with a line on standard error that says which. A stream may be
closed, full, or a pipe whose reader left. Ctrl-C ends a tool at once, also inside of MLIR, by the
signal itself: 130 in a shell.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ted.errors import TedError


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and exit code 1."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line, and exit."""
        self.exit(1, f"{self.prog}: error: {message}\n")


def seed(text: str) -> int:
    """The seed of random numbers that a flag gives."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer, 0 or more, got '{text}'")
    return int(text)


def guarded(name: str, work: Callable[[], int], *, is_process: bool) -> int:
    """The exit code of a tool: what it returns, or 1 after the line of an error.

    `is_process` says that this process is the tool's, with its streams and signals.
    """
    if is_process:
        _occupy_closed_streams()
        _end_on_interrupt()
    try:
        code = _finished(work)
        _flush()
    except TedError as error:
        return _complain(name, str(error))
    except OSError as error:  # files have errors of their own; this is a stream
        return _complain(name, str(_unwritable("-", error)))
    except MemoryError:
        return _complain(name, "memory: must be enough for the arrays and the program, got none")
    return code


def _finished(work: Callable[[], int]) -> int:
    try:
        return work()
    except SystemExit as left:  # argparse, after --help or an error
        return left.code if isinstance(left.code, int) else 0


def _complain(name: str, message: str) -> int:
    try:
        print(f"{name}: error: {message}", file=sys.stderr)
    except OSError:
        _leave(2)
    return 1


# ---- output --------------------------------------------------------------------------------------


def show(text: str) -> None:
    """Print a text on standard output.

    Raises: TedError when nobody can read it.
    """
    if sys.stdout is None:
        raise _unwritable("-", None)
    try:
        print(text)
    except OSError as error:
        raise _unwritable("-", error) from None


def write(path: str, output: bytes) -> None:
    """Write a file, or standard output for "-".

    Raises: TedError when that cannot be done.
    """
    try:
        if path != "-":
            Path(path).write_bytes(output)
        elif sys.stdout is None:
            raise _unwritable("-", None)
        else:
            sys.stdout.buffer.write(output)
            sys.stdout.buffer.flush()
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise _unwritable(path, error) from None


def _flush() -> None:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise _unwritable("-", error) from None


def _unwritable(path: str, error: Exception | None) -> TedError:
    reason = "it is closed" if error is None else getattr(error, "strerror", None) or str(error)
    if path == "-" and error is not None:
        _leave(1)
    return TedError(f"output: must be a writable file, got '{path}': {reason}")


def _leave(stream: int) -> None:
    """Nobody can read what Python would still flush to this stream at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


# ---- the process ---------------------------------------------------------------------------------


def _occupy_closed_streams() -> None:
    """No file that is opened later may get the number of a standard stream."""
    number = os.open(os.devnull, os.O_RDWR)
    while number < 3:  # the lowest free number
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the end)


def _end_on_interrupt() -> None:
    """No exception may come out of a verifier in Python that MLIR called."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
