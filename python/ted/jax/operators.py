"""`ted.jax.op`: functions of trees of arrays, around programs of flat lists of tensors.

Before: energy({"w": w, "b": b}, x, 0.5)      After: a call of energy's program for that tree

Numbers and other constants are part of the program, as in `ted.function`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import jax
import numpy as np

from ted.api.decorators import Decorator
from ted.api.flat_functions import operator_name
from ted.api.functions import Function, function
from ted.errors import FrontendError
from ted.frontend.checks import check_callable
from ted.frontend.elementwise import cast
from ted.frontend.functions import as_tensor, bound_arguments, spread_arguments
from ted.frontend.tensors import Tensor
from ted.frontend.trees import static_key
from ted.jax.primitive import call
from ted.jax.programs import Program
from ted.machine import Cpu


class Operator(Decorator):
    """A function of ted on arrays of JAX: call it, transform it.

    `function` is what it was made of, `name` what its calls are called.
    Raises: FrontendError for options that it does not have.
    """

    def __init__(self, fn: Callable[..., Any], name: str, options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, fn)
        self.function: Function = function(fn, **options)
        if not isinstance(self.function.options.machine, Cpu):
            raise FrontendError(
                f"op: operators of JAX run on CPUs, got target {self.function.target!r}"
            )
        self.name = name
        self._nested: dict[Any, NestedOperator] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arrays, in trees as JAX has them, or build the expression on tensors.

        Raises: FrontendError for what is neither array nor constant, or cannot be traced.
        """
        bound = bound_arguments(self.function, args, kwargs)
        leaves, tree = jax.tree.flatten([*bound.values()])
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            return self.function(*args, **kwargs)
        is_array = tuple(map(_is_array, leaves))
        constants = tuple(None if a else v for v, a in zip(leaves, is_array, strict=True))
        widest = jax.dtypes.canonicalize_dtype("float64")
        key = (*bound, tree, is_array, _hashable(constants, self.name), widest)
        found = self._nested.get(key)
        if found is None:
            made = NestedOperator(self, tuple(bound), tree, is_array, constants)
            found = self._nested.setdefault(key, made)
        return found([leaf for leaf, a in zip(leaves, is_array, strict=True) if a])

    def __repr__(self) -> str:
        return f"<ted.jax.op {self.name}>"


class NestedOperator:
    """The operator for arguments of one tree, with the constants among them.

    Raises: FrontendError, when it is called, for results of another tree than before.
    """

    def __init__(
        self,
        operator: Operator,
        parameters: Sequence[str],
        tree: Any,
        is_array: Sequence[bool],
        constants: Sequence[Any],
    ) -> None:
        self._operator, self._parameters, self._tree = operator, parameters, tree
        self._is_array, self._constants = is_array, constants
        self._results: Any = None
        names = _names(parameters, tree, is_array)
        self.program = Program(self._traced, operator.name, names, operator.function.options)

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """The results in the tree in which the function returns them."""
        results = call(self.program, arrays)
        return jax.tree.unflatten(self._results, results)

    def _traced(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The function of the tensors alone, flat, with results of types that JAX has now."""
        left, name = iter(tensors), self._operator.name
        pairs = zip(self._is_array, self._constants, strict=True)
        leaves = [next(left) if is_array else value for is_array, value in pairs]
        bound = dict(zip(self._parameters, jax.tree.unflatten(self._tree, leaves), strict=True))
        args, kwargs = spread_arguments(self._operator.function, bound)
        found, tree = jax.tree.flatten(self._operator.function(*args, **kwargs))
        if self._results is not None and tree != self._results:
            raise FrontendError(
                f"{name}: an operator returns one tree for all shapes, got {tree} after "
                f"{self._results}"
            )
        self._results = tree
        results = [as_tensor(value, f"[{k}]", name) for k, value in enumerate(found)]
        return tuple([_canonical(r) for r in results])


@overload
def op(fn: Callable[..., Any], **options: Any) -> Operator: ...
@overload
def op(fn: None = None, **options: Any) -> Callable[[Callable[..., Any]], Operator]: ...
def op(fn: Callable[..., Any] | None = None, *, name: str | None = None, **options: Any) -> Any:
    """A ted function as an operator of JAX, with derivatives of any order; also a decorator.

    Arrays of NumPy and JAX in its arguments are what it computes with; numbers and other values are
    constants of the program. Results have the types that JAX has: 32 bits unless `jax_enable_x64`.
    `options` are those of `ted.function`: `target`, `deterministic`, `memory_limit`.
    Raises: FrontendError when `fn` is no function, `name` no identifier, or for an option that
    operators of JAX do not have; CompileError for an unknown target.
    """
    for one in ("donate", "batch", "debug_nans"):
        if one in options:
            raise FrontendError(
                f"op: operators of JAX have no {one}=, got {options[one]!r}; jax.jit has "
                "donate_argnums, jax.vmap batches, jax_debug_nans tests"
            )

    def make(fn: Callable[..., Any]) -> Operator:
        check_callable(fn, "op")
        return Operator(fn, operator_name(fn, name), options)

    return make if fn is None else make(fn)


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray)


def _hashable(constants: tuple[Any, ...], name: str) -> Any:
    try:
        hash(constants)
    except TypeError:
        kinds = ", ".join(sorted({type(c).__name__ for c in constants if c is not None}))
        raise FrontendError(
            f"{name}: arguments must be arrays of JAX and NumPy or hashable values, got {kinds}"
        ) from None
    return static_key(constants)


def _names(parameters: Sequence[str], tree: Any, is_array: Sequence[bool]) -> list[str]:
    """The paths of the arrays of a tree, from the parameter on: `x`, `params.w`."""
    places = jax.tree.unflatten(tree, range(tree.num_leaves))
    pairs = zip(jax.tree.leaves_with_path(places), is_array, strict=True)
    found: list[str] = []
    for (path, _), is_one in pairs:
        if is_one:
            parameter: int = path[0].idx
            found.append(".".join([parameters[parameter], *map(_word, path[1:])]))
    return found


def _word(key: Any) -> str:
    for name in ("key", "name", "idx"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return ""


def _canonical(result: Tensor) -> Tensor:
    kind = jax.dtypes.canonicalize_dtype(result.dtype.name).name
    return result if kind == result.dtype.name else cast(result, kind)
