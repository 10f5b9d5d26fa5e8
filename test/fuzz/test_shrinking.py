"""A failing case becomes small while it fails in the same way, and its script runs by itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fuzz.cases import Case, random_case
from fuzz.outcomes import Outcome
from fuzz.programs import Input, Program, Step
from fuzz.rebuilding import pruned, rebuilt
from fuzz.rows.indices import Lambda, Read, Subscript
from fuzz.scripts import script
from fuzz.shrinking import shrunk

VECTOR, MATRIX = Input((7,), "float64", True, 1), Input((5, 7), "float64", True, 2)
# v2 = v0 * 2; v3 = v1 + v2; v4 = sum(v3); v5 = tanh(v2)
STEPS = (
    Step("times", (0,), (("c", 2),)),
    Step("add", (1, 2)),
    Step("sum", (3,), (("axis", (0,)), ("keep", False))),
    Step("tanh", (2,)),
)
PROGRAM = Program((VECTOR, MATRIX), STEPS, (4, 5))
WRONG, OK = Outcome("wrong", "value"), Outcome("ok")


def fails_with(row: str, least: int = 0):
    """A fake compiler that gets a row wrong where an input has so many elements."""

    def oracle(case: Case) -> Outcome:
        large = any(np.prod(i.shape) >= least for i in case.program.inputs)
        return WRONG if row in case.program.rows() and large else OK

    return oracle


def test_what_does_not_matter_goes() -> None:
    case = Case(PROGRAM, (("value", 1), ("d1", 0), ("value", 0)), exact=False, donate=True)
    found = shrunk(case, WRONG, fails_with("tanh"))
    assert [s.row for s in found.program.steps] == ["tanh"]
    assert len(found.wanted) == 1
    assert not found.donate
    assert all(n == 1 for i in found.program.inputs for n in i.shape)


def test_sizes_stay_as_large_as_the_failure_needs() -> None:
    case = Case(PROGRAM, (("value", 0),), exact=True)
    found = shrunk(case, WRONG, fails_with("sum", 8))
    assert [s.row for s in found.program.steps] == ["sum"]
    assert 8 <= max(np.prod(i.shape) for i in found.program.inputs) < 35


def test_another_failure_is_not_taken_for_the_same() -> None:
    def oracle(case: Case) -> Outcome:
        return WRONG if len(case.program.steps) == 4 else Outcome("error", "something else")

    case = Case(PROGRAM, (("value", 0), ("value", 1)), exact=True)
    assert len(shrunk(case, WRONG, oracle).program.steps) == 4


def test_functions_inside_become_short() -> None:
    body = Program((VECTOR,), (Step("tanh", (0,)), Step("mul", (1, 1)), Step("neg", (2,))), (3,))
    steps = (Step("vmap", (0,), (("axes", (0,)),), body),)
    case = Case(Program((MATRIX,), steps, (1,)), (("value", 0),), exact=False)
    (step,) = shrunk(case, WRONG, fails_with("tanh")).program.steps
    assert step.row == "vmap"
    assert [s.row for s in step.body.steps] == ["tanh"]


def test_a_value_can_become_an_input_or_another_value() -> None:
    made, number = rebuilt(PROGRAM, {3: MATRIX}, (4,))
    assert [s.row for s in made.steps] == ["sum"]
    assert made.inputs == (MATRIX,)
    assert number[4] == 1
    made, _ = rebuilt(PROGRAM, {2: 0}, PROGRAM.results)
    assert [s.row for s in made.steps] == ["add", "sum", "tanh"]


def test_pruning_keeps_the_arguments() -> None:
    made = pruned(replace(PROGRAM, results=(5,)))
    assert [s.row for s in made.steps] == ["times", "tanh"]
    assert made.inputs == PROGRAM.inputs


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 2])
def test_a_script_runs_without_the_fuzzer(order: int, tmp_path) -> None:
    wanted = (("value", 1), *((f"d{n}", 0) for n in range(1, order + 1)))
    path = tmp_path / "found.py"
    path.write_text(script(Case(PROGRAM, wanted, exact=False, donate=True), "wrong: value"))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert len(done.stdout.split("\n\n")) >= 1
    assert path.read_text().count("# torch: ") == len(wanted)


def test_a_seed_is_one_case() -> None:
    assert random_case(3) == random_case(3)
    assert random_case(3) != random_case(4)


def test_a_lambda_loses_reads_guards_and_points() -> None:
    reads = tuple(Read(k, (Subscript(f"{k} + 2 * i", 9),), ("(i > 0)",), 1) for k in (0, 1))
    code = Lambda((("i", 4), ("j", 3)), reads, ("*",), "i <= j")
    case = Case(
        Program((VECTOR, VECTOR), (Step("lambda", (0, 1), (("code", code),)),), (2,)),
        (("value", 0),),
        exact=False,
    )
    (step,) = shrunk(case, WRONG, fails_with("lambda")).program.steps
    assert dict(step.fields)["code"].written("ted") == "ted.compute((1, 1), lambda i, j: {y}[0])"
