"""`compute`: an index lambda -> the tensor that it defines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.axes import Axis
from ted.frontend.closing_expressions import close_map, close_reduction
from ted.frontend.complex_pairs import Complex
from ted.frontend.lazy_reductions import ReductionScalar
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar, operand
from ted.frontend.tensors import DIM_NAMES, Tensor, read, tracing, wrap
from ted.ir import equations
from ted.ir.dtypes import BOOL, FLOAT32, INT64, DType
from ted.ir.expressions import Expr
from ted.ir.scalar import cast


def compute(
    shape: checks.Shape, fn: Callable[..., Any], name: str | None = None, dtype: Any = None
) -> Any:
    """The tensor of `shape` whose element at (i, j, ...) is `fn(i, j, ...)`, complex if that is.

    Shapes: `fn` takes one index per dim; its parameters name the dims in printed equations.
    Raises: FrontendError for a wrong number of parameters, an index used outside its lambda, a
    reduction axis without a reduction, or a body that is not one value.
    """
    what = "compute" if name is None else f"compute {name}"
    target = None if dtype is None else checks.dtype_of(dtype, what)
    extents = checks.shape_of(shape, target or FLOAT32, what)
    names = parameters(fn, len(extents), what)
    axes = [Axis(n, 0, extent, False) for n, extent in zip(names, extents, strict=True)]
    with tracing():
        value = fn(*axes)
    hint = checks.name_of(name, what) or "t"
    if isinstance(value, Complex):
        parts = (closed(part, axes, hint, target, what) for part in (value.real, value.imag))
        return Complex(*map(wrap, parts))
    return wrap(closed(value, axes, hint, target, what))


def closed(
    value: Any, axes: Sequence[Axis], hint: str, target: DType | None, what: str
) -> equations.Tensor:
    """The node whose element at the axes is the value that an index lambda gave.

    Raises: FrontendError when the lambda gave no single value.
    """
    if isinstance(value, ReductionScalar) and _is_direct(value, target):
        return close_reduction(hint, axes, value.reduction)
    return close_map(hint, axes, _body(value, target, what))


def _is_direct(value: ReductionScalar, target: DType | None) -> bool:
    """Whether the accumulator is the result, so that the reduction needs no tensor of its own."""
    accumulated = value.reduction.dtype
    return accumulated == value.result_dtype and target in (None, accumulated)


def _body(value: Any, target: DType | None, what: str) -> Expr:
    if isinstance(value, Tensor) and value.ndim == 0:
        value = read(value, ())
    number = None if isinstance(value, Scalar) else operand(value)
    if number is not None:
        default = {bool: BOOL, int: INT64, float: FLOAT32}[type(number)]
        return constant(number, target or default, what)
    if not isinstance(value, Scalar):
        fail(f"{what}: the lambda must give one value, got {type(value).__name__} {value!r}")
    return value.expr if target is None else cast(value.expr, target)


def parameters(fn: Callable[..., Any], rank: int, what: str) -> list[str]:
    """The names of the index variables: the lambda's parameters.

    Raises: FrontendError for what is no function, or takes another number of indices.
    """
    if not callable(fn):
        fail(f"{what}: the second argument must be a function of the indices, got {fn!r}")
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return _default_names(rank)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return _default_names(rank)
    taken = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    needed = [p for p in taken if p.default is p.empty]
    if not len(needed) <= rank <= len(taken):
        fail(
            f"{what}: the lambda takes one index for each of {rank} dims, "
            f"got {len(taken)} parameters ({', '.join(p.name for p in taken)})"
        )
    return [p.name for p in taken[:rank]]


def _default_names(rank: int) -> list[str]:
    return list(DIM_NAMES[:rank]) if rank <= len(DIM_NAMES) else [f"i{k}" for k in range(rank)]
