"""What is wrong is found: broken builders, broken relations, spoiled memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from every_cpu import vectors_of
from fuzz import compiled, relations
from fuzz.cases import Case, random_case
from fuzz.comparison import compare
from fuzz.compiled import spoiled
from fuzz.outcomes import failure_of
from fuzz.programs import Input, Program, Step
from fuzz.relations import RELATIONS
from fuzz.rows.table import TABLE
from ted.api.host import host_cpu

MATRIX = Input((3, 5), "float64", True, 2)
STEPS = (Step("mul", (0, 0)), Step("sum", (1,), (("axis", (0,)), ("keep", False))))
PROGRAM = Program((MATRIX,), STEPS, (1, 2))
EVERYTHING = (("d1", 0), ("value", 1), ("d2", 0), ("value", 0))


def broken(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    texts = {**TABLE[name].texts, "ted": text}
    monkeypatch.setitem(TABLE, name, replace(TABLE[name], texts=texts))


@pytest.mark.parametrize("exact", [False, True])
def test_both_orders_of_a_program_agree(exact: bool) -> None:
    inputs = (replace(MATRIX, whole=exact),)
    outcome = compare(Case(replace(PROGRAM, inputs=inputs), EVERYTHING, exact))
    assert outcome.kind == "ok", outcome


def test_a_broken_builder_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "mul", "{x} * ({y} + 1e-6)")
    outcome = compare(Case(PROGRAM, (("value", 1),), exact=False))
    assert (outcome.kind, outcome.label) == ("wrong", "value")


def test_a_wrong_derivative_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "mul", "{x} * ted.stop_gradient({y})")
    case = Case(PROGRAM, (("value", 1),), exact=True)
    assert compare(case).kind == "ok"
    assert compare(replace(case, wanted=(("d1", 0),))).kind == "wrong"


SPECIAL = Input((200,), "float64", False, 2, special=True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{x}", "ok"),
        ("ted.where(ted.isnan({x}), 0.0, {x})", "wrong"),
        ("ted.where({x} > 1e300, 1e300, {x})", "wrong"),
        ("ted.where({x} == 0.0, ted.nan, {x})", "wrong"),
    ],
)
def test_a_special_number_that_is_lost_or_made_is_found(
    text: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, "abs", f"ted.abs({text})")
    program = Program((SPECIAL,), (Step("abs", (0,)),), (1,))
    assert compare(Case(program, (("value", 0),), exact=False)).kind == kind


LARGE = "{x} * {y} + 1000.0 * {x} - 1000.0 * {x}"  # rounds at a thousand times its value
SINGLE = replace(PROGRAM, inputs=(replace(MATRIX, dtype="float32", whole=False),))


@pytest.mark.parametrize(
    ("text", "kind"), [(LARGE, "rounding"), ("{x} * {y} + 0.125", "wrong"), ("{x} * {y}", "ok")]
)
def test_rounding_is_told_from_mistakes(
    text: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, "mul", text)
    assert compare(Case(SINGLE, (("value", 1),), exact=False)).kind == kind


def test_rounding_does_not_hide_a_wrong_type(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "mul", LARGE)
    broken(monkeypatch, "sum", "ted.cast(ted.sum({x}, {axis}), 'float64')")
    assert compare(Case(SINGLE, (("value", 0), ("value", 1)), exact=False)).label == "type"


def test_a_mistake_in_one_type_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "mul", "{x} * {y} + (0.125 if {x}.dtype.name == 'float32' else 0.0)")
    assert compare(Case(SINGLE, (("value", 1),), exact=False)).kind == "wrong"


def test_a_wrong_type_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "sum", "ted.cast(ted.sum({x}, {axis}), 'float32')")
    assert compare(Case(PROGRAM, (("value", 1),), exact=True)).label == "type"


def test_what_raises_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "sum", "ted.sum({x}, 7)")
    outcome = compare(Case(PROGRAM, (("value", 1),), exact=True))
    assert outcome.kind == "error"
    assert outcome.label.startswith("FrontendError: sum")


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", RELATIONS)
def test_results_do_not_change_with(name: str) -> None:
    outcome = compare(Case(PROGRAM, EVERYTHING, exact=True, relation=name))
    assert outcome.kind == "ok", outcome


@pytest.mark.parametrize("name", RELATIONS)
def test_a_broken_relation_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = compiled.compile_and_call

    def off(*args):
        return [found + found.dtype.type(1) for found in honest(*args)]

    monkeypatch.setattr(relations, "compile_and_call", off)
    outcome = compare(Case(PROGRAM, (("value", 1),), exact=True, relation=name))
    assert (outcome.kind, outcome.label) == ("wrong", name)


def test_other_vectors_are_used_only_inside() -> None:
    host = host_cpu().name
    with vectors_of("sse2"):
        assert host_cpu().name in ("sse2", "neon")
    assert host_cpu().name == host


def test_memory_of_results_holds_nothing_that_looks_right() -> None:
    assert np.isnan(spoiled((2,), "float32")).all()
    assert np.isnan(spoiled((2,), "bfloat16").astype("float32")).all()
    assert spoiled((2,), "int8").tolist() == [99, 99]
    assert spoiled((), "bool").all()


def test_numbers_and_names_do_not_make_another_failure() -> None:
    first, second = (failure_of(ValueError(f"no {n} in dv{n} (m.py:{n}) [1, {n}]")) for n in (3, 5))
    assert first.failure == second.failure


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", range(4))
def test_a_few_random_programs_agree_on_the_emulated_gpu(seed: int) -> None:
    case = random_case(seed, target="cuda:sm_80")
    outcome = compare(case)
    assert not outcome.failed, outcome


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", range(3))
def test_a_few_random_programs_agree_with_jax(seed: int) -> None:
    case = random_case(seed, library="jax")
    assert case.library == "jax"
    assert not compare(case).failed
