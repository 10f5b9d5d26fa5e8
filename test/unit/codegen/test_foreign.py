"""Code for every row of CPUs, of another architecture too: made on every machine."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ted
from support.emulated_cpu import can_emulate, missing
from ted.api.host import executable_cpus, is_foreign
from ted.errors import ExecutionError
from ted.machine import CPUS, Cpu

A = np.ones((48, 64), np.float32)
B = np.ones((64, 80), np.float32)
# The multiply-add of whole registers, and what only wider ones have.
FUSED = {
    "avx512_amx": (r"vfmadd\w*ps .*%zmm", "no wider"),
    "avx512_bf16": (r"vfmadd\w*ps .*%zmm", "no wider"),
    "avx512": (r"vfmadd\w*ps .*%zmm", "no wider"),
    "avx2": (r"vfmadd\w*ps .*%ymm", "%zmm"),
    "sse2": (r"mulps .*%xmm", "%ymm"),
    "neon": (r"fmla\s+v\d+\.4s", r"\bz\d+\.s"),
}
ROWS = [pytest.param(row, id=row.name) for row in CPUS.values()]
FOREIGN = [pytest.param(row, id=row.name) for row in filter(is_foreign, CPUS.values())]


def product(row: Cpu) -> ted.Function:
    return ted.function(lambda x, w: ted.tanh(x @ w), f"cpu:{row.name}")


@pytest.mark.parametrize("row", ROWS)
def test_code_of_every_row_works_on_its_whole_registers(row: Cpu) -> None:
    assembly = product(row).compiled(A, B).ir("asm")
    here, wider = FUSED[row.name]
    assert re.search(here, assembly)
    assert not re.search(wider, assembly)


@pytest.mark.parametrize("row", FOREIGN)
def test_code_of_another_architecture_is_looked_at_and_not_run(row: Cpu) -> None:
    function = product(row)
    found = function.compiled(A, B)
    assert found.memory().peak_bytes == A.shape[0] * B.shape[1] * 4
    with pytest.raises(
        ExecutionError, match=rf"'cpu:{row.name}' needs a CPU with {row.features[0]}"
    ):
        function(A, B)


@pytest.mark.parametrize("row", FOREIGN)
def test_a_checked_index_and_its_names_are_in_code_of_another_architecture(row: Cpu) -> None:
    i = np.zeros(3, np.int64)
    taken = ted.function(lambda x, i: ted.take(x, i, axis=0), f"cpu:{row.name}").compiled(A, i)
    assert re.search(r"\b(bl|call\w*)\s+ted_index_error", taken.ir("asm"))


def test_what_runs_here_is_not_foreign() -> None:
    assert not any(map(is_foreign, executable_cpus()))
    assert not any(can_emulate(row) for row in executable_cpus() if row.architecture == "x86_64")
    assert all(re.fullmatch(r"[\w-]+", name) for name in missing())
