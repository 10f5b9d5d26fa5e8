"""Arguments -> placeholders of their own, so that a derivative is partial and sees no outer one.

Before: f(x, x) differentiated with respect to x       After: f(a, b), then a = x and b = x

A function that is transformed inside another one may capture the tensor it is called on; with fresh
placeholders the captured tensor is a constant, as it has to be.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from ted.api.derived import lowered
from ted.frontend.creation import full
from ted.frontend.elementwise import cast
from ted.frontend.notes import here_in_notes, record, taken
from ted.frontend.tensors import Tensor, constant, with_constant, wrap
from ted.frontend.trees import flatten, unflatten
from ted.ir.dtypes import FLOAT32, is_weak_type, promote
from ted.ir.equations import Tensor as Node
from ted.records import dataclass


@dataclass(frozen=True)
class Lifted:
    """A nest of arguments with a placeholder for each tensor, and what each stands for.

    `begin` is what had been said before, see `ted.frontend.notes`.
    """

    arguments: Any
    mapping: dict[Node, Node]
    begin: int

    def lowered(self, nest: Any) -> Any:
        """A nest of tensors computed from the placeholders as computed from the arguments.

        So are the tensors in what was said since.
        """
        leaves, tree = flatten((nest, taken(self.begin)))
        tensors = [value for _, value in leaves if isinstance(value, Tensor)]
        found = iter(lowered([t.node for t in tensors], self.mapping))
        values = (wrap(next(found)) if isinstance(v, Tensor) else v for _, v in leaves)
        result, notes = unflatten(tree, values)
        record(notes)
        return result


def lift(arguments: Any) -> Lifted:
    """The arguments with a placeholder for each tensor; an array is one.

    So is a float of NumPy of rank 0, as in a call on arrays: elsewhere it is a weak number.
    """
    leaves, tree = flatten(arguments)
    given = [
        constant(value) if _is_float_of_numpy(value) else with_constant(value, path)
        for path, value in leaves
    ]
    fresh = [placeholder_like(v) if isinstance(v, Tensor) else v for v in given]
    pairs = zip(fresh, given, strict=True)
    mapping = {a.node: b.node for a, b in pairs if isinstance(b, Tensor)}
    return Lifted(unflatten(tree, iter(fresh)), mapping, here_in_notes())


def with_floats(nest: Any, beside: Any) -> Any:
    """The nest with tensors for its floats of Python, of the type of the floats beside them.

    Within a program that is built these are constants, which derivatives are taken of.
    """
    leaves, tree = flatten(nest)
    if not any(type(value) is float for _, value in leaves):
        return nest
    dtypes = [v.dtype for _, v in flatten(beside)[0] if isinstance(v, Tensor) and v.dtype.is_float]
    dtype = functools.reduce(promote, dtypes) if dtypes else FLOAT32
    return unflatten(tree, (full((), v, dtype) if type(v) is float else v for _, v in leaves))


def fitted(value: Any, like: Any) -> Any:
    """A number, or a tensor of one, in the type of a tensor of rank 0 that it is to fit."""
    if not isinstance(like, Tensor) or like.ndim:
        return value
    if type(value) in (int, float):
        return full((), value, like.dtype)
    is_number = isinstance(value, Tensor) and value.ndim == 0 and value.dtype.is_float
    if is_number and (is_weak_type(value.dtype) or is_weak_type(like.dtype)):
        return cast(value, like.dtype)
    return value


def _is_float_of_numpy(value: Any) -> bool:
    is_numpy = isinstance(value, (np.ndarray, np.generic))
    return is_numpy and value.ndim == 0 and value.dtype.kind == "f"


def placeholder_like(tensor: Tensor) -> Tensor:
    """An input of the shape and type of a tensor."""
    node = tensor.node
    return wrap(replace(node, fill=None, equations=(), time=None, values=None))
