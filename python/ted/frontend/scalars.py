"""Scalars: the values inside an index lambda, with Python's operators and weak Python numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ted.domain.sizes import Size
from ted.errors import FrontendError
from ted.frontend import arithmetic
from ted.frontend.checks import dtype_of
from ted.frontend.complex_pairs import applied, is_complex
from ted.frontend.locations import here
from ted.frontend.unevaluated import Unevaluated, refuse, wrong_operand
from ted.ir.dtypes import DType
from ted.ir.expressions import Expr, format_expr
from ted.ir.scalar import cast, index

# What errors call operators, where it is not the name.
_SAID = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "lt": "<", "le": "<=", "eq": "==", "ne": "!=",
}  # fmt: skip


class Scalar(Unevaluated):
    """One value of an index lambda: a number, an index or a condition."""

    __slots__ = ("__weakref__", "_expr")
    dim_names: ClassVar[Sequence[str]] = ()  # by number; `ted.frontend.axes` gives those of axes

    def __init__(self, expr: Expr | None) -> None:
        self._expr = expr

    @property
    def expr(self) -> Expr:
        """The expression; dims in it are those of the lambda that is being traced."""
        assert self._expr is not None
        return self._expr

    @property
    def dtype(self) -> DType:
        """The type of the value; `index` for index variables."""
        return self.expr.dtype

    def _operated(self, name: str, a: Any, b: Any) -> Any:
        values, other = (operand(a), operand(b)), b if a is self else a
        if None not in values:
            return Scalar(arithmetic.OPERATORS[name](*values))
        said = _SAID.get(name, name)
        if is_complex(other):
            return applied(said, a, b)
        # What is an expression too has its own way; of anything else Python would make False.
        return NotImplemented if isinstance(other, Unevaluated) else wrong_operand(said, other)

    def __neg__(self) -> Scalar:
        return Scalar(arithmetic.apply("neg", self.expr))

    def __pos__(self) -> Scalar:
        return self

    def __abs__(self) -> Scalar:
        return Scalar(arithmetic.apply("abs", self.expr))

    def __invert__(self) -> Scalar:
        return Scalar(arithmetic.invert(self.expr))

    def __index__(self) -> int:
        return refuse("index", self, "what an index of a lambda reads is a tensor")

    def __iter__(self) -> Any:
        raise FrontendError("iter: a scalar has no elements to iterate over", here())

    def astype(self, dtype: Any) -> Scalar:
        """The value converted: floats truncate towards zero, a bool is value != 0.

        Raises: FrontendError for an unknown dtype.
        """
        return Scalar(cast(self.expr, dtype_of(dtype, "astype")))

    def __repr__(self) -> str:
        return f"Scalar({format_expr(self.expr, self.dim_names)}: {self.dtype})"


def operand(value: Any) -> Any:
    """The expression of a Scalar or a size, or a Python number itself; None for anything else."""
    if isinstance(value, Scalar):
        return value.expr
    if isinstance(value, Size):
        return index(value)
    if isinstance(value, (bool, int, float)):
        # A subclass (numpy's float64, an enum) counts as the plain number it is.
        return value if type(value) in (bool, int, float) else _plain(value)
    return _plain(value) if hasattr(value, "dtype") and hasattr(value, "item") else None


def _plain(value: Any) -> Any:
    if getattr(value, "ndim", 0):
        return None
    plain = value.item() if hasattr(value, "item") else value
    for kind in (bool, int, float):
        if isinstance(plain, kind):
            return kind(plain)
    return None
