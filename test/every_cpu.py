"""The tests of compiled numbers, once for each row of CPUs whose code this machine can execute.

    python test/every_cpu.py -n auto -m "not slow"

The host's own row, with all its instructions, is what `make test` runs; here `TED_CPU` names each
row in turn, so that code is for its least CPU: AVX-512 with AMX, with bf16 and without, AVX2, SSE2.
Rows of another architecture run emulated where QEMU and a cross compiler are installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from support.emulated_cpu import ROW, can_emulate, missing
from ted.api.host import CHOICE, executable_cpus, host_cpu, is_foreign
from ted.machine import CPUS

ROOT = Path(__file__).resolve().parents[1]
PARTS = (
    "test/fuzz/test_compiled_programs.py",
    "test/numeric/test_compiled_operators.py",
    "test/numeric/test_gamma_functions.py",
    "test/numeric/test_scalar_functions.py",
    "test/unit/api/test_compiled_recurrences.py",
    "test/unit/api/test_function_calls.py",
    "test/unit/codegen/test_assembly.py",
    "test/unit/math/test_expand_math.py",
    "test/unit/math/test_half_casts.py",
    "test/unit/math/test_narrow_floats.py",
    "test/unit/cpu",
    "test/unit/linalg/test_strided_contractions.py",
)
# For the row of the least vectors, whose loops are those of the others with fewer lanes.
PARTS_OF_SSE2 = (
    "test/fuzz/test_compiled_programs.py",
    "test/numeric/test_scalar_functions.py",
    "test/unit/api/test_compiled_recurrences.py",
    "test/unit/math/test_half_casts.py",
    "test/unit/math/test_narrow_floats.py",
    "test/unit/cpu/test_contraction_numbers.py",
    "test/unit/linalg/test_strided_contractions.py",
)
# For the row of the host, which `make test` takes with more instructions, among them those of bf16.
PARTS_OF_HOST = (
    "test/unit/codegen/test_assembly.py",
    "test/unit/math/test_half_casts.py",
    "test/unit/math/test_narrow_floats.py",
)
# Code of these rows is that of AVX-512, but for products of bf16.
ROWS_OF_BF16 = ("avx512_amx", "avx512_bf16")
PARTS_OF_BF16 = (
    "test/unit/cpu/test_bf16_pairs.py",
    "test/unit/cpu/test_matrix_tiles.py",
    "test/unit/cpu/test_contraction_numbers.py",
    "test/unit/math/test_narrow_floats.py",
    "test/unit/math/test_half_casts.py",
)
# What runs emulated, where a call takes 20 ms and linking its program 200 ms.
EMULATED_PARTS = (
    "test/fuzz/test_compiled_programs.py",
    "test/numeric/test_compiled_operators.py",
    "test/unit/api/test_compiled_recurrences.py",
    "test/unit/math/test_narrow_floats.py",
    "test/unit/linalg/test_strided_contractions.py",
)


@contextmanager
def vectors_of(row: str) -> Iterator[None]:
    """Schedules and code for the least machine of a row, or for the host; NEON has one row."""
    if host_cpu().name == "neon":
        yield
        return
    try:
        with mock.patch.dict(os.environ, {CHOICE: row}):
            host_cpu.cache_clear()
            assert host_cpu().name == row or not row
            yield
    finally:
        host_cpu.cache_clear()


def failing_rows(flags: Sequence[str], parts: Sequence[str] = PARTS) -> list[str]:
    """Run the tests under every row; the names of the rows under which one fails."""
    rows = [row.name for row in executable_cpus()]
    host = next(row for row in rows if row not in ROWS_OF_BF16)
    chosen = dict.fromkeys(rows, parts) | dict.fromkeys(ROWS_OF_BF16, PARTS_OF_BF16)
    chosen |= {host: PARTS_OF_HOST, "sse2": PARTS_OF_SSE2 if host != "sse2" else parts}
    return [row for row in rows if not _pass({CHOICE: row}, flags, chosen[row])]


def failing_emulated_rows(flags: Sequence[str]) -> list[str]:
    """The same for rows of another architecture; what is not installed is printed, no failure."""
    failing = []
    for row in filter(is_foreign, CPUS.values()):
        if not can_emulate(row):
            print(f"== {row.name}: not run, its architecture cannot be emulated", flush=True)
        elif lacking := missing():
            print(f"== {row.name}: not run, without {', '.join(lacking)}", flush=True)
        elif not _pass({ROW: row.name}, flags, EMULATED_PARTS):
            failing.append(row.name)
    return failing


def _pass(chosen: Mapping[str, str], flags: Sequence[str], parts: Sequence[str]) -> bool:
    print("==", *(f"{name}={row}" for name, row in chosen.items()), flush=True)
    command = [sys.executable, "-m", "pytest", "-q", *flags, *parts]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **chosen}).returncode == 0


if __name__ == "__main__":
    rows = failing_rows(sys.argv[1:]) + failing_emulated_rows(sys.argv[1:])
    if rows:
        sys.exit(f"every_cpu: tests fail for {' and '.join(rows)}")
