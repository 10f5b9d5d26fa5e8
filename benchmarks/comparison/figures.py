"""The numbers of a run: ratios to the best peer, means, entries above a bound, shares, gains."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = Sequence[Mapping[str, Any]]
OURS = "ted"
NOT_PEERS = (OURS, "ted on one", "plain", "plain on one")
FAMILIES = ("gradients", "memory forward", "compute forward")
SMALL = 20e-6  # seconds of a call that is small work
FEWEST = 5  # rounds of an entry that counts as a miss
# What counts as a miss: the lower quartile of the ratio above this.
BOUNDS = {"table": 1.1, "odd": 1.5, "half": 1.2, "others": 1.1}


def lower_quartile(values: Iterable[float]) -> float:
    """The value at a quarter of the sorted ones."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 4]


def geometric_mean(values: Sequence[float]) -> float:
    """Not a number of none."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


@dataclass(frozen=True)
class Entry:
    """A row that was timed: seconds of each contender by round, ted over the best peer by round."""

    row: Mapping[str, Any]
    times: Mapping[str, Sequence[float]]
    best: str
    ratios: Sequence[float]

    @property
    def label(self) -> str:
        """The row's."""
        return str(self.row["label"])

    @property
    def ratio(self) -> float:
        """The median."""
        return statistics.median(self.ratios)

    @property
    def low(self) -> float:
        """The lower quartile: above a bound, ted is slower beyond the noise."""
        return lower_quartile(self.ratios)

    @property
    def kind(self) -> str:
        """Which bound it is held against."""
        if self.row["table"]:
            return "table"
        group = self.row["group"]
        return group if group in ("odd", "half") else "others"

    @property
    def missed(self) -> bool:
        """Whether it is beyond its bound."""
        return len(self.ratios) >= FEWEST and self.low > BOUNDS[self.kind]

    @property
    def lost(self) -> float:
        """Seconds of a call that ted takes longer than the best peer."""
        return self.seconds(OURS) - self.seconds(self.best)

    def seconds(self, who: str) -> float:
        """The median of a contender."""
        return statistics.median(self.times[who])


def times_of(row: Mapping[str, Any]) -> dict[str, Sequence[float]]:
    """Seconds by round: CPU time of the process on one thread, by the wall clock on more."""
    clock = "cpus" if row["threads"] == 1 else "walls"
    return {who: told[clock] for who, told in row.get("peers", {}).items() if told.get(clock)}


def entry(row: Mapping[str, Any]) -> Entry | None:
    """The row's ratios, if ted and a peer were timed."""
    times = times_of(row)
    peers = [who for who in times if who not in NOT_PEERS]
    if "error" in row or OURS not in times or not peers:
        return None
    best = min(peers, key=lambda who: statistics.median(times[who]))
    ratios = [a / b for a, b in zip(times[OURS], times[best], strict=False)]
    return Entry(row, times, best, ratios)


def entries(rows: Rows, threads: int) -> list[Entry]:
    """Those of so many threads."""
    found = (entry(row) for row in rows if row["threads"] == threads)
    return [one for one in found if one]


def faults(rows: Rows) -> Iterator[str]:
    """A line for each row or contender that failed or was wrong."""
    for row in rows:
        where = f"{row['label']}, {row['threads']} threads"
        if "error" in row:
            yield f"{where}: {row['error']}"
        for who, told in row.get("peers", {}).items():
            if told.get("wrong"):
                yield f"{where}: {who} is WRONG: {told['wrong']}"
            if told.get("error"):
                yield f"{where}: {who}: {told['error']}"


def means(found: Sequence[Entry]) -> dict[str, tuple[float, int]]:
    """The geometric mean of each family, and of how many entries."""
    made = {}
    for family in FAMILIES:
        ratios = [e.ratio for e in found if e.row["family"] == family]
        made[family] = (geometric_mean(ratios), len(ratios))
    return made


def misses(found: Sequence[Entry], kind: str) -> list[Entry]:
    """The entries of a kind beyond its bound, the most lost first."""
    return sorted((e for e in found if e.kind == kind and e.missed), key=lambda e: -e.low)


def small(found: Sequence[Entry]) -> list[Entry]:
    """Work of 20 us and less by the best peer or by ted, the most lost first."""
    some = [e for e in found if min(e.seconds(OURS), e.seconds(e.best)) <= SMALL]
    return sorted(some, key=lambda e: -e.ratio)


def share(one: Entry, who: str, peaks: Mapping[str, Any]) -> float:
    """The part of the peak, or of the rate of a copy of about as many bytes, that who reaches."""
    peak = peaks[str(one.row["threads"])]
    if one.row["bound"] == "compute" and one.row["flops"]:
        most = peak["flops"]["float64" if one.row["dtype"] == "float64" else "float32"]
        return one.row["flops"] / one.seconds(who) / most
    near = min(peak["copy"], key=lambda size: abs(math.log(int(size) / one.row["bytes"])))
    return one.row["bytes"] / one.seconds(who) / peak["copy"][near]


@dataclass(frozen=True)
class Gain:
    """What a second thread gains: ted, and the plain loop beside it."""

    label: str
    ours: float
    plain: float


def gains(rows: Rows) -> list[Gain]:
    """For each row on two threads."""
    made = []
    for row in rows:
        times = times_of(row)
        if row["threads"] == 2 and "plain" in times and "ted on one" in times:
            ours = _gain(times["ted on one"], times[OURS])
            made.append(Gain(row["label"], ours, _gain(times["plain on one"], times["plain"])))
    return made


def _gain(one: Sequence[float], two: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(one, two, strict=False))
