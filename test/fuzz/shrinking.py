"""Make a failing case small: try smaller ones for as long as one fails in the same way.

Before: nine steps, five results of two orders      After: two steps, two results
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from fuzz.answers import torch_function
from fuzz.cases import Case
from fuzz.outcomes import Outcome
from fuzz.pool import type_name
from fuzz.programs import Input, Program, Step, Written
from fuzz.rebuilding import pruned, rebuilt
from fuzz.torch_meaning import tensor_of

Oracle = Callable[[Case], Outcome]


def shrunk(case: Case, outcome: Outcome, oracle: Oracle, seconds: float = 120.0) -> Case:
    """The smallest case found that fails as this one does, within so much computing."""
    spent = 0.0
    tried: set[str] = set()
    progress = True
    while progress:
        progress = False
        for candidate in smaller(case):
            if spent > seconds:
                return case
            if repr(candidate) in tried:
                continue
            tried.add(repr(candidate))
            found = oracle(candidate)
            spent += found.seconds
            if found.failure == outcome.failure:
                case, progress = candidate, True
                break
    return case


def smaller(case: Case) -> Iterator[Case]:
    """Cases with less in them, the boldest first."""
    if case.target != "cpu":
        yield replace(case, target="cpu")
    if case.donate:
        yield replace(case, donate=False)
    yield from _less_wanted(case)
    yield from (c for c in _fewer_results(case) if c)
    yield from (c for c in _fewer_steps(case) if c)
    yield from _shorter_bodies(case)
    yield from _simpler_parts(case)
    yield from _smaller_sizes(case)


def _less_wanted(case: Case) -> Iterator[Case]:
    if case.order == 2:
        lower = tuple((k.replace("d2", "d1"), n) for k, n in case.wanted)
        yield replace(case, wanted=tuple(dict.fromkeys(lower)))
    half = len(case.wanted) // 2
    if half > 1:
        yield replace(case, wanted=case.wanted[:half])
        yield replace(case, wanted=case.wanted[half:])
    if len(case.wanted) > 1:
        for k in range(len(case.wanted)):
            yield replace(case, wanted=case.wanted[:k] + case.wanted[k + 1 :])


def _fewer_results(case: Case) -> Iterator[Case | None]:
    """Without a result that nobody wants, or whose cotangent counts only."""
    every = range(len(case.program.results))
    wanted = {k for kind, k in case.wanted if kind == "value"}
    for k in every:
        if k not in wanted and len(every) > 1:
            yield rebuilt_case(case, {}, [n for n in every if n != k])


def _fewer_steps(case: Case) -> Iterator[Case | None]:
    """A step replaced by a new input, or by one of its operands."""
    first = len(case.program.inputs)
    values = _values(case)
    for number in reversed(range(first, first + len(case.program.steps))):
        value = values[number]
        step = case.program.steps[number - first]
        shape, dtype = tuple(value.shape), type_name(value)
        for operand in dict.fromkeys(step.args):
            if tuple(values[operand].shape) == shape and type_name(values[operand]) == dtype:
                yield rebuilt_case(case, {number: operand})
        yield rebuilt_case(case, {number: Input(shape, dtype, case.exact, number)})
    for k in range(first):  # one input instead of two
        for other in range(k):
            if replace(case.program.inputs[other], seed=0) == replace(
                case.program.inputs[k], seed=0
            ):
                yield rebuilt_case(case, {k: other})


def rebuilt_case(
    case: Case, instead: Mapping[int, int | Input], results: Collection[int] | None = None
) -> Case | None:
    """The case with less in its program; None when nothing is left that was wanted."""
    program = case.program
    positions = range(len(program.results)) if results is None else sorted(results)
    asked = {k for kind, k in case.wanted if kind != "value" and k not in instead}
    roots = [program.results[p] for p in positions]
    made, number = rebuilt(program, instead, roots, asked)
    place = {p: k for k, p in enumerate(positions)}
    wanted = tuple(
        (kind, place[k] if kind == "value" else number[k])
        for kind, k in case.wanted
        if (k in place if kind == "value" else k in asked)
    )
    return replace(case, program=made, wanted=wanted) if wanted and roots else None


def _values(case: Case) -> list[Any]:
    program = case.program
    every = tuple(range(len(program.inputs) + len(program.steps)))
    function = torch_function(replace(case, program=replace(program, results=every)), ideal=False)
    return list(function(*(tensor_of(i.array()) for i in program.inputs)))


def _shorter_bodies(case: Case) -> Iterator[Case]:
    for k, step in enumerate(case.program.steps):
        if step.body is None:
            continue
        for body in _shorter(step.body):
            made = replace(step, body=body)
            yield with_steps(case, (*case.program.steps[:k], made, *case.program.steps[k + 1 :]))


def _shorter(body: Program) -> Iterator[Program]:
    """The function ending earlier, or with a step passed over."""
    yield pruned(body)
    first = len(body.inputs)
    for number in range(first + len(body.steps)):
        if len(body.results) == 1 and number not in body.results:
            yield pruned(replace(body, results=(number,)))
    for number in range(first, first + len(body.steps)):
        for operand in body.steps[number - first].args:
            steps = tuple(
                replace(s, args=tuple(operand if a == number else a for a in s.args))
                for s in body.steps
            )
            yield pruned(replace(body, steps=steps))
    for k, step in enumerate(body.steps):
        for inner in _shorter(step.body) if step.body is not None else ():
            made = replace(step, body=inner)
            yield replace(body, steps=(*body.steps[:k], made, *body.steps[k + 1 :]))


def _simpler_parts(case: Case) -> Iterator[Case]:
    """Steps whose texts have less in them."""
    for k, step in enumerate(case.program.steps):
        for n, (name, value) in enumerate(step.fields):
            for part in value.simpler() if isinstance(value, Written) else ():
                changed = (*step.fields[:n], (name, part), *step.fields[n + 1 :])
                made = replace(step, fields=changed)
                yield with_steps(
                    case, (*case.program.steps[:k], made, *case.program.steps[k + 1 :])
                )


def with_steps(case: Case, steps: tuple[Step, ...]) -> Case:
    """The case with other steps."""
    return replace(case, program=replace(case.program, steps=steps))


def _smaller_sizes(case: Case) -> Iterator[Case]:
    """One extent less wherever the number stands, in shapes and in the texts of steps."""
    extents = {n for i in case.program.inputs for n in i.shape if n > 1}
    for old in sorted(extents, reverse=True):
        for new in dict.fromkeys((1, 2, old // 2, old - 1)):
            if new < old:
                yield replace(case, program=_resized(case.program, old, new))


def _resized(program: Program, old: int, new: int) -> Program:
    inputs = tuple(replace(i, shape=_put(i.shape, old, new)) for i in program.inputs)
    steps = tuple(
        replace(
            s,
            fields=_put(s.fields, old, new),
            body=None if s.body is None else _resized(s.body, old, new),
        )
        for s in program.steps
    )
    return replace(program, inputs=inputs, steps=steps)


def _put(value: Any, old: int, new: int) -> Any:
    """A value with a number replaced, inside of tuples, parts and texts too."""
    if isinstance(value, tuple):
        return tuple(_put(v, old, new) for v in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _put(getattr(value, f.name), old, new) for f in fields(value)}
        return replace(value, **parts)
    if isinstance(value, str):
        return re.sub(rf"(?<![\w.]){old}(?![\w.])", str(new), value)
    return new if type(value) is int and value == old else value
