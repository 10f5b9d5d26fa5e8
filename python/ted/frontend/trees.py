"""Nests of leaves <-> a flat list: arguments and results of functions.

A nest is a tuple, a list, a dict, a named tuple, a dataclass, or None, which has no leaves; an
array of complex numbers is one of its two parts (`complex_pairs`); all else is a leaf. Fields of a
dataclass are children, but for those that are declared
`dataclasses.field(metadata={"static": True})`: they belong to the shape of the nest. Attributes
that are no fields do not come back. A dataclass with a protocol of arrays is an array, a leaf.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache
from types import NoneType
from typing import Any

from ted.frontend.complex_pairs import Complex, joined, opened_array
from ted.frontend.locations import fail
from ted.records import dataclass

# What makes a dataclass an array.
_PROTOCOLS = ("__array__", "__array_interface__", "__cuda_array_interface__", "__dlpack__")


@dataclass(frozen=True)
class Static:
    """A value that is part of the program; see `static`."""

    key: Any
    value: Any = field(compare=False)


def static(value: Any) -> Static:
    """The value as part of the program; its type counts, since 1 == True == 1.0."""
    return Static(static_key(value), value)


def static_key(value: Any) -> Any:
    """Equal for values that are equal in type and sign, those in tuples too (0.0 == -0.0)."""
    if isinstance(value, tuple):
        return type(value), tuple(map(static_key, value))
    is_zero = isinstance(value, float) and not value
    return type(value), str(value) if is_zero else value


def keys_key(keys: tuple[Any, ...]) -> Any:
    """The same for the keys of a dict, which are texts nearly always."""
    return keys if {*map(type, keys)} <= {str} else static_key(keys)


@dataclass(frozen=True)
class Tree:
    """The shape of a nest: its kind, its keys and its children; a leaf has kind None.

    `static` are the values of fields of a dataclass that are no children.
    """

    kind: Any = None
    keys: tuple[Any, ...] = ()
    children: tuple[Tree, ...] = ()
    static: tuple[Static, ...] = ()

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(child.size for child in self.children)

    @property
    def typed_keys(self) -> Any:
        """The keys of all levels, which trees of one program have in common with their types."""
        return keys_key(self.keys), tuple([c.typed_keys for c in self.children if c.keys])

    def __str__(self) -> str:
        """Like `{w: *, layers: [*, *]}`, and `Layer{w: *, act='tanh'}` with a static field."""
        if self.kind is None:
            return "*"
        if self.kind is NoneType:
            return "None"
        if self.kind in (tuple, list):
            inside = ", ".join(map(str, self.children))
            return f"[{inside}]" if self.kind is list else f"({inside})"
        named = zip(self.keys, self.children, strict=True)
        inside = [f"{key}: {child}" for key, child in named]
        if self.static:
            fixed = zip(_fields(self.kind)[1], self.static, strict=True)
            inside += [f"{name}={given.value!r}" for name, given in fixed]
        return f"{'' if self.kind is dict else self.kind.__name__}{{{', '.join(inside)}}}"


LEAF = Tree()


@dataclass(frozen=True)
class Opened:
    """One level of a nest: its kind, its children by keys, and what is no child."""

    kind: Any
    keys: tuple[Any, ...]
    values: Sequence[Any]
    static: tuple[Static, ...] = ()

    def below(self, path: str) -> Iterator[tuple[str, Any]]:
        """The children with their paths."""
        for key, value in zip(self.keys, self.values, strict=True):
            yield f"{path}.{key}" if path else str(key), value


@cache
def is_nest(kind: type) -> bool:
    """Whether values of a type are nests."""
    if issubclass(kind, (dict, tuple, list, NoneType, Complex)):
        return True
    is_array = any(hasattr(kind, protocol) for protocol in _PROTOCOLS)
    return hasattr(kind, "__dataclass_fields__") and not is_array


def opened(nest: Any) -> Opened | None:
    """One level of a nest; None for a leaf.

    Raises: FrontendError for a field without value, or a static one whose value has no hash.
    """
    if isinstance(nest, dict):
        kind = OrderedDict if isinstance(nest, OrderedDict) else dict
        return Opened(kind, tuple(nest), list(nest.values()))
    if isinstance(nest, (tuple, list)):
        keys = tuple(getattr(nest, "_fields", range(len(nest))))
        return Opened(type(nest), keys, nest)
    if nest is None:
        return Opened(NoneType, (), ())
    parts = opened_array(nest)
    if parts is not None:
        return Opened(Complex, ("real", "imag"), parts)
    if is_nest(type(nest)):
        keys, fixed = _fields(type(nest))
        values = [_value(nest, name) for name in keys]
        return Opened(type(nest), keys, values, tuple(_static(nest, name) for name in fixed))
    return None


def flatten(nest: Any, path: str = "", what: str = "nest") -> tuple[list[tuple[str, Any]], Tree]:
    """The leaves with their paths (`params.w1`, `xs.0`), and the tree that holds them.

    Raises: FrontendError for a nest that holds itself, and as `opened`.
    """
    return _flattened(nest, path, what, ())


def _flattened(
    nest: Any, path: str, what: str, around: tuple[int, ...]
) -> tuple[list[tuple[str, Any]], Tree]:
    found = opened(nest)
    if found is None:
        return [(path, nest)], LEAF
    if id(nest) in around:
        fail(f"{what}: must not hold itself, got a {type(nest).__name__} that does at {path[:40]}")
    leaves, children = [], []
    for place, value in found.below(path):
        below, child = _flattened(value, place, what, (*around, id(nest)))
        leaves += below
        children.append(child)
    return leaves, Tree(found.kind, found.keys, tuple(children), found.static)


def unflatten(tree: Tree, leaves: Iterator[Any]) -> Any:
    """The nest of shape `tree` with the given leaves; no `__init__` of a dataclass is called."""
    if tree.kind is None:
        return next(leaves)
    values = [unflatten(child, leaves) for child in tree.children]
    return _made(tree, values)


class NestsDiffer(Exception):
    """Two nests that should be alike are not."""


def spread(given: Any, nest: Any, whole: type | tuple[type, ...] = NoneType) -> list[Any]:
    """What `given`, a nest like `nest`, has for each leaf of it.

    What is of a type of `whole` stands for all leaves below it; a tuple stands for a list.
    Raises: NestsDiffer.
    """
    found = opened(nest)
    if found is None:
        return [given]
    if isinstance(given, whole):
        return [given] * len(flatten(nest)[0])
    other = opened(given)
    if other is None or _level(other) != _level(found):
        raise NestsDiffer
    by_key = dict(zip(other.keys, other.values, strict=True))
    keys = found.keys if set(found.keys) == set(by_key) else other.keys
    pairs = zip((by_key[k] for k in keys), found.values, strict=True)
    return [value for inner, below in pairs for value in spread(inner, below, whole)]


def _level(found: Opened) -> tuple[Any, Any]:
    """What nests have in common that are alike."""
    if issubclass(found.kind, dict):
        return dict, set(found.keys)
    if issubclass(found.kind, (tuple, list)):
        return tuple, len(found.keys)
    return found.kind, found.static


def nester(tree: Tree) -> Callable[[Sequence[Any]], Any]:
    """What makes the nest of shape `tree` from leaves, found once for many calls."""
    if tree == LEAF:
        return lambda leaves: leaves[0]  # which torch.compile traces
    if tree.kind is Complex and all(child == LEAF for child in tree.children):
        return lambda leaves: joined(*leaves)
    if tree.kind in (tuple, list) and all(child == LEAF for child in tree.children):
        return tree.kind
    if tree.children and all(child == LEAF for child in tree.children):
        return lambda leaves: _made(tree, leaves)
    return lambda leaves: unflatten(tree, iter(leaves))


def _made(tree: Tree, values: Sequence[Any]) -> Any:
    """A nest of one level."""
    if tree.kind is NoneType:
        return None
    if issubclass(tree.kind, dict):
        return tree.kind(zip(tree.keys, values, strict=True))
    if issubclass(tree.kind, (tuple, list)):
        return tree.kind(*values) if hasattr(tree.kind, "_fields") else tree.kind(values)
    if tree.kind is Complex:
        return joined(*values)
    made = object.__new__(tree.kind)
    names, values = list(tree.keys), list(values)
    if tree.static:  # of the class they are a cache that torch.compile does not trace
        names += [f.name for f in dataclasses.fields(made) if f.name not in tree.keys]
        values += [given.value for given in tree.static]
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)  # of a frozen one, too
    return made


@cache
def _fields(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Fields of a dataclass that are children, and those that are not."""
    fields = dataclasses.fields(kind)
    fixed = tuple(f.name for f in fields if f.metadata.get("static"))
    return tuple(f.name for f in fields if f.name not in fixed), fixed


def _value(nest: Any, name: str) -> Any:
    try:
        return getattr(nest, name)
    except AttributeError:
        fail(
            f"{type(nest).__name__}.{name}: each field of a dataclass in a nest has a value, got "
            "none; set it in __post_init__, or give it the default None"
        )


def _static(nest: Any, name: str) -> Static:
    value = _value(nest, name)
    try:
        hash(value)
    except TypeError:
        fail(
            f"{type(nest).__name__}.{name}: a static field is part of the program and must have a "
            f"hash, got {type(value).__name__}; make it a field without metadata static=True, or "
            "a tuple"
        )
    return static(value)
