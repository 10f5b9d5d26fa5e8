"""`mbarrier` objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ted.testing.ptx.machine import Machine


class Mbarriers:
    """The barrier objects of the running blocks."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def wake(self, late: bool) -> bool:
        """Whether somebody can go on now."""
        return False

    def stuck(self) -> None:
        """Raise if somebody waits for ever."""
