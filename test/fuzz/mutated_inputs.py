"""Damaged inputs of the tools, of bundles and of the cache: one command, resumable by seed.

    python test/fuzz/mutated_inputs.py [--first 0] [--count 10000] [--kind opt] [--keep FOLDER]

Every seed takes a kind of input, damages one that is right (`mutations.py`), and gives it to what
reads it in a child with limits (`isolation.py`). A message and an exit code are right, whatever
they say; a fault is a signal, a hang, a traceback, an internal error, IR that a pass left invalid,
or an entry of the cache that gives what was not stored. A fault prints its seed and what was said;
`--first SEED --count 1 --keep FOLDER` repeats it and keeps its files. The last line is a summary,
and the exit status says whether there were faults.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import random
import re
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

import ted
from fuzz.isolation import Outcome, isolated
from fuzz.mutations import damaged_bytes, damaged_text, tokens
from ted.codegen import disk_cache
from ted.dialects import make_context
from ted.ir.passes import available
from ted.mlir import ir
from ted.tools import ted_check, ted_opt, ted_run

TESTS = Path(__file__).resolve().parents[1]
Call = Callable[[], int]

# ------------------------------------------------------------------ the corpus


@dataclass(frozen=True)
class Piece:
    """A module of a test, and the flags that the test gives to ted-opt."""

    text: str
    flags: tuple[str, ...]


@cache
def pieces() -> tuple[Piece, ...]:
    """Every piece of every IR test."""
    found: list[Piece] = []
    for path in sorted(TESTS.rglob("*.mlir")):
        source = path.read_text(encoding="utf-8")
        flags = next(iter(_flags(source)), ())
        texts = source.split("// -----\n") if "--split-input-file" in source else [source]
        found += [Piece(_code(text), flags) for text in texts if "func" in text]
    return tuple(found)


def _code(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


_RUN = re.compile(r"^// RUN: (?:not )?ted-opt (.*?)(?: \d?[|<>].*)?$", re.MULTILINE)


def _flags(source: str) -> Iterator[tuple[str, ...]]:
    for found in _RUN.finditer(source):
        words = shlex.split(found[1].replace("--split-input-file", ""))
        flags = tuple(word for word in words if word.startswith("--") and "verify" not in word)
        if flags:
            yield flags


@cache
def modules() -> tuple[str, ...]:
    """The pieces that parse and verify."""
    with make_context():
        return tuple(piece.text for piece in pieces() if _verifies(piece.text))


def _verifies(text: str) -> bool:
    try:
        return bool(ir.Module.parse(text).operation.verify())
    except ir.MLIRError:
        return False


@cache
def corpus_tokens() -> tuple[str, ...]:
    """The tokens of all pieces, once each."""
    found = {token for piece in pieces() for token in tokens(piece.text)}
    return tuple(sorted(token for token in found if not token.isspace()))


# ------------------------------------------------------------------ kinds of inputs


def opt(rng: random.Random, folder: Path) -> Call:
    """A damaged module, and passes on it."""
    piece = rng.choice(pieces())
    path = folder / "in.mlir"
    path.write_text(damaged_text(rng, piece.text, corpus_tokens()), encoding="utf-8")
    return _opt(path, _passes(rng, piece))


def _passes(rng: random.Random, piece: Piece) -> list[str]:
    own = [name for name, _ in available()]
    choice = rng.random()
    if choice < 0.4:
        return list(piece.flags)
    if choice < 0.7:
        return [f"--{rng.choice(own)}"]
    if choice < 0.9:
        pipeline = rng.choice(["--ted-cpu-pipeline", "--ted-cpu-pipeline", "--ted-cuda-pipeline"])
        return [*rng.choice([[], ["--ted-check-bounds", "--ted-differentiate"]]), pipeline]
    return [
        rng.choice(["--verify-roundtrip", "--emit-bytecode", "--mlir-print-op-generic", "--cse"])
    ]


def _opt(path: Path, flags: list[str]) -> Call:
    (path.parent / "command").write_text(f"ted-opt {shlex.join([str(path), *flags])}\n")
    return lambda: ted_opt.main([str(path), *flags, "-o", os.devnull])


def bytecode(rng: random.Random, folder: Path) -> Call:
    """Damaged bytecode."""
    piece = rng.choice(pieces())
    whole, path = folder / "whole.mlir", folder / "in.mlirbc"
    whole.write_text(piece.text, encoding="utf-8")

    def make() -> int:
        if ted_opt.main([str(whole), "--emit-bytecode", "-o", str(path)]) == 0:
            path.write_bytes(damaged_bytes(rng, path.read_bytes()))
            return rng.choice((ted_opt, ted_run)).main([str(path), "-o", os.devnull])
        return 1

    return make


def raw(rng: random.Random, folder: Path) -> Call:
    """A module with damaged bytes."""
    piece = rng.choice(pieces())
    path = folder / "in.mlir"
    path.write_bytes(damaged_bytes(rng, piece.text.encode()))
    return _opt(path, [])


RUN = (TESTS / "tools" / "run.mlir").read_text(encoding="utf-8")


def run(rng: random.Random, folder: Path) -> Call:
    """A damaged module for ted-run, with arguments that are drawn."""
    piece = rng.choice([p for p in pieces() if "ted." in p.text])
    path = folder / "in.mlir"
    path.write_text(damaged_text(rng, piece.text, corpus_tokens()), encoding="utf-8")
    flags = [f"--engine={rng.choice(('interpreter', 'cpu', 'both'))}", "--seed", rng.choice("01")]
    flags.append(f"--entry={rng.choice(re.findall(r'func[.]func .*?@([a-z_]+)', piece.text))}")
    (folder / "command").write_text(f"ted-run {path} {shlex.join(flags)}\n")
    return lambda: ted_run.main([str(path), *flags])


def arrays(rng: random.Random, folder: Path) -> Call:
    """A damaged .npy or .npz as argument of ted-run."""
    path = folder / "in.mlir"
    path.write_text(_code(RUN), encoding="utf-8")
    made = rng.choice(
        [
            np.arange(3),
            np.arange(3, dtype=np.int32),
            np.zeros((2, 3)),
            np.array([1, "a", None], object),
        ]
    )
    array = folder / "x.npy"
    if rng.random() < 0.3:
        array = folder / "x.npz"
        np.savez(array, made)
    else:
        np.save(array, made, allow_pickle=True)
    if rng.random() < 0.8:
        array.write_bytes(damaged_bytes(rng, array.read_bytes()))
    output = rng.choice([[], ["-o", str(folder / "out.npz")], ["-o", str(folder / "no" / "out")]])
    return lambda: ted_run.main([str(path), str(array), *output])


def check(rng: random.Random, folder: Path) -> Call:
    """A damaged file for ted-check."""
    source = (TESTS / "inputs" / rng.choice(["checked.py", "wrong.py"])).read_text(encoding="utf-8")
    path = folder / "checked_file.py"
    words = [token for token in tokens(source) if not token.isspace()]
    path.write_text(damaged_text(rng, source, words), encoding="utf-8")
    return lambda: ted_check.main([str(path), "--order=1", "--types=float64"])


def bundle(rng: random.Random, folder: Path) -> Call:
    """A bundle with a damaged, missing or strange file, listed and run on a device in Python."""
    from fuzz.bundle_of_kinds import saved

    place = saved(rng, folder)
    victim = rng.choice(
        ["manifest.json", "manifest.json", "manifest.json", "samples.npz", "kernels.ptx"]
    )
    path = place / victim
    if rng.random() < 0.1:
        path.unlink()
    elif victim == "manifest.json" and rng.random() < 0.7:
        path.write_text(damaged_text(rng, path.read_text(), tokens(path.read_text())))
    else:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))

    def call() -> int:
        from ted.runtime.cuda.loading import main
        from unit.runtime.python_machine import device

        listed = main(place, ["--list"])
        with device(memory_bytes=64 << 20):
            return main(place, ["--repeat", "1"]) if listed == 0 else listed

    return call


def cache_entry(rng: random.Random, folder: Path) -> Call:
    """A damaged, moved or strange entry of the cache: it counts as absent, and is written anew."""
    names = [disk_cache.key("mutated", str(k)) for k in range(3)]
    contents = [rng.randbytes(rng.choice((0, 1, 50, 5000))) for _ in names]
    for name, content in zip(names, contents, strict=True):
        disk_cache.store(name, content)
    victim, other = (disk_cache.folder() / name[:2] / name for name in names[:2])
    whole = victim.read_bytes()
    change = rng.randrange(6)
    if change == 0:
        victim.write_bytes(other.read_bytes())
    elif change == 1:
        victim.unlink()
        rng.choice((lambda: victim.symlink_to(other), lambda: os.mkfifo(victim), victim.mkdir))()
    elif change == 2:
        victim.chmod(rng.choice((0o666, 0o622, 0o000, 0o700)))
    else:
        victim.write_bytes(damaged_bytes(rng, whole))

    def call() -> int:
        for name, content in zip(names, contents, strict=True):
            found = disk_cache.load(name)
            assert found in (None, content), f"an entry gave {found!r} for {content!r}"
            disk_cache.store(name, content)
            found = disk_cache.load(name)
            assert found == content or victim.is_dir(), f"a new entry gave {found!r}"
        return 0

    return call


KINDS: dict[str, tuple[int, Callable[[random.Random, Path], Call]]] = {
    "opt": (50, opt), "raw": (3, raw), "bytecode": (5, bytecode), "run": (15, run),
    "arrays": (8, arrays), "check": (4, check), "bundle": (10, bundle),
    "cache": (5, cache_entry),
}  # fmt: skip


# ------------------------------------------------------------------ the campaign


@dataclass
class Summary:
    """What a run has seen."""

    inputs: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    faults: dict[int, str] = field(default_factory=dict)
    slowest: tuple[float, int] = (0.0, -1)

    def __str__(self) -> str:
        kinds = ", ".join(
            f"{n} {kind} ({self.accepted[kind]} right)" for kind, n in self.inputs.items()
        )
        faults = ", ".join(f"{n} {what}" for what, n in Counter(self.faults.values()).most_common())
        seconds, seed = self.slowest
        return (
            f"{self.inputs.total()} inputs: {kinds}; {len(self.faults)} faults"
            f"{f' ({faults})' if faults else ''}; slowest {seconds:.1f} s (seed {seed})"
        )


def preload() -> None:
    """Import once what every child would import again."""
    for module in pkgutil.walk_packages(ted.__path__, "ted."):
        if module.name not in (
            "ted.libted_runtime",
            "ted.codegen.llvm.worker",
        ):  # no modules of ours
            importlib.import_module(module.name)


def run_seed(seed: int, kind: str | None, folder: Path) -> tuple[str, Outcome]:
    """One damaged input, and how it ended."""
    rng = random.Random(seed)
    names = [*KINDS]
    kind = kind or rng.choices(names, [KINDS[n][0] for n in names])[0]
    return kind, isolated(KINDS[kind][1](rng, folder), folder)


def campaign(first: int, count: int, kind: str | None = None, keep: Path | None = None) -> Summary:
    """The inputs of seeds from `first` on."""
    summary = Summary()
    preload()
    for seed in range(first, first + count):
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="ted-mutated-") as temporary:
            folder = keep or Path(temporary)
            os.environ["TED_CACHE_DIR"] = str(folder / "cache")
            folder.mkdir(parents=True, exist_ok=True)
            taken, outcome = run_seed(seed, kind, folder)
        summary.inputs[taken] += 1
        summary.accepted[taken] += outcome.code == 0
        summary.slowest = max(summary.slowest, (time.monotonic() - start, seed))
        if outcome.fault:
            summary.faults[seed] = outcome.fault
            print(
                f"seed {seed} ({taken}): {outcome.fault}\n{outcome.text[-1500:]}\n----", flush=True
            )
        if keep is not None:
            print(outcome)
        if summary.inputs.total() % 100 == 0:
            print(f"up to seed {seed}: {summary}", flush=True)
    return summary


def main() -> int:
    """Run the seeds that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=10_000, help="how many seeds")
    parser.add_argument("--kind", choices=[*KINDS], help="inputs of this kind only")
    parser.add_argument("--keep", type=Path, help="keep the files of a seed in this folder")
    options = parser.parse_args()
    summary = campaign(options.first, options.count, options.kind, options.keep)
    print(summary)
    return 1 if summary.faults else 0


if __name__ == "__main__":
    sys.exit(main())
