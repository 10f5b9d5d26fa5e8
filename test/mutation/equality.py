"""Whether mutants change nothing: what ted makes of a fixed corpus, with each of them and without.

    PYTHONPATH=test python -m mutation.equality [--package autodiff ...]

For each line of `equal.txt` the corpus (`mutation/corpus.py`) is enumerated by a ted that is
imported with the mutant, as far as an item executes the mutant's lines, and what comes out, errors
too, is compared with what comes out of ted as it is. The table says how many items execute the
mutant and whether all are equal. A mutant that differs somewhere, is never executed, or is none any
more is no equal one, and the status is 1. The corpus is made for the packages `COVERED`; a line of
another package says itself why nothing changes.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation.campaign import IMPORTED, equal_mutants, forked
from mutation.child import Coverage, MutatedSource
from mutation.operators import Mutant, mutants_of
from mutation.packages import TESTS, sources

SECONDS = 3600.0
COVERED = ("autodiff", "domain", "transforms", "ir", "api", "linalg", "math", "gpu")
Item = tuple[str, int]
Texts = dict[Item, str]  # what comes out of each item, as a digest
Lines = dict[str, list[int]]  # module -> lines that are executed


@dataclass(frozen=True)
class Verdict:
    """Of one mutant: how many items execute it, and which of them give something else."""

    executed: int
    different: tuple[Item, ...]

    @property
    def is_equal(self) -> bool:
        """Whether it was seen, and changed nothing."""
        return self.executed > 0 and not self.different

    def __str__(self) -> str:
        if not self.executed:
            return "not shown"
        if not self.different:
            return "equal"
        first = " ".join(map(str, self.different[0]))
        return f"different in {len(self.different)}, such as {first}"


def verdicts(
    mutants: Sequence[Mutant], items: Collection[Item] = ()
) -> Iterator[tuple[Mutant, Verdict]]:
    """What the corpus, or some of its items, says of each mutant."""
    paths = {m.module: sources(m.module.split(".")[1])[m.module] for m in mutants}
    modules = {str(path): module for module, path in paths.items()}
    wanted, lines = _enumerated(items, None, modules)
    for mutant in mutants:
        span = set(range(mutant.line, mutant.end_line + 1))
        reached = [item for item, ran in lines.items() if span & set(ran.get(mutant.module, ()))]
        finder = MutatedSource(mutant, paths[mutant.module])
        texts = _enumerated(reached, finder, {})[0] if reached else {}
        different = tuple(item for item in reached if texts.get(item) != wanted[item])
        yield mutant, Verdict(len(reached), different)


def _enumerated(
    items: Collection[Item], finder: MutatedSource | None, modules: Mapping[str, str]
) -> tuple[Texts, dict[Item, Lines]]:
    """The texts of items, of all for none, and the lines of the modules that each executes.

    What a child that dies did not come to has no text.
    """
    with tempfile.TemporaryDirectory(prefix="ted-equality-") as folder:
        answer = Path(folder, "answer.jsonl")
        status = forked(lambda: _child(items, finder, modules, answer), SECONDS, None)
        rows = [json.loads(line) for line in answer.read_text().splitlines()]
    if finder is None and status != 0:
        raise SystemExit(f"equality: the corpus comes to its end without a mutant, got {status}")
    found = [((kind, number), text, lines) for (kind, number), text, lines in rows]
    return {item: text for item, text, _ in found}, {item: lines for item, _, lines in found}


def _child(
    items: Collection[Item], finder: MutatedSource | None, modules: Mapping[str, str], answer: Path
) -> int:
    """Import ted, with the mutant if there is one, and write what comes out of each item."""
    if finder is not None:
        assert finder.mutant.module not in sys.modules, "equality: ted is loaded in children only"
        sys.meta_path.insert(0, finder)
    with answer.open("w") as file:
        corpus: Any = importlib.import_module("mutation.corpus")
        for item in items or corpus.items():
            coverage = Coverage(dict(modules))
            if modules:
                coverage.trace()
            text = corpus.text_of(item)
            digest = hashlib.sha256(text.encode()).hexdigest()
            print(json.dumps([item, digest, coverage.lines()]), file=file, flush=True)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; the status says whether a line of `equal.txt` is not shown equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", action="append", choices=list(TESTS))
    packages = parser.parse_args(argv).package or COVERED
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["TED_CACHE_DIR"] = ""  # a mutant must not find what ted derives without it
    for name in IMPORTED:
        importlib.import_module(name)
    every = [m for p in TESTS for name, path in sources(p).items() for m in mutants_of(name, path)]
    known = {m.key: m for m in every if m.key in equal_mutants()}
    chosen = [m for m in known.values() if m.module.split(".")[1] in packages]
    failed = False
    for mutant, verdict in verdicts(chosen):
        place = f"{mutant.module}:{mutant.line}"
        print(f"{mutant.key}  {place:44} {verdict.executed:5}  {verdict}", flush=True)
        failed |= not verdict.is_equal
    for key in equal_mutants():
        if key not in known:
            print(f"{key}  is no mutant any more")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
