"""From functions of tensors to the tensors themselves, and from tensors to a callable of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ted.dialects import session
from ted.frontend import placeholder
from ted.frontend import tensors as frontend
from ted.frontend.checks import called
from ted.frontend.functions import while_traced
from ted.frontend.systems import tensors_of
from ted.frontend.trees import flatten, unflatten
from ted.ir.equations import System, Tensor
from ted.ir.to_ops import system_to_module
from ted.mlir import ir
from ted.testing.interpreter import Counts, interpret

Array = np.ndarray[Any, Any]


def nodes(values: Any, what: str) -> list[Tensor]:
    """The nodes of one tensor or of several; both kinds of tensor are accepted."""
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, (tuple, list)):
        known = [t for t in values if isinstance(t, Tensor)]
        if len(known) == len(values):
            return known
    return [t.node for t in tensors_of(values, what)]


def tensors(values: Sequence[Tensor]) -> list[frontend.Tensor]:
    """The tensors that users hold for nodes."""
    return [frontend.wrap(t) for t in values]


def numpy_type(name: str) -> np.dtype[Any]:
    """A numpy type by ted's name; numpy itself does not know bfloat16."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def traced(
    function: Callable[..., Any],
    args: Sequence[Any],
    arrays: Sequence[Array] | None = None,
    *,
    what: str,
) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs and inputs of a function called on placeholders instead of the leaves of `args`.

    `arrays` are the leaves and give the types; without them the leaves are arrays.  `what` is who
    asks, for errors.

    Raises: FrontendError when the function does not take such arguments.
    """
    leaves, tree = flatten(list(args))
    inputs = [
        placeholder(a.shape, a.dtype.name, name=f"x{path.replace('.', '_')}")
        for (path, _), a in zip(leaves, arrays or [leaf for _, leaf in leaves], strict=True)
    ]
    arguments = unflatten(tree, iter(inputs))
    with while_traced():
        results, _ = flatten(called(what, "f(*args)", function, *arguments))
    return nodes([result for _, result in results], what), nodes(inputs, what)


def module_of(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> ir.Module:
    """The ops that compute the outputs from the inputs, in a context of their own."""
    with session():
        module = system_to_module(System(tuple(inputs), tuple(outputs)))
        module.operation.verify()
        return module


def interpreted(
    inputs: Sequence[Any], outputs: Sequence[Any], counts: Counts | None = None
) -> Callable[..., Sequence[Array]]:
    """A callable of arrays that runs the reference interpreter on the ops of the tensors."""
    module = module_of(nodes(inputs, "interpreted"), nodes(outputs, "interpreted"))
    return lambda *arrays: interpret(module, arrays, counts=counts)
