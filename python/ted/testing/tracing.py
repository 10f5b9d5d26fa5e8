"""From functions of tensors to the tensors themselves, and from tensors to a callable of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ted.dialects import make_context
from ted.ir.equations import System, Tensor
from ted.ir.to_ops import system_to_module
from ted.mlir import ir
from ted.testing.interpreter import Counts, interpret

Array = np.ndarray[Any, Any]


def nodes(tensors: Any) -> list[Tensor]:
    """The nodes of one tensor or of several; both kinds of tensor are accepted."""
    if isinstance(tensors, Tensor) or hasattr(tensors, "node"):
        tensors = [tensors]
    return [t if isinstance(t, Tensor) else t.node for t in tensors]


def traced(
    function: Callable[..., Any], arrays: Sequence[Array]
) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs and inputs of a function called on placeholders of the arrays' types."""
    from ted.frontend import placeholder

    inputs = [
        placeholder(a.shape, a.dtype.name, name=f"x{k}" if len(arrays) > 1 else "x")
        for k, a in enumerate(arrays)
    ]
    return nodes(function(*inputs)), nodes(inputs)


def module_of(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> ir.Module:
    """The ops that compute the outputs from the inputs, in a context of their own."""
    with make_context(), ir.Location.unknown():
        module = system_to_module(System(tuple(inputs), tuple(outputs)))
        module.operation.verify()
        return module


def interpreted(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], counts: Counts | None = None
) -> Callable[..., Sequence[Array]]:
    """A callable of arrays that runs the reference interpreter on the ops of the tensors."""
    module = module_of(inputs, outputs)
    return lambda *arrays: interpret(module, arrays, counts=counts)
