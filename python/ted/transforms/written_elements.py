"""Which elements the equations of a tensor write, and which of them nothing before has written.

Each set is found once and joined to those before it: to compare each pair of equations would take
n^2 questions for the n pieces of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from ted.domain import bounds
from ted.domain.budget import BudgetExhausted
from ted.ir.affine import NotAffine, piecewise
from ted.ir.equations import Equation
from ted.records import dataclass


def written_elements(equation: Equation) -> Any | None:
    """The elements that an equation writes; None when they are data or too hard to find."""
    index = written_index(equation)
    return None if index is None else answered(bounds.image, equation.domain, index)


def written_index(equation: Equation) -> list[Any] | None:
    """The subscripts of a write as functions on its domain; None where one is data."""
    try:
        return [piecewise(w, equation.domain) for w in equation.write]
    except NotAffine:
        return None


def answered(question: Callable[..., Any], *args: Any) -> Any | None:
    """The answer, or None when finding it takes too many operations."""
    try:
        return question(*args)
    except BudgetExhausted:
        return None


@dataclass
class Written:
    """What equations write, in their order; found as far as somebody asks."""

    equations: Sequence[Equation]
    _images: list[Any | None] = field(default_factory=list)
    _joined: list[Any | None] = field(default_factory=list)  # each image with those before it

    def reversed(self) -> Written:
        """The same equations from the last one on."""
        images = [self.of(k) for k in range(len(self.equations))]
        return Written(self.equations[::-1], images[::-1])

    def of(self, position: int) -> Any | None:
        """The elements that an equation writes; None where they are not known."""
        while len(self._images) <= position:
            self._images.append(written_elements(self.equations[len(self._images)]))
        return self._images[position]

    def until(self, position: int) -> Any | None:
        """What this equation and those before it write; None where it is not known."""
        while (number := len(self._joined)) <= position:
            image = self.of(number)
            if number and image is not None:
                before = self._joined[-1]
                image = None if before is None else before.union(image)
            self._joined.append(image)
        return self._joined[position]

    def is_first(self, position: int) -> bool:
        """Whether an equation surely writes elements that none before it does."""
        own = self.of(position)
        return own is not None and self.is_apart(own, position)

    def is_apart(self, elements: Any, position: int) -> bool:
        """Whether no equation before one writes any of the elements, for sure."""
        if position == 0:
            return True
        before = self.until(position - 1)
        return before is not None and bool(answered(bounds.is_disjoint, elements, before))
