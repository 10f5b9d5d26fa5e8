"""Tracing: a Python function of tensors and a signature of arrays -> placeholders and results."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from types import ModuleType
from typing import Any

import numpy as np

from ted.domain.sizes import Extent
from ted.forking import cached_property
from ted.frontend import checks
from ted.frontend.complex_pairs import Complex, opened_array
from ted.frontend.creation import full
from ted.frontend.layout import transpose
from ted.frontend.locations import fail
from ted.frontend.notes import Note, recording, say
from ted.frontend.scalars import Scalar
from ted.frontend.systems import system_of
from ted.frontend.tensors import Tensor, placeholder, with_constant
from ted.frontend.trees import (
    Tree,
    flatten,
    is_nest,
    keys_key,
    nester,
    opened,
    static,
    static_key,
    unflatten,
)
from ted.ir.dtypes import BOOL, FLOAT32, INT64, WEAK_FLOAT, DType
from ted.ir.equations import System
from ted.records import dataclass


@dataclass(frozen=True)
class ArraySpec:
    """What tracing needs to know of an array argument; `order` is that of its dims in memory."""

    shape: tuple[Extent, ...]
    dtype: DType
    order: tuple[int, ...] = ()

    def placeholder(self, name: str) -> Tensor:
        """The input for such an array, with the slowest dim first."""
        shape = tuple(self.shape[dim] for dim in self.order) if self.order else self.shape
        return placeholder(shape, self.dtype, name)

    def argument(self, given: Tensor) -> Tensor:
        """The input with the dims that the function sees."""
        if not self.order:
            return given
        return transpose(given, tuple(self.order.index(dim) for dim in range(len(self.order))))


@dataclass(frozen=True)
class Number:
    """A float of Python among arguments: an input that gives way to types beside it.

    All are equal, whatever their value: a program is for each of them.
    """

    value: float = field(compare=False)

    @staticmethod
    def is_one(value: Any) -> bool:
        """Whether a value is such a number: it has to fit what may be beside it."""
        return type(value) is float and (abs(value) <= _MOST or not math.isfinite(value))

    def placeholder(self, name: str) -> Tensor:
        """The input for it."""
        return placeholder((), WEAK_FLOAT, name)

    def argument(self, given: Tensor) -> Tensor:
        """The input itself."""
        return given


_MOST = float(np.finfo(np.float32).max)
Input = ArraySpec | Number


@dataclass(frozen=True)
class Signature:
    """Shapes and types of the arrays in a call, the values of everything else, and the nests.

    Two calls with equal signatures run the same program.
    """

    leaves: tuple[Any, ...]
    names: tuple[str, ...]
    tree: Tree
    keys: Any = field(init=False, repr=False)  # with their types: 1 == True, as keys of dicts

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", self.tree.typed_keys)

    def with_constants(self, positions: Collection[int]) -> Signature:
        """The signature of calls with the numbers of this one at some leaves."""
        if not positions:
            return self
        rows = enumerate(self.leaves)
        leaves = (static(leaf.value) if k in positions else leaf for k, leaf in rows)
        return replace(self, leaves=tuple(leaves))

    @property
    def numbers(self) -> list[int]:
        """The leaves that are numbers whose value is no part of the program."""
        return [k for k, leaf in enumerate(self.leaves) if isinstance(leaf, Number)]


@dataclass(frozen=True, eq=False)
class Trace:
    """A traced function: one placeholder per array of the call, and its results as a nest.

    The next outputs are those of its notes, whose tree is `notes`; the last ones are what `last`
    checks.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    output_tree: Tree
    arguments: Any
    name: str = "main"
    notes: Tree | None = None
    last: Callable[[Sequence[Any]], None] | None = None

    @property
    def has_notes(self) -> bool:
        """Whether a call prints or checks."""
        return self.notes is not None or self.last is not None

    def system(self) -> System:
        """The program from the placeholders to the results."""
        return system_of(self.inputs, self.outputs, self.name)

    @cached_property
    def results(self) -> Callable[[Sequence[Any]], Any]:
        """Gives values, one per output, the nest that the function returned, and says its notes.

        Raises: ExecutionError for a check that failed, when it is called.
        """
        nest, notes, count = nester(self.output_tree), self.notes, self.output_tree.size
        if not self.has_notes:
            return nest

        def said(values: Sequence[Any]) -> Any:
            hidden = [_on_host(value) for value in values[count:]]
            try:
                if notes is not None:
                    say(unflatten(notes, iter(hidden)))
            finally:  # behind what was printed, and before a check that failed for that
                if self.last is not None:
                    self.last(hidden[0 if notes is None else notes.size :])
            return nest(values[:count])

        return said


def signature_of(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], numbers: bool = False
) -> Signature:
    """The signature of a call; arrays are what has a shape and a dtype.

    With `numbers` floats of Python are inputs, else they are part of the program.

    Raises: FrontendError for arguments that `fn` does not take, tensors among them, or what is
    neither array nor hashable.
    """
    named = bound_arguments(fn, args, kwargs)
    leaves, tree = flatten(named)
    specs = tuple(
        Number(value)
        if numbers and Number.is_one(value)
        else _leaf(value, f"{name_of(fn)}: argument {path}")
        for path, value in leaves
    )
    return Signature(specs, tuple(path for path, _ in leaves), tree)


def arrays_of(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arrays of a call and its floats of Python, in the order of the placeholders.

    Raises: FrontendError for arguments that `fn` does not take.
    """
    leaves, _ = flatten(bound_arguments(fn, args, kwargs))
    return [value for _, value in leaves if _is_array(value) or Number.is_one(value)]


def call_key(nest: Any, arrays: list[Any]) -> Any:
    """A hashable key of positional arguments, which tells calls apart as signatures do, but faster.

    The arrays in them are appended to `arrays`, in the order of the placeholders, and floats.
    """
    kind = type(nest)
    if kind is float and Number.is_one(nest):
        arrays.append(nest)
        return kind
    if kind is np.ndarray and nest.dtype.kind != "c":  # nearly always, and faster so
        arrays.append(nest)
        return nest.shape, nest.dtype
    shape, dtype = getattr(nest, "shape", None), getattr(nest, "dtype", None)
    if shape is not None and dtype is not None and not is_nest(kind) and kind is not type:
        parts = opened_array(nest)
        if parts is not None:
            return Complex, tuple([call_key(part, arrays) for part in parts])
        arrays.append(nest)
        return shape, dtype
    if isinstance(nest, dict):
        values = tuple([call_key(v, arrays) for v in nest.values()])
        return kind, keys_key(tuple(nest)), values
    if isinstance(nest, (tuple, list)):
        return kind, tuple([call_key(v, arrays) for v in nest])
    found = opened(nest)
    if found is None:
        return static_key(nest)
    return found.kind, found.static, tuple([call_key(v, arrays) for v in found.values])


def trace(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> Trace:
    """Call `fn` once with a placeholder for each array in the arguments.

    Numbers, strings and None are passed on as they are: they are part of the program.

    Raises: FrontendError for an argument of another kind, or a result that is not made of tensors.
    """
    return trace_signature(fn, signature_of(fn, args, kwargs or {}))


def trace_signature(fn: Callable[..., Any], signature: Signature) -> Trace:
    """Trace for a signature that is already known.

    Raises: FrontendError for a result that is not made of tensors, a list where `fn` has an array.
    """
    pairs = list(zip(signature.leaves, signature.names, strict=True))
    inputs = [leaf.placeholder(name) for leaf, name in pairs if isinstance(leaf, Input)]
    left = iter(inputs)
    values = [
        leaf.argument(next(left)) if isinstance(leaf, Input) else leaf.value
        for leaf in signature.leaves
    ]
    named = unflatten(signature.tree, iter(values))
    positional, keywords = spread_arguments(fn, named)
    notes: list[Note] = []
    with recording(notes), while_traced():
        try:
            result = fn(*positional, **keywords)
        except (TypeError, AttributeError) as error:
            _explain_lists(fn, signature, error)
            raise
    leaves, tree = flatten(result)
    hidden, note_tree = flatten(notes)
    outputs = tuple(as_tensor(value, path, name_of(fn)) for path, value in leaves)
    return Trace(
        tuple(inputs), (*outputs, *(tensor for _, tensor in hidden)), tree, named, name_of(fn),
        note_tree if notes else None,
    )  # fmt: skip


def _explain_lists(fn: Callable[..., Any], signature: Signature, error: Exception) -> None:
    """Say what a list among the arguments is, where Python says that it is no array.

    Raises: FrontendError for an error that speaks of one.
    """
    arguments = zip(signature.tree.keys, signature.tree.children, strict=True)
    found = [(key, child.kind) for key, child in arguments if child.kind in (list, tuple)]
    for key, kind in found:
        if f"'{kind.__name__}'" in str(error):
            fail(
                f"{name_of(fn)}: argument {key}: a {kind.__name__} is a nest of what is in it, "
                f"and no array, got {error}; pass np.asarray({key})"
            )


_is_tracing: ContextVar[bool] = ContextVar("is_tracing", default=False)


@contextmanager
def while_traced() -> Iterator[None]:
    """What runs in it is traced."""
    token = _is_tracing.set(True)
    try:
        yield
    finally:
        _is_tracing.reset(token)


def is_tracing() -> bool:
    """Whether a function is being traced, of whose tensors others may be made without a word."""
    return _is_tracing.get()


def has_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is made with tensors, that is while something else is being built.

    So are calls with values of an index lambda.
    """
    leaves, _ = flatten((args, kwargs))
    return any(isinstance(value, (Tensor, Scalar)) for _, value in leaves)


def with_constants(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call within a program that is built: arrays are constants of it."""
    leaves, tree = flatten((args, kwargs))
    values = (with_constant(v, f"{name_of(fn)}: argument {path}") for path, v in leaves)
    return unflatten(tree, values)


# ------------------------------------------------------------------ arguments and results


def name_of(fn: Callable[..., Any]) -> str:
    """What messages and programs call a function."""
    name = getattr(fn, "__name__", "main")
    return name if name.isidentifier() else "main"


def bound_arguments(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by parameter name, in the order of the parameters.

    Raises: FrontendError for arguments that `fn` does not take.
    """
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
    except TypeError as error:
        given = ", ".join([*map(_shown, args), *(f"{k}={_shown(v)}" for k, v in kwargs.items())])
        fail(f"{name_of(fn)}: {error}; it takes {inspect.signature(fn)}, got ({given})")
    except ValueError:
        return {f"x{k}": value for k, value in enumerate(args)}
    return dict(bound.arguments)


def _shown(value: Any) -> str:
    """An argument in a message: of an array what a signature has of it."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}{list(value.shape)}"
    return reprlib.repr(value)


def spread_arguments(
    fn: Callable[..., Any], named: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by name -> a call, *args and **kwargs spread again."""
    try:
        parameters = inspect.signature(fn).parameters
    except ValueError:
        return list(named.values()), {}
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, value in named.items():
        kind = parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            positional += value
        elif kind is inspect.Parameter.VAR_KEYWORD:
            keywords.update(value)
        elif kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(value)
        elif keywords or kind is inspect.Parameter.KEYWORD_ONLY:
            keywords[name] = value
        else:
            positional.append(value)
    return positional, keywords


def _on_host(value: Any) -> Any:
    """A result as an array of NumPy, wherever it lies."""
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _is_array(value: Any) -> bool:
    """Classes of numbers, as `np.float32`, have both attributes, too."""
    is_one = hasattr(value, "shape") and hasattr(value, "dtype")
    return is_one and not isinstance(value, (type, ModuleType))


def _leaf(value: Any, what: str) -> Any:
    if isinstance(value, Tensor):
        fail(f"{what}: a traced function is called with arrays, got {value!r}")
    if _is_array(value):
        return ArraySpec(tuple(int(n) for n in value.shape), checks.dtype_of(value.dtype, what))
    try:
        hash(value)
    except TypeError:
        fail(f"{what}: must be an array or a hashable value, got {type(value).__name__}")
    return static(value)


def as_tensor(value: Any, path: str, what: str, kinds: str = "results") -> Tensor:
    """A result of a traced function: a tensor, or an array or a number as one.

    Raises: FrontendError for anything else.
    """
    place = f" at {path}" if path else ""
    value = with_constant(value, f"{what}: {kinds}{place}")
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "biuf":
        return full((), value.item(), value.dtype)  # alone, a number of NumPy keeps its type
    for kind, dtype in ((bool, BOOL), (int, INT64), (float, FLOAT32)):
        if isinstance(value, kind):
            return full((), value, dtype)
    got = f"{type(value).__name__}{place}"
    if isinstance(value, Scalar):
        got = (
            f"{value!r}{place}, a value of an index lambda that was captured; what is called "
            "inside of the lambda takes such values as arguments"
        )
    return fail(f"{what}: {kinds} must be tensors, got {got}")
