"""ted beside its peers: torch eager, torch.compile, JAX, in turn, a fresh process for each row.

    python benchmarks/peers.py [--only conv,lstm] [--group rows] [--threads 1,2] [--quick]
    python benchmarks/peers.py --peers ted,torch,jax --out build/peers.json --resume
    python benchmarks/peers.py --odd 7 | --memory | --report | --write-docs | --png FILE | --list

A row is a workload as a user of each peer writes it, or its gradient from inputs and cotangents.
Results are compared with float64 first; a wrong one is printed and not timed. On one thread a time
is the CPU time of the process, which other load disturbs little, on two the wall clock. The ratio
is taken within a round; a miss has its lower quartile above the bound. Rows are written to `--out`
as they come, `--resume` goes on from there, and `--again` puts new rows in place of old ones.
JAX's users reported the rows of the group `reported` as slow; the version that was timed is in the
header.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from comparison import machine, memory, runs, tables
from comparison.catalogue import workloads
from comparison.kits import PACKAGES
from comparison.workload import Workload
from timing import environment

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "performance.md"


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("--only", default="", help="parts of labels, with commas between them")
    made.add_argument("--group", default="", help="groups, with commas between them")
    made.add_argument("--peers", default="ted,torch,jax,inductor")
    made.add_argument("--threads", default="1", help="1, 2 or 1,2")
    made.add_argument("--rounds", type=int, default=11)
    made.add_argument("--quick", action="store_true", help="few rounds, to see whether all runs")
    made.add_argument("--odd", type=int, metavar="SEED", help="50 more odd cases, drawn by a seed")
    made.add_argument("--out", type=Path, default=ROOT / "build" / "peers.json")
    made.add_argument("--resume", action="store_true", help="keep the rows that are in --out")
    made.add_argument("--again", action="store_true", help="as --resume, but time what is chosen")
    made.add_argument("--report", action="store_true", help="only print what --out says")
    made.add_argument("--write-docs", action="store_true", help=f"and write it to {DOCUMENT.name}")
    made.add_argument("--png", type=Path, help="and draw the ratios")
    made.add_argument("--memory", action="store_true", help="peak memory against torch eager")
    made.add_argument("--list", action="store_true", help="labels")
    return made


def chosen(options: argparse.Namespace) -> list[Workload]:
    """The workloads of the options, those of the table first; `table` is a group, too.

    Raises: SystemExit where there are none.
    """
    groups, parts = options.group.split(","), options.only.split(",")
    known = list(workloads(options.odd))
    some = [
        w
        for w in known
        if (not options.group or w.group in groups or (w.table and "table" in groups))
        and any(p in w.label for p in parts)
    ]
    if not some:
        names = ", ".join(sorted({w.group for w in known}))
        sys.exit(f"peers: groups are table, {names}; --list has the labels")
    return sorted(some, key=lambda w: not w.table)


def asked(options: argparse.Namespace) -> runs.Asked:
    """What is asked of each row."""
    peers = options.peers.split(",")
    oracles = ("torch", "numpy") if "torch" in peers or "jax" in peers else ("numpy",)
    if options.quick:
        return runs.Asked(peers, 3, 0.5, oracles, seed=options.odd)
    return runs.Asked(peers, options.rounds, oracles=oracles, seed=options.odd)


def header(options: argparse.Namespace) -> dict[str, Any]:
    """Versions, machine, and what plain loops do on it."""
    packages = dict.fromkeys(PACKAGES[p] for p in ("ted", "numpy", *options.peers.split(",")))
    about = environment(*packages).removesuffix(", 1 thread").removeprefix("# ")
    threads = map(int, options.threads.split(","))
    return {"environment": about, "peaks": {str(n): machine.measured(n) for n in threads}}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The run, whose rows are printed as they come."""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    kept = options.resume or options.again
    results = runs.Results(options.out, header(options), kept)
    print(f"# {results.header['environment']}", flush=True)
    threads = [int(n) for n in options.threads.split(",")]
    for row in runs.run(chosen(options), threads, asked(options), results, options.again):
        print(tables.line(row), flush=True)
    results.write()
    return results.whole()


def main() -> None:
    """Measure, and print what it comes to."""
    options = parser().parse_args()
    if options.list:
        print(*(f"{w.group:14}{w.label}" for w in chosen(options)), sep="\n")
        return
    if options.memory:
        print(*memory.report(), sep="\n", flush=True)
        return
    run = runs.read(options.out) if options.report else measure(options)
    print("", *tables.summary(run), sep="\n")
    if options.write_docs:
        DOCUMENT.write_text(tables.written(DOCUMENT.read_text(), tables.section(run)))
    if options.png:
        tables.picture(run, options.png)


if __name__ == "__main__":
    sys.exit(main())
