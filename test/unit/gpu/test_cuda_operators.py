"""Operators and gradients of two orders: kernels in the PTX interpreter, against ted's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from numeric.operator_programs import BY_NAME, program
from numeric.operators import OPERATORS
from support.ptx_programs import run_manifest
from ted.codegen.manifest import Manifest
from ted.ir.equations import System, Tensor
from ted.testing.tracing import interpreted
from unit.gpu.cuda_programs import dtype_of, manifest_of_system

# One of each kind of kernel; the others run with the slow tests.
FAST = (
    "matmul", "conv_strided", "max_pool_overlapping", "transpose", "tril", "embedding", "softmax",
    "layer_norm", "running_sum", "divide", "sin",
)  # fmt: skip
# But for the first index out of range, which a call tells of.
ATOMIC = re.compile(r"\b(atom|red)\.(?!relaxed\.sys\.global\.cas\.b64)")
# By type: the chip, the order of threads, how often the operator is differentiated. Each type meets
# another chip than its neighbour; the third derivative of 1 / x has no place in half precision.
# The slow ones meet one type of three, whose kernels differ in conversions alone.
SWEEPS = {
    "float32": ("sm_90a", "random", 2),
    "bfloat16": ("sm_80", "reverse", 1),
    "float16": ("sm_90a", "random", 1),
}
# Roundings between a result and its arguments, of the size of the result's largest element.
ROUNDINGS = 16


def names() -> list:
    slow = pytest.mark.slow
    known = [o.name for o in OPERATORS]
    return [n if n in FAST else pytest.param(n, marks=slow) for n in known]


def compiled(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], chip: str) -> Manifest:
    """The program of an operator; without an index that is data it has no atomics."""
    manifest = manifest_of_system(System(tuple(inputs), tuple(outputs), name), chip)
    assert BY_NAME[name].scatters or not ATOMIC.search(manifest.ptx), "gathers need no atomics"
    return manifest


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", names())
def test_kernels_compute_what_the_equations_say(name: str) -> None:
    p = program(name)
    inputs = [*p.inputs, *p.heads]
    outputs = list(dict.fromkeys([p.output, *p.gradients[0], *p.gradients[1]]))
    made = [t for t in outputs if not t.is_input]
    manifest = compiled(name, inputs, made, "sm_80")
    values = [*p.arrays, *(a for arrays in p.cotangents for a in arrays)]
    given = [np.asarray(v, s.dtype) for v, s in zip(values, manifest.inputs, strict=True)]
    wanted = interpreted(inputs, made)(*values)
    for found, want, tensor in zip(run_manifest(manifest, given), wanted, made, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-11, err_msg=str(tensor))


def typed_names() -> list:
    half = ("bfloat16", "float16")
    every = [(n, d) for n in FAST for d in SWEEPS]
    slow = [n for n in BY_NAME if n not in FAST]
    some = [(n, ("float32", half[k % 4 // 2])[k % 2]) for k, n in enumerate(slow)]
    return [*every, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in some)]


@pytest.mark.fast(1)
@pytest.mark.parametrize(("name", "dtype"), typed_names())
def test_kernels_of_every_type_and_order_of_threads(name: str, dtype: str) -> None:
    chip, threads, order = SWEEPS[dtype]
    p, exact = program(name, dtype), program(name)
    pairs = zip(_results(p, order), _results(exact, order), strict=True)
    exact_of = {t: reference for t, reference in pairs if not t.is_input}
    arrays = [*p.arrays, *(a for arrays in p.cotangents[:order] for a in arrays)]
    inputs, exact_inputs = ([*q.inputs, *q.heads][: len(arrays)] for q in (p, exact))
    manifest = compiled(name, inputs, list(exact_of), chip)
    given = [np.asarray(a, dtype_of(s.dtype)) for a, s in zip(arrays, manifest.inputs, strict=True)]
    # A rounding that the type needs may be nothing in float64, and a result one of the inputs.
    wanted = dict(zip(exact_inputs, map(_wide, given), strict=True))
    computed = [t for t in exact_of.values() if not t.is_input]
    values = interpreted(exact_inputs, computed)(*wanted.values())
    wanted |= dict(zip(computed, values, strict=True))
    epsilon = float(ml_dtypes.finfo(dtype_of(dtype)).eps)
    found = run_manifest(manifest, given, order=threads, seed=3)
    for (tensor, reference), got in zip(exact_of.items(), found, strict=True):
        want = wanted[reference]
        limit = ROUNDINGS * epsilon * max(1.0, np.abs(want).max(initial=0))
        np.testing.assert_allclose(_wide(got), want, rtol=0, atol=limit, err_msg=str(tensor))


def _results(p: Any, order: int) -> list[Tensor]:
    return [p.output, *(t for gradients in p.gradients[:order] for t in gradients)]


def _wide(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "ib" else array.astype(np.float64)


def test_the_fast_operators_exist() -> None:
    assert set(FAST) <= set(BY_NAME)
