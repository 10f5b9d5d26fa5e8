"""The values that a random program has so far, and what a row of the table may ask of them.

Steps are drawn by running them: a pool holds the tensors that torch computes, so shapes, types,
the size of numbers and the distance to the nearest kink are known when the next step is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from fuzz.programs import FLOATS, INTEGERS, Input, Program

Extend = Callable[["Pool", list[Input], int], Program]


class Unsuitable(Exception):
    """The row fits no value of the pool, or not this draw."""


class Pool:
    """Values with their types, and a source of random numbers."""

    def __init__(
        self, random: np.random.Generator, exact: bool, extend: Extend, library: str = "torch"
    ) -> None:
        self.random = random
        self.library = library  # that every row must have a text for
        self.extend = extend  # how a row that works on a function gets one
        self.exact = exact  # whole numbers only, small enough for every sum to be exact
        self.values: list[Any] = []

    def pick(self, suits: Callable[[Any], bool] = lambda _: True) -> int:
        """The number of a value; later ones are likelier.

        Raises: Unsuitable.
        """
        fitting = [k for k, v in enumerate(self.values) if suits(v)]
        if not fitting:
            raise Unsuitable
        return max(self.choose(fitting), self.choose(fitting))

    def floating(self, least: int = 0, most: int = 4) -> int:
        """A value of a float's type with so many dims."""
        return self.pick(lambda v: v.is_floating_point() and least <= v.ndim <= most)

    def integral(self, least: int = 0, most: int = 4) -> int:
        """A value of an integer's type with so many dims."""
        return self.pick(lambda v: type_name(v) in INTEGERS and least <= v.ndim <= most)

    def like(self, number: int, shape: Sequence[int] | None = None) -> int:
        """A value of the same type: of a shape, or of one that broadcasts with the value's."""
        x = self.values[number]

        def suits(v: Any) -> bool:
            if v.dtype != x.dtype:
                return False
            return tuple(v.shape) == tuple(shape) if shape is not None else broadcast(v, x)

        return self.pick(suits)

    def choose(self, items: Sequence[Any]) -> Any:
        """One of several."""
        if not len(items):
            raise Unsuitable
        return items[int(self.random.integers(len(items)))]

    def integer(self, lowest: int, highest: int) -> int:
        """A number between, both included."""
        if highest < lowest:
            raise Unsuitable
        return int(self.random.integers(lowest, highest + 1))

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return bool(self.random.random() < probability)

    def axis(self, number: int) -> int:
        """A dim of a value.

        Raises: Unsuitable for a scalar.
        """
        return self.integer(0, self.values[number].ndim - 1)

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of a value."""
        return tuple(self.values[number].shape)


def broadcast(a: Any, b: Any) -> bool:
    """Whether two tensors broadcast."""
    return all(m == n or 1 in (m, n) for m, n in zip(a.shape[::-1], b.shape[::-1], strict=False))


def type_name(value: Any) -> str:
    """The name of an element type, as ted writes it."""
    return str(value.dtype).removeprefix("torch.")


def is_float(name: str) -> bool:
    """Whether gradients of the type are meant."""
    return name in FLOATS


def dtype_of(name: str) -> torch.dtype:
    """The type of a name."""
    return getattr(torch, name)
