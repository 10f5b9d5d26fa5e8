"""Tensors as users hold them: a node of a system with subscripts, operators and methods.

Operators and elementwise functions on whole tensors are sugar for a compute over the broadcast
shape; methods lead to the functions of the same name.
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, SupportsIndex

from ted.domain.sizes import Extent, Size, Symbol, symbolic
from ted.frontend import arithmetic, checks
from ted.frontend.axes import Axis
from ted.frontend.captures import captured, is_array
from ted.frontend.closing_expressions import close_map
from ted.frontend.complex_pairs import (
    Complex,
    applied,
    complex_type,
    is_complex,
    opened_array,
    refuse,
)
from ted.frontend.locations import fail, here
from ted.frontend.scalars import Scalar, operand
from ted.frontend.unevaluated import Unevaluated, without_value, wrong_operand
from ted.ir import equations
from ted.ir.data_ranges import range_of
from ted.ir.dtypes import DType, is_weak_type
from ted.ir.expressions import Expr
from ted.ir.scalar import INDEX, add, cast, compare, dim, dims_used, index, land, load, select

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
DIM_NAMES = "ijklmnopqstuvwxyz"
# What methods lead to, by name: functions of modules that need tensors; `methods.py` gives them.
functions: dict[str, Callable[..., Any]] = {}


class Tensor(Unevaluated):
    """A tensor expression: a placeholder, or the result of an equation.

    Raises: FrontendError for what is no node of a program: `ted.constant` makes one of an array.
    """

    __slots__ = ("__weakref__", "node")

    def __init__(self, node: equations.Tensor) -> None:
        if not isinstance(node, equations.Tensor):
            fail(f"Tensor: made by ted.placeholder, or of an array by ted.constant, got {node!r}")
        self.node = node

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The extents."""
        return self.node.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.node.dtype

    @property
    def name(self) -> str:
        """The name in printed programs."""
        return self.node.name

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.node.shape)

    @property
    def size(self) -> Extent:
        """The number of elements."""
        return self.node.size

    @property
    def T(self) -> Tensor:
        """The tensor with its dims in reverse order."""
        return self.transpose()

    @property
    def mT(self) -> Tensor:
        """The tensor with its last two dims exchanged."""
        return functions["matrix_transpose"](self)

    @property
    def real(self) -> Tensor:
        """The tensor itself."""
        return self

    @property
    def imag(self) -> Tensor:
        """Zeros."""
        return functions["imag"](self)

    # ------------------------------------------------------------ subscripts

    def __getitem__(self, subscripts: Any) -> Any:
        items = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if any(map(_holds_scalar, items)) or self._is_element(items):
            return read(self, items)
        return functions["subscript"](self, items)

    @property
    def at(self) -> Any:
        """`x.at[subscripts]`: `set`, `add`, `mul`, `max`, `min` give x with other elements."""
        return functions["at"](self)

    def _is_element(self, items: tuple[Any, ...]) -> bool:
        """Inside an index lambda a full set of numbers (or scalars in tensors) reads an element."""
        if not _in_lambda.get() or len(items) != self.ndim:
            return False
        return all(
            isinstance(i, SupportsIndex) or (isinstance(i, Tensor) and i.ndim == 0) for i in items
        )

    def __len__(self) -> int:
        if not self.shape:
            fail(f"len: tensor {self.name} has rank 0, and no value while the program is written")
        if not isinstance(self.shape[0], int):
            fail(f"len: the first extent must be a number, got {self.shape[0]} of {self.name}")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def _write(self, *_: Any) -> NoReturn:
        fail(
            f"{self.name}: a tensor is a value, no element of it can be set; write "
            "y = x.at[i].set(values), or choose by ted.where(condition, new, old)"
        )

    __setitem__ = __delitem__ = _write

    # ------------------------------------------------------------ operators

    def _operated(self, name: str, a: Any, b: Any) -> Any:
        if is_complex(b if a is self else a):
            return applied(name, a, b)
        function = arithmetic.OPERATORS[name]
        return pointwise(lambda x, y: Scalar(function(operand(x), operand(y))), name, a, b)

    def __neg__(self) -> Tensor:
        return pointwise(lambda x: -x, "neg", self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return pointwise(abs, "abs", self)

    def __invert__(self) -> Tensor:
        return pointwise(lambda x: ~x, "not", self)

    def __matmul__(self, other: Any) -> Any:
        return _product(self, other, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _product(other, self, other)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        """The module with the functions of the array API standard.

        Raises: FrontendError for a version of which ted does not know.
        """
        if api_version not in (None, *API_VERSIONS):
            known = ", ".join(API_VERSIONS)
            fail(f"__array_namespace__: versions of the standard are {known}, got {api_version!r}")
        return importlib.import_module("ted")

    # ------------------------------------------------------------ methods

    def astype(self, dtype: Any, copy: Any = None) -> Any:
        """The tensor converted: floats truncate towards zero, a bool is value != 0.

        Raises: FrontendError for an unknown dtype.
        """
        del copy  # a tensor is a value
        if complex_type(dtype):
            return applied("cast", self, dtype)
        target = checks.dtype_of(dtype, "astype")
        if target == self.dtype:
            return self
        return pointwise(lambda x: x.astype(target), "astype", self)

    def reshape(self, *shape: Any, copy: Any = None) -> Tensor:
        """The same elements in row-major order under another shape; one extent may be -1."""
        del copy  # a tensor is a value
        return functions["reshape"](self, shape[0] if len(shape) == 1 else shape)

    def flatten(self, start: int = 0) -> Tensor:
        """The dims from `start` on joined into one."""
        return functions["flatten"](self, start)

    def transpose(self, *axes: Any) -> Tensor:
        """The dims in another order, reversed by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return functions["transpose"](self, order or None)

    def __hash__(self) -> int:
        """Raises: FrontendError of a number of Python, which sets and dicts find by its value."""
        if is_weak_type(self.dtype):
            raise without_value(f"hash: a number has no value while it is traced, got {self}", self)
        return object.__hash__(self)

    def __repr__(self) -> str:
        return f"Tensor({self.name}: {self.dtype}{list(self.shape)})"


def _product(a: Any, b: Any, other: Any) -> Any:
    return applied("matmul", a, b) if is_complex(other) else functions["matmul"](a, b)


# ------------------------------------------------------------------ wrapping nodes

_wrappers: weakref.WeakKeyDictionary[equations.Tensor, weakref.ref[Tensor]] = (
    weakref.WeakKeyDictionary()
)


def wrap(node: equations.Tensor) -> Tensor:
    """The tensor that stands for a node: the same object as long as somebody holds it."""
    known = _wrappers.get(node)
    found = known() if known is not None else None
    if found is None:
        found = Tensor(node)
        _wrappers[node] = weakref.ref(found)
    return found


def placeholder(shape: checks.Shape, dtype: Any = "float32", name: str | None = None) -> Tensor:
    """An input of a program.

    Raises: FrontendError for a negative or non-integer extent, an unknown dtype, or a tensor of
    more than 2**47 bytes.
    """
    what = "placeholder" if name is None else f"placeholder {name}"
    element = checks.dtype_of(dtype, what)
    extents = checks.shape_of(shape, element, what)
    return wrap(
        equations.Tensor(checks.name_of(name, what) or "x", extents, element, location=here())
    )


def constant(array: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """The array as it is now, as a tensor: later writes to it change no program.

    It has the type of the array, as numpy makes one of lists, or `dtype`; gradients do not flow
    into it.  Operators and functions of tensors make constants of arrays that they meet; inside an
    index lambda `table[i]` needs a tensor.
    Raises: FrontendError for what is no array of numbers, values that `dtype` does not hold.
    """
    if isinstance(array, Tensor):
        fail(f"constant: takes an array, got {array!r}, which is a tensor already")
    target = None if dtype is None else checks.dtype_of(dtype, "constant")
    return wrap(captured(array, "constant", target, checks.name_of(name, "constant")))


def with_constant(value: Any, what: str) -> Any:
    """An array as a constant, one of complex numbers as a pair of them, anything else as it is."""
    parts = opened_array(value)
    if parts is not None and value.ndim:
        return Complex(*(wrap(captured(part, what)) for part in parts))
    return wrap(captured(value, what)) if is_array(value) else value


# ------------------------------------------------------------------ reading elements

_in_lambda: ContextVar[bool] = ContextVar("in_lambda", default=False)


@contextmanager
def tracing(is_lambda: bool = True) -> Iterator[None]:
    """While an index lambda runs, subscripts of numbers alone read elements."""
    token = _in_lambda.set(is_lambda)
    try:
        yield
    finally:
        _in_lambda.reset(token)


def in_lambda() -> bool:
    """Whether an index lambda runs."""
    return _in_lambda.get()


def _holds_scalar(item: Any) -> bool:
    parts = (item.start, item.stop, item.step) if isinstance(item, slice) else (item,)
    return any(isinstance(part, Scalar) for part in parts)


def read(tensor: Tensor, items: tuple[Any, ...]) -> Scalar:
    """The element of `tensor` at one subscript per dim.

    Raises: FrontendError for another number of subscripts, one outside its dim or that is no
    integer.
    """
    if len(items) != tensor.ndim:
        fail(
            f"{tensor.name}: one subscript for each of its {tensor.ndim} dims, "
            f"got {len(items)} (shape {tensor.shape})"
        )
    return Scalar(load(tensor.node, [_subscript(tensor, k, i) for k, i in enumerate(items)]))


def _subscript(tensor: Tensor, position: int, item: Any) -> Expr:
    what = f"{tensor.name}: subscript {position}"
    if isinstance(item, Tensor) and item.ndim == 0:
        item = read(item, ())
    if isinstance(item, Scalar):
        if item.dtype.kind not in ("index", "int"):
            fail(f"{what}: must be an integer or an index, got {item.dtype}; divide with //")
        return cast(item.expr, INDEX)
    if item is None or item is Ellipsis or isinstance(item, (slice, Tensor)):
        fail(
            f"{what}: beside index variables every subscript is one index, got {item!r}; "
            "reduce over a ted.reduce_axis, or index the whole tensor outside the lambda"
        )
    return index(wrapped(checks.extent(item, what), tensor.shape[position], what))


def wrapped(position: Extent, extent: Extent, what: str) -> Extent:
    """A constant subscript in [-extent, extent) -> [0, extent).

    Raises: FrontendError outside that range.
    """
    if not -extent <= position < extent:
        fail(f"{what}: must be in [{-extent}, {extent}), got {position}")
    return position + extent if position < 0 else position


def wrapped_data(position: Scalar, extent: Extent) -> Scalar:
    """An index that is data: in [-extent, 0) it counts from the end, as one that is constant does.

    One that is outside stays what it is, so that the error of the program has its value.
    """
    if range_of(position.expr)[0] >= 0:
        return position
    at = cast(position.expr, INDEX)
    counted = add(at, index(extent))
    is_back = land(compare("lt", at, index(0)), compare("le", index(0), counted))
    return Scalar(select(is_back, counted, at))


# ------------------------------------------------------------------ elementwise


def parallel_axes(shape: tuple[Extent, ...]) -> list[Axis]:
    """One index variable per dim of a shape."""
    names = DIM_NAMES if len(shape) <= len(DIM_NAMES) else [f"i{k}" for k in range(len(shape))]
    return [Axis(names[k], 0, extent, False) for k, extent in enumerate(shape)]


def broadcast_read(tensor: Tensor, axes: list[Axis]) -> Scalar:
    """The element of `tensor` under numpy's broadcasting at the point `axes`."""
    own = axes[len(axes) - tensor.ndim :]
    at = [
        index(0) if extent == 1 and axis.extent != 1 else dim(axis.number)
        for extent, axis in zip(tensor.shape, own, strict=True)
    ]
    return Scalar(load(tensor.node, at))


def pointwise(function: Callable[..., Any], what: str, *operands: Any) -> Any:
    """`function` on scalars, lifted to tensors, scalars and Python numbers.

    Raises: FrontendError for what is no operand, shapes that do not broadcast, or a function that
    gives something else.
    """
    values = [_operand(value, what) for value in operands]
    tensors = [value for value in values if isinstance(value, Tensor)]
    if not tensors:
        return function(*(_fitting(value, what) for value in values))
    if _beside_indices(values, tensors):
        return function(*(_element(v, what) if isinstance(v, Tensor) else v for v in values))
    axes = parallel_axes(checks.broadcast([t.shape for t in tensors], what))
    points = [
        broadcast_read(v, axes) if isinstance(v, Tensor) else _fitting(v, what) for v in values
    ]
    value = function(*points)
    if not isinstance(value, Scalar):
        fail(f"{what}: the function must give a value made of its operands, got {value!r}")
    return wrap(close_map(what, axes, value.expr))


def _beside_indices(values: list[Any], tensors: list[Tensor]) -> bool:
    """Whether tensors stand for elements here: in a lambda, or beside an index variable."""
    if any(isinstance(value, Scalar) and dims_used(value.expr) for value in values):
        return True
    scalars = any(isinstance(value, Scalar) for value in values)
    return scalars and _in_lambda.get() and all(t.ndim == 0 for t in tensors)


def _operand(value: Any, what: str) -> Any:
    value = with_constant(value, what)
    if isinstance(value, (Tensor, Scalar)):
        return value
    number = operand(value)
    if isinstance(number, Expr):
        return Scalar(number)
    if isinstance(value, Complex):
        refuse(what)
    if number is None:
        wrong_operand(what, value)
    return number


def _fitting(value: Any, what: str) -> Any:
    """A number as it is: no function is known of integers that no type holds.

    Raises: FrontendError for an integer beyond float64.
    """
    if isinstance(value, int) and value.bit_length() > checks.FLOAT_BITS:
        fail(
            f"{what}: the constant must fit the type float64, got an integer of "
            f"{value.bit_length()} bits"
        )
    return value


def _element(tensor: Tensor, what: str) -> Scalar:
    if tensor.ndim == 0:
        return Scalar(load(tensor.node, []))
    return fail(
        f"{what}: beside index variables a tensor of rank 0 or an element is needed, "
        f"got {tensor.name} of shape {tensor.shape}; index it"
    )


def size(name: str, min: int = 1, multiple_of: int = 1) -> Size:
    """A symbolic extent: `n` in `ted.placeholder((n, 2 * n + 1))`.

    Sizes of one name that promise the same are one size. They add, subtract, multiply, and divide
    by constants; what is promised (`min`, `multiple_of`) is what comparisons and proofs rest on,
    and is checked when a compiled function is called.

    Raises: FrontendError for a name that is no identifier, a negative `min`, or a `multiple_of`
    below 1.
    """
    if not isinstance(name, str) or not name.isidentifier():
        fail(f"size: the name must be an identifier, got {name!r}")
    least = checks.integer(min, f"size {name}: min")
    step = checks.integer(multiple_of, f"size {name}: multiple_of")
    if least < 0 or step < 1:
        fail(
            f"size {name}: min must be at least 0 and multiple_of at least 1, "
            f"got min={least}, multiple_of={step}"
        )
    return symbolic(Symbol(name, least, step))
