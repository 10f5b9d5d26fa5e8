"""Damaged inputs of the tools, of bundles and of the cache.

    make fuzz ORACLE=inputs

Every seed takes a kind of input, damages one that is right (`mutations.py`), and gives it to what
reads it in a child with limits (`isolation.py`). A message and an exit code are right, whatever
they say; a fault is a signal, a hang, a traceback, an internal error, IR that a pass left invalid,
or an entry of the cache that gives what was not stored. The files of a fault are kept.
"""

from __future__ import annotations

import io
import os
import random
import re
import shlex
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

from fuzz.isolation import isolated
from fuzz.mutations import damaged_bytes, damaged_text, tokens
from fuzz.outcomes import Outcome
from fuzz.pieces import TESTS, Piece, code, corpus_tokens, pieces, preload
from ted.codegen import disk_cache
from ted.ir.passes import available
from ted.tools import ted_check, ted_opt, ted_run

Call = Callable[[], int]

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
    path.write_text(code(RUN), encoding="utf-8")
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
    """A bundle with a damaged, missing or strange part, listed and run on a device in Python."""
    from fuzz.bundle_of_kinds import packed

    victim = rng.choice(["program.json"] * 3 + ["samples.npz", "kernels.ptx", ""])
    with zipfile.ZipFile(io.BytesIO(packed(rng))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if victim and rng.random() < 0.1:
        del parts[victim]
    elif victim == "program.json" and rng.random() < 0.7:
        text = parts[victim].decode()
        parts[victim] = damaged_text(rng, text, tokens(text)).encode()
    elif victim:
        parts[victim] = damaged_bytes(rng, parts[victim])
    place = folder / "bundle.ted"
    with zipfile.ZipFile(place, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    if not victim:
        place.write_bytes(damaged_bytes(rng, place.read_bytes()))

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


# ------------------------------------------------------------------ the oracle


def check_damaged(seed: int, kind: str = "") -> Outcome:
    """One damaged input, of the kind if one is said, and how that ended; files of faults stay."""
    rng = random.Random(seed)
    kind = kind or rng.choices([*KINDS], [share for share, _ in KINDS.values()])[0]
    preload()
    folder = Path(tempfile.mkdtemp(prefix="ted-damaged-"))
    with mock.patch.dict(os.environ, TED_CACHE_DIR=str(folder / "cache")):
        end = isolated(KINDS[kind][1](rng, folder), folder)
    if end.fault:
        return Outcome("error", f"{kind}: {end.fault}", f"{end.text[-1500:]}\nfiles in {folder}")
    shutil.rmtree(folder, ignore_errors=True)
    return Outcome("ok", counts={kind: 1, f"{kind} right": int(end.code == 0)})
