"""The package `ptx-emulator` as ted uses it: names, and its errors as errors of ted's.

Importing this says what to install where it is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ted.errors import CompileError, ExecutionError

try:
    from ptx_emulator.device import SLOT, Allocation, Device
    from ptx_emulator.errors import InvalidPtx, PtxError
    from ptx_emulator.forms import Array
    from ptx_emulator.launching import ORDERS, Statistics, launch
    from ptx_emulator.parsing import parse
    from ptx_emulator.syntax import Module
    from ptx_emulator.tensor_maps import SWIZZLES, TensorMap
except ModuleNotFoundError as error:
    raise ExecutionError(
        f"emulated_gpu: needs the package ptx-emulator, got no module {error.name!r}; install it "
        "with: pip install ./ptx-emulator, in a checkout of ted"
    ) from error

__all__ = [
    "ORDERS", "SLOT", "SWIZZLES", "Allocation", "Array", "Device", "InvalidPtx", "Module",
    "Statistics", "TensorMap", "errors_of_ted", "launch", "parse",
]  # fmt: skip


class EmulatedTextError(CompileError):
    """PTX that the emulator cannot run; the message has the line of PTX."""

    is_of_a_call = False


class EmulatedFault(ExecutionError):
    """What the emulator finds wrong; the message has the line of PTX."""

    is_of_a_call = False


@contextmanager
def errors_of_ted() -> Iterator[None]:
    """What the emulator finds wrong, as a CompileError or ExecutionError; the cause is its own.

    Raises: EmulatedTextError for PTX that it cannot run; EmulatedFault for what a kernel does
    wrong.
    """
    try:
        yield
    except InvalidPtx as error:
        raise EmulatedTextError(str(error)) from error
    except PtxError as error:
        raise EmulatedFault(str(error)) from error
