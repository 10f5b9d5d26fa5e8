"""What is said of calls that met subnormal numbers: once, and not to who asked to keep them."""

from __future__ import annotations

import pytest

from ted.runtime.subnormals import SubnormalNotice


def test_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    notice = SubnormalNotice("f", None)
    assert not notice.met
    for _ in range(3):
        notice()
    (record,) = caplog.records
    assert (record.name, notice.met) == ("ted.subnormals", True)
    assert record.getMessage().startswith("f: a call met subnormal operands")
    assert 'subnormals="flush"' in record.getMessage()


def test_who_asked_to_keep_them_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    notice = SubnormalNotice("f", "keep")
    notice()
    assert not caplog.records
    assert notice.met


def test_what_explains_it_names_the_kernels_that_are_known() -> None:
    notice = SubnormalNotice("f", None)
    assert notice.explained() == ""
    notice.met = True
    assert "kernels that f.profile(...) names" in notice.explained()
    notice.places |= {"y (a.py:3)", "x (a.py:2)"}
    assert "met by x (a.py:2), y (a.py:3); " in notice.explained()
