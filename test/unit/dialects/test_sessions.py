"""Contexts that sessions have."""

from __future__ import annotations

import pytest

from ted import dialects


def test_a_session_has_a_context_of_its_own_unless_one_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialects, "_kept", [])
    with dialects.session() as first:
        pass
    with dialects.session() as second:
        assert second is not first
    dialects.keep_context()
    with dialects.session() as third:
        assert third is not second
    with dialects.session() as fourth:
        assert fourth is third
