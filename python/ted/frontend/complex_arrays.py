"""Whole complex tensors: shapes, sums and products, from the same functions of their parts.

Before: reshape(z, s)       After: Complex(reshape(x, s), reshape(y, s))
Before: matmul(z, w)        After: Complex(x @ u - y @ v, x @ v + y @ u); two products if w is real

What is linear acts on each part, what is linear in several operands on each choice of their parts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from ted.frontend import (
    checks,
    contraction,
    creation,
    cumulative,
    dims,
    indexing,
    joining,
    layout,
    padding,
    reductions,
    repetition,
    scattering,
    statistics,
)
from ted.frontend.associative import associative_scan
from ted.frontend.complex_creation import complex_type_of, converted, full, of_lists, pair
from ted.frontend.complex_functions import operand, paired, parts
from ted.frontend.complex_pairs import Complex, is_complex, on_complex
from ted.frontend.compositions import matrices, samples
from ted.frontend.elementwise import round as rounded
from ted.frontend.elementwise import sqrt, stop_gradient
from ted.frontend.operators import nan_to_num
from ted.frontend.trees import flatten, unflatten
from ted.frontend.updates import At

Function = Callable[..., Any]
# Arguments that are numbers of the result.
_VALUES = ("value", "init", "fill", "prepend", "append")


def _half(value: Any, which: int) -> Any:
    """One part of an argument, in lists, too."""
    if isinstance(value, list):
        return [_half(x, which) for x in value]
    return (value.real, value.imag)[which] if isinstance(value, Complex) else value


def _named(function: Function, args: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, values of the result as pairs, a type as that of parts."""
    names = list(inspect.signature(function).parameters)
    found = {**dict(zip(names, args, strict=False)), **options}
    for name in _VALUES:
        if found.get(name) is not None:
            found[name] = pair(found[name])
    if found.get("dtype") is not None:
        found["dtype"] = complex_type_of(found["dtype"], function.__name__).part
    return found


def by_parts(function: Function) -> Function:
    """A function that is linear in its first argument, a tensor or a list of them."""
    first = next(iter(inspect.signature(function).parameters))

    def call(*args: Any, **options: Any) -> Any:
        named = _named(function, args, options)
        x = named[first]
        named[first] = [pair(y) for y in x] if isinstance(x, (list, tuple)) else pair(x)
        halves = [function(**{n: _half(v, k) for n, v in named.items()}) for k in (0, 1)]
        (real, tree), (imag, _) = map(flatten, halves)
        both = zip(real, imag, strict=True)
        return unflatten(tree, (paired(a, b) for (_, a), (_, b) in both))

    return call


def multilinear(function: Function) -> Function:
    """A function that is linear in a and b, or in each operand after a formula."""
    names = list(inspect.signature(function).parameters)
    count = 2 if names[0] == "a" else None

    def call(*args: Any, **options: Any) -> Any:
        operands = args[:count]
        options.update(zip(names[2:], args[len(operands) :], strict=False))
        given = [x if isinstance(x, str) else operand(x) for x in operands]
        if options.get("dtype") is not None:
            options["dtype"] = complex_type_of(options["dtype"], function.__name__).part
        totals: list[Any] = [None, None]
        for choice in product(*((0, 1) if isinstance(x, Complex) else (0,) for x in given)):
            term = function(*map(_half, given, choice), **options)
            turns = sum(choice)  # by i, one for each imaginary part
            total, is_less = totals[turns % 2], turns % 4 > 1  # never of the first
            joined = term if total is None else total - term if is_less else total + term
            totals[turns % 2] = joined
        return paired(*totals)

    return call


# ------------------------------------------------------------------ reductions and updates


def _cumprod(x: Any, axis: Any = None, reverse: bool = False, dtype: Any = None) -> Any:
    z = pair(x) if dtype is None else converted(x, dtype)
    z, along = (z.reshape(-1), 0) if axis is None else (z, axis)
    return associative_scan(on_complex["multiply"], z, reverse, along)


def _prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The last of the running products, along one dim after the other."""
    x = on_complex["asarray"](x) if isinstance(x, complex) else x
    z = pair(x) if dtype is None else converted(x, dtype)
    axes, keepdims = checks.reduced_axes(axis, z.ndim, "prod"), checks.flag(keepdims, "prod")
    for along in axes:
        one = full([1 if k == along else n for k, n in enumerate(z.shape)], 1, z.dtype)
        running = _cumprod(on_complex["concatenate"]([one, z], along), along)
        z = running[(*[slice(None)] * along, slice(-1, None))]
    return z if keepdims or not axes else on_complex["squeeze"](z, axes)


def _var(x: Any, *args: Any, **options: Any) -> Any:
    """The mean square of distances, which is the sum of those of both parts."""
    z = pair(x)
    return statistics.var(z.real, *args, **options) + statistics.var(z.imag, *args, **options)


def _of_truth(function: Function) -> Function:
    """A function of conditions: of whether numbers are not 0."""
    return lambda x, *args, **options: function(on_complex["truth"](x), *args, **options)


class _At:
    """`z.at[subscripts]`, as `x.at` of both parts."""

    __slots__ = ("_items", "_z")

    def __init__(self, z: Any, items: Any = None) -> None:
        self._z, self._items = z, items

    def __getitem__(self, subscripts: Any) -> _At:
        return _At(self._z, subscripts)

    def set(self, values: Any) -> Any:
        """The values in place of what is there."""
        return self._updated("set", values)

    def add(self, values: Any) -> Any:
        """What is there plus the values."""
        return self._updated("add", values)

    def _updated(self, name: str, values: Any) -> Any:
        halves = zip(parts(self._z), parts(pair(values)), strict=True)
        return Complex(*(getattr(At(x)[self._items], name)(v) for x, v in halves))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"z.at[i] of a complex tensor has set, add, got {name!r}; write z.at[i].set(f(z[i]))"
        )


def _each(function: Function) -> Function:
    """A function that makes one tensor of each operand; real operands keep their types."""

    def call(*xs: Any, **options: Any) -> list[Any]:
        given = [operand(x) for x in xs]
        real, imag = (function(*(_half(x, k) for x in given), **options) for k in (0, 1))
        triples = zip(given, real, imag, strict=True)
        return [Complex(a, b) if isinstance(x, Complex) else a for x, a, b in triples]

    return call


def _conjugate(x: Any) -> Any:
    return on_complex["conj"](x) if is_complex(x) else x


_LINEAR: tuple[Function, ...] = (
    layout.reshape, layout.flatten, layout.squeeze, layout.expand_dims, layout.broadcast_to,
    layout.transpose, layout.swapaxes, layout.flip, layout.roll, repetition.repeat, layout.tile,
    layout.split, layout.tril, layout.triu, dims.moveaxis, dims.unstack, dims.diagonal, dims.trace,
    dims.matrix_transpose, dims.hstack, dims.vstack, dims.column_stack, joining.concatenate,
    joining.stack, padding.pad, reductions.sum, reductions.mean, cumulative.cumsum,
    statistics.cumulative_sum, statistics.diff, indexing.take, indexing.take_along_axis,
    indexing.dynamic_slice, scattering.segment_sum, rounded, nan_to_num, stop_gradient,
    matrices.diag, matrices.diagflat, matrices.rot90, samples.resize,
)  # fmt: skip
_PRODUCTS: tuple[Function, ...] = (
    contraction.matmul, contraction.dot, contraction.inner, contraction.outer,
    contraction.tensordot, contraction.einsum, matrices.kron, matrices.matvec,
)  # fmt: skip
_vecdot, _vdot = multilinear(contraction.vecdot), multilinear(matrices.vdot)
_vecmat = multilinear(matrices.vecmat)
on_complex.update({function.__name__: by_parts(function) for function in _LINEAR})
on_complex.update({function.__name__: multilinear(function) for function in _PRODUCTS})
on_complex.update(
    broadcast_arrays=_each(dims.broadcast_arrays), meshgrid=_each(creation.meshgrid),
    vecdot=lambda a, b, axis=-1: _vecdot(_conjugate(a), b, axis=axis),
    vdot=lambda a, b: _vdot(_conjugate(a), b), vecmat=lambda v, a: _vecmat(_conjugate(v), a),
    block=lambda arrays: of_lists(samples.block, arrays),
    cumprod=_cumprod, cumulative_prod=_cumprod, prod=_prod, var=_var, at=_At,
    std=lambda x, *args, **options: sqrt(_var(x, *args, **options)),
    any=_of_truth(reductions.any), all=_of_truth(reductions.all),
    count_nonzero=_of_truth(statistics.count_nonzero),
)  # fmt: skip
