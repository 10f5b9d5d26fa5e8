"""Groups of operations on tensors over the same rows: decided once, written, obeyed, refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ted
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.ir.pass_driver import run_pipeline
from ted.linalg import row_groups
from ted.linalg.row_strategies import TABLE, decide
from ted.linalg.shared_rows import ROWS
from ted.machine import named_cpu
from ted.mlir import ir
from ted.mlir.queries import functions
from unit.linalg.asked_groups import (
    NAMES,
    OBEYED,
    REFUSED,
    X,
    asking_on_tensors,
    is_softmax,
    rows,
    softmax,
)

FILE = Path(__file__).parents[2] / "linalg" / "ted-choose-rows.mlir"
CPU, GPU = "avx2", "cuda:sm_80"


def programs() -> ir.Module:
    """Those of the IR test."""
    return ir.Module.parse(FILE.read_text())


def test_every_row_is_chosen() -> None:
    with make_context(), ir.Location.unknown():
        decisions = decide(programs(), named_cpu(CPU))
        assert {c.row.name for _, c in decisions.choices} == {row.name for row in TABLE}


BETWEEN = "which is not in the group, uses it before the last member"
ELSEWHERE = "or what joined it, reads it at other rows than its own"
# In a function of the IR test why operations are alone.
REASONS = {
    "group": set(),
    "maps_alone": {"what shares its rows shares its points"},
    "read_across_rows": {"it reads or writes across rows, in tiles", "nothing shares its rows"},
    "column_sum": {"no parallel loop indexes its results first", "nothing shares its rows"},
    "vector": {"it has a single loop"},
    "claimed": {
        "it is a claimed contraction",
        "what it takes in stays apart: it is a claimed contraction",
    },
    "used_between": {
        f"linalg.generic, {BETWEEN}",
        "no parallel loop indexes its results first",
        f"what it takes in stays apart: linalg.generic, {BETWEEN}",
    },
    "other_rows": {
        f"linalg.generic, {ELSEWHERE}",
        f"what it takes in stays apart: linalg.generic, {ELSEWHERE}",
    },
    "several_starts": {"several members go on from its value"},
    "kept_start": {"a member goes on from its value, which is wanted as it is"},
    "two_results": {
        "it has several results",
        "what it takes in stays apart: it has several results",
    },
    "unrelated": {"nothing shares its rows"},
    "padding": {"a fill ends no group", "it is a claimed contraction"},
}


@pytest.mark.parametrize("function", REASONS)
def test_what_is_alone_says_why(function: str) -> None:
    with make_context(), ir.Location.unknown():
        module = programs()
        decisions = decide(module, named_cpu(CPU))
        names = {op: f.name.value for f in functions(module) for op in f.entry_block.operations}
        found = {
            reason
            for op, choice in decisions.choices
            for row, reason in choice.declined
            if names[op] == function and row == ROWS
        }
    assert found == REASONS[function]


def before_the_loop() -> str:
    """What stays in front of the first loop over rows of a softmax."""
    return ted.compile(*softmax(), target=GPU).ir("scheduled").partition("scf.forall (")[0]


def test_a_group_has_at_most_so_many_members_unless_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_groups, "MOST_MEMBERS", 4)
    text = ted.compile(*softmax(), target=GPU).explain()
    assert "the group has 4 members, the most there may be" in text
    assert "arith.maximumf" in before_the_loop()
    asking_on_tensors(dict.fromkeys(NAMES, rows(1)), monkeypatch)
    assert "arith.maximumf" not in before_the_loop()


def test_what_is_written_is_what_is_built() -> None:
    with make_context(), ir.Location.unknown():
        once, twice = programs(), programs()
        run_pipeline(once, "builtin.module(ted-fuse-rows)")
        run_pipeline(twice, "builtin.module(ted-choose-rows,ted-fuse-rows)")
        assert str(once) == str(twice)
        assert "ted.group" not in str(once)


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", OBEYED)
def test_what_is_asked_for_is_obeyed_and_right(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, count = OBEYED[case]
    plain = ted.compile(*softmax(), target=GPU).ir("scheduled")
    assert plain.count("scf.forall (") == 1
    assert "in (4, 5)" in plain
    met = asking_on_tensors(wanted, monkeypatch)
    f = ted.compile(*softmax(), target=GPU)
    assert met == set(wanted)
    text = f.ir("scheduled")
    assert text.count("scf.forall (") == count
    assert text != plain
    with ted.testing.emulated_gpu():
        found = f(ted.cuda.asarray(X))
        is_softmax([y.numpy() for y in found])


ROW = '{name = "rows"}'
ALL_REFUSED = {
    **REFUSED,
    "no row": ({"max": ROW}, "name is one of common_rows, alone, got rows"),
    "blocks": (
        {"max": '{name = "padded_blocks", size = 1}'},
        "name is one of common_rows, alone, got padded_blocks",
    ),
}


@pytest.mark.parametrize("case", ALL_REFUSED)
def test_what_cannot_be_is_refused(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, rule = ALL_REFUSED[case]
    asking_on_tensors(wanted, monkeypatch)
    with pytest.raises(ScheduleError, match=rule) as error:
        ted.compile(*softmax(), target=GPU)
    assert "asked_groups.py:" in str(error.value)
    assert "take the attribute ted.group away" in str(error.value) or case == "no dict"


def test_what_is_in_no_group_anyway_is_refused() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("""func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
          %e = tensor.empty() {ted.group = {name = "alone"}} : tensor<4x4xf32>
          return %e : tensor<4x4xf32>
        }""")
        with pytest.raises(ScheduleError, match=r"nothing is decided about tensor.empty here"):
            run_pipeline(module, "builtin.module(ted-choose-rows)")


def test_the_user_reads_what_shares_a_loop() -> None:
    forms, groups, rest = ted.compile(*softmax(), target=GPU).explain().split("\n\n", 2)
    summed = re.findall(r"^(\w+), ted.compute \(.*\): parts, most = 24$", forms, re.M)
    assert summed == ["max", "sum", "sum_1"]
    assert "\n  not contraction: it is no sum\n" in forms
    members = re.findall(r"^(\w+), linalg.generic \(.*\): common_rows, group = 1", groups, re.M)
    assert sorted(members) == sorted(NAMES)
    assert "common_rows" not in rest
    assert "\n  not common_rows: no parallel loop indexes its results first" in f"\n{groups}"
