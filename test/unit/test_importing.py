"""`ted.importing` loads modules without looks for garbage, and leaves those as they were."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ted.importing import imported


@pytest.fixture(params=[True, False])
def looks(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether Python looks for garbage."""
    (gc.enable if request.param else gc.disable)()
    yield request.param
    gc.enable()


def test_nobody_looks_for_garbage_while_modules_are_loaded(
    looks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner_one.py").write_text("import gc; looked = gc.isenabled()")
    text = "import gc; from ted.importing import imported; one = imported('inner_one')"
    (tmp_path / "outer_one.py").write_text(f"{text}; looked = gc.isenabled()")
    monkeypatch.syspath_prepend(tmp_path)
    module = imported("outer_one")
    assert module is sys.modules["outer_one"]
    assert (module.one.looked, module.looked, gc.isenabled()) == (False, False, looks)


def test_a_module_that_fails_leaves_them_on(looks: bool) -> None:
    with pytest.raises(ModuleNotFoundError):
        imported("no_such_module_of_anyone")
    assert gc.isenabled() == looks
