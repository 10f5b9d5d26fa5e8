"""Sums, ratios and lines of a report, from equations that are given."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ted.transforms.gradient_report import EquationReport, GradientReport

MAP = EquationReport(
    name="y", place="model.py:4", form="gather", reason="", parallel=1, disjoint=True,
    combiner="set", points=10, operations=20, exact=True, bytes=160, needed=10, primal=True,
)  # fmt: skip
SCATTER = replace(
    MAP, name="s", form="scatter", reason="an index is data", parallel=0, combiner="add",
    operations=10, bytes=240, place="",
)  # fmt: skip
SLOPE = replace(MAP, name="dx", operations=30, bytes=80, needed=4, primal=False)


def test_results_and_gradients_are_counted_apart() -> None:
    report = GradientReport("f", (MAP, SLOPE, SCATTER))
    assert (report.total, report.primal, report.gradient) == (60, 30, 30)
    assert report.results == (MAP, SCATTER)
    assert report.gradients == (SLOPE,)
    assert report.ratio == 1.0
    assert (report.moved, report.moved_ratio) == (480, 80 / 400)
    assert report.needed == 30 + 12


def test_results_are_those_without_gradients_where_they_are_known() -> None:
    alone = GradientReport("f", (replace(MAP, operations=15, bytes=40),))
    report = GradientReport("f", (MAP, SLOPE), alone=alone)
    assert (report.primal, report.gradient, report.ratio) == (15, 30, 2.0)
    assert (report.moved_ratio, report.total) == (2.0, 50)


def test_without_work_or_results_there_is_no_ratio() -> None:
    copies = tuple(replace(e, operations=0) for e in (MAP, SLOPE))
    assert GradientReport("f", copies).ratio is None
    assert GradientReport("f", copies).moved_ratio == 0.5
    assert GradientReport("f", (SLOPE,)).moved_ratio is None
    assert replace(MAP, points=0, operations=0, needed=0).needed_operations == 0


def test_scatters_are_those_of_gradients() -> None:
    own, theirs = SCATTER, replace(SCATTER, primal=False)
    report = GradientReport("f", (own, theirs))
    assert report.scatters == (theirs,)
    assert "2 equations, 1 scatter and 1 of the results, 20 operations" in str(report)
    assert "2 equations, 2 scatter, 20 operations" in str(GradientReport("f", (theirs, theirs)))


@pytest.mark.parametrize(
    ("equation", "line"),
    [
        (MAP, "y: set, gather, disjoint, 20 operations at 10 points, 160 bytes (model.py:4)"),
        (replace(MAP, parallel=0, place=""),
         "y: set, gather, disjoint, 20 operations at 10 points, 160 bytes"),
        (SCATTER, "s: add, scatter (an index is data), sequential, 10 operations at 10 points, "
                  "240 bytes"),
        (replace(SCATTER, parallel=1, disjoint=False),
         "s: add, scatter (an index is data), not proved disjoint, 10 operations at 10 points, "
         "240 bytes"),
        (replace(SLOPE, exact=False, recurrent=True),
         "dx: set, gather, recurrent, disjoint, 30 operations at 10 points (bound), "
         "4 of them needed, 80 bytes (model.py:4)"),
    ],
)  # fmt: skip
def test_a_line_says_what_an_equation_does(equation: EquationReport, line: str) -> None:
    assert str(equation) == line


def test_the_last_lines_are_what_was_said_and_what_is_too_much() -> None:
    text = str(GradientReport("f", (MAP, SLOPE), ("a scatter stays",)))
    assert text.splitlines()[0] == "gradient report of @f"
    assert text.splitlines()[3:] == [
        "  2 equations, 0 scatter, 50 operations",
        "  needed for what is asked: 32 operations",
        "  gradients / results: 1.50 (20 operations)",
        "  moved, gradients / results: 0.50 (160 bytes)",
        "  remark: a scatter stays",
    ]
    assert "needed for" not in str(GradientReport("f", (MAP,)))


def test_json_holds_sums_remarks_and_every_field() -> None:
    report = GradientReport("f", (MAP, SLOPE), ("said",))
    found = json.loads(report.json())
    sums = ("total", "primal", "gradient", "ratio", "needed", "moved", "moved_ratio")
    assert {name: found[name] for name in sums} == {name: getattr(report, name) for name in sums}
    assert (found["function"], found["remarks"]) == ("f", ["said"])
    assert [EquationReport(**e) for e in found["equations"]] == [MAP, SLOPE]
