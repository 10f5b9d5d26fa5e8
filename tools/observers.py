"""What ted-opt shows about each pass: the IR around it, and the time it took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ted.mlir import ir

Printer = Callable[["ir.Module"], str]


@dataclass
class IRPrinter:
    """Print the module before and after passes, to a stream."""

    stream: TextIO
    printer: Printer
    before_all: bool = False
    after_all: bool = False
    before_names: frozenset[str] = frozenset()
    after_names: frozenset[str] = frozenset()
    after_change: bool = False
    after_failure: bool = False
    _last: str = ""

    @property
    def is_needed(self) -> bool:
        """Whether anything was asked for."""
        wanted = (self.before_all, self.after_all, self.before_names, self.after_names)
        return any((*wanted, self.after_change, self.after_failure))

    def before(self, name: str, module: ir.Module) -> None:
        """Print the input of a pass if that was asked for."""
        if self.after_change:
            self._last = self.printer(module)
        if self.before_all or name in self.before_names:
            self._dump("Before", name, self.printer(module))

    def after(self, name: str, module: ir.Module) -> None:
        """Print the output of a pass if that was asked for."""
        if not (self.after_all or name in self.after_names or self.after_change):
            return
        text = self.printer(module)
        if self.after_change and text == self._last and name not in self.after_names:
            return
        self._dump("After", name, text)

    def failed(self, name: str, module: ir.Module) -> None:
        """Print what a failing pass left."""
        if self.after_all or self.after_failure:
            self._dump("After", f"{name} Failed", self.printer(module))

    def _dump(self, when: str, name: str, text: str) -> None:
        print(f"// -----// IR Dump {when} {name} //----- //\n{text}", file=self.stream)


@dataclass
class Timer:
    """Wall time of each pass, printed as a table at the end."""

    rows: list[tuple[str, float]] = field(default_factory=list)
    _started: float = 0.0

    def before(self, name: str, module: ir.Module) -> None:
        """Start the clock."""
        self._started = time.perf_counter()

    def after(self, name: str, module: ir.Module) -> None:
        """Stop the clock."""
        self.add(name, time.perf_counter() - self._started)

    def failed(self, name: str, module: ir.Module) -> None:
        """Count the failing pass too."""
        self.after(name, module)

    def add(self, name: str, seconds: float) -> None:
        """Add a row, also for what is no pass."""
        self.rows.append((name, seconds))

    def print(self, stream: TextIO) -> None:
        """Print the table in MLIR's form."""
        total = sum(seconds for _, seconds in self.rows)
        rule = "===" + "-" * 73 + "==="
        print(f"{rule}\n{'... Execution time report ...':^79}\n{rule}", file=stream)
        print(f"  Total Execution Time: {total:.4f} seconds\n", file=stream)
        print("  ----Wall Time----  ----Name----", file=stream)
        for name, seconds in [*self.rows, ("Total", total)]:
            share = 100 * seconds / total if total else 0.0
            print(f"  {seconds:8.4f} ({share:5.1f}%)  {name}", file=stream)
