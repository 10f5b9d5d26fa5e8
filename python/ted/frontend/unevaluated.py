"""What Python asks of a value and an expression cannot give: a number, an array, a copy.

An expression has no value while it is being written.  Each protocol that would need one is refused
here, at the user's line and with what to write instead, for tensors and for scalars alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ted.errors import FrontendError
from ted.frontend.locations import fail, here
from ted.frontend.missing_names import advice as advice_of

ELEMENT = "an array is read by ted.constant(array)[i], with one index for each of its dims"
OUTSIDE = "make numbers of it outside of what is traced, by ted.function(f)(*arrays)"
# What numpy's functions lead to: functions of modules that need tensors; `methods.py` gives them.
numpy_calls: dict[str, Callable[..., Any]] = {}
_NO_TRUTH = (
    "{what}: a condition on values has no truth value while the expression is being written; "
    "choose with ted.where(condition, a, b), combine with & | ~, test constants with Python ints"
)


def refuse(what: str, value: object, advice: str) -> NoReturn:
    """Refuse to be a Python value.

    Raises: FrontendError that says what to write instead.
    """
    raise without_value(
        f"{what}: an expression has no value while it is being written, got {value!r}; {advice}",
        value,
    )


def without_value(message: str, value: object) -> FrontendError:
    """The error of what asks for a value; `asked` is the expression."""
    error = FrontendError(message, here())
    vars(error)["asked"] = value
    return error


def wrong_operand(what: str, value: object) -> NoReturn:
    """Refuse an operand that is no number.

    Raises: FrontendError that says what came instead.
    """
    kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
    is_array = isinstance(value, (list, tuple)) or hasattr(value, "__array__")
    advice = f"; {ELEMENT}" if is_array else ""
    fail(f"{what}: operands must be tensors, scalars or Python numbers, got {kind}{advice}")


def _operator(name: str, swap: bool = False) -> Any:
    def method(self: Any, other: Any) -> Any:
        return self._operated(name, *((other, self) if swap else (self, other)))

    return method


class Unevaluated:
    """An expression, for Python: operators are names, of which each class says what they do."""

    __slots__ = ()

    def _operated(self, name: str, a: Any, b: Any) -> Any:
        """What an operator makes of two operands, one of which is this value."""
        raise NotImplementedError(name)

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", True)
    __floordiv__, __rfloordiv__ = _operator("floordiv"), _operator("floordiv", True)
    __mod__, __rmod__ = _operator("mod"), _operator("mod", True)
    __pow__, __rpow__ = _operator("power"), _operator("power", True)
    __lt__, __gt__ = _operator("lt"), _operator("lt", True)
    __le__, __ge__ = _operator("le"), _operator("le", True)
    __eq__, __ne__ = _operator("eq"), _operator("ne")
    __and__, __rand__ = _operator("and"), _operator("and", True)
    __or__, __ror__ = _operator("or"), _operator("or", True)
    __xor__, __rxor__ = _operator("xor"), _operator("xor", True)
    __lshift__, __rlshift__ = _operator("shiftleft"), _operator("shiftleft", True)
    __rshift__, __rrshift__ = _operator("shiftright"), _operator("shiftright", True)
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise without_value(_NO_TRUTH.format(what=f"bool: {self!r}"), self)

    def __int__(self) -> int:
        refuse("int", self, f'write ted.cast(x, "int64"), or {OUTSIDE}')

    def __float__(self) -> float:
        refuse(
            "float", self,
            f'write ted.sin for math.sin, ted.cast(x, "float64") for float(x), or {OUTSIDE}',
        )  # fmt: skip

    def __complex__(self) -> complex:
        refuse("complex", self, "compute real and imaginary parts by themselves")

    def __round__(self, digits: int | None = None) -> NoReturn:
        del digits
        refuse("round", self, "write ted.round(x)")

    def __floor__(self) -> NoReturn:
        refuse("floor", self, "write ted.floor(x)")

    def __ceil__(self) -> NoReturn:
        refuse("ceil", self, "write ted.ceil(x)")

    def __trunc__(self) -> NoReturn:
        refuse("trunc", self, "write ted.trunc(x)")

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other  # type: ignore[operator]

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse(
            "array", self, "an array beside a tensor is a tensor, and ted.constant(array)[i] reads "
            "one at an index; its numbers are what ted.function(f)(*arrays) returns, if f makes "
            f"it: {OUTSIDE}",
        )  # fmt: skip

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return numpy_calls["ufunc"](function, method, *inputs, **options)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        del types  # arrays of other libraries beside tensors are constants
        return numpy_calls["function"](function, args, options)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), options: Any = None
    ) -> Any:
        """Operators of torch's tensors beside an expression are those of the expression."""
        del types, args, options
        name = function.__name__
        if function.__qualname__.startswith("Tensor"):
            return NotImplemented
        return fail(
            f"torch.{name}: functions of torch compute values, and a tensor of ted has none while "
            f"the expression is being written{advice_of(name)}"
        )

    def __format__(self, spec: str) -> str:
        return (
            refuse("format", self, "print what a compiled function returns") if spec else str(self)
        )

    def __reduce_ex__(self, _: Any) -> NoReturn:
        fail(
            f"copy: {self!r} is part of a program, and a copy would be no part of it; use the "
            "expression itself, or make another ted.placeholder"
        )

    def __getattr__(self, name: str) -> NoReturn:
        from ted import frontend

        kind = "tensor" if hasattr(type(self), "shape") else "scalar"
        known = name in frontend.__all__
        if known:
            advice = f"; write ted.{name}(x)"
        else:
            advice = advice_of(name) or "; its value exists when a program runs"
        raise AttributeError(f"a {kind} of ted has no attribute {name!r}{advice}")
