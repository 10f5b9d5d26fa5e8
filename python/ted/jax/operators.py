"""`ted.jax.op`: functions of trees of arrays, around programs of flat lists of tensors.

Before: energy({"w": w, "b": b}, x, 0.5)      After: a call of energy's program for that tree

Numbers and other constants are part of the program.
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
from ted.frontend.complex_pairs import Complex
from ted.frontend.elementwise import cast
from ted.frontend.functions import as_tensor, bound_arguments, spread_arguments
from ted.frontend.scalars import Scalar
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
        if any(isinstance(leaf, Tensor | Complex | Scalar) for leaf in leaves):
            return self.function(*args, **kwargs)
        parts = tuple(map(_parts, leaves))
        constants = tuple(None if n else v for v, n in zip(leaves, parts, strict=True))
        widest = jax.dtypes.canonicalize_dtype("float64")
        key = (*bound, tree, parts, _hashable(constants, self.name), widest)
        found = self._nested.get(key)
        if found is None:
            made = NestedOperator(self, tuple(bound), tree, parts, constants)
            found = self._nested.setdefault(key, made)
        if 2 not in parts:
            return found([leaf for leaf, n in zip(leaves, parts, strict=True) if n])
        return found([p for leaf, n in zip(leaves, parts, strict=True) for p in _opened(leaf, n)])

    def __repr__(self) -> str:
        return f"<ted.jax.op {self.name}>"


class NestedOperator:
    """The operator for arguments of one tree, with the constants among them.

    `parts` says of how many tensors each leaf is: a constant of none, complex numbers of two.
    Raises: FrontendError, when it is called, for results of another tree than before.
    """

    def __init__(
        self,
        operator: Operator,
        parameters: Sequence[str],
        tree: Any,
        parts: Sequence[int],
        constants: Sequence[Any],
    ) -> None:
        self._operator, self._parameters, self._tree = operator, parameters, tree
        self._parts, self._constants = parts, constants
        self._results: Any = None  # their tree, and which leaves of it are complex
        names = _names(parameters, tree, parts)
        options = operator.function.options.of_a_caller  # XLA's threads flush subnormals
        self.program = Program(self._traced, operator.name, names, options)

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """The results in the tree in which the function returns them."""
        results = call(self.program, arrays)
        tree, pairs = self._results
        if any(pairs):
            left = iter(results)
            results = [
                jax.lax.complex(next(left), next(left)) if pair else next(left) for pair in pairs
            ]
        return jax.tree.unflatten(tree, results)

    def _traced(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The function of the tensors alone, flat, with results of types that JAX has now."""
        left, name = iter(tensors), self._operator.name
        leaves = [
            Complex(next(left), next(left)) if n == 2 else next(left) if n else value
            for n, value in zip(self._parts, self._constants, strict=True)
        ]
        bound = dict(zip(self._parameters, jax.tree.unflatten(self._tree, leaves), strict=True))
        args, kwargs = spread_arguments(self._operator.function, bound)
        found, tree = jax.tree.flatten(self._operator.function(*args, **kwargs))
        returned = tree, [isinstance(value, Complex) for value in found]
        if self._results is not None and returned != self._results:
            raise FrontendError(
                f"{name}: an operator returns one tree for all shapes, got {tree} after "
                f"{self._results[0]}"
            )
        self._results = returned
        results = [
            as_tensor(part, f"[{k}]", name) for k, value in enumerate(found) for part in _of(value)
        ]
        return tuple([_canonical(r) for r in results])


@overload
def op(fn: Callable[..., Any], **options: Any) -> Operator: ...
@overload
def op(fn: None = None, **options: Any) -> Callable[[Callable[..., Any]], Operator]: ...
def op(fn: Callable[..., Any] | None = None, *, name: str | None = None, **options: Any) -> Any:
    """A ted function as an operator of JAX, with derivatives of any order; also a decorator.

    Arrays of NumPy and JAX in its arguments are what it computes with; numbers and other values are
    constants of the program. Results have the types that JAX has: 32 bits unless `jax_enable_x64`.
    `options` are those of `ted.function`: `target`, `deterministic`, `memory_limit`, `subnormals`,
    which are flushed as JAX does unless they say otherwise.
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


def _parts(value: Any) -> int:
    """Of how many tensors an argument is: none for a constant, two for complex numbers."""
    if not isinstance(value, jax.Array | np.ndarray):
        return 0
    return 2 if jax.numpy.issubdtype(value.dtype, np.complexfloating) else 1


def _opened(value: Any, parts: int) -> Sequence[Any]:
    """The arrays of an argument; JAX differentiates what takes complex numbers apart."""
    return (jax.numpy.real(value), jax.numpy.imag(value)) if parts == 2 else (value,) * parts


def _of(result: Any) -> Sequence[Any]:
    if not isinstance(result, Complex):
        return (result,)
    return [cast(part, result.dtype.part) for part in (result.real, result.imag)]


def _hashable(constants: tuple[Any, ...], name: str) -> Any:
    try:
        hash(constants)
    except TypeError:
        kinds = ", ".join(sorted({type(c).__name__ for c in constants if c is not None}))
        raise FrontendError(
            f"{name}: arguments must be arrays of JAX and NumPy or hashable values, got {kinds}"
        ) from None
    return static_key(constants)


def _names(parameters: Sequence[str], tree: Any, parts: Sequence[int]) -> list[str]:
    """The paths of the arrays of a tree, from the parameter on: `x`, `params.w`, `z.real`."""
    places = jax.tree.unflatten(tree, range(tree.num_leaves))
    found: list[str] = []
    for (path, _), count in zip(jax.tree.leaves_with_path(places), parts, strict=True):
        parameter: int = path[0].idx
        name = ".".join([parameters[parameter], *map(_word, path[1:])])
        found += [f"{name}.real", f"{name}.imag"] if count == 2 else [name] * count
    return found


def _word(key: Any) -> str:
    for name in ("key", "name", "idx"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return ""


def _canonical(result: Tensor) -> Tensor:
    kind = jax.dtypes.canonicalize_dtype(result.dtype.name).name
    return result if kind == result.dtype.name else cast(result, kind)
