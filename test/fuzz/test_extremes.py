"""Scalar functions at hard points are within the errors of docs/accuracy.md; faults are noticed."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from fuzz import extremes
from fuzz.extreme_rows import ROWS
from fuzz.extremes import SUBJECTS, bounds, check, drawn, errors, spelled
from ted.autodiff import rules
from ted.ir.scalar import apply

SHARE = 200  # points of a fast test


def test_the_document_has_a_row_for_every_function() -> None:
    assert list(bounds()) == list(ROWS)


@pytest.mark.fast(6)
@pytest.mark.parametrize("seed", range(len(SUBJECTS)), ids=lambda k: " ".join(SUBJECTS[k]))
def test_a_few_points_are_within_the_documented_errors(seed: int) -> None:
    outcome = check(seed, SHARE)
    assert outcome.kind == "ok", outcome.detail


def test_points_are_hard_and_inside() -> None:
    (x,) = drawn(ROWS["asinh"], "float32", 2000, 0)
    sizes = np.abs(x[x != 0])
    assert sizes.min() < np.finfo("float32").tiny
    assert sizes.max() > 1e36
    (x,) = drawn(ROWS["acosh"], "float64", 2000, 0)
    assert x.min() > 1
    assert (x < 1 + 1e-12).any()


def test_errors_are_in_units_of_the_last_place() -> None:
    got = np.array([1 + 2.0**-22, 0.0, np.inf, np.nan, 1e-45], np.float32)
    exact = [mp.mpf(1), mp.mpf(0), mp.mpf(10) ** 400, mp.mpf(1), mp.mpf(10) ** -5000]
    _, relative, absolute = errors(got, exact)
    assert relative.tolist() == [2, 0, 0, np.inf, 1]
    assert absolute[4] < 1e-37
    assert [spelled(1.234, 0), spelled(1e9, 1.5), spelled(1e9, 77)] == ["1.3", "1.5a", "1e+09"]


def test_a_slope_that_overflows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    slope = rules._unary(lambda x, _: apply("rsqrt", rules._one_plus(rules._square(x))))
    monkeypatch.setitem(rules.RULES, "asinh", slope)
    extremes.compiled.cache_clear()
    outcome = check(SUBJECTS.index(("asinh", "float32")), SHARE)
    extremes.compiled.cache_clear()
    assert outcome.failed
    assert "asinh in float32, order 1" in outcome.detail
