"""Random programs on f16 and bf16, compiled for two rows of CPUs, against the interpreter.

    make fuzz ORACLE=half

Each program is compiled for the host and for the least machine of a row that the seed chooses among
those that the host executes, and compared with the interpreter within its derived bound; an exact
program also with its gradients, bit for bit. Rows with registers of one width give the same bits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

import ted
from every_cpu import vectors_of
from fuzz.half_programs import WHOLE, Generator, Program
from ted.api.host import executable_cpus, host_cpu
from ted.testing.tracing import interpreted


def check_half_program(seed: int) -> str:
    """Compare one program; gives what was compared. Raises AssertionError where it differs."""
    generator = Generator(seed, is_exact=seed % 2 == 0)
    program = generator.program()
    outputs = [v.tensor for v in program.outputs]
    if not generator.is_exact:
        bounds = [2 * v.error for v in program.outputs]
        _compare(seed, program.inputs, outputs, program.arrays, bounds)
        return "within bounds"
    inputs, arrays = list(program.inputs), list(program.arrays)
    _compare(seed, inputs, outputs, arrays, [0.0] * len(outputs))
    gradients, whole = _gradients(program), _gradients(Generator(seed, True, wide=True).program())
    if not _is_small(whole, WHOLE[generator.kind]):
        return "exact"
    inputs, outputs, arrays = gradients
    _compare(seed, inputs, outputs, arrays, [0.0] * len(outputs))
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
    seed: int, inputs: Sequence[Any], outputs: Sequence[Any], arrays: Sequence[Any],
    bounds: Sequence[float],
) -> None:  # fmt: skip
    wanted = interpreted(inputs, outputs)(*arrays)
    seen: dict[int, list[Any]] = {}
    for row in ("", random.Random(seed).choice(executable_cpus()).name):
        with vectors_of(row):
            width = host_cpu().vector_bytes
            found = [np.asarray(r) for r in ted.compile(list(inputs), list(outputs))(*arrays)]
        for k, (got, want, bound) in enumerate(zip(found, wanted, bounds, strict=True)):
            label = f"{row or 'the host'}, result {k}"
            exact = [np.asarray(a).astype(np.float64) for a in (got, want)]
            np.testing.assert_allclose(*exact, rtol=0, atol=bound, err_msg=label)
        same = seen.setdefault(width, found)
        for k, (got, want) in enumerate(zip(found, same, strict=True)):
            assert got.tobytes() == want.tobytes(), f"{row} has other bits, result {k}"
