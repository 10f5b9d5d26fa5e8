"""Random programs on f16 and bf16 on the CPU: one command, resumable by seed.

    python test/fuzz/half_campaign.py [--first 0] [--count 2000] [--rows avx512,avx512-bf16,avx2]

Each program is compiled for every row that is asked for, or for two that the seed chooses among
those that the machine runs, and compared with the interpreter within its derived bound; an exact
program also with its gradients, bit for bit. Rows with registers of one width give the same bits.
Seeds run in child processes, so a death is a finding. Exit status 1 if something failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ted
from fuzz.half_programs import WHOLE, Generator, Program
from ted.testing.tracing import interpreted
from unit.codegen.cpu_rows import ROWS, RUNNABLE, compiling_for

# Of a seed; what takes longer is a hang, which ends the child. A busy machine is no hang.
CPU_SECONDS, SECONDS = 60, 900
BLOCK, REPORTED = 50, 10  # seeds of a child, if it lives, and from one line of output to the next


def check_program(seed: int, rows: Sequence[str]) -> str:
    """Compare one program; gives what was compared. Raises AssertionError where it differs."""
    generator = Generator(seed, is_exact=seed % 2 == 0)
    program = generator.program()
    outputs = [v.tensor for v in program.outputs]
    if not generator.is_exact:
        bounds = [2 * v.error for v in program.outputs]
        _compare(seed, rows, program.inputs, outputs, program.arrays, bounds)
        return "within bounds"
    inputs, arrays = list(program.inputs), list(program.arrays)
    _compare(seed, rows, inputs, outputs, arrays, [0.0] * len(outputs))
    gradients, whole = _gradients(program), _gradients(Generator(seed, True, wide=True).program())
    if not _is_small(whole, WHOLE[generator.kind]):
        return "exact"
    inputs, outputs, arrays = gradients
    _compare(seed, rows, inputs, outputs, arrays, [0.0] * len(outputs))
    return "exact with gradients"


def _gradients(program: Program) -> tuple[list[Any], list[Any], list[Any]]:
    """The sum of all results, differentiated; inputs, outputs and arrays."""
    (*_, last) = program.outputs
    head = ted.placeholder(last.tensor.shape, last.tensor.dtype, name="head")
    gradients = ted.differentiate(last.tensor, program.inputs, head=head)
    ones = np.ones(head.shape, program.arrays[0].dtype)
    return [*program.inputs, head], list(gradients), [*program.arrays, ones]


def _is_small(gradients: tuple[list[Any], list[Any], list[Any]], most: int) -> bool:
    """Whether all that the gradients compute are integers that the type holds."""
    inputs, outputs, arrays = gradients
    reached = {id(t.node): t for t in outputs}
    results = interpreted(inputs, list(reached.values()))(*arrays)
    return all(np.abs(r).max(initial=0) <= most / 4 for r in results)


def _compare(
    seed: int, rows: Sequence[str], inputs: Sequence[Any], outputs: Sequence[Any],
    arrays: Sequence[Any], bounds: Sequence[float],
) -> None:  # fmt: skip
    wanted = interpreted(inputs, outputs)(*arrays)
    seen: dict[str, list[Any]] = {}
    for row in rows:
        with compiling_for(row):
            found = [np.asarray(r) for r in ted.compile(list(inputs), list(outputs))(*arrays)]
        for k, (got, want, bound) in enumerate(zip(found, wanted, bounds, strict=True)):
            label = f"seed {seed}, {row}, result {k}"
            exact = [np.asarray(a).astype(np.float64) for a in (got, want)]
            np.testing.assert_allclose(*exact, rtol=0, atol=bound, err_msg=label)
        same = seen.setdefault(ROWS[row][0], found)
        for k, (got, want) in enumerate(zip(found, same, strict=True)):
            assert got.tobytes() == want.tobytes(), f"seed {seed}: {row} has other bits, result {k}"


# ------------------------------------------------------------------ many


def rows_of(seed: int) -> list[str]:
    """Two of the rows that the machine runs; often AVX-512 with and without bf16."""
    choose = random.Random(seed)
    pair = [row for row in ("avx512", "avx512-bf16") if row in RUNNABLE]
    if len(pair) == 2 and choose.random() < 0.5:
        return pair
    return choose.sample(RUNNABLE, min(2, len(RUNNABLE)))


def outcomes(first: int, end: int, rows: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each seed and what became of it, from one child process until that dies.

    A finding starts with `FAILED`; a child that dies has its seed and is followed by another.
    """
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _child(first, end, rows, writer)
    os.close(writer)
    seed = first
    with os.fdopen(reader) as pipe:
        for line in pipe:
            yield seed, json.loads(line)
            seed += 1
    _, status = os.waitpid(pid, 0)
    if seed < end:
        yield seed, f"FAILED died, status {os.waitstatus_to_exitcode(status)}"


def _child(first: int, end: int, rows: Sequence[str], writer: int) -> None:
    try:
        with os.fdopen(writer, "w") as pipe:
            for seed in range(first, end):
                signal.alarm(SECONDS)
                signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
                try:
                    text = check_program(seed, rows or rows_of(seed))
                except Exception:
                    text = f"FAILED {traceback.format_exc()}"
                print(json.dumps(text), file=pipe, flush=True)
    finally:
        os._exit(0)


def run(first: int, count: int, rows: Sequence[str] = ()) -> Counter[str]:
    """Check the seeds from `first` on; counts outcomes, with the seed those that failed."""
    summary: Counter[str] = Counter()
    began, start, end = time.time(), first, first + count
    while start < end:
        for seed, outcome in outcomes(start, min(start + BLOCK, end), rows):
            if outcome.startswith("FAILED"):
                print(f"seed {seed}: {outcome}", flush=True)
                outcome = f"seed {seed} failed"
            summary[outcome] += 1
            if (seed + 1) % REPORTED == 0:
                print(
                    f"up to seed {seed}, {time.time() - began:.0f} s: {dict(summary)}", flush=True
                )
        start = seed + 1
    return summary


def main() -> int:
    """Run the seeds that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many seeds")
    parser.add_argument("--rows", default="", help=f"of {', '.join(RUNNABLE)}")
    options = parser.parse_args()
    rows = [row for row in options.rows.split(",") if row]
    summary = run(options.first, options.count, rows)
    print(dict(summary))
    return 1 if any(outcome.endswith("failed") for outcome in summary) else 0


if __name__ == "__main__":
    sys.exit(main())
