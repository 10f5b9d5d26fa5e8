"""Compile the cases for a GPU that need not be here, and save them as files.

    python benchmarks/cuda/prepare.py FOLDER [--chip sm_90a] [--only softmax,matmul_f32]

FOLDER then has a file per case, one at a small size with results of the CPU, and `measure.py`:
copy it to a machine with a GPU, where `python FOLDER/measure.py` needs Python, numpy, the driver.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from cases import CASES, Case

import ted
from ted.errors import TedError


def numbers(tensor: ted.Tensor, random: np.random.Generator, below: int = 1) -> np.ndarray:
    """Numbers of normal distribution, of the tensor's type; indices are less than `below`."""
    if tensor.dtype.name == "int64":
        return random.integers(0, below, tensor.shape)
    dtype = ml_dtypes.bfloat16 if tensor.dtype.name == "bfloat16" else tensor.dtype.name
    return random.standard_normal(tensor.shape).astype(dtype)


def save(case: Case, sizes: Sequence[int], path: Path, target: str, sample: bool) -> str:
    """Compile a case at a size and save it; a line about it."""
    began = time.perf_counter()
    inputs, outputs = case.program(sizes)
    function: Any = ted.compile(inputs, outputs, target=target + case.options, name=case.name)
    seconds = time.perf_counter() - began
    random = np.random.default_rng(0)
    samples = [[numbers(tensor, random, sizes[1]) for tensor in inputs]] if sample else []
    function.save(path, *samples)
    kernels = len(function.manifest.kernels)
    return f"{path.stem:24} {kernels:3} kernels, {seconds:5.2f} s to compile{resources(function)}"


def resources(function: Any) -> str:
    """Registers and spills, where there is an assembler to say them."""
    try:
        found = function.resources().values()
    except TedError:
        return ""
    spills = sum(kernel.spill_stores + kernel.spill_loads for kernel in found)
    return (
        f", at most {max(kernel.registers for kernel in found)} registers, {spills} bytes spilled"
    )


def describe(case: Case) -> dict[str, Any]:
    """What `measure.py` is told about a case."""
    operations = case.operations(*case.large) if case.operations else 0
    return {
        "name": case.name,
        "sizes": case.large,
        "dtype": case.dtype,
        "operations": operations,
        "tf32": "tf32" in case.options,
    }


def prepare(folder: Path, target: str, names: Sequence[str]) -> list[str]:
    """Save the named cases, or all; the names of those that do not compile."""
    folder.mkdir(parents=True, exist_ok=True)
    done, failed = [], []
    for case in CASES:
        if names and case.name not in names:
            continue
        try:
            print(save(case, case.small, folder / f"{case.name}-small.ted", target, sample=True))
            print(save(case, case.large, folder / f"{case.name}.ted", target, sample=False))
        except TedError as error:
            failed.append(case.name)
            print(f"{case.name}: {error}")
        else:
            done.append(describe(case))
    (folder / "cases.json").write_text(json.dumps(done))
    shutil.copy(Path(__file__).with_name("measure.py"), folder)
    return failed


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--only", default="", help="names of cases, with commas")
    given = parser.parse_args()
    names = [name for name in given.only.split(",") if name]
    return 1 if prepare(given.folder, f"cuda:{given.chip}", names) else 0


if __name__ == "__main__":
    raise SystemExit(main())
