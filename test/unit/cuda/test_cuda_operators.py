"""Operators and gradients of two orders: kernels in the PTX interpreter, against ted's own."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import ted
from numeric.operators import OPERATORS
from numeric.test_operators import program
from ted.frontend.systems import system_of
from ted.frontend.tensors import wrap
from ted.testing.ptx.programs import run_manifest
from ted.testing.tracing import interpreted
from unit.cuda.cuda_programs import manifest_of_system

# One of each kind of kernel; the others run with the slow tests.
FAST = (
    "matmul", "conv_strided", "max_pool_overlapping", "transpose", "tril", "embedding", "softmax",
    "layer_norm", "running_sum", "divide", "sin",
)  # fmt: skip
ATOMIC = re.compile(r"\b(atom|red)\.")


def names() -> list:
    slow = pytest.mark.slow
    known = [o.name for o in OPERATORS]
    return [n if n in FAST else pytest.param(n, marks=slow) for n in known]


@pytest.mark.parametrize("name", names())
def test_kernels_compute_what_the_equations_say(name: str) -> None:
    p = program(name)
    inputs = [*p.inputs, *p.heads]
    outputs = list(dict.fromkeys([p.output, *p.gradients[0], *p.gradients[1]]))
    system = system_of([wrap(t) for t in inputs], [wrap(t) for t in outputs])
    made = tuple(t for t in system.outputs if not t.is_input)
    manifest = manifest_of_system(replace(system, outputs=made))
    scatters = next(o.scatters for o in OPERATORS if o.name == name)
    assert scatters or not ATOMIC.search(manifest.ptx), "gathers need no atomics"
    values = [*p.arrays, *(a for arrays in p.cotangents for a in arrays)]
    given = [np.asarray(v, s.dtype) for v, s in zip(values, manifest.inputs, strict=True)]
    wanted = interpreted(inputs, list(made))(*values)
    for found, want, tensor in zip(run_manifest(manifest, given), wanted, made, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-11, err_msg=str(tensor))


def test_the_fast_operators_exist() -> None:
    assert set(FAST) <= {o.name for o in OPERATORS}
    assert ted.compile
