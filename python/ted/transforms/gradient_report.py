"""What a program and its gradients cost, equation by equation, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from ted.records import dataclass


@dataclass(frozen=True)
class EquationReport:
    """One `ted.compute`."""

    name: str
    place: str
    form: str  # gather | scatter
    reason: str  # why it scatters, else empty
    parallel: int  # number of parallel dims
    disjoint: bool  # proved: different parallel points write different elements
    combiner: str
    points: int
    operations: int
    exact: bool  # False: the counts of points are upper bounds
    bytes: int  # of the elements that are read or written, each once
    needed: int  # points that write what is read in the end; the others are wasted
    primal: bool  # needed by the results, not only by the gradients
    recurrent: bool = False  # performed step by step, inside a ted.scan

    @property
    def needed_operations(self) -> int:
        """Weighted operations of the points that are needed."""
        return self.operations // self.points * self.needed if self.points else 0

    def __str__(self) -> str:
        form = f"{self.form} ({self.reason})" if self.reason else self.form
        form += ", recurrent" if self.recurrent else ""
        writes = "disjoint" if self.disjoint else "not proved disjoint"
        writes = "sequential" if self.form == "scatter" and not self.parallel else writes
        count = f"{self.operations} operations at {self.points} points"
        count += "" if self.exact else " (bound)"
        count += f", {self.needed} of them needed" if self.needed < self.points else ""
        place = f" ({self.place})" if self.place else ""
        return f"{self.name}: {self.combiner}, {form}, {writes}, {count}, {self.bytes} bytes{place}"


@dataclass(frozen=True)
class GradientReport:
    """A function: its equations in order, sums over them, what was said when it was derived.

    `alone` is the report of the results without gradients, where it is known: with them, results
    may read what gradients store.
    """

    function: str
    equations: tuple[EquationReport, ...]
    remarks: tuple[str, ...] = ()
    alone: GradientReport | None = None

    @property
    def results(self) -> tuple[EquationReport, ...]:
        """What the results need, by themselves where that is known."""
        if self.alone is not None:
            return self.alone.equations
        return tuple(e for e in self.equations if e.primal)

    @property
    def gradients(self) -> tuple[EquationReport, ...]:
        """The equations that only gradients need."""
        return tuple(e for e in self.equations if not e.primal)

    @property
    def total(self) -> int:
        """Weighted operations of all equations."""
        return _operations(self.equations)

    @property
    def primal(self) -> int:
        """Weighted operations of the results."""
        return _operations(self.results)

    @property
    def gradient(self) -> int:
        """Weighted operations that only gradients need."""
        return _operations(self.gradients)

    @property
    def ratio(self) -> float | None:
        """Operations of the gradients alone per operation of the results, if both are known."""
        return self.gradient / self.primal if self.primal else None

    @property
    def needed(self) -> int:
        """Weighted operations at points that write what is read in the end."""
        return sum(e.needed_operations for e in self.equations)

    @property
    def moved(self) -> int:
        """Bytes of the elements that equations read or write."""
        return _bytes(self.equations)

    @property
    def moved_ratio(self) -> float | None:
        """Bytes that the gradients alone move per byte that the results move."""
        moved = _bytes(self.results)
        return _bytes(self.gradients) / moved if moved else None

    @property
    def scatters(self) -> tuple[EquationReport, ...]:
        """The equations in scatter form that only gradients need."""
        return tuple(e for e in self.gradients if e.form == "scatter")

    def json(self) -> str:
        """The report as one JSON object."""
        sums = {
            "total": self.total,
            "primal": self.primal,
            "gradient": self.gradient,
            "ratio": self.ratio,
            "needed": self.needed,
            "moved": self.moved,
            "moved_ratio": self.moved_ratio,
        }
        equations = [asdict(e) for e in self.equations]
        said = {"remarks": list(self.remarks), "equations": equations}
        return json.dumps({"function": self.function, **sums, **said}, indent=2)

    def __str__(self) -> str:
        lines = [f"gradient report of @{self.function}"]
        lines += [f"  {e}" for e in self.equations]
        scatters, own = len(self.scatters), sum(e.form == "scatter" for e in self.results)
        lines.append(
            f"  {len(self.equations)} equations, {scatters} scatter"
            f"{f' and {own} of the results' if own else ''}, {self.total} operations"
        )
        if self.needed < self.total:
            lines.append(f"  needed for what is asked: {self.needed} operations")
        if self.ratio is not None:
            lines.append(f"  gradients / results: {self.ratio:.2f} ({self.primal} operations)")
        if self.moved_ratio is not None:
            bytes_ = _bytes(self.results)
            lines.append(f"  moved, gradients / results: {self.moved_ratio:.2f} ({bytes_} bytes)")
        lines += [f"  remark: {said}" for said in self.remarks]
        return "\n".join(lines)


def _operations(equations: Iterable[EquationReport]) -> int:
    return sum(e.operations for e in equations)


def _bytes(equations: Iterable[EquationReport]) -> int:
    return sum(e.bytes for e in equations)
