"""Concatenation, stacking and padding: one tensor written by disjoint `set` equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ted.domain import parameters
from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.captures import is_array
from ted.frontend.compute import compute
from ted.frontend.creation import full, zeros
from ted.frontend.elementwise import maximum, minimum, to_tensor
from ted.frontend.layout import flatten
from ted.frontend.locations import fail, here
from ted.frontend.scalars import operand
from ted.frontend.tensors import Tensor, wrap
from ted.frontend.tensors import constant as constant_of
from ted.frontend.trees import flatten as flatten_tree
from ted.ir import equations
from ted.ir.dtypes import DType, promote
from ted.ir.expressions import Expr
from ted.ir.scalar import add, cast, dim, index, load, mul


def _piece(x: Tensor, dtype: DType, write: Sequence[Expr]) -> equations.Equation:
    """All elements of `x` written at `write`, functions of their own indices."""
    body = cast(load(x.node, [dim(k) for k in range(x.ndim)]), dtype)
    box = parameters.box(x.shape)
    return equations.Equation(x.shape, x.ndim, box, tuple(write), "set", body, here())


def _operands(xs: Any, what: str) -> tuple[list[Tensor], DType]:
    if isinstance(xs, Tensor) or not isinstance(xs, (tuple, list)) or not xs:
        fail(f"{what}: takes a non-empty list of tensors, got {xs!r}")
    tensors = [to_tensor(x, f"{what}: operand {k}") for k, x in enumerate(xs)]
    return tensors, reduce(promote, [t.dtype for t in tensors])


def concatenate(xs: Sequence[Tensor], axis: int | None = 0) -> Tensor:
    """Tensors one after the other along `axis`, flattened where it is None.

    Shapes: equal but for `axis`.
    Raises: FrontendError for no tensors, or shapes that differ elsewhere.
    """
    tensors, dtype = _operands(xs, "concatenate")
    if axis is None:
        tensors, axis = [flatten(x) for x in tensors], 0
    first = tensors[0]
    along = checks.axis_of(axis, first.ndim, "concatenate")
    for k, t in enumerate(tensors):
        if t.ndim != first.ndim or any(
            n != m for d, (n, m) in enumerate(zip(t.shape, first.shape, strict=True)) if d != along
        ):
            fail(
                f"concatenate: shapes must agree but for axis {along}, "
                f"got {first.shape} and {t.shape} (operand {k})"
            )
    pieces, offset = [], 0
    for t in tensors:
        if t.size != 0:
            write = [add(dim(k), index(offset if k == along else 0)) for k in range(t.ndim)]
            pieces.append(_piece(t, dtype, write))
        offset += t.shape[along]
    shape = tuple(offset if k == along else n for k, n in enumerate(first.shape))
    return _joined("concatenate", shape, dtype, pieces)


def stack(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new dim `axis`.

    Raises: FrontendError for no tensors, or shapes that differ.
    """
    tensors, dtype = _operands(xs, "stack")
    first = tensors[0]
    along = checks.axis_of(axis, first.ndim + 1, "stack")
    for k, t in enumerate(tensors):
        if t.shape != first.shape:
            fail(f"stack: shapes must be equal, got {first.shape} and {t.shape} (operand {k})")
    dims = [dim(k) for k in range(first.ndim)]
    pieces = [
        _piece(t, dtype, [*dims[:along], index(n), *dims[along:]])
        for n, t in enumerate(tensors)
        if t.size != 0
    ]
    shape = (*first.shape[:along], len(tensors), *first.shape[along:])
    return _joined("stack", shape, dtype, pieces)


def asarray(x: Any, dtype: Any = None, copy: Any = None) -> Tensor:
    """A tensor as it is, an array as a constant, a Python number as a tensor of rank 0.

    What a list has are stacked where there are tensors among it: numbers get the type of those.
    Raises: FrontendError for what is none of them, or a value that `dtype` does not hold.
    """
    del copy  # a tensor is a value
    if isinstance(x, Tensor):
        return x if dtype is None else x.astype(dtype)
    if isinstance(x, (list, tuple)):
        types = [leaf.dtype for _, leaf in flatten_tree(x)[0] if isinstance(leaf, Tensor)]
        if types:
            return stack([asarray(part, dtype or reduce(promote, types)) for part in x])
    number = None if is_array(x) else operand(x)
    if number is not None and not isinstance(number, Expr):
        return full((), number, dtype)
    return to_tensor(x, "asarray") if dtype is None else constant_of(x, dtype)


def interleaved(name: str, first: Tensor, even: Tensor | None, odd: Tensor, axis: int) -> Tensor:
    """One element, then those of `odd` and of `even` (None: none) in turn along an axis.

    Raises: FrontendError for a tensor that is too large.
    """
    places = [(first, 1, 0), (odd, 2, 1), *([] if even is None else [(even, 2, 2)])]
    pieces = []
    for part, step, start in places if first.size != 0 else ():
        write = [dim(k) for k in range(part.ndim)]
        write[axis] = add(mul(write[axis], index(step)), index(start))
        pieces.append(_piece(part, first.dtype, write))
    extent = sum(part.shape[axis] for part, _, _ in places)
    shape = tuple(extent if k == axis else n for k, n in enumerate(first.shape))
    return _joined(name, shape, first.dtype, pieces)


def _joined(
    name: str, shape: tuple[Extent, ...], dtype: DType, pieces: list[equations.Equation]
) -> Tensor:
    checks.shape_of(shape, dtype, name)
    if not pieces:
        return zeros(shape, dtype)
    return wrap(equations.Tensor(name, shape, dtype, None, tuple(pieces), here()))


# ------------------------------------------------------------------ padding


def pad(x: Any, width: Any, mode: str = "constant", value: Any = 0) -> Tensor:
    """The tensor with `width` elements more before and after each dim.

    `width` is a number, a pair (before, after), or a pair for each dim.  `mode` is constant (with
    `value`), edge, reflect (the edge not repeated) or wrap.

    Raises: FrontendError for a negative width, an unknown mode, a reflection wider than the dim.
    """
    x = to_tensor(x, "pad")
    widths = _widths(width, x.ndim)
    shape = tuple(low + n + high for n, (low, high) in zip(x.shape, widths, strict=True))
    checks.shape_of(shape, x.dtype, "pad")
    if mode == "constant":
        return _constant(x, shape, [low for low, _ in widths], value)
    index_of = _MODES.get(mode)
    if index_of is None:
        fail(f"pad: mode must be constant, {', '.join(_MODES)}, got {mode!r}")
    for k, (low, high) in enumerate(widths):
        _check_source(mode, x.shape[k], low, high, k)

    def element(*at: Any) -> Any:
        parts = zip(at, x.shape, widths, strict=True)
        return x[tuple(index_of(i - low, n) if low + high else i for i, n, (low, high) in parts)]

    return compute(shape, element, name="pad")


def _constant(x: Tensor, shape: tuple[Extent, ...], lows: list[int], value: Any) -> Tensor:
    if not isinstance(value, (bool, int, float)):
        fail(f"pad: the value must be a Python number, got {value!r}")
    fill = constant(value, x.dtype, "pad").attr
    write = [add(dim(k), index(low)) for k, low in enumerate(lows)]
    pieces = (_piece(x, x.dtype, write),) if x.size != 0 else ()
    return wrap(equations.Tensor("pad", shape, x.dtype, fill, pieces, here()))


def _widths(width: Any, rank: int) -> list[tuple[int, int]]:
    if not isinstance(width, (tuple, list)):
        pairs: list[Any] = [(width, width)] * rank
    elif len(width) == 2 and not any(isinstance(w, (tuple, list)) for w in width):
        pairs = [tuple(width)] * rank
    else:
        pairs = [tuple(w) if isinstance(w, (tuple, list)) else () for w in width]
    if len(pairs) != rank or any(len(p) != 2 for p in pairs):
        fail(
            f"pad: width must be a number, a pair, or a pair for each of {rank} dims, got {width}; "
            "flat numbers, which torch reads from the last dim on, are ((0, 0), ..., (before, "
            "after))"
        )
    low_high = [[checks.integer(w, "pad: width") for w in p] for p in pairs]
    result = [(low, high) for low, high in low_high]
    if any(w < 0 for p in result for w in p):
        fail(f"pad: widths must be at least 0, got {width}; cut with a slice")
    return result


def _check_source(mode: str, extent: Extent, low: int, high: int, k: int) -> None:
    widest = max(low, high)
    if widest and not extent >= 1:
        fail(f"pad: mode {mode} needs an element to repeat, got extent 0 in dim {k}")
    if mode == "reflect" and widest and widest >= extent:
        fail(f"pad: reflect takes widths below the extent, got {widest} in dim {k} of {extent}")


def _edge(i: Any, extent: Extent) -> Any:
    return minimum(maximum(i, 0), extent - 1)


def _reflect(i: Any, extent: Extent) -> Any:
    mirrored = maximum(i, -i)
    return minimum(mirrored, 2 * (extent - 1) - mirrored)


_MODES: dict[str, Callable[[Any, Extent], Any]] = {
    "edge": _edge,
    "reflect": _reflect,
    "wrap": lambda i, extent: i % extent,
}
