"""Random programs on f16 and bf16, written in the public frontend, each value with its error bound.

A `Value` carries a tensor, a bound of its magnitude and one of the error that roundings have left
in it, whichever of them fusion spares: every operation adds what it passes on and half a unit in
the last place of what it may store. So two right executions differ by twice the bound at most.

In an *exact* program there are only small integers, sums, products and choices: every order of
every sum and every rounding gives the same bits, at any order of differentiation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ted
from ted.testing.tracing import numpy_type

# Half a unit in the last place of a number between 1 and 2, by type.
UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 0.0}
LEAST = {"float16": 2.0**-25, "bfloat16": 2.0**-134, "float32": 2.0**-150, "float64": 0.0}
WHOLE = {"float16": 2048, "bfloat16": 256}  # integers up to here are exact
LARGEST = 1000.0  # of a value in a program that is not exact, far from the end of f16
FUNCTION_ERROR = 2.0**-21  # of a function in f32, relative or absolute around 1


@dataclass(frozen=True)
class Value:
    """A tensor with bounds of its magnitude and of its error."""

    tensor: Any
    size: float
    error: float = 0.0
    is_input: bool = False


@dataclass
class Program:
    """Inputs with their arrays, and what is computed of them."""

    inputs: list[Any]
    arrays: list[Any]
    outputs: list[Value]


@dataclass
class Generator:
    """Builds a program; `wide` puts float64 where 16-bit floats were."""

    seed: int
    is_exact: bool
    wide: bool = False
    inputs: list[Any] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.numbers = np.random.default_rng(self.seed)
        self.kind = self.random.choice(["bfloat16", "bfloat16", "float16"])
        self.shape = (self.random.choice([1, 3, 5, 8]), self.random.choice([2, 6, 17, 33]))

    def program(self) -> Program:
        """Three to seven operations; what nothing reads is a result."""
        values = [self.input() for _ in range(self.random.choice([1, 2, 3]))]
        made: list[Value] = []
        for _ in range(self.random.randint(3, 7)):
            value = self.operation(values)
            if value is not None:
                values.append(value)
                made.append(value)
        last = made[-3:] or [self.plus(values[0], values[-1])]
        return Program(self.inputs, self.arrays, last)

    def type_of(self, name: str) -> str:
        """The element type, or float64 in its place."""
        return "float64" if self.wide else name

    def input(self) -> Value:
        """A new input of the common shape."""
        if self.is_exact:
            array = self.numbers.integers(-2, 3, self.shape).astype(np.float64)
        else:
            array = self.numbers.normal(size=self.shape).clip(-2, 2)
            array.flat[0] = 0.0
        stored = array.astype(numpy_type(self.kind))
        name = f"x{len(self.inputs)}"
        self.inputs.append(ted.placeholder(self.shape, self.type_of(self.kind), name=name))
        self.arrays.append(stored.astype(np.float64) if self.wide else stored)
        return Value(self.inputs[-1], 2.0, is_input=True)

    # ------------------------------------------------------------------ operations

    def operation(self, values: list[Value]) -> Value | None:
        """An operation on values that are there; None where its bounds would grow too large."""
        a, b = self.random.choice(values), self.random.choice(values)
        names = _EXACT if self.is_exact else _EXACT + _SMOOTH
        value: Value = getattr(self, self.random.choice(names))(a, b)
        limit = WHOLE[self.kind] / 4 if self.is_exact else LARGEST
        return value if value.size <= limit else None

    def rounded(self, tensor: Any, size: float, error: float) -> Value:
        """A value that may be stored once more."""
        if self.is_exact:
            return Value(tensor, size)
        unit = UNITS[self.kind]
        return Value(tensor, size, error + unit * (size + error) + LEAST[self.kind])

    def plus(self, a: Value, b: Value) -> Value:
        """A sum; of other shapes, by broadcasting or by a reduction first."""
        a, b = self.fitting(a, b)
        return self.rounded(a.tensor + b.tensor, a.size + b.size, a.error + b.error)

    def minus(self, a: Value, b: Value) -> Value:
        """A difference."""
        a, b = self.fitting(a, b)
        return self.rounded(a.tensor - b.tensor, a.size + b.size, a.error + b.error)

    def times(self, a: Value, b: Value) -> Value:
        """A product."""
        a, b = self.fitting(a, b)
        error = a.error * b.size + b.error * a.size + a.error * b.error
        return self.rounded(a.tensor * b.tensor, a.size * b.size, error)

    def greater(self, a: Value, b: Value) -> Value:
        """The greater of two."""
        a, b = self.fitting(a, b)
        both = ted.maximum(a.tensor, b.tensor)
        return self.rounded(both, max(a.size, b.size), max(a.error, b.error))

    def chosen(self, a: Value, b: Value) -> Value:
        """A choice by a comparison of inputs, which are known exactly."""
        a, b = self.fitting(a, b)
        x, y = self.inputs[0], self.inputs[-1]
        if a.tensor.shape != self.shape:
            return self.minus(a, b)
        chosen = ted.where(x < -y, a.tensor, b.tensor)
        return self.rounded(chosen, max(a.size, b.size), max(a.error, b.error))

    def total(self, a: Value, b: Value) -> Value:
        """A sum along a dim, in f32."""
        axis = self.random.randrange(len(a.tensor.shape))
        count = a.tensor.shape[axis]
        error = count * a.error + (count + 1) ** 2 * UNITS["float32"] * a.size
        return self.rounded(ted.sum(a.tensor, axis=axis, keepdims=True), count * a.size, error)

    def greatest(self, a: Value, b: Value) -> Value:
        """The greatest along a dim."""
        axis = self.random.randrange(len(a.tensor.shape))
        return self.rounded(ted.max(a.tensor, axis=axis, keepdims=True), a.size, a.error)

    def place(self, a: Value, b: Value) -> Value:
        """The position of the greatest product of inputs, which every execution rounds alike."""
        x, y = self.inputs[0], self.inputs[-1]
        found = ted.argmax(x * y, axis=1) if self.is_exact else ted.argmax(x, axis=1)
        number = ted.cast(found, self.type_of(self.kind))
        return self.rounded(ted.expand_dims(number, 1), float(self.shape[1]), 0.0)

    def product(self, a: Value, b: Value) -> Value:
        """A matrix product with the transpose."""
        a, b = self.full(a), self.full(b)
        count = self.shape[1]
        size = count * a.size * b.size
        error = count * (a.error * b.size + b.error * a.size + a.error * b.error)
        error += (count + 1) ** 2 * UNITS["float32"] * a.size * b.size
        square = self.rounded(a.tensor @ ted.transpose(b.tensor), size, error)
        return self.rounded(square.tensor[:, :1], square.size, square.error)

    def window(self, a: Value, b: Value) -> Value:
        """A difference of neighbours, padded."""
        a = self.full(a)
        inner = a.tensor[:, 1:] - a.tensor[:, :-1]
        padded = ted.pad(inner, [(0, 0), (1, 0)])
        return self.rounded(padded, 2 * a.size, 2 * a.error)

    def turned(self, a: Value, b: Value) -> Value:
        """Backwards along the second dim."""
        a = self.full(a)
        return Value(ted.flip(a.tensor, 1), a.size, a.error)

    def running(self, a: Value, b: Value) -> Value:
        """A running sum along the second dim."""
        a = self.full(a)
        count = self.shape[1]
        error = count * a.error + (count + 1) ** 2 * UNITS["float32"] * a.size
        return self.rounded(ted.cumsum(a.tensor, axis=1), count * a.size, error)

    def gathered(self, a: Value, b: Value) -> Value:
        """A read at data."""
        a = self.full(a)
        rows = ted.cast(ted.abs(self.inputs[0]), "int64")
        n = self.shape[1]
        read = ted.compute(
            self.shape, lambda i, j: a.tensor[i, ted.clip(rows[i, j], 0, n - 1)], name="gathered"
        )
        return self.rounded(read, a.size, a.error)

    def scattered(self, a: Value, b: Value) -> Value:
        """Sums at data."""
        a = self.full(a)
        n = self.shape[1]
        places = ted.clip(ted.cast(ted.abs(self.inputs[0]), "int64")[0], 0, n - 1)
        wide = ted.transpose(a.tensor)
        summed = ted.transpose(ted.index_add(ted.zeros_like(wide), 0, places, wide))
        error = n * a.error + (n + 1) ** 2 * UNITS["float32"] * a.size
        return self.rounded(summed, n * a.size, error)

    def cast(self, a: Value, b: Value) -> Value:
        """Through another type and back, which rounds whatever is fused."""
        other = self.random.choice(["float32", "float64", "float16", "bfloat16"])
        if self.is_exact and other in WHOLE and WHOLE[other] < WHOLE[self.kind]:
            other = "float32"
        through = ted.cast(a.tensor, self.type_of(other))
        error = a.error + UNITS[other] * (a.size + a.error) + LEAST[other]
        return self.rounded(ted.cast(through, self.type_of(self.kind)), a.size, error)

    def tanh(self, a: Value, b: Value) -> Value:
        """A function with a fast expansion."""
        return self.rounded(ted.tanh(a.tensor), 1.0, a.error + FUNCTION_ERROR)

    def bump(self, a: Value, b: Value) -> Value:
        """1 at 0, 0 far away."""
        return self.rounded(ted.exp(-ted.abs(a.tensor)), 1.0, a.error + FUNCTION_ERROR)

    def wave(self, a: Value, b: Value) -> Value:
        """A function whose argument is reduced."""
        return self.rounded(ted.sin(a.tensor), 1.0, a.error + FUNCTION_ERROR)

    def quotient(self, a: Value, b: Value) -> Value:
        """a / (2 + |b|), whose slopes are 1/2 and |a| / 4 at most."""
        a, b = self.fitting(a, b)
        below = self.rounded(ted.abs(b.tensor) + 2.0, b.size + 2, b.error)
        return self.rounded(
            a.tensor / below.tensor, a.size / 2, a.error / 2 + below.error * a.size / 4 + a.error
        )

    def softmax(self, a: Value, b: Value) -> Value:
        """Rows of exponentials over their sum; each step may be stored."""
        a = self.full(a)
        shifted = self.rounded(None, 2 * a.size, 2 * a.error)
        # Relative errors: of the exponential, of its sum (no more), and of each store.
        relative = np.expm1(2 * shifted.error) + 8 * UNITS[self.kind] + FUNCTION_ERROR
        return self.rounded(ted.nn.softmax(a.tensor), 1.0, float(relative))

    # ------------------------------------------------------------------ shapes

    def fitting(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Both, of shapes that broadcast: all are the common one with ones in it."""
        return a, b

    def full(self, a: Value) -> Value:
        """A value of the common shape."""
        if a.tensor.shape == self.shape:
            return a
        return Value(ted.broadcast_to(a.tensor, self.shape), a.size, a.error)


_EXACT = (
    "plus", "minus", "times", "greater", "chosen", "total", "greatest", "place", "product",
    "window", "turned", "running", "gathered", "scattered", "cast",
)  # fmt: skip
_SMOOTH = ("tanh", "bump", "wave", "quotient", "softmax", "times", "plus")
