"""`ted.torch.op`: functions of nests of tensors, around operators of flat lists of tensors.

Before: energy({"w": w, "b": b}, x, 0.5)      After: energy's operator for that nest on (w, b, x)

Numbers and other constants are part of the program, as in `ted.function`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import torch

from ted.api.flat_functions import operator_name
from ted.api.functions import Function, function
from ted.errors import FrontendError, TedError
from ted.frontend.batches import arrays_at
from ted.frontend.callbacks import check_callable
from ted.frontend.functions import (
    ArraySpec,
    Signature,
    as_tensor,
    bound_arguments,
    spread_arguments,
)
from ted.frontend.tensors import Tensor
from ted.frontend.trees import Tree, flatten, nester, static, unflatten
from ted.ir.dtypes import FLOAT32
from ted.torch.filling import Filling
from ted.torch.flat_operators import PLAIN, FlatOperator

_ARRAY = ArraySpec((), FLOAT32)  # an argument that is a tensor, whatever its shape and type


class Operator:
    """A function of ted on tensors of torch: call it, differentiate it, compile it.

    `function` is what it was made of, `name` what it is called in `torch.ops.ted`.
    Raises: FrontendError when `name` is no identifier.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str | None,
        cast_inputs: torch.dtype | None,
        options: Mapping[str, Any],
    ) -> None:
        functools.update_wrapper(self, fn)
        self.function: Function = function(fn, **options)
        self.name = operator_name(fn, name)
        self._given = (fn, name, cast_inputs, dict(options))
        self._cast_inputs = cast_inputs
        self._nested: dict[Any, NestedOperator] = {}
        self._by_types: dict[Any, NestedOperator] = {}

        self._refused: list[str] = []
        # Plain functions, which torch.compile can leave alone.
        self._run = self._kept_from_tracing(lambda args, kwargs: self._call(args, kwargs))
        self._write = self._kept_from_tracing(lambda *given: self._filled(*given))

    def _kept_from_tracing(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with an error as a number, since torch.compile would say nothing of it."""

        def run(*given: Any) -> Any:
            try:
                return fn(*given)
            except TedError as error:
                self._refused.append(str(error))
                return len(self._refused) - 1

        return run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on tensors, in nests as the function takes them.

        Raises: FrontendError for what is neither tensor nor constant, or cannot be traced;
        ExecutionError for tensors that the program does not take; TypeError with the text of either
        while torch.compile traces.
        """
        if torch.compiler.is_dynamo_compiling():
            results = torch._dynamo.nonstrict_trace(self._run)(args, kwargs)
            if isinstance(results, int):
                raise TypeError(self._refused[results])  # one that torch can trace
            return results
        return self._call(args, kwargs)

    def out(self, *args: Any, out: Any, **kwargs: Any) -> Any:
        """Write the results into `out`, a nest of tensors like the results, and return that.

        An argument may be among them. Nothing of this has a gradient.
        Raises: ExecutionError for tensors that require gradients, or do not fit; FrontendError and
        TypeError as a call.
        """
        if torch.compiler.is_dynamo_compiling():
            number = torch._dynamo.nonstrict_trace(self._write)(args, kwargs, out)
            if number >= 0:
                raise TypeError(self._refused[number])  # one that torch can trace
            return out
        self._filled(args, kwargs, out)
        return out

    def _filled(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> int:
        """Write the results; the number is that of no error."""
        nested, tensors = self._nested_for(args, kwargs)
        targets = [target for _, target in flatten(out)[0]]
        for target in targets:
            if not isinstance(target, torch.Tensor):
                kind = type(target).__name__
                raise FrontendError(f"{self.name}: out= is a nest of tensors, got {kind}")
        nested.filling(tensors, targets)
        return -1

    def registered(self, *args: Any, **kwargs: Any) -> tuple[Any, tuple[list[torch.Tensor]]]:
        """The operator in `torch.ops.ted` for arguments like these, and its arguments.

        `torch.library.opcheck(*f.registered(x, w))` checks it.
        Raises: FrontendError as a call.
        """
        nested, tensors = self._nested_for(args, kwargs)
        return nested.flat.overload, (list(tensors),)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        types = None if kwargs else tuple(map(type, args))
        nested, tensors = self._by_types.get(types), args
        if nested is None:
            nested, tensors = self._nested_for(args, kwargs)
            if types is not None and all(kind in PLAIN for kind in types):
                self._by_types[types] = nested
        if self._cast_inputs is not None:
            tensors = _cast(tensors, self._cast_inputs)
        return nested(tensors)

    def _nested_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[NestedOperator, Sequence[torch.Tensor]]:
        """The operator of the nest of some arguments, and the tensors in them."""
        leaves, tree = flatten(bound_arguments(self.function, args, kwargs))
        specs = tuple([_spec(value, f"{self.name}: argument {path}") for path, value in leaves])
        signature = Signature(specs, tuple([path for path, _ in leaves]), tree)
        found = self._nested.get(signature)
        if found is None:
            made = NestedOperator(self.function, self.name, signature)
            found = self._nested.setdefault(signature, made)
        return found, [value for _, value in leaves if isinstance(value, torch.Tensor)]

    def __reduce__(self) -> Any:
        module = sys.modules.get(getattr(self, "__module__", ""))
        name = getattr(self, "__qualname__", "")
        if getattr(module, name, None) is self:  # made by a decorator
            return name
        return Operator, self._given

    def __deepcopy__(self, _: Any) -> Operator:
        return self

    def __repr__(self) -> str:
        return f"<ted.torch.op {self.name}>"


class NestedOperator:
    """The operator for arguments of one nest, with the constants among them.

    Raises: FrontendError for a position in `batch` without argument.
    """

    def __init__(self, function: Function, name: str, signature: Signature) -> None:
        self._function = function
        self._name = name
        self._signature = signature
        self._results: Tree | None = None
        self._nest: Callable[[Sequence[Any]], Any] | None = None
        pairs = zip(signature.names, signature.leaves, strict=True)
        names = [path for path, leaf in pairs if leaf is _ARRAY]
        chosen = arrays_at(function, signature, function.batch, "batch")
        rows = [c for c, leaf in zip(chosen, signature.leaves, strict=True) if leaf is _ARRAY]
        batch = [k for k, is_chosen in enumerate(rows) if is_chosen]
        self.flat = FlatOperator(self._traced, name, names, function.options, batch)
        self.filling = Filling(self.flat)

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Any:
        """The results in the nest in which the function returns them."""
        results = self.flat(*tensors)
        assert self._nest is not None, "the function was traced"
        return self._nest(results)

    def _traced(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The function of the tensors alone, flat; it says how its results are nested."""
        for tensor, path in zip(tensors, self.flat.names, strict=True):
            if not isinstance(tensor, Tensor):
                raise FrontendError(
                    f"{self._name}: argument {path}: an operator of torch takes real numbers, got "
                    "complex ones; torch.view_as_real shares their memory"
                )
        left = iter(tensors)
        leaves = (next(left) if leaf is _ARRAY else leaf.value for leaf in self._signature.leaves)
        positional, keywords = spread_arguments(
            self._function, unflatten(self._signature.tree, leaves)
        )
        leaves, tree = flatten(self._function(*positional, **keywords))
        if self._results not in (None, tree):
            raise FrontendError(
                f"{self._name}: an operator returns one nest for all shapes, got {tree} after "
                f"{self._results}"
            )
        self._results, self._nest = tree, nester(tree)
        return tuple([as_tensor(value, path, self._name) for path, value in leaves])


@overload
def op(fn: Callable[..., Any], **options: Any) -> Operator: ...
@overload
def op(fn: None = None, **options: Any) -> Callable[[Callable[..., Any]], Operator]: ...
def op(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    cast_inputs: torch.dtype | None = None,
    **options: Any,
) -> Any:
    """A ted function as an operator of torch, with gradients of any order; also a decorator.

    `name` is that in `torch.ops.ted`, the function's unless given. Under `torch.autocast` tensors
    of floats are cast to `cast_inputs`, as in `torch.amp.custom_fwd`; without it they come as they
    are. `options` are those of `ted.function`: `target`, `batch`, `deterministic`, `memory_limit`,
    `debug_nans`.
    Raises: FrontendError when `fn` is no function, `name` no identifier, or for `donate`;
    CompileError for an unknown target.
    """
    if "donate" in options:
        raise FrontendError(
            "op: an operator of torch writes where it is told, with out=, and does not take over "
            f"arguments, got donate={options['donate']!r}; write f.out(x, out=x)"
        )

    def make(fn: Callable[..., Any]) -> Operator:
        check_callable(fn, "op")
        return Operator(fn, name, cast_inputs, options)

    return make if fn is None else make(fn)


def _spec(value: Any, what: str) -> Any:
    if isinstance(value, torch.Tensor):
        return _ARRAY
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        kind = f"{type(value).__module__}.{type(value).__name__}"
        raise FrontendError(
            f"{what}: an operator of torch takes tensors of torch and constants, got {kind}; "
            "torch.from_numpy and torch.from_dlpack share the memory of arrays"
        )
    try:
        hash(value)
    except TypeError:
        raise FrontendError(
            f"{what}: must be a tensor or a hashable value, got {type(value).__name__}"
        ) from None
    return static(value)


def _cast(tensors: Sequence[torch.Tensor], to: torch.dtype) -> Sequence[torch.Tensor]:
    """Tensors of floats in another type, where autocast is on for their device."""
    if not tensors or not torch.is_autocast_enabled(tensors[0].device.type):
        return tensors
    return [t.to(to) if t.is_floating_point() else t for t in tensors]
