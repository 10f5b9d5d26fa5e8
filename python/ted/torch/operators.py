"""`ted.torch.op`: functions of nests of tensors, around operators of flat lists of tensors.

Before: energy({"w": w, "b": b}, x, 0.5)      After: energy's operator for that nest on (w, b, x)

Numbers and other constants are part of the program.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType, NoneType
from typing import Any, overload

import torch
from torch._guards import TracingContext
from torch.compiler import is_dynamo_compiling

from ted.api.decorators import Decorator
from ted.api.flat_functions import operator_name
from ted.api.functions import Function, function
from ted.errors import FrontendError, TedError
from ted.frontend.batches import arrays_at
from ted.frontend.checks import check_callable
from ted.frontend.functions import (
    ArraySpec,
    Signature,
    as_tensor,
    bound_arguments,
    spread_arguments,
)
from ted.frontend.tensors import Tensor
from ted.frontend.trees import Tree, flatten, nester, opened, static, unflatten
from ted.ir.dtypes import FLOAT32
from ted.runtime.calls import declined
from ted.runtime.threads import join_openmp
from ted.torch.filling import Filling
from ted.torch.flat_operators import PLAIN, FlatOperator
from ted.torch.recording import left_to_python
from ted.torch.registering import arguments

# Numbers that torch.compile does not know, and what makes them known.
_SYMBOLIC = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
_TAKEN = (NoneType, bool, int, float, complex, str, EllipsisType)  # by graphs, beside tensors
_ARRAY = ArraySpec((), FLOAT32)  # an argument that is a tensor, whatever its shape and type


class Operator(Decorator):
    """A function of ted on tensors of torch: call it, differentiate it, compile it.

    `function` is what it was made of, `name` what it is called in `torch.ops.ted`.
    Raises: FrontendError when `name` is no identifier. In graphs, where torch.compile takes none of
        ted's errors, calls raise TypeError with their text.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str | None,
        cast_inputs: torch.dtype | None,
        options: Mapping[str, Any],
    ) -> None:
        functools.update_wrapper(self, fn)
        if torch.get_num_threads() > 1:  # else none wait, as in a forked worker that loads data
            join_openmp(torch._C.__file__)
        self.function: Function = function(fn, **options)
        self.name = operator_name(fn, name)
        self._given = (fn, name, cast_inputs, dict(options))
        self._cast_inputs = cast_inputs
        self._nested: dict[Any, NestedOperator] = {}
        self._by_types: dict[Any, NestedOperator] = {}
        self._answers: dict[Any, int] = {}
        # Plain functions, which torch.compile can leave alone: as they are, and for all nests.
        self._run, self._run_nest = self._kept_from_tracing(self._flat)
        self._write, self._write_nest = self._kept_from_tracing(self._filled)

    def _kept_from_tracing(self, fn: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
        """The function twice, with the number of an attribute that holds what torch.compile does
        not take: what nests the results, or raises the error. A graph that runs raises at once.
        """

        def run(*given: Any) -> tuple[int, list[torch.Tensor]]:
            try:
                answer, results = fn(*given)
            except TedError as error:
                if TracingContext.try_get() is None:
                    raise
                answer, results = _refusing(str(error)), ()
            number = self._answers.setdefault(answer, len(self._answers))
            setattr(self, f"_answer_{number}", answer)
            return number, list(results)

        return run, lambda *given: run(*given)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on tensors, in nests as the function takes them.

        Raises: FrontendError for what is neither tensor nor constant, or cannot be traced;
        ExecutionError for tensors that the program does not take; TypeError with the text of either
        while torch.compile traces.
        """
        if is_dynamo_compiling():
            return self._in_graph("_run", args, kwargs)
        nest, results = self._flat(args, kwargs)
        return nest(results)

    def out(self, *args: Any, out: Any, **kwargs: Any) -> Any:
        """Write the results into `out`, a nest of tensors like the results, and return that.

        An argument may be among them. Nothing of this has a gradient.
        Raises: ExecutionError for tensors that require gradients, or do not fit; FrontendError and
        TypeError as a call.
        """
        if is_dynamo_compiling():
            self._in_graph("_write", args, kwargs, out)
        else:
            self._filled(args, kwargs, out)
        return out

    def _in_graph(self, name: str, args: Any, kwargs: Any, *out: Any) -> Any:
        """What torch.compile traces: a function by its name, and what nests its results.

        A graph compares at each call what it saw here, so that it is little.
        """
        kinds = [type(value) for value in (*args, *kwargs.values(), *out)]
        if _is_put_in_graphs(self, kinds):
            number, results = getattr(self, name)(args, kwargs, *out)
        else:
            whole = getattr(self, f"{name}_nest")
            number, results = torch._dynamo.nonstrict_trace(whole)(args, kwargs, *out)
        return getattr(self, f"_answer_{number}")(results)

    @left_to_python
    def _filled(self, args: Any, kwargs: Any, out: Any) -> tuple[Callable[..., Any], tuple[()]]:
        """Write the results; none are left to return in a nest."""
        nested, tensors = self._nested_and_tensors(args, kwargs)
        targets = _leaves(out)
        for target in targets:
            if not isinstance(target, torch.Tensor):
                kind = type(target).__name__
                raise FrontendError(f"{self.name}: out= is a nest of tensors, got {kind}")
        memory = [_memory(target) for target in targets]
        nested.filling(tensors, [part for parts in memory for part in parts], targets)
        for target, parts in zip(targets, memory, strict=True):
            if parts[0] is not target:
                target.copy_(parts[0] if len(parts) == 1 else torch.complex(*parts))
        return declined, ()

    def registered(self, *args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
        """The operator in `torch.ops.ted` for arguments like these, and its arguments.

        `torch.library.opcheck(*f.registered(x, w))` checks it.
        Raises: FrontendError as a call.
        """
        nested, tensors = self._nested_for(args, kwargs)
        return nested.flat.overload, arguments(tensors)

    @left_to_python
    def _flat(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[[Sequence[Any]], Any], Sequence[torch.Tensor]]:
        """The results, and what makes the nest of them."""
        nested, tensors = self._nested_and_tensors(args, kwargs)
        return nested(tensors)

    def _nested_and_tensors(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[NestedOperator, Sequence[torch.Tensor]]:
        """What `_nested_for` finds, the short way for tensors alone, and cast under autocast."""
        types = None if kwargs else tuple(map(type, args))
        nested, tensors = self._by_types.get(types), args
        if nested is None or any(map(torch.is_complex, args)):
            nested, tensors = self._nested_for(args, kwargs)
            if types is not None and len(tensors) == len(args) and all(k in PLAIN for k in types):
                self._by_types[types] = nested
        if self._cast_inputs is not None:
            tensors = _cast(tensors, self._cast_inputs)
        return nested, tensors

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


def _is_put_in_graphs(operator: Operator, kinds: Sequence[type]) -> bool:
    """Whether the functions of an operator are nodes of graphs, which take such values."""
    torch.compiler.allow_in_graph([operator._run, operator._write])
    return all(kind in _TAKEN or issubclass(kind, torch.Tensor) for kind in kinds)


# torch.compile calls this while it traces, and from then on tells the operator from others: their
# functions have the same code, by which it would compare them.
_is_put_in_graphs._dynamo_marked_constant = True  # pyright: ignore[reportFunctionMemberAccess]


@functools.cache
def _refusing(text: str) -> Callable[[Any], None]:
    def refuse(_: Any) -> None:
        raise TypeError(text)  # an error that torch can trace

    return refuse


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
        options = function.options.of_a_caller  # torch.set_flush_denormal is of the thread
        self.flat = FlatOperator(self._traced, name, names, options, batch)
        self.filling = Filling(self.flat)

    def __call__(
        self, tensors: Sequence[torch.Tensor]
    ) -> tuple[Callable[[Sequence[Any]], Any], Sequence[torch.Tensor]]:
        """The results, and what makes the nest in which the function returns them."""
        results = self.flat(*tensors)
        assert self._nest is not None, "the function was traced"
        return self._nest, results

    def _traced(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The function of the tensors alone, flat; it says how its results are nested."""
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
        if self._nest is None:
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
    `debug_nans`, `subnormals`, which are flushed where torch does (`torch.set_flush_denormal`)
    unless they say otherwise.
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
    if type(value) in _SYMBOLIC:  # which torch thereby takes for a constant, too
        return static(_SYMBOLIC[type(value)](value))
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


def _leaves(nest: Any) -> list[Any]:
    """The leaves of a nest, of which a tensor of complex numbers is one."""
    found = None if isinstance(nest, torch.Tensor) else opened(nest)
    return [nest] if found is None else [leaf for value in found.values for leaf in _leaves(value)]


def _memory(target: torch.Tensor) -> list[torch.Tensor]:
    """What a program writes to: the target, or tensors that are then copied to where it lies."""
    if not target.is_complex():
        return [torch.empty_like(target).resolve_neg()] if target.is_neg() else [target]
    part = torch.float32 if target.dtype is torch.complex64 else torch.float64
    return [torch.empty(target.shape, dtype=part, device=target.device) for _ in range(2)]


def _cast(tensors: Sequence[torch.Tensor], to: torch.dtype) -> Sequence[torch.Tensor]:
    """Tensors of floats in another type, where autocast is on for their device."""
    if not tensors or not torch.is_autocast_enabled(tensors[0].device.type):
        return tensors
    return [t.to(to) if t.is_floating_point() else t for t in tensors]
