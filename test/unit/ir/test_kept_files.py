"""What is kept for people to look at is private, and follows no link."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest

import ted
from support.in_process import compile_here
from ted.errors import PassFailed
from ted.ir import pass_driver
from ted.ir.kept_files import keep


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_file_lies_in_a_fresh_folder_that_is_its_owner_s(place: Path) -> None:
    path = keep("name.mlir", "text")
    assert (path.name, path.read_text(), path.parent.parent) == ("name.mlir", "text", place)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keep("name.mlir", "text") == path


def test_a_link_under_the_name_is_not_followed(place: Path) -> None:
    folder, victim = keep("first", "").parent, place / "victim"
    (folder / "name").symlink_to(victim)
    keep("name", "text")
    assert not victim.exists()


def test_a_failing_pipeline_keeps_its_input_in_such_a_file(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PassFailed("pass: must work, got nothing")

    compile_here(monkeypatch)
    monkeypatch.setattr(pass_driver, "run_pipeline", fail)
    x = ted.placeholder((3,), name="x")
    with pytest.raises(PassFailed, match=r"to reproduce: ted-opt \S+ --run-reproducer") as caught:
        ted.compile([x], x + 1.0)
    path = Path(str(caught.value).split()[-2])
    assert path.parent.parent == place
    assert "mlir_reproducer" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setattr(tempfile, "tempdir", str(place / "nowhere"))
    with pytest.raises(PassFailed, match="reproducer: must be a writable file, got"):
        ted.compile([x], x + 2.0)
