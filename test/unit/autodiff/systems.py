"""Values of the sweeps on tiny systems, each taken as it is, by the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ted.autodiff.combiners import expand_combiners
from ted.autodiff.jvp import jvp
from ted.autodiff.override import Override
from ted.autodiff.vjp import vjp
from ted.ir.dtypes import FLOAT64, DType
from ted.ir.equations import System, Tensor
from ted.testing.tracing import interpreted

Array = np.ndarray[Any, Any]
Arrays = Sequence[Any]


def defined(name: str, shape: tuple[int, ...], *equations: Any, fill: float = 0,
            dtype: DType = FLOAT64) -> Tensor:  # fmt: skip
    """A tensor of equations."""
    return Tensor(name, shape, dtype, fill, equations)


def given_arrays(arrays: Arrays, tensors: Sequence[Tensor]) -> list[Array]:
    """Numbers as arrays of the tensors' types."""
    types = [t.dtype.name for t in tensors]
    return [np.asarray(a, name).reshape(t.shape) for a, name, t in
            zip(arrays, types, tensors, strict=True)]  # fmt: skip


def values(inputs: Sequence[Tensor], outputs: Sequence[Tensor], arrays: Arrays) -> list[Array]:
    """The outputs."""
    return list(interpreted(inputs, outputs)(*given_arrays(arrays, inputs)))


def gradients(
    inputs: Sequence[Tensor], output: Tensor, arrays: Arrays, head: Any = None,
    overrides: Mapping[Tensor, Override] | None = None,
) -> list[Any]:  # fmt: skip
    """The adjoints of the float inputs, as lists; the head is 1, 2, 3, ... unless given."""
    system = expand_combiners(System(tuple(inputs), (output,)))[0]
    (root,) = system.outputs
    heads = [Tensor("head", root.shape, root.dtype)]
    found = vjp(system, heads, overrides).adjoints
    asked = [t for t in inputs if t in found]
    if head is None:
        head = np.arange(1.0, 1.0 + np.prod(root.shape))
    results = values([*inputs, *heads], [found[t] for t in asked], [*arrays, head])
    return [r.tolist() for r in results]


def tangent(inputs: Sequence[Tensor], output: Tensor, arrays: Arrays, directions: Arrays) -> Any:
    """The tangent of the output as a list; None where it does not move."""
    system = expand_combiners(System(tuple(inputs), (output,)))[0]
    moving = [Tensor(f"{t.name}_dot", t.shape, t.dtype) for t in inputs]
    found = jvp(system, moving).get(system.outputs[0])
    if found is None:
        return None
    (result,) = values([*inputs, *moving], [found], [*arrays, *directions])
    return result.tolist()
