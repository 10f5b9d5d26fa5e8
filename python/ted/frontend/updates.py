"""`x.at[subscripts].set(values)`: the tensor with other elements at the subscripts of a read.

Before: x.at[1:3].add(v)        After: out = x; out[i + 1] = x[i + 1] + v[i]
Before: x.at[k, ::2].add(v)     After: out = x; out[:, ::2] = x[:, ::2] with v added at k

What is proved to write no element twice is a map; index tensors that may repeat are writes at data
(`scatter_equations.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ted.domain import bounds, parameters
from ted.domain.budget import bounded
from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.captures import captured, is_array
from ted.frontend.closing_expressions import checked
from ted.frontend.elementwise import maximum, minimum, where
from ted.frontend.known_indices import Known
from ted.frontend.locations import fail, here
from ted.frontend.scalars import Scalar, operand
from ted.frontend.scatter_equations import Writes, copied
from ted.frontend.slicing import Part, element, expand, parts_of, point, shape_of, subscript
from ted.frontend.tensors import Tensor, tracing, wrap
from ted.ir import affine, equations, scalar
from ted.ir.accesses import affine_subscripts
from ted.ir.dtypes import BOOL, INDEX, promote
from ted.ir.exact_indices import exact_indices
from ted.ir.expressions import Expr

_JOIN: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": maximum,
    "min": minimum,
}
_JOIN_BOOLS = {"set": _JOIN["set"], "max": operator.or_, "min": operator.and_}


class At:
    """`x.at`: takes the subscripts."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __getitem__(self, subscripts: Any) -> Place:
        items = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        return Place(self._tensor, items)


class Place:
    """`x.at[subscripts]`: each method gives a new tensor of the shape and type of x.

    Values broadcast to what `x[subscripts]` reads, and have a type that x holds.  Where index
    tensors have one place several times, all values count, in `set` the last one in row-major
    order.  An index outside is an error, as it is where x is read.
    """

    __slots__ = ("_items", "_tensor")

    def __init__(self, tensor: Tensor, items: tuple[Any, ...]) -> None:
        self._tensor, self._items = tensor, items

    def set(self, values: Any) -> Tensor:
        """The values in place of what is there.

        Raises: FrontendError for values or subscripts that do not fit.
        """
        return _updated(self._tensor, self._items, values, "set")

    def add(self, values: Any) -> Tensor:
        """What is there plus the values.

        Raises: FrontendError for values or subscripts that do not fit.
        """
        return _updated(self._tensor, self._items, values, "add")

    def mul(self, values: Any) -> Tensor:
        """What is there times the values.

        Raises: FrontendError for values or subscripts that do not fit.
        """
        return _updated(self._tensor, self._items, values, "mul")

    def max(self, values: Any) -> Tensor:
        """The greater of what is there and the values.

        Raises: FrontendError for values or subscripts that do not fit.
        """
        return _updated(self._tensor, self._items, values, "max")

    def min(self, values: Any) -> Tensor:
        """The lesser of what is there and the values.

        Raises: FrontendError for values or subscripts that do not fit.
        """
        return _updated(self._tensor, self._items, values, "min")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"x.at[i] has {', '.join(_JOIN)}, got {name!r}; write x.at[i].set(f(x[i]))"
        )


def _updated(x: Tensor, items: tuple[Any, ...], values: Any, combine: str) -> Tensor:
    what = f"{x.name}.at[...].{combine}"
    if combine not in _joins(x):
        fail(f"{what}: bools are set, or combined by max and min, got {x!r}")
    if len(items) == 1 and isinstance(items[0], Tensor) and items[0].dtype == BOOL:
        return _masked(x, items[0], values, combine, what)
    items = expand(x, items)
    parts = parts_of(x, items)
    shape = shape_of(parts)
    new = _values(x, values, shape, what)
    if 0 in shape:
        return x
    found = _mapped(x, parts, new, combine)
    return found if found is not None else _at_data(x, items, parts, new, combine)


def _joins(x: Tensor) -> dict[str, Callable[[Any, Any], Any]]:
    return _JOIN_BOOLS if x.dtype == BOOL else _JOIN


def _values(x: Tensor, values: Any, shape: tuple[Extent, ...], what: str) -> Tensor:
    """The values in the type of x; what is no tensor is converted as constants are."""
    if isinstance(values, Tensor):
        new = values
        if promote(x.dtype, new.dtype) != x.dtype:
            fail(f"{what}: {x.dtype} must hold the values, got {new!r}; convert them by .astype")
        new = new.astype(x.dtype)
    elif is_array(values):
        new = wrap(captured(values, what, x.dtype))
    else:
        number = operand(values)
        if number is None or isinstance(number, Expr):
            fail(f"{what}: values must be a tensor, an array or a number, got {values!r}")
        fill = constant(number, x.dtype, what).attr
        new = wrap(equations.Tensor("value", (), x.dtype, fill, location=here()))
    extra = max(new.ndim - len(shape), 0)
    if extra and all(n == 1 for n in new.shape[:extra]):
        new = subscript(new, (0,) * extra)
    checks.broadcast_to(new.shape, shape, what)
    return new


def stretched(values: Tensor, at: Sequence[Any]) -> Any:
    """The element that broadcasts to `at`."""
    own = at[len(at) - values.ndim :]
    return values[tuple(0 if n == 1 else i for i, n in zip(own, values.shape, strict=True))]


def _element(values: Tensor, at: Sequence[Any]) -> Scalar:
    with tracing():
        found = stretched(values, at) if values.ndim else values
        return Scalar(scalar.load(values.node, ())) if isinstance(found, Tensor) else found


# ------------------------------------------------------------------ without data


def _mapped(x: Tensor, parts: Sequence[Part], values: Tensor, combine: str) -> Tensor | None:
    """One map that writes each place once; None where places are data, or may be equal."""
    extents = shape_of(parts)
    axes = [Scalar(scalar.dim(k)) for k in range(len(extents))]
    with tracing():
        places = [_expression(at) for at in point(parts, axes)]
    new = _element(values, axes)
    write = exact_indices(places, extents)
    if any(part.kind == "index" for part in parts) and not _is_injective(write, extents):
        return None
    old = Scalar(scalar.load(x.node, write))
    body = scalar.cast(_joins(x)[combine](old, new).expr, x.dtype)
    box = parameters.box(extents)
    equation = equations.Equation(extents, len(extents), box, tuple(write), "set", body, here())
    name = f"{x.name}_{combine}"
    pieces = (copied(x, x.dtype), checked(equation, name, x.shape))
    return wrap(equations.Tensor(name, x.shape, x.dtype, None, pieces, here()))


def _expression(at: Any) -> Expr:
    return scalar.cast(at.expr, INDEX) if isinstance(at, Scalar) else scalar.index(at)


def _is_injective(write: Sequence[Expr], extents: tuple[Extent, ...]) -> bool:
    box = parameters.box(extents)
    if affine_subscripts(write, box) is None:
        return False
    index = [affine.piecewise(at, box) for at in write]
    return bounded(lambda: bounds.is_injective(box, index)) is True


# ------------------------------------------------------------------ at data


def _at_data(
    x: Tensor, items: tuple[Any, ...], parts: Sequence[Part], values: Tensor, combine: str
) -> Tensor:
    """Index tensors address dims of what the other subscripts read, which is put back then."""
    given = [item for item in items if item is not None]
    is_index = [isinstance(item, (Tensor, Known)) for item in given]
    basic = tuple(
        slice(None) if at_data else item for item, at_data in zip(given, is_index, strict=True)
    )
    source = subscript(x, basic)
    kept = [k for k, item in enumerate(basic) if isinstance(item, slice)]
    index = {
        n: _reader(given[k], x.shape[k], f"{x.name}: subscript {k}")
        for n, k in enumerate(kept)
        if is_index[k]
    }

    def value(point: Sequence[Any], others: Sequence[Any]) -> Any:
        at: list[Any] = []
        rest = iter(others)
        for part in parts:
            if part.kind == "index":
                at += point
            elif part.kind != "number":
                at.append(next(rest) if part.kind == "slice" else 0)
        return _element(values, at)

    (points,) = (part.extents for part in parts if part.kind == "index")
    writes = Writes(f"{x.name}_{combine}", source.shape, points, index, value, x.dtype)
    new = writes.onto(source, combine)
    if source is x:
        return new
    found = _mapped(x, parts_of(x, basic), new, "set")
    assert found is not None, "numbers and slices address no element twice"
    return found


def _reader(item: Any, extent: Extent, what: str) -> Callable[[Any], Scalar]:
    known = item.inside(extent, what) if isinstance(item, Known) else item
    return lambda point: element(known, point, extent)


def _masked(x: Tensor, mask: Tensor, values: Any, combine: str, what: str) -> Tensor:
    if mask.shape != x.shape[: mask.ndim]:
        fail(f"{what}: a mask must have the first extents of {x.shape}, got {mask.shape}")
    rest = x.shape[mask.ndim :]
    ndim = getattr(values, "ndim", 0)
    if isinstance(ndim, int) and ndim > len(rest):
        fail(
            f"{what}: at a mask that is data values must be the same for all places, of shape "
            f"{rest}, got {values!r}; write ted.where(mask, values, x)"
        )
    new = _values(x, values, rest, what)
    chosen = subscript(mask, (..., *(None for _ in rest)))
    return where(chosen, _joins(x)[combine](x, new), x)
