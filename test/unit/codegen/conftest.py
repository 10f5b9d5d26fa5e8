"""Every test of code generation has a cache of its own, so that it compiles what it looks at."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that entries of the cache go to; modules that are refused are kept beside it."""
    monkeypatch.setenv("TED_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / "cache"
