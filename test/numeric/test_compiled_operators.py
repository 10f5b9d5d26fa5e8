"""Every operator and its gradients of two orders: machine code, interpreter, and differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ted
from numeric.operator_programs import Program, interpreted_values, names, program
from ted.frontend.tensors import wrap
from ted.ir.equations import Tensor

Array = np.ndarray[Any, Any]
# Central differences err by WIDTH**2 and by eps / WIDTH.
WIDTH, TOLERANCE = 1e-5, {"rtol": 1e-6, "atol": 1e-7}


@pytest.mark.fast(14)
@names
def test_compiled_equals_interpreted_and_differences(name: str) -> None:
    p = program(name)
    inputs = [*p.inputs, *p.heads]
    outputs = list(dict.fromkeys([p.output, *p.gradients[0], *p.gradients[1]]))
    values, wanted = p.values, interpreted_values(name)
    compiled = ted.compile([wrap(t) for t in inputs], [wrap(t) for t in outputs])

    def run(arrays: Sequence[Array]) -> dict[Tensor, Array]:
        return dict(zip(outputs, compiled(*arrays), strict=True))

    found = run(values)
    for tensor in outputs:
        want = wanted[tensor]
        np.testing.assert_allclose(found[tensor], want, rtol=1e-10, atol=1e-11, err_msg=str(tensor))
    for order in (1, 2):
        check_differences(p, run, values, order)


def check_differences(p: Program, run: Any, values: list[Array], order: int) -> None:
    """Gradients of one order against differences of what they derive, along a random direction."""
    derived = [p.output] if order == 1 else p.gradients[0]
    floats = [k for k, t in enumerate(p.inputs) if t.dtype.is_float]
    known = floats if order == 1 else [*floats, len(p.inputs)]
    generator = np.random.default_rng(order)
    # Relative to the values: zeros stay, since masks have their kinks there.
    directions = {k: generator.normal(size=np.shape(values[k])) * values[k] for k in known}

    def total(side: int) -> float:
        moved = [
            np.asarray(v + side * WIDTH * directions[k]) if k in directions else v
            for k, v in enumerate(values)
        ]
        found = run(moved)
        pairs = zip(derived, p.cotangents[order - 1], strict=True)
        return sum(float(np.sum(found[t] * c)) for t, c in pairs)

    exact = run(values)
    slope = sum(
        float(np.sum(exact[g] * directions[k]))
        for g, k in zip(p.gradients[order - 1], known, strict=True)
    )
    measured = (total(1) - total(-1)) / (2 * WIDTH)
    np.testing.assert_allclose(slope, measured, **TOLERANCE, err_msg=f"order {order}")
