"""Arrays that a call fills: those of `out=`, else donated arguments; what messages call them.

CPUs and GPUs share this, so that both name an array as what the caller made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ted.errors import ExecutionError

_NUMBERS = (bool, int, float, complex, np.generic)


class Named(Protocol):
    """An input or a result of a program."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...


class Targets(NamedTuple):
    """For each result of `function` the array to fill, or None; some are donated arguments."""

    function: str
    outputs: Sequence[Named]
    arrays: tuple[Any, ...]
    donated: Mapping[int, Named]

    def what(self, position: int) -> str:
        """How a message about the array of a result begins."""
        return f"{self.function}: {self._name(position)}"

    def _name(self, position: int) -> str:
        if position in self.donated:
            return f"donated argument {self.donated[position].name!r}"
        return f"out={self.outputs[position].name!r}"

    def not_writable(self, position: int, got: str) -> ExecutionError:
        """The error for what cannot be written to."""
        return ExecutionError(f"{self.what(position)}: expected an array to write, got {got}")

    def overlapping(self, first: int, second: int) -> ExecutionError:
        """The error for the arrays of two results that share memory."""
        return ExecutionError(f"{self.what(first)} and {self._name(second)} overlap in memory")

    def read_elsewhere(self, position: int, other: Named) -> ExecutionError:
        """The error for a donated array whose memory another argument has, too."""
        return ExecutionError(
            f"{self.what(position)} and argument {other.name!r} overlap in memory, and the call "
            "would write to both; pass a copy, or donate neither"
        )


def targets_of(
    function: str,
    inputs: Sequence[Named],
    outputs: Sequence[Named],
    donated: Mapping[int, int],
    arrays: Sequence[Any],
    out: Any,
) -> Targets:
    """The arrays of `out=`, one or a sequence; without it the arguments that are donated.

    `donated` gives for results that overwrite an input the position of the input.
    Raises: ExecutionError when `out=` has another number of arrays than there are results.
    """
    if out is not None:
        given = tuple(out) if isinstance(out, list | tuple) else (out,)
        if len(given) != len(outputs):
            raise wrong_count(function, "out= expected", "arrays", outputs, len(given))
        return Targets(function, outputs, given, {})
    taken = {k: n for k, n in donated.items() if not is_number(arrays[n])}
    given = tuple(arrays[taken[k]] if k in taken else None for k in range(len(outputs)))
    return Targets(function, outputs, given, {k: inputs[n] for k, n in taken.items()})


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python or numpy, which nobody can write to."""
    return isinstance(value, _NUMBERS)


def wrong_count(
    function: str, expected: str, kind: str, specs: Sequence[Named], got: int
) -> ExecutionError:
    """The error for another number of arrays than the program has inputs or results."""
    names = ", ".join(spec.name for spec in specs)
    return ExecutionError(f"{function}: {expected} {len(specs)} {kind} ({names}), got {got}")
