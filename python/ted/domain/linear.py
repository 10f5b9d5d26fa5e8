"""Linear forms: a constant and multiples of terms, which are dims, names or values of IR.

What an index is when nothing divides it; with floors it is an `Aff`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from ted.records import dataclass

T = TypeVar("T", bound=Hashable)
U = TypeVar("U", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Form(Generic[T]):
    """`constant` + the sum of term * factor: no term twice and no factor 0, their order is none."""

    constant: int = 0
    terms: tuple[tuple[T, int], ...] = ()

    def __add__(self, other: Form[T] | int) -> Form[T]:
        if isinstance(other, int):
            return Form(self.constant + other, self.terms)
        factors = dict(self.terms)
        for term, factor in other.terms:
            factors[term] = factors.get(term, 0) + factor
        kept = tuple((term, factor) for term, factor in factors.items() if factor)
        return Form(self.constant + other.constant, kept)

    __radd__ = __add__

    def __sub__(self, other: Form[T] | int) -> Form[T]:
        return self + other * -1

    def __mul__(self, factor: int) -> Form[T]:
        scaled = tuple((term, factor * times) for term, times in self.terms if factor)
        return Form(self.constant * factor, scaled)

    def __getitem__(self, term: T) -> int:
        return dict(self.terms).get(term, 0)

    def __eq__(self, other: Any) -> bool:
        is_form = isinstance(other, Form)
        return is_form and not (self - other).terms and self.constant == other.constant

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms)))

    @property
    def dims(self) -> frozenset[T]:
        """The terms without their factors."""
        return frozenset(term for term, _ in self.terms)

    def times(self, other: Form[T]) -> Form[T] | None:
        """The product; None if that is not linear."""
        if self.terms and other.terms:
            return None
        return self * other.constant if self.terms else other * self.constant

    def compose(self, forms: Mapping[T, Form[U]] | Sequence[Form[U]]) -> Form[U]:
        """The form with a form in the place of each term."""
        parts: Any = forms  # a sequence is a mapping of its places
        return dot((parts[t] for t, _ in self.terms), [f for _, f in self.terms]) + self.constant


def term(name: T) -> Form[T]:
    """The form that is a term."""
    return Form(0, ((name, 1),))


def dot(forms: Iterable[Form[T]], factors: Sequence[int]) -> Form[T]:
    """The sum of the forms, each times its factor."""
    return sum((form * by for form, by in zip(forms, factors, strict=True)), Form[T]())
