"""Remarks and who hears them."""

from __future__ import annotations

from ted.errors import SourceLocation
from ted.ir.remarks import Remark, collected, remark

PLACE = SourceLocation("model.py", 41, 3)


def test_remarks_reach_every_listener_around_them() -> None:
    remark("nobody hears this")
    with collected() as outer:
        remark("first")
        with collected() as inner:
            remark("second", PLACE)
        remark("third")
    assert [r.message for r in outer] == ["first", "second", "third"]
    assert inner == [Remark("second", PLACE)]
    assert str(inner[0]) == f"{PLACE}: second"
    assert str(outer[0]) == "first"
