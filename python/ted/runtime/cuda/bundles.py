"""Programs for GPUs in files, which run where there is only Python, numpy and the driver.

Before: Manifest      After: the bytes of an archive: kernels.ptx, samples.npz, a program in Python

`python FILE` runs `__main__.py` of an archive. `ted_bundle` in it holds the modules of this package
and what they import, with their imports changed to its name, so that it neither needs an installed
ted nor meets one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ted.codegen.manifest import Manifest
from ted.codegen.manifest_json import dumps
from ted.errors import ExecutionError
from ted.runtime import archives
from ted.runtime.cuda.loading import KERNELS, SAMPLES

PACKAGE = "ted_bundle"
# What goes along: these files, and every module of this package.
_FILES = (
    "errors.py",
    "forking.py",
    "machine.py",
    "records.py",
    "codegen/__init__.py",
    "codegen/manifest.py",
    "codegen/manifest_json.py",
    "codegen/manifest_rules.py",
    "runtime/__init__.py",
    "runtime/archives.py",
    "runtime/dlpack.py",
    "runtime/targets.py",
)
_IMPORT = re.compile(r"^(\s*(?:from|import) )ted(?=[. ])", re.MULTILINE)
_RUN = f'''"""Check and time this program; python FILE --help says how."""

import os
import sys

from {PACKAGE}.runtime.cuda.loading import main

sys.exit(main(os.path.dirname(__file__), sys.argv[1:]))
'''

# Inputs, results, and how large the summands of each result are, if that is known.
Sample = tuple[Sequence[Any], Sequence[Any]] | tuple[Sequence[Any], Sequence[Any], np.ndarray]


def pack_bundle(
    manifest: Manifest,
    samples: Sequence[Sample] = (),
    tolerance: float | None = None,
    single: bool = False,
) -> bytes:
    """The contents of a file, with (inputs, expected results) to compare with.

    Results are compared within `tolerance`, else one of their types, times the largest expected
    number or the size of the summands, which a sample may have as its third. `single`: whether a
    call gives one array, not a tuple.
    Raises: ExecutionError when a sample does not fit.
    """
    arrays: dict[str, np.ndarray] = {}
    for k, sample in enumerate(samples):
        arrays.update(_named(manifest, k, sample))
    said = {
        "target": f"cuda:{manifest.target}", "single": single, "tolerance": tolerance,
        "manifest": json.loads(dumps(replace(manifest, ptx=""))),
    }  # fmt: skip
    return archives.pack(
        said,
        {
            KERNELS: manifest.ptx.encode(),
            SAMPLES: archives.pack_arrays(arrays),
            "__main__.py": _RUN.encode(),
            **_package(),
        },
    )


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


@cache
def _package() -> dict[str, bytes]:
    here = Path(__file__).resolve().parent
    root = here.parents[1]
    sources = [root / name for name in _FILES] + sorted(here.glob("*.py"))
    parts = {f"{PACKAGE}/__init__.py": b'"""The part of ted that runs a saved program."""\n'}
    for source in sources:
        text = _IMPORT.sub(rf"\1{PACKAGE}", source.read_text())
        parts[f"{PACKAGE}/{source.relative_to(root).as_posix()}"] = text.encode()
    return parts
