"""docs/coverage.md has a row for every operator, and the names of other libraries as they are."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("jax")
from docs.coverage_page import PAGE, ROWS, called, lists, operators, row


def test_the_page_has_a_row_for_every_operator() -> None:
    assert re.findall(r"^\| ted\.([\w.]+) ", PAGE.read_text(), re.MULTILINE) == list(operators())


def test_the_table_names_what_there_is() -> None:
    names = {name for name, rest in ROWS.items() if rest}
    assert names <= set(operators())


def test_the_lists_of_names_are_those_of_the_libraries() -> None:
    assert "\n".join(lists()).rstrip() + "\n" in PAGE.read_text()


@pytest.mark.parametrize("name", ["acosh", "floor", "nn.embedding", "nn.cross_entropy"])
def test_a_row_is_what_is_measured(name: str) -> None:
    (line,) = re.findall(rf"^\| ted\.{re.escape(name)} .*$", PAGE.read_text(), re.MULTILINE)
    found = row(name, operators()[name])
    assert line.rpartition("|")[0].rpartition("|")[0] == found.rpartition("|")[0].rpartition("|")[0]


def test_no_measured_error_is_large() -> None:
    cells = [
        line.split("|")[-2].strip() for line in PAGE.read_text().splitlines() if "| ted." in line
    ]
    errors = [float(cell) for cell in cells if cell != "-"]
    assert len(errors) > 100
    assert max(errors) < 1e-8  # of digamma, which torch differentiates to 4e-10 alone


def test_an_operator_without_arguments_is_refused_with_what_to_do() -> None:
    with pytest.raises(LookupError, match=r"odd: its arguments are a line in coverage_rows\.txt"):
        called("odd", lambda: None, {})
