"""Reductions with a combiner of the user's own: a balanced tree of pairwise combinations.

Before: R(x[i, r], axis=r) with R = ted.reducer(combine, identity)
After:  t1[i, m] = combine(x[i, 2 m], x[i, 2 m + 1]);  t2[i, m] = combine(t1[i, 2 m], ...);  ...

Each level is an equation like any other (one per component), so the gradient of any combiner is
exact, zeros and infinities included, at any order.  Neighbours are combined, so the order of the
points is kept, and it is the same in every run.  The levels together take as many elements as there
are points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.domain.sizes import Size
from ted.frontend import arithmetic, checks
from ted.frontend.axes import Axis
from ted.frontend.checks import called
from ted.frontend.closing_expressions import close_reduction
from ted.frontend.lazy_reductions import Reduction, ReductionScalar, pending_reads
from ted.frontend.locations import fail, here
from ted.frontend.reductions import condition_of, is_reduce_axis, reduce_axes
from ted.frontend.scalars import Scalar, operand
from ted.frontend.tensors import (
    Tensor,
    broadcast_read,
    parallel_axes,
    read,
    tracing,
    with_constant,
    wrap,
)
from ted.ir import scalar
from ted.ir.dtypes import BOOL, FLOAT32, INT64, DType, accumulator, promote
from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE, cast, dim, index
from ted.records import dataclass


def reducer(combine: Callable[..., Any], identity: Any = None, name: str = "reduce") -> Reducer:
    """A reduction with an associative combiner: `R(x, axis=..., where=, init=, keepdims=)`.

    `combine(a, b)` gives one value for two numbers, or a tuple for two tuples; then `identity` is a
    tuple too, and R takes and gives tuples, and so is `init`, of tensors that broadcast to the
    result, values of the lambda or numbers.  It need not be commutative.  The identity is the value
    of no elements and of those that `where` leaves out; it is combined with others only there.
    float16 and bfloat16 are combined in float32 and rounded once.
    `ted.testing.check_associative` tries it on samples.
    Raises: FrontendError without an identity of numbers.
    """
    if not callable(combine):
        fail(f"reducer: the combiner must be a function of two values, got {combine!r}")
    items = identity if isinstance(identity, (tuple, list)) else (identity,)
    numbers = tuple(operand(item) for item in items)
    if not numbers or any(n is None or isinstance(n, Expr) for n in numbers):
        fail(
            "reducer: the combiner needs an identity, a number or a tuple of numbers e with "
            f"combine(e, x) = x, got {identity!r}"
        )
    hint = checks.name_of(name, "reducer") or "reduce"
    return Reducer(combine, numbers, not isinstance(identity, (tuple, list)), hint)


@dataclass(frozen=True, eq=False)
class Reducer:
    """An associative combiner with its identity; call it to reduce."""

    combine: Callable[..., Any]
    identity: tuple[arithmetic.Number, ...]
    single: bool
    name: str

    def __call__(
        self, x: Any, axis: Any = None, *, where: Any = None, init: Any = None,
        keepdims: bool = False,
    ) -> Any:  # fmt: skip
        """Reduce a value of a lambda over reduce axes, or dims of whole tensors.

        Raises: FrontendError for a wrong number of components, or a combiner that changes types.
        """
        values, where = self._components(x, "takes"), with_constant(where, f"{self.name}: where")
        keepdims = checks.flag(keepdims, f"{self.name}: keepdims")
        if any(isinstance(v, Tensor) for v in values) and not is_reduce_axis(axis):
            return self._result(self._whole(values, axis, where, init, keepdims))
        if keepdims:
            fail(f"{self.name}: keepdims applies to whole tensors, got a reduction over {axis!r}")
        return self._result(self._element(values, reduce_axes(self.name, axis), where, init))

    def joined(self, a: Sequence[Expr], b: Sequence[Expr]) -> list[Expr]:
        """combine(a, b), in the types of a.

        Raises: FrontendError when the combiner gives another number of values, or wider types.
        """
        left, right = ([Scalar(e) for e in side] for side in (a, b))
        sides = (left[0], right[0]) if self.single else (tuple(left), tuple(right))
        found = called(self.name, "combine(a, b)", self.combine, *sides)
        values = self._components(found, "must give")
        return [self._kept(k, v, e.dtype) for k, (v, e) in enumerate(zip(values, a, strict=True))]

    def types(self, values: Sequence[Any]) -> list[DType]:
        """The types of the components; a number is as wide as the floats beside it."""
        floats = [v.dtype for v in values if isinstance(v, (Scalar, Tensor)) and v.dtype.is_float]
        widest = FLOAT32 if not floats else floats[0]
        for dtype in floats[1:]:
            widest = promote(widest, dtype)
        return [_type(v, e, widest) for v, e in zip(values, self.identity, strict=True)]

    # ------------------------------------------------------------ components

    def _components(self, value: Any, verb: str) -> tuple[Any, ...]:
        items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        wanted = len(self.identity)
        if len(items) != wanted or self.single == isinstance(value, (tuple, list)):
            form = "one value" if self.single else f"a tuple of {wanted} values"
            fail(f"{self.name}: {verb} {form} as its identity has, got {value!r}")
        items = tuple(with_constant(item, self.name) for item in items)
        for item in items:
            if not isinstance(item, Tensor) and operand(item) is None:
                fail(f"{self.name}: {verb} tensors, values of a lambda or numbers, got {item!r}")
        return items

    def _result(self, values: Sequence[Any]) -> Any:
        return values[0] if self.single else tuple(values)

    def _kept(self, k: int, value: Any, dtype: DType) -> Expr:
        if isinstance(value, Tensor):
            value = read(value, ())
        if isinstance(value, Scalar) and promote(value.dtype, dtype) != dtype:
            fail(
                f"{self.name}: the combiner keeps the types of its operands, got {value.dtype} for "
                f"component {k} of type {dtype}"
            )
        return arithmetic.convert(operand(value), dtype, self.name)

    # ------------------------------------------------------------ over reduce axes

    def _element(
        self, values: Sequence[Any], axes: Sequence[Axis], where: Any, init: Any
    ) -> list[ReductionScalar]:
        scalars = [read(v, ()) if isinstance(v, Tensor) else v for v in values]
        results = self.types(scalars)
        wide = [accumulator(t) for t in results]
        level = [self._converted(v, t) for v, t in zip(scalars, wide, strict=True)]
        condition = condition_of(self.name, where)
        neutral = [self._converted(e, t) for e, t in zip(self.identity, wide, strict=True)]
        if condition is not TRUE:
            pairs = zip(level, neutral, strict=True)
            level = [scalar.select(condition, v, e) for v, e in pairs]
        for axis in reversed(axes):
            level = self._tree(level, axis, neutral)
        if init is not None:
            start = [read(v, ()) if isinstance(v, Tensor) else v
                     for v in self._components(init, "init:")]  # fmt: skip
            begin = [
                arithmetic.keep(operand(v), t, f"{self.name}: init")
                for v, t in zip(start, wide, strict=True)
            ]
            level = self.joined(begin, level)
        return [self._once(cast(v, t)) for v, t in zip(level, results, strict=True)]

    def _converted(self, value: Any, dtype: DType) -> Expr:
        return arithmetic.convert(operand(value), dtype, self.name)

    def _tree(self, level: list[Expr], axis: Axis, neutral: list[Expr]) -> list[Expr]:
        """The values combined along one axis, neighbours first."""
        if isinstance(axis.extent, Size):
            fail(
                f"{self.name}: a reducer combines the values of an axis in a tree of known depth, "
                f"so its extent must be a number, got {axis.extent}; use ted.scan"
            )
        if axis.extent == 0:
            return neutral
        if any(map(self._is_costly, level)):
            level = [self._once(v).expr for v in level]
        while axis.extent > 1:
            half = Axis(axis.name, 0, (axis.extent + 1) // 2, False)
            even = scalar.mul(dim(half.number), index(2)) if half.extent > 1 else index(0)
            odd = scalar.add(even, index(1))
            left, right = (_moved(level, axis, place) for place in (even, odd))
            level = self.joined(left, right)
            if axis.extent % 2:
                inside = scalar.compare("lt", odd, index(axis.extent))
                pairs = zip(level, left, strict=True)
                level = [scalar.select(inside, both, alone) for both, alone in pairs]
            level = [self._once(v).expr for v in level]
            axis = half
        return _moved(level, axis, index(0))

    def _is_costly(self, value: Expr) -> bool:
        """Whether a value is better kept than computed in place of each of its reads."""
        return bool(pending_reads(value)) or (not self.single and scalar.is_work(value))

    def _once(self, value: Expr) -> ReductionScalar:
        made = Reduction(self.name, "set", value, (), location=here())
        return ReductionScalar(made, value.dtype)

    # ------------------------------------------------------------ over dims of tensors

    def _whole(
        self, values: Sequence[Any], axis: Any, where: Any, init: Any, keepdims: bool
    ) -> list[Tensor]:
        shape = checks.broadcast([v.shape for v in values if isinstance(v, Tensor)], self.name)
        reduced = checks.reduced_axes(axis, len(shape), self.name)
        if isinstance(where, Tensor) and where.dtype != BOOL:
            fail(f"{self.name}: where must be a bool tensor, got {where!r}")
        if isinstance(where, Tensor):
            checks.broadcast_to(where.shape, shape, f"{self.name}: where")
        outer = parallel_axes(
            tuple(1 if k in reduced else n for k, n in enumerate(shape))
        )  # fmt: skip
        point = [Axis("r", 0, n, True) if k in reduced else outer[k] for k, n in enumerate(shape)]
        with tracing():
            elements = [broadcast_read(v, point) if isinstance(v, Tensor) else v for v in values]
            mask = broadcast_read(where, point) if isinstance(where, Tensor) else where
            kept = [outer[k] for k in range(len(shape)) if keepdims or k not in reduced]
            loops = [point[k] for k in reduced]
            found = self._element(elements, loops, mask, self._started(init, kept))
        return [wrap(close_reduction(self.name, kept, v.reduction)) for v in found]

    def _started(self, init: Any, kept: list[Axis]) -> Any:
        """An initial value at one element of the result, to which its tensors broadcast."""
        if init is None:
            return None
        values = self._components(init, "init:")
        extents = tuple(axis.extent for axis in kept)
        for value in values:
            if isinstance(value, Tensor):
                checks.broadcast_to(value.shape, extents, f"{self.name}: init")
        return self._result(
            [broadcast_read(v, kept) if isinstance(v, Tensor) else v for v in values]
        )


def _type(value: Any, identity: arithmetic.Number, widest: DType) -> DType:
    if isinstance(value, (Scalar, Tensor)):
        dtype = INT64 if value.dtype.is_index else value.dtype
        if isinstance(identity, float) and not dtype.is_float:
            return widest
        return INT64 if dtype == BOOL and not isinstance(identity, bool) else dtype
    if isinstance(value, float) or isinstance(identity, float):
        return widest
    return BOOL if isinstance(value, bool) and isinstance(identity, bool) else INT64


def _moved(values: Sequence[Expr], axis: Axis, place: Expr) -> list[Expr]:
    """The values where the position on an axis is `place`."""
    return scalar.rewrite(
        values, lambda n, _: place if n.op == "dim" and n.attr == axis.number else None
    )
