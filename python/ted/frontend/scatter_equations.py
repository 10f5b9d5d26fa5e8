"""Equations that write at indices that are data.

Before: values over the points s of the indices and p of the other dims
After:  for all p, s:  out[index(s), p] = out[index(s), p] (combine) values[s, p]

The dims that index the write directly come first and are parallel, free of races; those of the
indices are reductions.  Any order of points gives one result, so `set` and `mul` are composed:

    last[k] = max over s with index(s) == k of s, -1 where there is none
    set:  out[k, p] = values[last[k], p]        mul:  out[k, p] = out[k, p] * factor[last[k], p]

where a factor is the product of the values of all s with one index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ted.domain import parameters
from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.axes import reduce_axis
from ted.frontend.closing_expressions import checked
from ted.frontend.compute import compute
from ted.frontend.elementwise import to_tensor, where
from ted.frontend.indexing import place
from ted.frontend.locations import fail, here
from ted.frontend.reductions import prod
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, tracing, wrap
from ted.ir import equations, scalar
from ted.ir.dtypes import BOOL, INDEX, INT64, DType, accumulator, promote
from ted.ir.exact_indices import exact_indices
from ted.ir.scalar import dim
from ted.records import dataclass

COMBINERS = ("add", "max", "min", "set", "mul")
MOST_FACTORS = 2**24
"""Products of pairs that `mul` takes at most; a gradient keeps them all, 128 MiB of float64."""

Index: TypeAlias = Sequence[Any]


@dataclass(frozen=True)
class Writes:
    """Values at data: `index` has the dims with an index that is data, a function of the points.

    `value` is a function of a point, and of the indices of the other dims, which are written
    directly.
    """

    what: str
    shape: tuple[Extent, ...]
    points: tuple[Extent, ...]
    index: Mapping[int, Callable[[Any], Any]]
    value: Callable[[Index, Index], Any]
    dtype: DType
    mode: str = "check"

    @property
    def direct(self) -> list[int]:
        """The dims that are no data."""
        return [k for k in range(len(self.shape)) if k not in self.index]

    def onto(self, init: Any, combine: str) -> Tensor:
        """The target with all values in it, on top of a tensor, a number or the identity.

        Raises: FrontendError for an unknown combiner, an init of another shape.
        """
        checks.one_of(combine, tuple(COMBINERS), f"{self.what}: combine")
        for k in self.index:
            if self.mode in ("clip", "drop") and not self.shape[k] and math.prod(self.points):
                fail(f"{self.what}: mode {self.mode} needs an element, got shape {self.shape}")
        begin = self._begin(init)
        result = _result(self.dtype, begin, combine)
        if combine in ("set", "mul"):
            return self._composed(begin, combine, result)
        return self._combined(begin, combine, result)

    def _begin(self, init: Any) -> Any:
        if init is None or isinstance(init, (bool, int, float)):
            return init
        tensor = to_tensor(init, f"{self.what}: init")
        if tensor.shape != self.shape:
            fail(f"{self.what}: init must have shape {self.shape}, got {tensor.shape}")
        return tensor

    def _places(self, point: Index) -> tuple[dict[int, Any], Any]:
        """The subscripts that are data at a point, and the condition under which it counts."""
        at, counts = {}, True
        for k, read in self.index.items():
            found = Scalar(scalar.cast(read(tuple(point)).expr, INDEX))
            at[k], inside = place(found, self.shape[k], self.mode)
            counts = counts if inside is None else inside if counts is True else counts & inside
        return at, counts

    # ------------------------------------------------------------ sums and extrema

    def _combined(self, begin: Any, combine: str, result: DType) -> Tensor:
        wide = accumulator(result) if combine == "add" else result
        direct = self.direct
        extents = (*(self.shape[k] for k in direct), *self.points)
        dims = [Scalar(dim(k)) for k in range(len(extents))]
        others, point = dims[: len(direct)], dims[len(direct) :]
        neutral = equations.identity(combine, wide)
        with tracing():
            at, counts = self._places(point)
            value = scalar.cast(self.value(point, others).expr, wide)
        at.update(zip(direct, others, strict=True))
        if counts is not True:
            value = scalar.select(counts.expr, value, scalar.const(neutral, wide))
        *write, body = exact_indices([*(at[k].expr for k in sorted(at)), value], extents)
        box = parameters.box(extents)
        equation = equations.Equation(
            extents, len(direct), box, tuple(write), combine, body, here()
        )
        equation = checked(equation, self.what, self.shape)
        first, fill = (), neutral
        if isinstance(begin, Tensor):
            first, fill = (copied(begin, wide),), None
        elif begin is not None:
            fill = constant(begin, wide, self.what).attr
        node = equations.Tensor(self.what, self.shape, wide, fill, (*first, equation), here())
        return wrap(node).astype(result)

    # ------------------------------------------------------------ the last writer

    def _composed(self, begin: Any, combine: str, result: DType) -> Tensor:
        number = equations.identity(combine, result) if begin is None else begin
        rest = number if isinstance(begin, Tensor) else Scalar(constant(number, result, self.what))
        last, direct = self._last(), self.direct
        factors = self._factors() if combine == "mul" else None

        def element(*k: Any) -> Any:
            writer = last[tuple(k[d] for d in sorted(self.index))]
            point, others = self._point(writer), [k[d] for d in direct]
            before = rest[k] if isinstance(rest, Tensor) else rest
            new = self.value(point, others) if factors is None else factors[(*point, *others)]
            return where(writer >= 0, new if factors is None else before * new, before)

        return compute(self.shape, element, name=self.what, dtype=result)

    def _last(self) -> Tensor:
        """The row-major number of the last point that writes at an index, -1 where none does."""
        order = sorted(self.index)

        def number(point: Index, _: Index) -> Any:
            value: Any = Scalar(scalar.index(0))
            for at, extent in zip(point, self.points, strict=True):
                value = value * extent + at
            return value

        last = replace(
            self,
            what=self.what,  # errors name it
            shape=tuple(self.shape[k] for k in order),
            index={n: self.index[k] for n, k in enumerate(order)},
            value=number,
            dtype=INT64,
        )
        return last._combined(-1, "max", INT64)

    def _point(self, number: Any) -> list[Any]:
        """The point with a row-major number, which is inside where it is not negative."""
        rest, point = Scalar(scalar.cast(number.expr, INDEX)), []
        for extent in reversed(self.points[1:]):
            point.insert(0, rest % extent)
            rest = rest // extent
        found = [rest, *point] if self.points else []
        return [Scalar(scalar.unchecked(at.expr)) for at in found]

    def _factors(self) -> Tensor:
        """For each point the product of the values of all points with the same indices."""
        others = tuple(self.shape[k] for k in self.direct)
        count, rank = math.prod((*self.points, *self.points, *others)), len(self.points)
        if not isinstance(count, int) or count > MOST_FACTORS:
            fail(
                f"{self.what}: indices that are data may be equal, so mul takes a product for each "
                f"pair of them, at most {MOST_FACTORS}, got {count} for indices of shape "
                f"{self.points}; where they differ write x.at[i].set(x[i] * values)"
            )

        def factor(*i: Any) -> Any:
            axes = [reduce_axis(extent) for extent in self.points]
            (own, _), (other, counts) = self._places(i[:rank]), self._places(axes)
            for k in self.index:
                same = own[k] == other[k]
                counts = same if counts is True else counts & same
            value = where(counts, self.value(axes, i[rank:]), 1)
            return prod(value, axis=axes) if axes else value

        return compute((*self.points, *others), factor, name=f"{self.what}_factors")


def _result(dtype: DType, init: Any, combine: str) -> DType:
    dtype = promote(dtype, init.dtype) if isinstance(init, Tensor) else dtype
    return INT64 if dtype == BOOL and combine == "add" else dtype


def copied(source: Tensor, dtype: DType) -> equations.Equation:
    """The equation that begins with a tensor."""
    at = equations.identity_dims(source.ndim)
    value = scalar.cast(scalar.load(source.node, at), dtype)
    return equations.whole(source.shape, value, here())
