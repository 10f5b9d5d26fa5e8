"""What a PTX program can do wrong, one class of error for each kind of wrong.

All are `PtxError`s: of the text (`InvalidPtx`), of the call (`LaunchError`), and of the program
that runs (`PtxFault`), which says the line of the text.
"""

from __future__ import annotations


class PtxError(Exception):
    """Base class of all errors of this package."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class InvalidPtx(PtxError):
    """Text that cannot be run."""


class LaunchError(PtxError):
    """A launch, an argument or an access of the host's that does not fit."""


class PtxSyntaxError(InvalidPtx):
    """Text that is not PTX, or that names what it does not declare."""


class UnknownInstruction(InvalidPtx):
    """An instruction, modifier, type or operand that the interpreter does not know."""


class PtxFault(PtxError):
    """Base class of what a running program does wrong."""


class OutOfBounds(PtxFault):
    """An access outside every allocation, variable or parameter."""


class Misaligned(PtxFault):
    """An access whose address is not a multiple of its size."""


class UninitialisedRead(PtxFault):
    """A read of bytes that nobody wrote, or that an asynchronous copy has yet to write."""


class SharedRace(PtxFault):
    """Two warps of a block meet in shared memory, one of them writes, no barrier orders them."""


class GlobalRace(PtxFault):
    """Two warps of a block meet in global memory, one of them writes, no barrier orders them."""


class BlockRace(PtxFault):
    """Two blocks of a launch meet in global memory and one of them writes."""


class BarrierFault(PtxFault):
    """A barrier that some of its threads never reach, or reach at different instructions."""


class WarpFault(PtxFault):
    """A shuffle, vote, matrix or other warp-wide instruction that lacks lanes of its warp."""


class MbarrierFault(PtxFault):
    """A barrier object that is not initialised, overwritten, or counts past its limits."""


class EndlessWait(PtxFault):
    """A wait on a barrier object whose phase can no longer complete."""


class BulkCopyFault(PtxFault):
    """A bulk or tensor copy with a bad address, size, stride or tensor map."""


class WarpgroupFault(PtxFault):
    """A warpgroup matrix instruction with a bad descriptor, operand or fence."""


class ProxyFault(PtxFault):
    """An asynchronous reader meets ordinary writes without a proxy fence between them."""


class RunawayLoop(PtxFault):
    """A program that is over its budget of instructions."""


class Trapped(PtxFault):
    """A program that executed `trap`, or called a function that stops the device."""
