"""Random programs against oracles that share no code with ted: one command, resumable by seed.

    make fuzz [ORACLE=torch] [FIRST=0] [COUNT=2000]
    PYTHONPATH=test python test/fuzz/campaign.py [--oracle torch] [--first 0] [--count 2000] ...

Every seed is checked in a child process with limits on time and memory, so a death or a hang is a
finding and the campaign goes on. A failing program is made small, and a Python program that shows
the failure is printed and kept in the folder. The oracles are listed in `fuzz/oracles.py`.
A program against torch takes about 0.3 s of computing, seven tenths of it compilation by ted.

`FIRST=SEED COUNT=1` repeats a failure. The last line is a summary, and the exit status says
whether something failed. Any share of seeds can be run by itself.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.children import Child
from fuzz.oracles import ORACLES, Oracle, answer
from fuzz.outcomes import Outcome

EXAMPLES = 2  # of a class of failures are shrunk; later ones are counted
SHRINK_SECONDS = 150.0


@dataclass
class Summary:
    """What a run has seen."""

    kinds: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    values: dict[str, dict[int, float]] = field(default_factory=dict)  # of each seed
    failures: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    slowest: tuple[float, int] = (0.0, -1)
    seconds: float = 0.0

    @property
    def failed(self) -> list[int]:
        """The seeds that failed."""
        return sorted(seed for seeds in self.failures.values() for seed in seeds)

    def add(self, seed: int, outcome: Outcome) -> None:
        """Take one more into account."""
        self.kinds[outcome.kind] += 1
        self.counts.update(outcome.counts)
        for what, value in outcome.values.items():
            self.values.setdefault(what, {})[seed] = value
        self.seconds += outcome.seconds
        self.slowest = max(self.slowest, (outcome.seconds, seed))
        if outcome.failed:
            self.failures.setdefault(outcome.failure, []).append(seed)

    def __str__(self) -> str:
        total = sum(self.kinds.values())
        parts = [f"{total} programs", f"{len(self.failed)} failed{self.failed or ''}"]
        parts += [f"{n} {what}" for what, n in sorted((self.kinds + self.counts).items())]
        parts += [_spread(*row) for row in sorted(self.values.items())]
        parts += [f"{self.seconds / max(total, 1):.2f} s of computing each"]
        parts += [f"slowest {self.slowest[0]:.1f} s (seed {self.slowest[1]})"]
        return ", ".join(parts)


def _spread(what: str, values: dict[int, float]) -> str:
    worst = max(values, key=lambda seed: values[seed])
    median = statistics.median(values.values())
    return f"{len(values)} {what} median {median:.2f} worst {values[worst]:.2f} (seed {worst})"


def run(
    oracle: str, first: int, count: int, into: Path | None = None, ask: Callable[..., Any] = answer
) -> Summary:
    """Check the seeds from `first` on."""
    summary, row = Summary(), ORACLES[oracle]
    child = Child(ask, row.seconds)
    try:
        for seed in range(first, first + count):
            outcome = child.ask((oracle, seed, True))
            summary.add(seed, outcome)
            if outcome.failed:
                show(child, oracle, seed, outcome, summary, into)
            if (seed - first + 1) % 50 == 0:
                print(f"up to seed {seed}: {summary}", flush=True)
    finally:
        child.stop()
    for (kind, label), seeds in summary.failures.items():
        print(f"{kind}: {label}: {len(seeds)} times, seeds {seeds[:20]}")
    return summary


def show(
    child: Child, oracle: str, seed: int, outcome: Outcome, summary: Summary, into: Path | None
) -> None:
    """Print a failure, small if it is one of the first of its class."""
    print(f"seed {seed}: {outcome.kind}: {outcome.label}\n{outcome.detail}", flush=True)
    if len(summary.failures[outcome.failure]) > EXAMPLES or ORACLES[oracle].draw(seed) == seed:
        return
    text = example(child, oracle, seed, outcome)
    print(text, flush=True)
    if into is not None:
        into.mkdir(parents=True, exist_ok=True)
        (into / f"{oracle}_{seed}.py").write_text(text)


def example(child: Child, oracle: str, seed: int, outcome: Outcome) -> str:
    """A small program that fails in the same way."""
    from fuzz.scripts import script
    from fuzz.shrinking import shrunk

    row: Oracle = ORACLES[oracle]
    again = lambda case: child.ask((oracle, case, False), row.seconds)  # noqa: E731
    case = shrunk(row.draw(seed), outcome, again, SHRINK_SECONDS)
    return f"# make fuzz ORACLE={oracle} FIRST={seed} COUNT=1\n" + script(
        case, f"{outcome.kind}: {outcome.label}"
    )


def main() -> int:
    """Run the seeds that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--oracle", default="torch", choices=sorted(ORACLES), help="who decides")
    hidden = {"help": argparse.SUPPRESS, "default": argparse.SUPPRESS}
    parser.add_argument("--judge", dest="oracle", choices=sorted(ORACLES), **hidden)  # its old name
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many seeds")
    parser.add_argument("--into", type=Path, help="a folder for programs that fail")
    options = parser.parse_args()
    summary = run(options.oracle, options.first, options.count, options.into)
    print(summary)
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
