"""Complex numbers: two real tensors under one type, which every transformation takes as two.

Before: f(z), where z is an array of complex64      After: f(Complex(z.real, z.imag))

A pair is a nest (`trees`), and an array of complex numbers is opened as one, so nothing below the
frontend knows of it: programs, gradients, batches and loops are those of its parts. What functions
of ted do with pairs is in the table `on_complex`, which `complex_functions`, `complex_creation` and
`complex_arrays` fill.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from ted.frontend.locations import fail
from ted.frontend.unevaluated import Unevaluated
from ted.ir.dtypes import FLOAT32, FLOAT64, DType, spelled
from ted.records import dataclass

# What a function of ted does with complex numbers, by its name.
on_complex: dict[str, Callable[..., Any]] = {}
# Python's operators, by what tensors call them.
_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "power": "power",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "mod": "remainder",
    "floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "shiftleft": "left_shift", "shiftright": "right_shift",
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal",
}  # fmt: skip
_DEEPEST = 64  # dims of an array, of NumPy and of ted
_NO_ORDER = ("max", "min", "arg", "sort", "topk", "median", "quantile", "less",
             "greater", "clip", "searchsorted", "unique", "histogram", "sign")  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class ComplexType:
    """The type of pairs of one float type; NumPy takes it for its own: `np.zeros(3, z.dtype)`.

    It equals what names it, as `DType` does.
    """

    name: str
    part: DType
    kind = "complex"
    is_float = False

    def __eq__(self, other: object) -> bool:
        found = complex_type(other)
        return NotImplemented if found is None else self.name == found.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    @property
    def bits(self) -> int:
        """Those of both parts."""
        return 2 * self.part.bits

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of numpy: numpy asks for it."""
        return np.dtype(self.name)


COMPLEX64, COMPLEX128 = ComplexType("complex64", FLOAT32), ComplexType("complex128", FLOAT64)
_BY_NAME = {
    "complex64": COMPLEX64, "complex128": COMPLEX128, "complex": COMPLEX128, "c8": COMPLEX64,
    "c16": COMPLEX128,
}  # fmt: skip


def applied(name: str, /, *args: Any, **options: Any) -> Any:
    """What the function of this name is of complex numbers.

    Raises: FrontendError for one that takes real ones alone.
    """
    name = _OPERATORS.get(name, name)
    function = on_complex.get(name)
    if function is None:
        refuse(name)
    try:
        return function(*args, **options)
    except TypeError:
        if _takes(function, args, options):
            raise
    form = inspect.signature(function)
    return fail(f"{name}: of complex numbers takes {form}, got {args} and {options}")


def _takes(function: Callable[..., Any], args: Any, options: Any) -> bool:
    try:
        inspect.signature(function).bind(*args, **options)
    except TypeError:
        return False
    return True


def refuse(name: str) -> NoReturn:
    """Refuse complex numbers where real ones are needed.

    Raises: FrontendError that names the way out.
    """
    way = "give it ted.real, ted.imag or ted.abs of it"
    if name.startswith(_NO_ORDER):
        way = "complex numbers have no order; compare ted.abs, ted.real or ted.imag of them"
    fail(f"{name}: takes real tensors, got a complex one; {way}")


def parts_instead(value: Any) -> str:
    """What an error says where tensors are needed one by one."""
    return "; give .real and .imag, which are tensors" if isinstance(value, Complex) else ""


@dataclass(frozen=True, repr=False, eq=False)
class Complex(Unevaluated):
    """A complex tensor: its real and its imaginary part, of one shape and type.

    `ted.complex(x, y)` makes it. In an index lambda its elements are pairs of scalars.
    """

    real: Any
    imag: Any

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents."""
        return self.real.shape

    @property
    def dtype(self) -> ComplexType:
        """complex64 or complex128."""
        return type_of(self.real.dtype)

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.real.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self.real.size

    @property
    def T(self) -> Complex:
        """The tensor with its dims in reverse order, not conjugated."""
        return Complex(self.real.T, self.imag.T)

    @property
    def mT(self) -> Complex:
        """The tensor with its last two dims exchanged, not conjugated."""
        return Complex(self.real.mT, self.imag.mT)

    @property
    def at(self) -> Any:
        """`z.at[subscripts]`: `set` and `add` give z with other elements."""
        return applied("at", self)

    def reshape(self, *shape: Any, copy: Any = None) -> Complex:
        """The same elements in row-major order under another shape; one extent may be -1."""
        del copy  # a tensor is a value
        return Complex(self.real.reshape(*shape), self.imag.reshape(*shape))

    def transpose(self, *axes: Any) -> Complex:
        """The dims in another order, reversed by default."""
        return Complex(self.real.transpose(*axes), self.imag.transpose(*axes))

    def __getitem__(self, subscripts: Any) -> Complex:
        return Complex(self.real[subscripts], self.imag[subscripts])

    def __len__(self) -> int:
        return len(self.real)

    def __iter__(self) -> Iterator[Complex]:
        return map(Complex, self.real, self.imag)

    def __setitem__(self, subscripts: Any, values: Any) -> NoReturn:
        self.real[subscripts] = values  # refused there
        raise AssertionError("a tensor is a value")

    def _operated(self, name: str, a: Any, b: Any) -> Any:
        return applied(name, a, b)

    def __gt__(self, other: Any) -> Any:
        return applied("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return applied("greater_equal", self, other)

    def __matmul__(self, other: Any) -> Any:
        return applied("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return applied("matmul", other, self)

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imag)

    def __pos__(self) -> Complex:
        return self

    def __abs__(self) -> Any:
        return applied("absolute", self)

    def __invert__(self) -> NoReturn:
        refuse("bitwise_not")

    def __repr__(self) -> str:
        return f"Complex({self.real!r}, {self.imag!r})"


def type_of(dtype: Any) -> ComplexType:
    """The type of pairs of parts of this type: complex128 of float64, complex64 of others."""
    return COMPLEX128 if dtype == FLOAT64 else COMPLEX64


def is_complex(value: Any, depth: int = 0) -> bool:
    """Whether a value is complex: a pair, an array of any library, a number of Python, a list.

    Lists in lists are looked through as deep as arrays have dims: one may hold itself.
    """
    if isinstance(value, (list, tuple)):
        return depth < _DEEPEST and any(is_complex(part, depth + 1) for part in value)
    return isinstance(value, (Complex, complex)) or _is_array(value)


def _is_array(value: Any) -> bool:
    """Whether a value is an array of complex numbers, of any library; their types are none."""
    dtype = getattr(value, "dtype", None)
    is_one = getattr(dtype, "kind", None) == "c" or getattr(dtype, "is_complex", None) is True
    return is_one and hasattr(value, "shape")


def complex_type(value: Any) -> ComplexType | None:
    """The type that a value names, by its name, a type of Python or another library; else None."""
    if isinstance(value, ComplexType):
        return value
    return _BY_NAME.get(spelled(value) or "")


def names_complex(value: Any, depth: int = 0) -> bool:
    """Whether a type, or one of a list of them, is complex."""
    if isinstance(value, (list, tuple)):
        return depth < _DEEPEST and any(names_complex(part, depth + 1) for part in value)
    return complex_type(value) is not None


def opened_array(value: Any) -> tuple[Any, Any] | None:
    """Copies of the parts of an array of complex numbers, of any library; None for all else."""
    if _is_array(value):
        real, imag = value.real, value.imag
        copied = "copy" if hasattr(real, "copy") else "clone"  # the word of torch
        return getattr(real, copied)(), getattr(imag, copied)()
    return None


def joined(real: Any, imag: Any) -> Any:
    """The array of numpy or torch with these parts; of what are no arrays of floats, the pair."""
    parts = (real, imag)
    torch = sys.modules.get("torch")
    if torch is not None and all(isinstance(x, torch.Tensor) for x in parts):
        return torch.complex(*parts) if real.dtype.is_floating_point else Complex(real, imag)
    if any(not isinstance(x, (np.ndarray, np.generic)) or x.dtype.char not in "fd" for x in parts):
        return Complex(real, imag)
    if (real.shape, real.dtype) != (imag.shape, imag.dtype):
        return Complex(real, imag)
    made = np.empty(real.shape, type_of(FLOAT64 if real.dtype.char == "d" else FLOAT32).dtype)
    made.real, made.imag = parts
    return made
