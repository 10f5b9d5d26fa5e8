"""A program with less in it: values replaced by inputs or by other values, results left out.

What nothing needs any more goes, and what is left is numbered anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from fuzz.programs import Input, Program

Instead = Mapping[int, int | Input]


def rebuilt(
    program: Program, instead: Instead, results: Sequence[int], keep: Collection[int] = ()
) -> tuple[Program, dict[int, int]]:
    """The program whose results are these values, and the new numbers of its values.

    Each value of `instead` is another value or a new input; inputs of `keep` stay, used or not.
    """
    first = len(program.inputs)
    roots = [_other(r, instead) for r in results]
    needed = sorted(_needed(program, instead, roots) | set(keep))
    old = [n for n in needed if n < first and n not in instead]
    new = {n: i for n in needed if isinstance(i := instead.get(n), Input)}
    steps = [n for n in needed if n >= first and n not in instead]
    number = {n: k for k, n in enumerate([*old, *new, *steps])}
    made = Program(
        (*(program.inputs[n] for n in old), *new.values()),
        tuple(
            replace(step, args=tuple(number[_other(a, instead)] for a in step.args))
            for step in (program.steps[n - first] for n in steps)
        ),
        tuple(number[r] for r in roots),
    )
    return made, number


def pruned(program: Program) -> Program:
    """The program without the steps that no result needs; its inputs stay."""
    return rebuilt(program, {}, program.results, range(len(program.inputs)))[0]


def used(program: Program) -> Program:
    """The program without the steps and inputs that no result needs."""
    return rebuilt(program, {}, program.results)[0]


def _other(n: int, instead: Instead) -> int:
    """The value that stands for one."""
    while isinstance(other := instead.get(n), int):
        n = other
    return n


def _needed(program: Program, instead: Instead, roots: Sequence[int]) -> set[int]:
    first, needed, ahead = len(program.inputs), set(roots), list(roots)
    while ahead:
        n = ahead.pop()
        if n >= first and n not in instead:
            operands = {_other(a, instead) for a in program.steps[n - first].args} - needed
            needed |= operands
            ahead += operands
    return needed
