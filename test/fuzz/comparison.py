"""Compare a case: ted's results against torch's, and against ted's own under another relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import ml_dtypes
import numpy as np

from fuzz.answers import Answer, Useless, answers, distances, heads_of
from fuzz.cases import Case
from fuzz.compiled import compile_and_call, traced
from fuzz.outcomes import Outcome, failure_of
from fuzz.programs import Array
from fuzz.relations import RELATIONS, Heads, same
from fuzz.texts import function_text


def compare(case: Case) -> Outcome:
    """What becomes of a case; exceptions of ted are findings, those of torch are not."""
    try:
        heads = heads_of(case)
        wanted = answers(case, heads)
        if case.library == "jax":
            from fuzz.jax_answers import replaced

            wanted = replaced(case, heads, wanted)
    except (Useless, RuntimeError, IndexError, ValueError, TypeError, KeyError) as error:
        return Outcome("useless", type(error).__name__, str(error)[:200])
    try:
        found = compile_and_call(case, traced(case, heads))
    except Exception as error:
        return failure_of(error)
    outcome = compared(case, found, wanted)
    if outcome.label == "value" and is_rounding(case, found, wanted):
        pairs = zip(found, wanted, strict=True)
        worst = max(epsilons(*pair) for pair in pairs if not _is_whole(pair[0]))
        return Outcome("rounding", values={"epsilons": worst})
    return outcome if outcome.failed or not case.relation else related(case, heads, found, wanted)


def related(case: Case, heads: Heads, found: list[Array], wanted: list[Answer]) -> Outcome:
    """Whether the results come out again when they are computed in another way."""
    try:
        again = RELATIONS[case.relation](case, heads)
    except Exception as error:
        failure = failure_of(error)
        return Outcome(failure.kind, f"{case.relation}: {failure.label}", failure.detail)
    for name, before, after, answer in zip(case.wanted, found, again, wanted, strict=True):
        if not same(case, before, after, answer.room):
            detail = f"{name}: {after.tolist()}\nafter {before.tolist()}"
            return Outcome("wrong", case.relation, detail[:1500])
    return Outcome("ok")


def compared(case: Case, found: Sequence[Array], wanted: Sequence[Answer]) -> Outcome:
    """Whether every result is what it should be, in type and shape, then in value."""
    results = list(zip(case.wanted, found, wanted, strict=True))
    for name, got, want in results:
        if got.dtype.name != want.dtype or got.shape != want.value.shape:
            has = f"{name[0]} {name[1]}: {got.dtype.name}{got.shape}"
            return Outcome("wrong", "type", f"{has} for {want.dtype}{want.value.shape}")
    guarded = any(text in function_text(case.program, "torch") for text in GUARDS)
    for name, got, want in results:
        if not close(got, _known(got, want) if guarded else want):
            detail = f"{name[0]} {name[1]}: {got.tolist()}\nfor {want.value.tolist()}\n"
            return Outcome("wrong", "value", f"{detail}room {want.room}"[:1500])
    return Outcome("ok")


# What meets a number of another element by 0 in torch, which is no number where that is none; ted
# does not read what a condition, padding or a mask leaves out, nor what a derivative needs not.
GUARDS = (", 0.0)", "F.", "attention(", "torch.func", "index_add(", "tril(", "triu(")


def _known(got: Array, want: Answer) -> Answer:
    """The answer with what ted has where torch has no number, or what may come of one."""
    if _is_whole(got):
        return replace(want, value=got)
    return replace(want, value=np.where(np.isnan(want.value), got, want.value))


def close(got: Array, want: Answer) -> bool:
    """Whether an array is within its room; without room -0 is 0 still."""
    if _is_whole(got):
        return bool(np.array_equal(got, want.value))
    return bool((distances(got, want.value) <= want.room).all())


WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
SPREAD = 16.0  # how much rounding varies with the data, which are rounded to each type, too


def is_rounding(case: Case, found: Sequence[Array], wanted: Sequence[Answer]) -> bool:
    """Whether what is off is off by about as many epsilons in a wider type, each result.

    So are those that a program computes from differences of large numbers, and torch by another
    formula. A mistake is off by as much in every type, or in one type alone.
    """
    inputs = [replace(i, dtype=WIDER.get(i.dtype, i.dtype)) for i in case.program.inputs]
    wide = replace(case, program=replace(case.program, inputs=tuple(inputs)), relation="")
    off = [k for k, pair in enumerate(zip(found, wanted, strict=True)) if not close(*pair)]
    if case.exact or wide.program == case.program or any(_is_whole(found[k]) for k in off):
        return False
    try:
        heads = heads_of(wide)
        expected = answers(wide, heads)
        again = compile_and_call(wide, traced(wide, heads))
    except Exception:
        return False
    ratios = [epsilons(again[k], expected[k]) / epsilons(found[k], wanted[k]) for k in off]
    return all(1 / SPREAD < ratio < SPREAD for ratio in ratios)


def _is_whole(array: Array) -> bool:
    return array.dtype.kind in "biu"


def epsilons(got: Array, want: Answer) -> float:
    """By how many epsilons of its type the worst element is off."""
    return float(distances(got, want.value).max(initial=0.0)) / float(
        ml_dtypes.finfo(got.dtype).eps
    )
