"""Deliberate faults, and whether the tests beside them notice: the mutation score.

    PYTHONPATH=test python -m mutation.campaign [--package autodiff ...] [--each 70] [--seed TEXT]

Every package gets the same number of mutants, drawn by a seed from all that the operators
make. First all fast tests of the package run once, to know how long each takes and which lines it
executes. Then each mutant is tried in a fork of a process in which the tests are collected: of
those that execute its line those of the module's own file run first, then the others, the shortest
first, until one fails or `BUDGET` is spent. Of what runs at import all tests are tried. A test that
takes too long counts as one that fails.

A mutant that changes nothing a user can see is a line of `equal.txt`, with the reason. What was
found is in `--state`, so the command goes on where it was stopped; mutants that survived are tried
again when tests have changed. The last lines are the score and the survivors.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import itertools
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from mutation.child import Chosen, Coverage, MutatedSource, Server, run_tests
from mutation.operators import Mutant
from mutation.packages import EACH, ROOT, SEED, TESTS, drawn, sources, test_files
from mutation.swapping import Exchange, NotPossible, exchanges

EQUAL = Path(__file__).with_name("equal.txt")
SLOWEST = 10.0  # seconds of the CPU that a mutant may take in addition to five times its tests'
ASLEEP = 20  # so much longer it may wait, for other processes or for ever
BUDGET = 40.0  # seconds of tests for a mutant, as they were measured while their lines were noted
OUTCOMES = {0: "survived", None: "timeout", -signal.SIGXCPU: "timeout", -signal.SIGKILL: "timeout"}
IMPORTED = ("numpy", "ml_dtypes", "islpy", "llvmlite.binding", "filecheck.main", "pytest", "torch",
            "torch_mlir.dialects.ext", "torch_mlir.ir", "torch_mlir.passmanager")  # fmt: skip


@dataclass
class Tests:
    """What is known of the tests of a package."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, set[int]]] = field(default_factory=dict)  # test, module, lines

    def of(self, mutant: Mutant, kills: Mapping[str, int]) -> list[str]:
        """The tests that execute the mutant's lines, those first that are likely to notice."""
        span = set(range(mutant.line, mutant.end_line + 1))
        found = [t for t, lines in self.lines.items() if span & lines.get(mutant.module, set())]
        if mutant.runs_at_import:  # the first test that imports a table is not all that read it
            found = list(self.lines)
        elif not found:  # such as the default of an argument, which all calls read
            found = [t for t, lines in self.lines.items() if mutant.module in lines]
        own = f"test_{mutant.module.rpartition('.')[2]}.py"
        found.sort(key=lambda t: (own not in t, mutant.module not in self.lines[t],
                                  -kills.get(t, 0), self.seconds[t]))  # fmt: skip
        spent = list(itertools.accumulate(self.seconds[t] for t in found))
        return [t for t, end in zip(found, spent, strict=True) if end < BUDGET]


class State:
    """What was found, in files of one folder."""

    def __init__(self, folder: Path, package: str) -> None:
        self.folder, self.package = folder / package, package
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results: dict[str, dict[str, Any]] = {}
        self.load()

    def load(self) -> None:
        """Read what was found by this process and others."""
        path = self.folder / "results.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            row = json.loads(line)
            self.results[row["key"]] = row

    def add(self, row: dict[str, Any]) -> None:
        """Keep one result."""
        self.results[row["key"]] = row
        with (self.folder / "results.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    def tests(self) -> Tests:
        """The tests of the package; those of a file are run anew when it or a module changed."""
        path = self.folder / "tests.json"
        old = json.loads(path.read_text()) if path.exists() else {}
        new = {}
        modules = sources(self.package).values()  # other lines than those that were noted
        for file in test_files(self.package):
            name, digest = str(file.relative_to(ROOT)), _digest(file, *modules)
            known = old.get(name, {})
            new[name] = known if known.get("digest") == digest else _run_once(self, name, digest)
            path.write_text(json.dumps({**old, **new}))
        path.write_text(json.dumps(new))
        found = Tests()
        for file_row in new.values():
            for test, row in file_row["tests"].items():
                found.seconds[test] = row["seconds"]
                found.lines[test] = {m: set(lines) for m, lines in row["lines"].items()}
        return found


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _run_once(state: State, name: str, digest: str) -> dict[str, Any]:
    """All tests of one file, which must pass, with the lines that they execute."""
    answer = state.folder / "answer.json"
    answer.unlink(missing_ok=True)
    modules = {str(path): module for module, path in sources(state.package).items()}

    def work() -> int:
        coverage = Coverage(modules)
        status = run_tests([name], coverage, Chosen([]), stop=False)
        answer.write_text(json.dumps(coverage.found))
        return status

    print(f"{state.package}: {name}", flush=True)
    status = forked(work, 900.0, state.folder / "output.txt")
    if status not in (0, 5):
        raise SystemExit(f"{name}: tests pass without a mutant, got status {status}")
    return {"digest": digest, "tests": json.loads(answer.read_text())}


def forked(work: Callable[[], int], limit: float, output: Path | None) -> int | None:
    """The status of `work` in a child, negative after a signal; None if it took too long."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        status = 70
        try:
            if output:
                with output.open("wb") as file:
                    for stream in (1, 2):
                        os.dup2(file.fileno(), stream)
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


class Judge:
    """Tries mutants of one package."""

    def __init__(self, state: State) -> None:
        self.state, self.tests = state, state.tests()
        self.paths = sources(state.package)
        self.late: list[Mutant] = []  # those for which ted has to be imported anew

    def all(self, mutants: Sequence[Mutant]) -> None:
        """Try every mutant: in a server as long as that is possible, then the others."""
        late = self.state.folder / "late.json"

        def work() -> int:
            coverage = Coverage({str(path): module for module, path in self.paths.items()})
            ran = coverage.trace()
            server = Server(lambda server: self.in_server(server, mutants, ran))
            files = [str(path.relative_to(ROOT)) for path in test_files(self.state.package)]
            status = run_tests(files, server, Chosen([]), stop=False)
            late.write_text(json.dumps([m.key for m in self.late]))
            return status

        status = forked(work, 1e9, None)
        if status not in (0, 5):
            raise SystemExit(f"{self.state.package}: tests can be collected, got status {status}")
        self.state.load()
        keys = set(json.loads(late.read_text()))
        for mutant in mutants:
            if mutant.key in keys:
                self.one(mutant, lambda order, m=mutant: self.in_import(m, order))

    def in_server(self, server: Server, mutants: Sequence[Mutant], ran: Set[CodeType]) -> None:
        """Try the mutants that are changes of functions which have not run yet."""
        for module in self.paths:
            importlib.import_module(module)
        sys.settrace(None)
        for mutant in mutants:
            try:
                found = exchanges(mutant, self.paths[mutant.module], ran)
            except NotPossible:
                self.late.append(mutant)
                continue

            def attempt(order: Sequence[str], found: Sequence[Exchange] = found) -> str:
                for function, code in found:
                    function.__code__ = code
                return server.run(order)

            self.one(mutant, attempt)

    def in_import(self, mutant: Mutant, order: Sequence[str]) -> str:
        """Try a mutant by importing ted with it."""
        sys.meta_path.insert(0, MutatedSource(mutant, self.paths[mutant.module]))
        files = list(dict.fromkeys(test.partition("::")[0] for test in order))
        chosen = Chosen(order)
        status = run_tests(files, chosen, stop=True)
        return chosen.failed or (f"status {status}" if status else "")

    def one(self, mutant: Mutant, attempt: Callable[[Sequence[str]], str]) -> None:
        """Try one mutant in a child and keep what became of it: killed, timeout or survived."""
        state = self.state
        kills = Counter(r["by"] for r in state.results.values() if r["module"] == mutant.module)
        order = self.tests.of(mutant, kills)
        answer = state.folder / "answer.json"
        answer.unlink(missing_ok=True)

        limit = SLOWEST + 5 * sum(self.tests.seconds[t] for t in order)

        def work() -> int:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            by = attempt(order)
            answer.write_text(json.dumps(by))
            return int(bool(by))

        start = time.monotonic()
        status = forked(work, ASLEEP * limit, state.folder / "output.txt") if order else 0
        row = {
            "key": mutant.key, "module": mutant.module, "status": status, "tests": len(order),
            "outcome": OUTCOMES.get(status, "killed"),
            "by": json.loads(answer.read_text()) if answer.exists() else "",
            "of": _fingerprint(order), "seconds": round(time.monotonic() - start, 2),
        }  # fmt: skip
        state.add(row)
        print(f"{row['outcome']:9}{row['seconds']:7.2f} s  {describe(mutant)}", flush=True)


def _fingerprint(order: Sequence[str]) -> str:
    """What the chosen tests are: their files, with what stands there."""
    files = sorted({test.partition("::")[0] for test in order})
    return hashlib.sha256("".join(_digest(ROOT / f) for f in files).encode()).hexdigest()[:12]


def equal_mutants() -> dict[str, str]:
    """Mutants that no test can notice: key -> why."""
    rows = EQUAL.read_text().splitlines()
    return dict(row.split(maxsplit=1) for row in rows if row and not row.startswith("#"))


def run(
    package: str, mutants: Sequence[Mutant], folder: Path, only: Sequence[str]
) -> list[tuple[Mutant, str]]:
    """Judge what is not known yet; returns every mutant with its outcome."""
    state, equal = State(folder, package), equal_mutants()
    judge = Judge(state)
    todo = [
        m
        for m in mutants
        if m.key not in equal
        and (not only or m.key.startswith(tuple(only)))
        and _is_stale(state.results.get(m.key), m, judge.tests, bool(only))
    ]
    if todo:
        judge.all(todo)
    outcomes = {key: row["outcome"] for key, row in state.results.items()}
    outcomes |= dict.fromkeys(equal, "equal")
    return [(m, outcomes.get(m.key, "unknown")) for m in mutants]


def _is_stale(row: dict[str, Any] | None, mutant: Mutant, tests: Tests, always: bool) -> bool:
    if row is None or always:
        return True
    return row["outcome"] == "survived" and row["of"] != _fingerprint(tests.of(mutant, {}))


def describe(mutant: Mutant) -> str:
    """One line: key, place, operator and edit."""
    before, after = (" ".join(text.split()) for text in (mutant.before, mutant.after))
    same = (k for k, (a, b) in enumerate(zip(before, after[1:], strict=False)) if a != b)
    start = max(0, next(same, 0) - 30) if len(before) > 90 else 0
    before, after = before[start : start + 90], after[start : start + 90]
    place = f"{mutant.module}:{mutant.line}"
    return f"{mutant.key} {place} [{mutant.operator}] {before}  ->  {after}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaign; the status says whether any mutant is alive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", action="append", choices=list(TESTS))
    parser.add_argument("--each", type=int, default=EACH, help="mutants of each package")
    parser.add_argument("--seed", default=SEED, help="another one draws other mutants")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--only", nargs="*", default=[], help="keys, or beginnings of keys")
    flags = parser.parse_args(argv)
    folder = flags.state.resolve()
    os.environ.update(OMP_NUM_THREADS="1", HYPOTHESIS_STORAGE_DIRECTORY=str(folder / "hypothesis"))
    for name in IMPORTED:
        importlib.import_module(name)
    outcomes = {}
    for package in flags.package or TESTS:
        mutants = drawn(package, flags.each, flags.seed)
        outcomes[package] = run(package, mutants, folder, flags.only)
    return report(outcomes)


def report(outcomes: Mapping[str, Sequence[tuple[Mutant, str]]]) -> int:
    """Print the score of every package, and who is alive; returns the exit status."""
    alive = [m for rows in outcomes.values() for m, outcome in rows if outcome == "survived"]
    for mutant in alive:
        print(f"alive: {describe(mutant)}")
    total: Counter[str] = Counter()
    for package, rows in outcomes.items():
        counts = Counter(outcome for _, outcome in rows)
        total += counts
        print(f"{package:11}{_score(counts)}")
    print(f"{'all':11}{_score(total)}")
    return int(bool(alive))


def _score(counts: Counter[str]) -> str:
    killed = counts["killed"] + counts["timeout"]
    judged = killed + counts["survived"]
    share = f"{killed / judged:.1%}" if judged else "-"
    return f"{share:>7} of {judged}: {dict(counts)}"


if __name__ == "__main__":
    sys.exit(main())
