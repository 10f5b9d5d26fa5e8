"""Floats by their numbers in order: integers that rise with them, made of exponents and fractions.

Before: floats, or numbers of them
After:  the others; zeros are 0 both, what is below zero has the numbers below

There is nothing that reads the bits of a float: its exponent is searched for in a table of powers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ted.frontend.elementwise import absolute, cast, where
from ted.frontend.indexing import place
from ted.frontend.tensors import Tensor, constant
from ted.records import dataclass


@dataclass(frozen=True)
class FloatNumbers:
    """The numbers of the floats of a type, float32 or float64."""

    kind: np.dtype[Any]
    powers: Tensor  # what the floats of each exponent are multiples of

    @staticmethod
    def of(kind: str) -> FloatNumbers:
        """The numbers of a type."""
        about = np.finfo(kind)
        exponents = np.maximum(np.arange(1 << about.iexp), 1)
        powers = np.ldexp(1.0, exponents + (about.minexp - 1 - about.nmant))
        powers[-1] = math.inf
        return FloatNumbers(np.dtype(kind), constant(powers.astype(kind)))

    @property
    def bits(self) -> int:
        """Of a number."""
        return self.kind.itemsize * 8

    @property
    def _fractions(self) -> int:
        return 1 << np.finfo(self.kind).nmant

    def float_of(self, number: Any) -> Any:
        """The float of a number; beyond the infinities is no other."""
        size = where(number < 0, -1 - number, number)
        exponent = size // self._fractions
        units = size - exponent * self._fractions + where(exponent > 0, self._fractions, 0)
        value = cast(units, self.kind.name) * self._power(exponent)
        return where(number < 0, -value, value)

    def number_of(self, value: Any) -> Any:
        """The number of a float, the greatest of all for NaN."""
        size, exponent = absolute(value), cast(value < value, "int64")
        for bit in reversed(range(np.finfo(self.kind).iexp)):
            tried = exponent + (1 << bit)
            exponent = where(self._power(tried) * self._fractions <= size, tried, exponent)
        units = where(size < math.inf, size / self._power(exponent), float(self._fractions))
        fraction = cast(units, "int64") - where(exponent > 0, self._fractions, 0)
        number = exponent * self._fractions + fraction
        number = where(value < 0, -1 - number, number)
        return where(value == value, number, (1 << (self.bits - 1)) - 1)

    def _power(self, exponent: Any) -> Any:
        return self.powers[place(exponent, 0, "unchecked")[0]]
