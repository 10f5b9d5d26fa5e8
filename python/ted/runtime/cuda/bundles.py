"""Bundles: a program as a folder that runs where there is only Python, numpy and the driver.

Before: Manifest      After: folder/ run.py manifest.json kernels.ptx samples.npz ted_bundle/

`ted_bundle` holds the modules of this package and what they import, with their imports changed to
its name, so that a bundle neither needs an installed ted nor meets one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ted.codegen.manifest import Manifest
from ted.codegen.manifest_json import dumps
from ted.errors import ExecutionError

PACKAGE = "ted_bundle"
# What goes along: these files, and every module of this package.
_FILES = (
    "errors.py",
    "forking.py",
    "machine.py",
    "codegen/__init__.py",
    "codegen/manifest.py",
    "codegen/manifest_json.py",
    "codegen/manifest_rules.py",
    "runtime/__init__.py",
    "runtime/dlpack.py",
    "runtime/targets.py",
)
_IMPORT = re.compile(r"^(\s*(?:from|import) )ted(?=[. ])", re.MULTILINE)
_RUN = f'''"""Check and time this program; python run.py --help says how."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from {PACKAGE}.runtime.cuda.loading import load, main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(HERE, sys.argv[1:]))
'''

# Inputs, results, and how large the summands of each result are, if that is known.
Sample = tuple[Sequence[Any], Sequence[Any]] | tuple[Sequence[Any], Sequence[Any], np.ndarray]


def save_bundle(
    manifest: Manifest,
    path: str | Path,
    samples: Sequence[Sample] = (),
    tolerance: float | None = None,
) -> Path:
    """Write a bundle with (inputs, expected results) to compare with; the folder.

    Results are compared within `tolerance`, else one of their types, times the largest expected
    number or the size of the summands, which a sample may have as its third.
    Raises: ExecutionError when a sample does not fit, or the folder holds something else.
    """
    arrays: dict[str, np.ndarray] = {}
    for k, sample in enumerate(samples):
        arrays.update(_named(manifest, k, sample))
    try:
        return _write(Path(path), manifest, arrays, tolerance)
    except OSError as error:
        raise ExecutionError(
            f"{manifest.name}: save: a folder that can be written, got {path}: {error.strerror}"
        ) from None


def _write(
    folder: Path, manifest: Manifest, arrays: Mapping[str, np.ndarray], tolerance: float | None
) -> Path:
    if folder.exists() and any(folder.iterdir()) and not (folder / "manifest.json").exists():
        raise ExecutionError(f"{manifest.name}: save: {folder} exists and is no bundle")
    (folder / PACKAGE).mkdir(parents=True, exist_ok=True)
    about = {"tolerance": tolerance, "manifest": json.loads(dumps(replace(manifest, ptx="")))}
    (folder / "manifest.json").write_text(json.dumps(about))
    (folder / "kernels.ptx").write_text(manifest.ptx)
    (folder / "run.py").write_text(_RUN)
    np.savez(folder / "samples.npz", **arrays)  # pyright: ignore[reportArgumentType]
    _write_package(folder / PACKAGE)
    return folder


def _named(manifest: Manifest, position: int, sample: Sample) -> dict[str, np.ndarray]:
    sizes = sample[2] if len(sample) == 3 else np.zeros(len(manifest.outputs))
    named = {f"{position}_summands": np.asarray(sizes, "float64")}
    for kind, specs, values in (
        ("input", manifest.inputs, sample[0]),
        ("output", manifest.outputs, sample[1]),
    ):
        if len(values) != len(specs):
            raise ExecutionError(
                f"{manifest.name}: save: a sample has {len(specs)} {kind}s, got {len(values)}"
            )
        for k, (spec, value) in enumerate(zip(specs, values, strict=True)):
            array = np.asarray(value)
            if array.shape != spec.shape:
                raise ExecutionError(
                    f"{manifest.name}: save: {kind} {spec.name!r} has shape {spec.shape}, "
                    f"got {array.shape}"
                )
            named[f"{position}_{kind}_{k}"] = _stored(array, spec.dtype)
    return named


def _stored(array: np.ndarray, element_type: str) -> np.ndarray:
    """The array as numpy's own files hold it: bfloat16 by its bits."""
    if element_type != "bfloat16":
        return np.asarray(array, np.dtype(element_type))
    if array.dtype.itemsize != 2:
        raise ExecutionError(f"save: expected bfloat16, got {array.dtype}")
    return array.view(np.uint16)


def _write_package(target: Path) -> None:
    here = Path(__file__).resolve().parent
    root = here.parents[1]
    sources = [root / name for name in _FILES] + sorted(here.glob("*.py"))
    for source in sources:
        place = target / source.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_IMPORT.sub(rf"\1{PACKAGE}", source.read_text()))
    (target / "__init__.py").write_text('"""The part of ted that runs a saved program."""\n')
