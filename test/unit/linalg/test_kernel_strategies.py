"""Equations that share a loop, or have one over blocks: decided once, written, obeyed, refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ted
from support.in_process import compile_here
from ted.api import CompiledFunction
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.ir.pass_driver import run_pipeline
from ted.linalg import equation_groups
from ted.linalg.kernel_strategies import COLUMNS, PADDED, TABLE, TOTALS, decide
from ted.linalg.shared_rows import ROWS
from ted.machine import named_cpu
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.mlir.strategies import Choice
from unit.linalg.asked_groups import (
    ALONE,
    NAMES,
    OBEYED,
    REFUSED,
    X,
    asking,
    is_softmax,
    rows,
    softmax,
)

FOLDER = Path(__file__).parents[2] / "linalg"
FILES = [FOLDER / f"ted-choose-groups{part}.mlir" for part in ("", "-blocks")]
CPU, MATRICES, GPU = "avx2", "avx512_amx", "cuda:sm_80"


def choices(cpu: str) -> list[tuple[str, Choice]]:
    """What becomes of the equations of the IR tests, with the names of their functions."""
    found: list[tuple[str, Choice]] = []
    with make_context(), ir.Location.unknown():
        for file in FILES:
            module = ir.Module.parse(file.read_text())
            for function in functions(module):
                decisions = decide(function.entry_block, named_cpu(cpu))
                found += [(function.name.value, choice) for _, choice in decisions.choices]
    return found


def test_every_row_is_chosen() -> None:
    chosen = {choice.row.name for cpu in (CPU, MATRICES) for _, choice in choices(cpu)}
    assert chosen == {row.name for row in TABLE}


BETWEEN = "ted.compute, which is not in the group, uses it before the last member"
ELSEWHERE = "ted.compute, or what joined it, reads it at other rows than its own"
NO_MAP = "it is no map of totals of a contraction that it alone reads"
NOTHING = "nothing shares its rows"
NO_GROUP = "no group over its rows reads or makes what it reads"


def with_reader(reason: str) -> set[str]:
    """The reason for which an equation is apart, and that of its reader."""
    return {reason, f"what it takes in stays apart: {reason}"}


# By the rows of the table, in a function of the IR tests why equations are something else.
REASONS = {
    ROWS: {
        "group": set(),
        "two_groups": set(),
        "maps": {"what shares its rows shares its points"},
        "rows_of_two_dims": set(),
        "unit_dims": set(),
        "goes_on": set(),
        "read_across_rows": {"it reads or writes across rows, in tiles", NOTHING},
        "column_sum": with_reader(ELSEWHERE),
        "total": {f"what it takes in stays apart: {ELSEWHERE}"},
        "vector": {"it has a single loop"},
        "contraction": with_reader("it is a contraction"),
        "used_between": {ELSEWHERE, f"what it takes in stays apart: {BETWEEN}"},
        "other_rows": with_reader(ELSEWHERE),
        "fewer_rows": with_reader(ELSEWHERE),
        "read_at_data": with_reader(ELSEWHERE),
        "several_starts": {"it starts from a copy", NOTHING},
        "given_start": with_reader("it starts from a copy"),
        "two_results": with_reader("it has several results"),
        "no_points": with_reader("it has no points"),
        "tested": with_reader("a condition is tested in front of its points"),
        "unrelated": {NOTHING},
        "padding": {"it is a contraction"},
    },
    COLUMNS: {
        "group": set(),
        "column_sum": {"no sum over rows, and nothing else", NO_GROUP},
        "total": set(),
        "goes_on": set(),
        "unrelated": {"no sum over rows, and nothing else"},
    },
    PADDED: {
        "padding": set(),
        "unrelated": {"it reads no padding"},
        "seven_images": {"the second cache holds no block of 8 or more equal ones"},
        "large_images": {"the second cache holds no block of 8 or more equal ones"},
        "small_padding": {"the second cache holds the whole padding"},
        "padded_twice": {"something else reads the padding"},
        "window_of_images": {"the outermost dim of the padding is no row of the result"},
    },
    TOTALS: {
        "unrelated": {NO_MAP},
        "totals": {NO_MAP},  # the contraction itself
        "totals_of_the_type": {NO_MAP, "totals have the type of the result, and its memory"},
        "totals_that_stay": {NO_MAP},
        "small_totals": {NO_MAP, "the second cache holds the totals"},
        "odd_totals": {NO_MAP, "there are no equal blocks that fill registers"},
    },
}


@pytest.mark.parametrize("row", REASONS)
def test_what_is_something_else_says_why(row: str) -> None:
    cpu = MATRICES if row == TOTALS else CPU
    found: dict[str, set[str]] = {name: set() for name in REASONS[row]}
    for name, choice in choices(cpu):
        found.setdefault(name, set()).update(why for other, why in choice.declined if other == row)
    assert {name: found[name] for name in REASONS[row]} == REASONS[row]


def test_products_that_take_longer_than_memory_leave_totals_as_they_are() -> None:
    declined = dict([c for name, c in choices(CPU) if name == "totals"][-1].declined)
    assert declined[TOTALS] == "products take longer than memory does"


def loops(function: CompiledFunction) -> list[int]:
    """Of each kernel that is a loop over rows, in order, how many of its loops are over rows."""
    with make_context():
        module = ir.Module.parse(function.ir("linalg"))
        (main,) = functions(module)
        found = []
        for op in (view.operation for view in main.entry_block.operations):
            depth = 0
            while op.name == "scf.for":
                depth, op = depth + 1, _inner(op)
            found += [depth] * (depth > 0)
    return found


def _inner(loop: ir.Operation) -> ir.Operation:
    inside = [view.operation for view in loop.regions[0].blocks[0].operations]
    return next((op for op in inside if op.name == "scf.for"), inside[0])


def before_the_loop() -> str:
    """What stays in front of the first loop over rows of a softmax."""
    return ted.compile(*softmax()).ir("linalg").partition("scf.for ")[0]


def test_a_group_has_at_most_so_many_members_unless_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(equation_groups, "MOST_MEMBERS", 3)
    compile_here(monkeypatch)
    f = ted.compile(*softmax())
    assert "the group has 3 members, the most there may be" in f.explain()
    assert "arith.maximumf" in before_the_loop()
    is_softmax(f(X))
    asking(dict.fromkeys(NAMES, rows(1)), monkeypatch)
    assert "arith.maximumf" not in before_the_loop()


@pytest.mark.parametrize("cpu", [CPU, MATRICES])
def test_what_is_written_is_what_is_built(cpu: str) -> None:
    option = f"{{cpu={cpu}}}"
    with make_context(), ir.Location.unknown():
        for file in FILES:
            once, twice = (ir.Module.parse(file.read_text()) for _ in range(2))
            run_pipeline(once, f"builtin.module(ted-emit-kernels{option})")
            both = f"ted-choose-groups{option},ted-emit-kernels{option}"
            run_pipeline(twice, f"builtin.module({both})")
            assert str(once) == str(twice)
            assert "ted.group" not in str(once)
            assert "tensor<" not in str(once)


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", OBEYED)
def test_what_is_asked_for_is_obeyed_and_right(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, count = OBEYED[case]
    plain = ted.compile(*softmax())
    assert loops(plain) == [2]
    met = asking(wanted, monkeypatch)
    f = ted.compile(*softmax())
    assert met == set(wanted)
    assert loops(f) == [1 if "dims" in case or "many" in case else 2] * count
    assert f.ir("linalg") != plain.ir("linalg")
    is_softmax(f(X))


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", OBEYED)
def test_a_gpu_obeys_and_is_right(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, count = OBEYED[case]
    plain = ted.compile(*softmax(), target=GPU).ir("linalg")
    assert plain.count("scf.forall (") == 1
    assert "in (4, 5)" in plain
    met = asking(wanted, monkeypatch)
    f = ted.compile(*softmax(), target=GPU)
    assert met == set(wanted)
    text = f.ir("linalg")
    assert text.count("scf.forall (") == count
    assert text != plain
    with ted.testing.emulated_gpu():
        found = f(ted.cuda.asarray(X))
        is_softmax([y.numpy() for y in found])


FIRST_ROWS = (
    "name is one of common_rows, column_sums, padded_blocks, totals_in_blocks, common_points, alone"
)
ALL_REFUSED = {
    **REFUSED,
    "no row": ({"max": '{name = "rows"}'}, f"{FIRST_ROWS}, got rows"),
    "no sum over rows": (
        {"max": '{name = "column_sums"}'},
        "column_sums fits its operation, got: no sum over rows, and nothing else",
    ),
    "no padding": (
        {"max": '{name = "padded_blocks", size = 1}'},
        "padded_blocks fits its operation, got: it reads no padding",
    ),
    "no totals": ({"max": '{name = "totals_in_blocks"}'}, "totals_in_blocks fits its operation"),
}


@pytest.mark.parametrize("case", ALL_REFUSED)
def test_what_cannot_be_is_refused(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, rule = ALL_REFUSED[case]
    asking(wanted, monkeypatch)
    with pytest.raises(ScheduleError, match=rule) as error:
        ted.compile(*softmax())
    assert "asked_groups.py:" in str(error.value)
    assert "take the attribute ted.group away" in str(error.value) or case == "no dict"


GPU_REFUSED = {
    **REFUSED,
    "no row": ({"max": '{name = "rows"}'}, "name is one of common_rows, alone, got rows"),
    "blocks": (
        {"max": '{name = "padded_blocks", size = 1}'},
        "name is one of common_rows, alone, got padded_blocks",
    ),
}


@pytest.mark.parametrize("case", GPU_REFUSED)
def test_what_a_gpu_cannot_do_is_refused(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, rule = GPU_REFUSED[case]
    asking(wanted, monkeypatch)
    with pytest.raises(ScheduleError, match=rule) as error:
        ted.compile(*softmax(), target=GPU)
    assert "asked_groups.py:" in str(error.value)
    assert "take the attribute ted.group away" in str(error.value) or case == "no dict"


def refusal(text: str) -> str:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        with pytest.raises(ScheduleError) as error:
            run_pipeline(module, f"builtin.module(ted-emit-kernels{{cpu={MATRICES}}})")
    return str(error.value)


def test_numbers_that_follow_from_others_are_refused() -> None:
    text = FILES[1].read_text()
    maps = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    body = text[text.index("\nfunc.func @totals(") :].partition("\n}\n")[0] + "\n}"
    wish = '{name = "totals_in_blocks", rows = 160}'
    asked = body.replace('"set"', f'"set", ted.group = {wish}')
    rule = "totals_in_blocks: its numbers follow from the operands, got rows = 160"
    assert rule in refusal(f"{maps}\n{asked}")


def test_what_is_in_no_group_anyway_is_refused() -> None:
    empty = """func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %e = tensor.empty() {ted.group = {name = "alone"}} : tensor<4x4xf32>
      return %e : tensor<4x4xf32>
    }"""
    assert "nothing is decided about tensor.empty here" in refusal(empty)


def test_a_step_of_a_recurrence_is_refused() -> None:
    x = ted.placeholder((9, 90), name="x")
    text = ted.compile([x], [ted.cumsum(x, axis=0)]).ir()
    end = re.search(r"\}\) \{(?=combiner = )", text)
    assert end is not None
    asked = f"{text[: end.end()]}ted.group = {ALONE}, {text[end.end() :]}"
    assert "ted.scan" in text
    assert "nothing is decided about ted.compute here" in refusal(asked)


def test_the_user_reads_what_shares_a_loop() -> None:
    forms, groups, rest = ted.compile(*softmax()).explain().split("\n\n", 2)
    summed = re.findall(r"^(\w+), ted.compute \(.*\): parts, most = 24$", forms, re.M)
    assert summed == ["max", "sum", "sum_1"]
    assert "\n  not contraction: it is no sum\n" in forms
    members = re.findall(r"^(\w+), ted.compute \(.*\): common_rows, group = 1", groups, re.M)
    assert sorted(members) == sorted(NAMES)
    assert "common_rows" not in rest
    assert "\n  not common_rows: no parallel loop indexes its results first" in f"\n{groups}"
