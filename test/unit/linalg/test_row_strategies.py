"""Groups of operations over the same rows: decided once, written, obeyed, refused, explained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.ir.pass_driver import run_pipeline
from ted.linalg import row_groups, ted_choose_rows
from ted.linalg.row_strategies import ROWS, TABLE, Decisions, decide
from ted.machine import named_cpu
from ted.mlir import ir
from ted.mlir.locations import user_name
from ted.mlir.queries import functions

FILE = Path(__file__).parents[2] / "linalg" / "ted-choose-rows.mlir"
CPU, MATRICES = "avx2", "avx512_amx"
X = np.random.default_rng(5).normal(size=(4, 5, 6))
ALONE = '{name = "alone"}'


def programs() -> ir.Module:
    """Those of the IR test."""
    return ir.Module.parse(FILE.read_text())


def softmax() -> tuple[list[Any], list[Any]]:
    """The equations max, exp, sum and div over rows, sum_1 of all of them, and cos before."""
    x = ted.placeholder((4, 5, 6), "float64", name="x")
    e = ted.exp(x - ted.max(x, axis=2, keepdims=True))
    y = e / ted.sum(e, axis=2, keepdims=True)
    return [x], [ted.cos(x), y, ted.sum(y)]


def rows(number: int, rest: str = "") -> str:
    """The attribute of a member."""
    return f'{{name = "common_rows", group = {number}{rest}}}'


def asking(wanted: dict[str, str], monkeypatch: Any) -> set[str]:
    """Let the pass write these attributes instead, by the user's names; the names that it met."""
    met: set[str] = set()

    def note(decisions: Decisions) -> None:
        for op, _ in decisions.choices:
            name = user_name(op.location) or ""
            if op.name == "linalg.generic" and name in wanted:
                met.add(name)
                op.attributes["ted.group"] = ir.Attribute.parse(wanted[name], op.context)

    compile_here(monkeypatch)
    monkeypatch.setattr(ted_choose_rows, "note", note)
    return met


def test_every_row_is_chosen() -> None:
    with make_context(), ir.Location.unknown():
        decisions = [decide(programs(), named_cpu(row), maps=True) for row in (CPU, MATRICES)]
        chosen = {choice.row.name for found in decisions for _, choice in found.choices}
    assert chosen == {row.name for row in TABLE}


BETWEEN = "which is not in the group, uses it before the last member"
ELSEWHERE = "or what joined it, reads it at other rows than its own"
# In a function of the IR test, without groups of maps, why operations are alone.
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
    "two_results": {
        "it has several results",
        "what it takes in stays apart: it has several results",
    },
    "unrelated": {"nothing shares its rows"},
    "padding": {"a fill ends no group", "it is a claimed contraction"},
}


@pytest.mark.parametrize("function", REASONS)
def test_what_is_alone_says_why(function: str) -> None:
    is_map = function in ("maps_alone",)
    with make_context(), ir.Location.unknown():
        module = programs()
        decisions = decide(module, named_cpu(CPU), maps=not is_map)
        names = {op: f.name.value for f in functions(module) for op in f.entry_block.operations}
        found = {
            reason
            for op, choice in decisions.choices
            for row, reason in choice.declined
            if names[op] == function and row == ROWS
        }
    assert found == REASONS[function]


def test_a_group_has_at_most_so_many_members_unless_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_groups, "MOST_MEMBERS", 4)
    inputs, outputs = softmax()
    f = ted.compile(inputs, outputs)
    assert "the group has 4 members, the most there may be" in f.explain()
    before = f.ir("scheduled").partition("scf.forall (")[0]
    assert "arith.maximumf" in before
    expected = np.exp(X - X.max(axis=2, keepdims=True))
    compile_here(monkeypatch)
    np.testing.assert_allclose(
        ted.compile(inputs, outputs)(X)[1], expected / expected.sum(axis=2, keepdims=True)
    )
    asking(dict.fromkeys(NAMES, rows(1)), monkeypatch)
    before = ted.compile(inputs, outputs).ir("scheduled").partition("scf.forall (")[0]
    assert "arith.maximumf" not in before


@pytest.mark.parametrize("options", ["maps=true", "maps=false", f"cpu={MATRICES}"])
def test_what_is_written_is_what_is_built(options: str) -> None:
    options = f"{{{options}}}"
    with make_context(), ir.Location.unknown():
        once, twice = programs(), programs()
        run_pipeline(once, f"builtin.module(ted-fuse-rows{options})")
        run_pipeline(twice, f"builtin.module(ted-choose-rows{options},ted-fuse-rows{options})")
        assert str(once) == str(twice)
        assert "ted.group" not in str(once)


NAMES = ("max", "exp", "sum", "div")
OBEYED = {
    "all alone": (dict.fromkeys(NAMES, ALONE), 0),
    "two groups": ({"max": rows(2), "exp": rows(2), "sum": rows(7), "div": rows(7)}, 2),
    "a part": ({"max": ALONE, "exp": rows(1), "sum": rows(1), "div": ALONE}, 1),
    "two leave": ({"max": ALONE, "exp": ALONE}, 1),  # sum and div find each other
    "fewer dims": (dict.fromkeys(NAMES, rows(3, ", depth = 1")), 1),
    "one says how many": (dict.fromkeys(NAMES, rows(3)) | {"sum": rows(3, ", depth = 1")}, 1),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", OBEYED)
def test_what_is_asked_for_is_obeyed_and_right(case: str, monkeypatch: Any) -> None:
    wanted, count = OBEYED[case]
    plain = ted.compile(*softmax()).ir("scheduled")
    assert plain.count("scf.forall (") == 1
    assert "in (4, 5)" in plain
    met = asking(wanted, monkeypatch)
    f = ted.compile(*softmax())
    assert met == set(wanted)
    text = f.ir("scheduled")
    assert text.count("scf.forall (") == count
    assert text != plain
    e = np.exp(X - X.max(axis=2, keepdims=True))
    y = e / e.sum(axis=2, keepdims=True)
    for found, expected in zip(f(X), (np.cos(X), y, y.sum()), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


REFUSED = {
    "no row": (
        {"max": '{name = "rows"}'},
        "name is one of common_rows, column_sums, padded_blocks, totals_in_blocks, alone, got rows",
    ),
    "no number": ({"max": '{name = "common_rows"}'}, "group = NUMBER says which"),
    "a word": ({"max": '{name = "common_rows", group = "a"}'}, "group = NUMBER says which"),
    "no dict": ({"max": "3"}, r'ted.group: is \{name = "..."\}'),
    "alone with": ({"max": '{name = "alone", depth = 1}'}, "alone takes nothing, got depth = 1"),
    "unknown": ({"sum": rows(1, ", width = 2"), "div": rows(1)}, "got width = 2"),
    "half": ({"sum": rows(1, ", depth = true"), "div": rows(1)}, "got depth = True"),
    "no depth": ({"sum": rows(1, ", depth = 0"), "div": rows(1)}, "depth of 1 to 2, got 0"),
    "depth": ({"sum": rows(1, ", depth = 3"), "div": rows(1)}, "depth of 1 to 2, got 3"),
    "two": ({"sum": rows(1, ", depth = 1"), "div": rows(1, ", depth = 2")}, "to 2, got 1, 2"),
    "one": ({"sum": rows(1)}, "a group has two operations that compute, got one"),
    "no use": ({"cos": rows(1), "sum": rows(1), "div": rows(1)}, "cos: .*, got: no later"),
    "between": ({"exp": rows(1), "div": rows(1)}, "exp: .* got: sum, which is not in"),
    "last": ({"div": rows(1), "sum_1": rows(1)}, "sum_1: the last member .* got: no parallel"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case: str, monkeypatch: Any) -> None:
    wanted, rule = REFUSED[case]
    asking(wanted, monkeypatch)
    with pytest.raises(ScheduleError, match=rule) as error:
        ted.compile(*softmax())
    assert "test_row_strategies.py:" in str(error.value)
    assert "take the attribute ted.group away" in str(error.value) or case == "no dict"


def test_what_is_in_no_group_anyway_is_refused() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("""func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
          %e = tensor.empty() {ted.group = {name = "alone"}} : tensor<4x4xf32>
          return %e : tensor<4x4xf32>
        }""")
        with pytest.raises(ScheduleError, match=r"nothing is decided about tensor.empty here"):
            run_pipeline(module, "builtin.module(ted-choose-rows)")


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_the_user_reads_what_shares_a_loop(target: str) -> None:
    inputs, outputs = softmax()
    text = ted.compile(inputs, outputs, target=target).explain()
    forms, groups, rest = text.split("\n\n", 2)
    summed = re.findall(r"^(\w+), ted.compute \(.*\): parts, most = 24$", forms, re.M)
    assert summed == ["max", "sum", "sum_1"]
    assert "\n  not contraction: it is no sum\n" in forms
    members = re.findall(r"^(\w+), linalg.generic \(.*\): common_rows, group = 1", groups, re.M)
    assert sorted(members) == sorted(NAMES)
    assert "common_rows" not in rest
    assert "\n  not common_rows: no parallel loop indexes its results first" in f"\n{groups}"
