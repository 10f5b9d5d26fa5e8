"""`ted.custom_vjp`: a function of tensors with a derivative of the user's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ted.api.decorators import Decorator
from ted.api.functions import Function
from ted.api.index_lambdas import of_elements
from ted.api.user_derivatives import adjoint_nodes
from ted.autodiff.override import Override
from ted.errors import DerivativeError
from ted.frontend.checks import called, check_callable
from ted.frontend.creation import zeros_like
from ted.frontend.functions import as_tensor, has_tensors
from ted.frontend.locations import fail
from ted.frontend.notes import recording
from ted.frontend.tensors import Tensor, pointwise, wrap
from ted.frontend.trees import NestsDiffer, flatten, spread, unflatten
from ted.ir.equations import Tensor as Node
from ted.transforms.overrides import mark


class CustomVjp(Decorator):
    """A function whose results are differentiated by the function given to `defvjp`.

    Raises: FrontendError when `fn` is no function.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        check_callable(fn, "custom_vjp")
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._compiled = Function(fn)
        self.options = self._compiled.options
        self._bwd: Callable[..., Any] | None = None

    def defvjp(self, bwd: Callable[..., Any]) -> Callable[..., Any]:
        """Set `bwd(inputs, outputs, heads) -> gradients`; also usable as a decorator.

        All three are tuples: `inputs` of the arguments, `outputs` of the results and `heads` of
        their cotangents, with one element where there is one; a dict is one.  `bwd` gives one
        gradient per argument (alone when there is one), None for zeros.  It must be linear in the
        heads: forward mode transposes it.
        Raises: FrontendError when `bwd` is no function.
        """
        check_callable(bwd, "defvjp")
        self._bwd = bwd
        return bwd

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result on tensors, or on arrays compiled for them.

        Raises: DerivativeError without `defvjp`, or when what it returns does not fit;
        FrontendError for arguments by keyword.
        """
        if self._bwd is None:
            name = getattr(self._fn, "__name__", "function")
            raise DerivativeError(f"custom_vjp: {name} needs a derivative, give one by defvjp")
        if kwargs:
            fail(f"custom_vjp: arguments are given by position, got {', '.join(kwargs)}=")
        if not has_tensors(args, {}):
            return self._compiled(*args)
        return self._marked(*args)

    @of_elements("custom_vjp")
    def _marked(self, *args: Any) -> Any:
        """The results on tensors, each with its derivative."""
        leaves, tree = flatten(self._fn(*args))
        raw = [as_tensor(value, path, "custom_vjp") for path, value in leaves]
        results = [_copied(r) for r in raw]
        # What the derivative reads has that derivative, too: `fn` itself may have none.
        outputs = unflatten(tree, iter(results))
        inputs = [x for _, x in flatten(args)[0] if isinstance(x, Tensor) and x.dtype.is_float]
        nodes = tuple(x.node for x in inputs)

        def adjoints(position: int, head: Node) -> Sequence[Node]:
            heads = [zeros_like(r) for r in results]
            heads[position] = wrap(head)
            return self._adjoints(args, outputs, unflatten(tree, iter(heads)), inputs)

        for k, result in enumerate(results):
            if result.dtype.is_float:
                mark(result.node, Override(nodes, lambda _, head, k=k: adjoints(k, head)))
        return unflatten(tree, iter(results))

    def _adjoints(
        self, args: tuple[Any, ...], outputs: Any, heads: Any, inputs: Sequence[Tensor]
    ) -> list[Node]:
        """The gradients of the float tensors among the arguments."""
        assert self._bwd is not None
        form, given = "bwd(inputs, outputs, heads)", (_per_result(outputs), _per_result(heads))
        with recording(None):  # its results are mapped where nothing knows of notes
            found = called("defvjp", form, self._bwd, args, *given)
        gradients = (found,) if len(args) == 1 and not isinstance(found, (tuple, list)) else found
        what = f"custom_vjp: {getattr(self._fn, '__name__', 'function')}"
        if len(gradients) != len(args):
            raise DerivativeError(
                f"{what}: one gradient per argument, got {len(gradients)} for {len(args)}"
            )
        flat = [
            leaf for x, g in zip(args, gradients, strict=True) for leaf in _per_leaf(x, g, what)
        ]
        return adjoint_nodes(flat, inputs, what)


def custom_vjp(fn: Callable[..., Any]) -> CustomVjp:
    """A function of tensors with a derivative of its own, which `.defvjp(bwd)` sets."""
    return CustomVjp(fn)


def _per_result(nest: Any) -> tuple[Any, ...]:
    """The results of a call one by one: `heads[0]` of a bare tensor would be its first element."""
    if isinstance(nest, tuple):
        return nest
    return tuple(nest) if isinstance(nest, list) else (nest,)


def _per_leaf(argument: Any, gradient: Any, what: str) -> list[Any]:
    """The gradients of the float tensors in one argument."""
    leaves, _ = flatten(argument)
    try:
        found = spread(gradient, argument)
    except NestsDiffer:
        raise DerivativeError(
            f"{what}: a gradient has the nest of its argument, got {gradient!r}"
        ) from None
    pairs = zip(leaves, found, strict=True)
    return [g for (_, x), g in pairs if isinstance(x, Tensor) and x.dtype.is_float]


def _copied(tensor: Tensor) -> Tensor:
    """A tensor of its own with the same value, which can carry a derivative."""
    return pointwise(lambda x: x, tensor.name, tensor)
