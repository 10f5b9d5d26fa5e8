"""Reductions: over reduction axes inside a lambda, over dims of a whole tensor outside.

Sums and products accumulate in a wider type where the language says so and are rounded once.  An
affine `where=` narrows the iteration domain; one that reads data masks the body with the identity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ted.frontend import arithmetic, checks, elementwise
from ted.frontend.axes import Axis
from ted.frontend.checks import dtype_of, flag, float_type
from ted.frontend.closing_expressions import split_condition
from ted.frontend.compute import compute
from ted.frontend.lazy_reductions import Reduction, ReductionScalar
from ted.frontend.locations import fail, here
from ted.frontend.scalars import Scalar, operand
from ted.frontend.tensors import Tensor, broadcast_read, read, with_constant
from ted.ir import scalar
from ted.ir.dtypes import BOOL, FLOAT32, INT64, DType, accumulator, total
from ted.ir.equations import TIES, identity
from ted.ir.expressions import Expr
from ted.ir.scalar import FALSE, TRUE, cast
from ted.records import dataclass

_COMBINERS = {
    "sum": "add", "prod": "mul", "max": "max", "min": "min", "any": "max", "all": "min",
    "argmax": "argmax", "argmin": "argmin",
}  # fmt: skip


def sum(
    x: Any, axis: Any = None, *, where: Any = None, init: Any = None, keepdims: bool = False,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The sum over `axis`; float16 and bfloat16 accumulate in float32.

    Of integers and bools it is an int64, of integers without sign a uint64, unless `dtype` says.

    `init` starts it: a number, a value of the lambda, or a tensor that broadcasts to the result.
    Raises: FrontendError for an axis that is neither a reduce axis nor a dim, or is named twice.
    """
    return _reduce("sum", x, axis, keepdims, _Options(where, init, dtype))


def prod(
    x: Any, axis: Any = None, *, where: Any = None, init: Any = None, keepdims: bool = False,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The product over `axis`, accumulated as in `sum`.

    Raises: FrontendError as `sum`.
    """
    return _reduce("prod", x, axis, keepdims, _Options(where, init, dtype))


def contracted(x: Any, axis: Any, dtype: Any = None) -> Any:
    """The sum of products of a contraction, which has their type, accumulated in a wider one.

    Raises: FrontendError as `sum`.
    """
    options = _Options(dtype=dtype, keeps_type=True)
    return _reduce("sum", x, axis, False, options)


def max(
    x: Any, axis: Any = None, *, where: Any = None, init: Any = None, keepdims: bool = False,
    ties: str = "first",
) -> Any:  # fmt: skip
    """The greatest value over `axis`; NaN propagates, no point gives the identity (-inf).

    The gradient goes to the first point that reaches it, or in even parts to all (`ties="even"`).

    Raises: FrontendError as `sum`, and for other `ties`.
    """
    return _reduce("max", x, axis, keepdims, _Options(where, init, ties=ties))


def min(
    x: Any, axis: Any = None, *, where: Any = None, init: Any = None, keepdims: bool = False,
    ties: str = "first",
) -> Any:  # fmt: skip
    """The least value over `axis`; NaN propagates, no point gives the identity (inf).

    The gradient goes where that of `max` goes.

    Raises: FrontendError as `sum`, and for other `ties`.
    """
    return _reduce("min", x, axis, keepdims, _Options(where, init, ties=ties))


def any(x: Any, axis: Any = None, *, where: Any = None, keepdims: bool = False) -> Any:
    """Whether some value over `axis` is true (numbers: not 0).

    Raises: FrontendError as `sum`.
    """
    return _reduce("any", x, axis, keepdims, _Options(where))


def all(x: Any, axis: Any = None, *, where: Any = None, keepdims: bool = False) -> Any:
    """Whether every value over `axis` is true (numbers: not 0).

    Raises: FrontendError as `sum`.
    """
    return _reduce("all", x, axis, keepdims, _Options(where))


def argmax(x: Any, axis: Any = None, *, where: Any = None, keepdims: bool = False) -> Any:
    """The row-major position of the first greatest value over `axis`; NaN counts as greatest.

    No point gives -1.

    Raises: FrontendError as `sum`.
    """
    return _reduce("argmax", x, axis, keepdims, _Options(where))


def argmin(x: Any, axis: Any = None, *, where: Any = None, keepdims: bool = False) -> Any:
    """The row-major position of the first least value over `axis`; NaN counts as least.

    No point gives -1.

    Raises: FrontendError as `sum`.
    """
    return _reduce("argmin", x, axis, keepdims, _Options(where))


def mean(
    x: Any, axis: Any = None, *, where: Any = None, keepdims: bool = False, dtype: Any = None
) -> Any:
    """The sum over `axis` divided by the number of points; integers and bools give float32.

    Raises: FrontendError as `sum`, and for a `dtype` of no floats.
    """
    dtype = None if dtype is None else float_type(dtype, "mean")
    return _reduce("mean", x, axis, keepdims, _Options(where, dtype=dtype))


def logsumexp(x: Any, axis: Any = None, *, where: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over `axis`, computed on x - max so that nothing overflows.

    Raises: FrontendError as `sum`.
    """
    return _reduce("logsumexp", x, axis, keepdims, _Options(where))


# ------------------------------------------------------------------ inside and outside a lambda


@dataclass(frozen=True)
class _Options:
    """What a user may say about a reduction, apart from its axes."""

    where: Any = None
    init: Any = None
    dtype: Any = None
    ties: Any = "first"
    keeps_type: bool = False

    def checked(self, what: str) -> _Options:
        """The options with a DType and tensors for arrays, refused where they mean nothing."""
        checks.one_of(self.ties, TIES, f"{what}: ties")
        return replace(
            self,
            where=with_constant(self.where, f"{what}: where"),
            init=with_constant(self.init, f"{what}: init"),
            dtype=None if self.dtype is None else dtype_of(self.dtype, what),
        )


def _reduce(what: str, x: Any, axis: Any, keepdims: bool, options: _Options) -> Any:
    options, keepdims = options.checked(what), flag(keepdims, f"{what}: keepdims")
    x = with_constant(x, what)
    if isinstance(x, Tensor) and not is_reduce_axis(axis):
        return _whole(what, x, axis, keepdims, options)
    if isinstance(x, Tensor):
        if x.ndim:
            fail(f"{what}: a reduce axis reduces an element, got {x!r}; index the tensor")
        x = read(x, ())
    if operand(x) is None:
        fail(f"{what}: takes a tensor or a value of an index lambda, got {x!r}")
    if keepdims:
        fail(f"{what}: keepdims applies to whole tensors, got a reduction over {axis!r}")
    return _reduce_element(what, x, reduce_axes(what, axis), options)


def _reduce_element(what: str, x: Any, axes: tuple[Axis, ...], options: _Options) -> Scalar:
    init = options.init
    if isinstance(init, Tensor) and init.ndim == 0:
        init = read(init, ())
    if init is not None and operand(init) is None:
        fail(
            f"{what}: init must be a number, a value of the lambda or a tensor to reduce dims of "
            f"whole tensors, got {init!r}"
        )
    body = x.expr if isinstance(x, Scalar) else arithmetic.constant(x, FLOAT32, what)
    return _reduce_scalar(what, body, axes, replace(options, init=operand(init)))


def is_reduce_axis(axis: Any) -> bool:
    """Whether `axis` is a reduce axis or several, not dims of a tensor."""
    items = axis if isinstance(axis, (tuple, list)) else (axis,)
    return len(items) > 0 and isinstance(items[0], Scalar)


def reduce_axes(what: str, axis: Any) -> tuple[Axis, ...]:
    """The reduce axes that a user named, each once.

    Raises: FrontendError for what is no reduce axis, or one named twice.
    """
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for one in axes:
        if not isinstance(one, Axis) or not one.is_reduction:
            fail(f"{what}: axis must be a ted.reduce_axis inside a lambda, got {one!r}")
    if len({one.number for one in axes}) < len(axes):
        fail(f"{what}: an axis may appear once, got {', '.join(one.name for one in axes)}")
    return axes


def condition_of(what: str, where: Any) -> Expr:
    """The condition that `where=` states; true when there is none.

    Raises: FrontendError for what is no condition.
    """
    if where is None:
        return TRUE
    if isinstance(where, bool):
        return TRUE if where else FALSE
    condition = read(where, ()) if isinstance(where, Tensor) and where.ndim == 0 else where
    if not isinstance(condition, Scalar) or condition.dtype != BOOL:
        fail(f"{what}: where must be a condition, got {where!r}")
    return condition.expr


def _whole(what: str, x: Tensor, axis: Any, keepdims: bool, options: _Options) -> Tensor:
    """Reduce dims of a whole tensor: a compute over the dims that stay."""
    where = options.where
    reduced = checks.reduced_axes(axis, x.ndim, what)
    if isinstance(where, Tensor) and where.dtype != BOOL:
        fail(f"{what}: where must be a bool tensor, got {where!r}")
    if isinstance(where, Tensor):
        checks.broadcast_to(where.shape, x.shape, f"{what}: where")
    loops = {k: Axis(f"r{n}" if len(reduced) > 1 else "r", 0, x.shape[k], True)
             for n, k in enumerate(reduced)}  # fmt: skip
    kept = [k for k in range(x.ndim) if keepdims or k not in loops]
    shape = tuple(1 if k in loops else x.shape[k] for k in kept)
    init = options.init
    if isinstance(init, Tensor):
        checks.broadcast_to(init.shape, shape, f"{what}: init")

    def element(*index: Axis) -> Any:
        outer = dict(zip(kept, index, strict=True))
        point = [loops[k] if k in loops else outer[k] for k in range(x.ndim)]
        mask = broadcast_read(where, point) if isinstance(where, Tensor) else where
        start = broadcast_read(init, list(index)) if isinstance(init, Tensor) else init
        value, axes = broadcast_read(x, point), tuple(loops[k] for k in reduced)
        return _reduce_element(what, value, axes, replace(options, where=mask, init=start))

    return compute(shape, element, name=what)


# ------------------------------------------------------------------ on expressions


def _reduce_scalar(what: str, body: Expr, axes: tuple[Axis, ...], options: _Options) -> Scalar:
    condition, dtype = condition_of(what, options.where), options.dtype
    if what == "mean":
        return _mean(body, axes, condition, dtype)
    if what == "logsumexp":
        return _logsumexp(body, axes, condition)
    if body.dtype.is_index:
        body = cast(body, INT64)
    result, body = _typed(what, body, dtype, options.keeps_type)
    if what in ("argmax", "argmin") and split_condition(condition)[1] is not TRUE:
        return _first_of_data(what, body, axes, condition)
    found = _reduction(what, body, axes, condition, options.init)
    return ReductionScalar(replace(found, ties=options.ties), result)


def _typed(
    what: str, body: Expr, dtype: DType | None, keeps_type: bool = False
) -> tuple[DType, Expr]:
    """The result's type, and the body in the type of the accumulator."""
    if what in ("any", "all"):
        return BOOL, cast(body, BOOL)
    if what in ("argmax", "argmin"):
        return INT64, body
    if what not in ("sum", "prod"):
        return body.dtype, body
    keeps_type = keeps_type and body.dtype != BOOL
    result = dtype or (body.dtype if keeps_type else total(body.dtype))
    return result, widen(body, dtype or accumulator(result))


def widen(body: Expr, dtype: DType) -> Expr:
    """The body computed in the accumulator's type: products of a contraction are not rounded."""
    if body.dtype == dtype:
        return body
    order = scalar.postorder(body)
    inner = {body}  # the nodes of the arithmetic at the root, which are computed in `dtype`
    for node in reversed(order):
        if node in inner and _is_arithmetic(node, dtype):
            inner.update(node.args)
    wide: dict[Expr, Expr] = {}
    for node in order:
        if node not in inner:
            continue
        if _is_arithmetic(node, dtype):
            wide[node] = scalar.apply(node.op, *(wide[a] for a in node.args))
        else:
            wide[node] = arithmetic.convert(node, dtype, "sum")
    return wide[body]


def _is_arithmetic(node: Expr, dtype: DType) -> bool:
    wraps = node.dtype.is_unsigned and node.op in ("sub", "neg")
    return node.op in ("mul", "add", "sub", "neg") and node.dtype.kind == dtype.kind and not wraps


def _reduction(
    what: str, body: Expr, axes: tuple[Axis, ...], condition: Expr, init: Any
) -> Reduction:
    combiner = _COMBINERS[what]
    domain, mask = split_condition(condition)
    if mask is not TRUE:
        neutral = scalar.const(identity(combiner, body.dtype), body.dtype)
        body = scalar.select(mask, body, neutral)
    start = None if init is None else arithmetic.keep(init, body.dtype, f"{what}: init")
    return Reduction(what, combiner, body, axes, domain, start, here())


def _first_of_data(what: str, body: Expr, axes: tuple[Axis, ...], condition: Expr) -> Scalar:
    """The first point that takes part and has the extremum of those that do, else -1.

    No value of the body could stand for a point that data leave out: any may be the extremum.
    """
    extremum = _reduction(what.removeprefix("arg"), body, axes, condition, None)
    value, best = Scalar(body), ReductionScalar(extremum, body.dtype)
    same: Any = value == best
    if body.dtype.is_float:
        same = same | (elementwise.isnan(value) & elementwise.isnan(best))
    domain, mask = split_condition(condition)
    taken = scalar.select(mask, same.expr, FALSE)
    some = ReductionScalar(_reduction("any", taken, axes, domain, None), BOOL)
    first = ReductionScalar(_reduction("argmax", taken, axes, domain, None), INT64)
    return _once(what, elementwise.where(some, first, -1).expr)


def _mean(body: Expr, axes: Sequence[Axis], condition: Expr, dtype: DType | None) -> Scalar:
    result = dtype or (body.dtype if body.dtype.is_float else FLOAT32)
    wide = accumulator(result)
    axes = tuple(axes)
    summed = ReductionScalar(_reduction("sum", widen(body, wide), axes, condition, None), wide)
    if condition is TRUE:
        points = scalar.number(math.prod(axis.extent for axis in axes), wide)
    else:
        one = scalar.const(1, INT64)
        count = ReductionScalar(_reduction("sum", one, axes, condition, None), INT64)
        points = cast(count.expr, wide)
    return _once("mean", cast(scalar.div(summed.expr, points), result))


def _logsumexp(body: Expr, axes: tuple[Axis, ...], condition: Expr) -> Scalar:
    result = body.dtype if body.dtype.is_float else FLOAT32
    wide = accumulator(result)
    value = Scalar(widen(body, wide))
    top = ReductionScalar(_reduction("max", value.expr, axes, condition, None), wide)
    # An infinite maximum is not subtracted: inf - inf would hide the right answer, +-inf.
    shift = elementwise.where(abs(top) == math.inf, 0.0, top)
    shift = _once("shift", elementwise.stop_gradient(shift).expr)
    terms = elementwise.exp(value - shift)
    summed = ReductionScalar(_reduction("sum", terms.expr, axes, condition, None), wide)
    # Of nothing, or of -inf alone, there is no slope: the condition is around the logarithm.
    found = elementwise.where(summed == 0, -math.inf, elementwise.log(summed) + shift)
    return _once("logsumexp", cast(found.expr, result))


def _once(what: str, value: Expr) -> ReductionScalar:
    """A value computed once per point of the dims it depends on, not once per use."""
    return ReductionScalar(Reduction(what, "set", value, (), location=here()), value.dtype)
