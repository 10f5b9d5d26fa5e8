"""What Python asks of a value and an expression cannot give: a number, an array, a copy.

An expression has no value while it is being written.  Each protocol that would need one is refused
here, at the user's line and with what to write instead, for tensors and for scalars alike.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ted.errors import FrontendError
from ted.frontend.locations import fail, here

CAPTURED = "make an array an argument of the function, or a ted.placeholder"
_NO_TRUTH = (
    "{what}: a condition on values has no truth value while the expression is being written; "
    "choose with ted.where(condition, a, b), combine with & | ~, test constants with Python ints"
)


def refuse(what: str, value: object, advice: str) -> NoReturn:
    """Refuse to be a Python value.

    Raises: FrontendError that says what to write instead.
    """
    fail(f"{what}: an expression has no value while it is being written, got {value!r}; {advice}")


def wrong_operand(what: str, value: object) -> NoReturn:
    """Refuse an operand that is no number.

    Raises: FrontendError that says what came instead.
    """
    kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
    is_array = isinstance(value, (list, tuple)) or hasattr(value, "__array__")
    advice = f"; {CAPTURED}" if is_array else ""
    fail(f"{what}: operands must be tensors, scalars or Python numbers, got {kind}{advice}")


class Unevaluated:
    """An expression, for Python."""

    __slots__ = ()
    __array_priority__ = 1000  # numpy arrays leave mixed operators to us

    def __bool__(self) -> bool:
        raise FrontendError(_NO_TRUTH.format(what=f"bool: {self!r}"), here())

    def __int__(self) -> int:
        refuse("int", self, 'write ted.cast(x, "int64")')

    def __float__(self) -> float:
        refuse("float", self, 'write ted.sin for math.sin, ted.cast(x, "float64") for float(x)')

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
            "array", self, "write ted.sin for np.sin; a numpy array that an expression reads is an "
            "argument of the function, or a ted.placeholder",
        )  # fmt: skip

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
        advice = f"; write ted.{name}(x)" if known else "; its value exists when a program runs"
        raise AttributeError(f"a {kind} of ted has no attribute {name!r}{advice}")
