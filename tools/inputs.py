"""Reading the inputs of the tools: files or standard input, MLIR as text or as bytecode."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ted.errors import PassFailed, TedError

if TYPE_CHECKING:
    from ted.mlir import ir

_BYTECODE = b"ML\xefR"
_PROBE = "from ted.tools.inputs import _survive; _survive()"
_PATIENCE = 120  # seconds


def read(path: str) -> str | bytes:
    """The text of an input, or its bytes where it is bytecode; "-" is standard input.

    Raises: TedError when there is no such file, or it is neither.
    """
    try:
        if path != "-":
            data = Path(path).read_bytes()
        elif sys.stdin is None:
            raise TedError("input: must be a readable text file, got '-': it is closed")
        else:
            data = sys.stdin.buffer.read()
        return data if data.startswith(_BYTECODE) else _text(data)
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a name with a zero byte
        reason = getattr(error, "strerror", None) or str(error)
        raise TedError(f"input: must be a readable text file, got '{path}': {reason}") from None


def _text(data: bytes) -> str:
    return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def parse(
    source: str | bytes,
    path: str,
    context: ir.Context,
    *,
    is_module: bool = True,
    in_file: bool = True,
) -> Any:
    """The module of a text or of bytecode, or the one operation; its locations name the file.

    `in_file` says that the text is all of the file.

    Raises: PassFailed when it does not parse or verify: the context's diagnostics say why.
    """
    from ted.dialects.irdl import ted_form
    from ted.ir.nesting import check_nesting
    from ted.mlir import ir

    if isinstance(source, bytes):
        _check_survival(source)
    else:
        check_nesting(source)
        given, source = source, ted_form(source)
        in_file = in_file and given == source
    try:
        if isinstance(source, str) and not is_module:
            return ir.Operation.parse(source, source_name=path, context=context)
        if isinstance(source, str) and in_file and Path(path).is_file():
            return ir.Module.parseFile(path, context)
        return ir.Module.parse(source, context)
    except (ir.MLIRError, RuntimeError) as error:  # RuntimeError: a message that is no text
        found = getattr(error, "error_diagnostics", None)
        because = f", got {found[0].message} ({found[0].location})" if found else ""
        raise PassFailed(f"input: must be MLIR that parses and verifies{because}") from None


def _check_survival(source: bytes) -> None:
    """Read bytecode in another process first: MLIR's reader ends its process for some damage.

    Raises: PassFailed when that process died.
    """
    command = [sys.executable, "-c", _PROBE]
    try:
        done = subprocess.run(
            command, input=source, capture_output=True, timeout=_PATIENCE, check=False
        )
        got = f"one that ends it by signal {-done.returncode}" if done.returncode < 0 else ""
    except subprocess.TimeoutExpired:
        got = f"one that it has not read after {_PATIENCE} s"
    if got:
        raise PassFailed(f"input: must be bytecode that MLIR's reader survives, got {got}")


def _survive() -> None:
    from ted.dialects import make_context
    from ted.mlir import ir

    with contextlib.suppress(ir.MLIRError, RuntimeError):  # the first process says what is wrong
        ir.Module.parse(sys.stdin.buffer.read(), make_context(threading=False))
