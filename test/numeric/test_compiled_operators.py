"""Every operator and its gradients of two orders: machine code against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from numeric.operators import OPERATORS
from numeric.test_operators import program
from ted.frontend.tensors import wrap
from ted.testing.tracing import interpreted


@pytest.mark.parametrize("name", [o.name for o in OPERATORS])
def test_compiled_equals_interpreted(name):
    p = program(name)
    inputs = [*p.inputs, *p.heads]
    outputs = list(dict.fromkeys([p.output, *p.gradients[0], *p.gradients[1]]))
    values = [*p.arrays, *(a for arrays in p.cotangents for a in arrays)]
    wanted = interpreted(inputs, outputs)(*values)
    compiled = ted.compile([wrap(t) for t in inputs], [wrap(t) for t in outputs])
    for tensor, got, want in zip(outputs, compiled(*values), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11, err_msg=str(tensor))
