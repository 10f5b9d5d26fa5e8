"""`ted.testing.emulated_gpu`: a machine with a GPU that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ted.errors import ExecutionError
from ted.machine import named_gpu
from ted.runtime.cuda.driver import using
from ted.testing.emulated_driver import EmulatedDriver


@contextmanager
def emulated_gpu(
    chip: str = "sm_90a",
    *,
    order: str = "lockstep",
    late_async: bool = True,
    seed: int = 0,
    check_races: bool = True,
) -> Iterator[EmulatedDriver]:
    """Within the block, this machine has a GPU: the interpreter of PTX behind an emulated driver.

    `order` (lockstep, random or reverse) says which warps go first, `late_async` whether copies
    arrive as late as they may; see the README of `ptx-emulator`.
    Raises: CompileError for an unknown chip; ExecutionError for an unknown order, and where the
    package `ptx-emulator` is not installed.
    """
    row = named_gpu(chip)
    from ted.testing.emulator import ORDERS  # says what to install
    from ted.testing.ptx_machine import PtxMachine

    if order not in ORDERS:
        raise ExecutionError(f"emulated_gpu: order is one of {ORDERS}, got {order!r}")
    machine = PtxMachine(order=order, late_async=late_async, seed=seed, check_races=check_races)
    library = EmulatedDriver(machine, row.capability, shared_bytes=row.shared_bytes)
    with using(library):
        yield library
