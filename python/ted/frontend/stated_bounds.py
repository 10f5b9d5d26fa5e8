"""Bounds that users state and data may break: an error when the program runs, never a cut result.

Before: values of a loop that ends after 200 steps, `broken`: its condition still holds then
After:  holds = known[201 if broken else 0] == a number, of one element;  values where holds, else 0

It is the check of an index that is data, which every target, file and derivative has: the slope of
a value is selected by the same element, so that it breaks with the value.  The tensor that is read
is named by the rule, which is what the error says (`ted.errors.index_message`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from ted.domain.sizes import Extent
from ted.frontend.compute import compute
from ted.frontend.creation import full
from ted.frontend.elementwise import cast, where
from ted.frontend.locations import here
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, read
from ted.ir.dtypes import INT64
from ted.ir.scalar import const, select


def at_most(what: str, name: str, number: Extent, items: str) -> str:
    """The rule of a bound on how many there are."""
    return f"{what}: at most {name}={number} {items} (truncate=True leaves out the rest), got"


def held(values: Sequence[Tensor], broken: Tensor, found: Any, rule: str) -> list[Tensor]:
    """The values; an ExecutionError `<rule> <found>` where `broken`, a bool scalar, holds.

    A rule ends in ", got" and what the number is; `found` is one other than 0: what there is.
    """
    at = cast(where(broken, found, 0), INT64)
    number = crc32(f"{rule} {here()}".encode())  # equal tensors are one, by the name of the first
    known = full((1,), number, INT64, name=rule)
    holds = compute((), lambda: read(known, (at,)) == number, name="holds")

    def kept(value: Tensor) -> Tensor:
        def element(*i: Any) -> Scalar:
            taken = read(value, i).expr
            return Scalar(select(read(holds, ()).expr, taken, const(0, value.dtype)))

        return compute(value.shape, element, name=value.node.name)

    return [kept(value) for value in values]
