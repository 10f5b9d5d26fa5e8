"""Metamorphic relations: what may be changed about a compilation without changing a result.

A row makes of a case the results again, in another way. On whole numbers they are the same bit for
bit, else within the room that rounding has: other results of a program may change the order of a
sum (docs/design.md, section 8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

import ted
from every_cpu import vectors_of
from fuzz.answers import distances
from fuzz.cases import Case, Wanted
from fuzz.compiled import Traced, compile_and_call, traced
from fuzz.programs import Array, Input

Heads = Sequence[tuple[Wanted, Input]]
Relation = Callable[[Case, Heads], list[Array]]


def alone(case: Case, heads: Heads) -> list[Array]:
    """Every result by a program of its own."""
    program = traced(case, heads)
    return [compile_and_call(case, program, [name])[0] for name in case.wanted]


def reversed_order(case: Case, heads: Heads) -> list[Array]:
    """The last result first."""
    return compile_and_call(case, traced(case, heads), case.wanted[::-1])[::-1]


def renamed(case: Case, heads: Heads) -> list[Array]:
    """Inputs of other names, which sort the other way."""
    return compile_and_call(case, traced(case, heads, "zz_a"), case.wanted)


def with_more(case: Case, heads: Heads) -> list[Array]:
    """All results that there are, before and behind those wanted."""
    program = traced(case, heads)
    more = [name for name in program.results if name not in case.wanted]
    half = len(more) // 2
    found = compile_and_call(case, program, [*more[:half], *case.wanted, *more[half:]])
    return found[half : half + len(case.wanted)]


def in_two(case: Case, heads: Heads) -> list[Array]:
    """Two programs, each with half of the results."""
    program, half = traced(case, heads), (len(case.wanted) + 1) // 2
    parts = (case.wanted[:half], case.wanted[half:])
    return [r for part in parts if part for r in compile_and_call(case, program, part)]


def batch_of_one(case: Case, heads: Heads) -> list[Array]:
    """The same function of a batch with one example in it."""

    def function(*tensors: ted.Tensor) -> list[ted.Tensor]:
        made = traced(case, heads, given=tensors)
        return [made.results[name] for name in case.wanted]

    program = traced(case, heads)
    batches = [
        ted.placeholder((1, *x.shape), x.dtype, name=f"b{k}") for k, x in enumerate(program.inputs)
    ]
    outputs = ted.vmap(function)(*batches)
    results = dict(zip(case.wanted, outputs, strict=True))
    arrays = [a[None] for a in program.arrays]
    found = compile_and_call(case, Traced(batches, arrays, results), case.wanted)
    return [array[0] for array in found]


def of_other_width(case: Case, heads: Heads) -> list[Array]:
    """Scheduled for the narrowest vectors of this kind of machine."""
    with vectors_of("sse2"):
        return compile_and_call(replace(case, target="cpu"), traced(case, heads), case.wanted)


RELATIONS: dict[str, Relation] = {
    "alone": alone,
    "reversed order": reversed_order,
    "renamed": renamed,
    "more results": with_more,
    "two programs": in_two,
    "batch of one": batch_of_one,
    "other vectors": of_other_width,
}


def same(case: Case, first: Array, second: Array, room: float) -> bool:
    """Whether two results are the same: bit for bit on whole numbers, else each within its room."""
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if case.exact or first.dtype.kind in "biu":
        return bool(np.array_equal(first, second))
    return bool((distances(first, second) <= 2 * room).all())
