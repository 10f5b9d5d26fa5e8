"""`ted.laplacian`: sums of second derivatives, without a Hessian."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ted.api.derived import derived
from ted.api.functions import Function
from ted.api.index_lambdas import of_elements
from ted.api.lifting import lift
from ted.api.options import options_for
from ted.api.overrides import batched
from ted.api.wanted_arguments import Argnums, wanted_arguments
from ted.frontend.checks import check_callable
from ted.frontend.functions import as_tensor
from ted.frontend.tensors import Tensor, wrap
from ted.frontend.trees import flatten, unflatten
from ted.ir.equations import Tensor as Node
from ted.transforms.laplacian import laplacians
from ted.transforms.overrides import override_of


def laplacian(
    fn: Callable[..., Any],
    argnums: Argnums = 0,
    target: str | None = None,
    *,
    deterministic: bool | None = None,
) -> Function:
    """The function of fn's Laplacian: the sum of d^2 fn / dx^2 over all elements x of an argument.

    `argnums` is a position or a name of an argument, or a tuple of them, whose elements are then
    summed over together. Where fn has several results, or one with dims, it is for each element.
    Shapes: in the nest and the shapes of fn's result.
    It takes as many tangents as the arguments have elements, and no Hessian.
    Raises: DerivativeError when an argument or an operation has no derivative; FrontendError when
    `fn` is no function.
    """
    check_callable(fn, "laplacian")
    wanted = wanted_arguments(fn, argnums, "laplacian")

    @of_elements("laplacian")
    @functools.wraps(fn)
    def sums(*args: Any, **kwargs: Any) -> Any:
        lifted = lift(wanted.with_floats(args, kwargs))
        positional, keywords = lifted.arguments
        chosen = wanted.of(positional, keywords)
        inputs = [leaf for nest in chosen for _, leaf in flatten(nest)[0]]
        leaves, tree = flatten(fn(*positional, **keywords))
        outputs = [as_tensor(value, path, "laplacian") for path, value in leaves]
        return lifted.lowered(unflatten(tree, iter(_sums(outputs, inputs))))

    return Function(sums, options_for(fn, target, deterministic))


def _sums(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    results, moving = [t.node for t in outputs], [t.node for t in inputs]

    def derive() -> Sequence[Node]:
        return laplacians(results, moving, batched, override_of)

    found = derived("laplacian", (results, moving), results, derive, override_of)
    return [wrap(n) for n in found]
