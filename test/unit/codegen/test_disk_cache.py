"""The cache on disk: it never fails, and never gives what was not stored."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import ted
from ted.codegen import disk_cache


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_stored_is_found() -> None:
    name = disk_cache.key("kind", "text", b"bytes")
    assert disk_cache.load(name) is None
    disk_cache.store(name, b"content")
    assert disk_cache.load(name) == b"content"
    disk_cache.store(name, b"")
    assert disk_cache.load(name) == b""


def test_keys_tell_parts_apart() -> None:
    assert disk_cache.key("k", "ab", "c") != disk_cache.key("k", "a", "bc")
    assert disk_cache.key("k", "ab") != disk_cache.key("l", "ab")


@pytest.mark.parametrize("damaged", [b"", b"short", b"\0" * 40])
def test_a_damaged_entry_counts_as_absent_and_is_rewritten(
    cache_folder: Path, damaged: bytes
) -> None:
    name = disk_cache.key("kind", "text")
    disk_cache.store(name, b"content")
    (path,) = files(cache_folder)
    path.write_bytes(damaged)
    assert disk_cache.load(name) is None
    disk_cache.store(name, b"content")
    assert disk_cache.load(name) == b"content"
    assert files(cache_folder) == [path]


def test_one_changed_bit_is_noticed(cache_folder: Path) -> None:
    name = disk_cache.key("kind", "text")
    disk_cache.store(name, b"content")
    (path,) = files(cache_folder)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert disk_cache.load(name) is None


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TED_CACHE_DIR", str(tmp_path / "file" / "below"))
    name = disk_cache.key("kind", "text")
    disk_cache.store(name, b"content")
    assert disk_cache.load(name) is None


def test_an_entry_that_cannot_be_replaced_leaves_no_rest(cache_folder: Path) -> None:
    name = disk_cache.key("kind", "text")
    (cache_folder / name[:2] / name).mkdir(parents=True)
    disk_cache.store(name, b"content")
    assert disk_cache.load(name) is None
    assert files(cache_folder) == []


def test_an_empty_variable_turns_the_cache_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TED_CACHE_DIR", "")
    assert disk_cache.folder() is None
    disk_cache.store("name", b"content")
    assert disk_cache.load("name") is None


def test_the_folder_is_the_one_of_the_desktop_convention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TED_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert disk_cache.folder() == tmp_path / "ted"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert disk_cache.folder() == tmp_path / ".cache" / "ted"


def test_an_entry_under_another_name_counts_as_absent(cache_folder: Path) -> None:
    name, other = (disk_cache.key("kind", text) for text in ("text", "other"))
    disk_cache.store(name, b"content")
    (path,) = files(cache_folder)
    disk_cache.store(other, b"another")
    (cache_folder / other[:2] / other).write_bytes(path.read_bytes())
    assert disk_cache.load(name) == b"content"
    assert disk_cache.load(other) is None


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log says of the cache."""
    return [r.getMessage() for r in caplog.records if r.getMessage().startswith("cache: ")]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is full")
def test_a_full_disk_is_no_error_and_is_said_once(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(dir: Path, prefix: str) -> tuple[int, str]:
        (dir / f"{prefix}new").touch()
        return os.open("/dev/full", os.O_WRONLY), str(dir / f"{prefix}new")

    name = disk_cache.key("kind", "text")
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.mkstemp", full)
        for _ in range(2):
            disk_cache.store(name, b"content")
            disk_cache.store(name, b"content" * 100_000)
    assert files(cache_folder) == []
    (text,) = said(caplog)
    assert f"got {cache_folder}: No space left on device; TED_CACHE_DIR names" in text
    disk_cache.store(name, b"content")
    assert disk_cache.load(name) == b"content"


def test_a_folder_that_is_deleted_meanwhile_is_not_worth_a_word(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def delete(**_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("tempfile.mkstemp", delete)
    disk_cache.store(disk_cache.key("kind", "text"), b"content")
    assert files(cache_folder) == []
    assert said(caplog) == []


posix = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


@posix
def test_entries_and_folders_are_their_owner_s(cache_folder: Path) -> None:
    disk_cache.store(disk_cache.key("kind", "text"), b"content")
    (path,) = files(cache_folder)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(cache_folder.stat().st_mode) == 0o700


@posix
def test_an_entry_that_others_may_write_counts_as_absent(cache_folder: Path) -> None:
    name = disk_cache.key("kind", "text")
    disk_cache.store(name, b"content")
    (path,) = files(cache_folder)
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert disk_cache.load(name) is None
    disk_cache.store(name, b"content")
    assert disk_cache.load(name) == b"content"


@posix
def test_what_belongs_to_somebody_else_is_not_used(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = disk_cache.key("kind", "text")
    disk_cache.store(name, b"content")
    with monkeypatch.context() as other_user:
        other_user.setattr(os, "geteuid", lambda: cache_folder.stat().st_uid + 1)
        assert disk_cache.load(name) is None
        disk_cache.store(name, b"planted")
    assert "it belongs to another user; " in said(caplog)[0]
    assert disk_cache.load(name) == b"content"


@posix
@pytest.mark.parametrize("depth", [0, 1])
def test_nothing_is_written_into_a_folder_of_somebody_else(
    depth: int, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, other = "00first", "00second"
    disk_cache.store(name, b"content")
    foreign = [cache_folder, cache_folder / "00"][depth].stat().st_ino
    monkeypatch.setattr(disk_cache, "_is_ours", lambda state: state.st_ino != foreign)
    disk_cache.store(other, b"content")
    assert [path.name for path in files(cache_folder)] == [name]


@posix
def test_links_and_pipes_are_no_entries(cache_folder: Path, tmp_path: Path) -> None:
    name = disk_cache.key("kind", "text")
    disk_cache.store(name, b"content")
    (path,) = files(cache_folder)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert disk_cache.load(name) is None
    path.unlink()
    os.mkfifo(path)
    assert disk_cache.load(name) is None
    disk_cache.store(name, b"content")
    assert disk_cache.load(name) == b"content"


def test_the_least_recently_used_entries_go(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 256 * 300)  # of a folder: three of 100 bytes
    names = [f"00{k}" for k in range(4)]
    for k, name in enumerate(names[:3]):
        disk_cache.store(name, b"x" * 60)
        os.utime(cache_folder / "00" / name, (k, k))
    assert disk_cache.load(names[0]) == b"x" * 60
    disk_cache.store(names[3], b"x" * 60)
    assert sorted(path.name for path in files(cache_folder)) == ["000", "002", "003"]
    disk_cache.store("00big", b"x" * 1000)
    assert [path.name for path in files(cache_folder)] == ["00big"]


def test_the_cache_says_what_it_holds_and_can_be_emptied(cache_folder: Path) -> None:
    assert ted.cache.info() == ted.cache.Info(cache_folder, 0, 0)
    for text in ("text", "other"):
        disk_cache.store(disk_cache.key("kind", text), b"content")
    (cache_folder / "note").write_text("of the user")
    found = ted.cache.info()
    assert (found.entries, found.bytes) == (2, 2 * (32 + len(b"content")))
    assert ted.cache.clear() == 2
    assert ted.cache.info().entries == 0
    assert disk_cache.load(disk_cache.key("kind", "text")) is None
    assert (cache_folder / "note").exists()


def test_a_cache_that_is_off_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TED_CACHE_DIR", "")
    assert ted.cache.info() == ted.cache.Info(None, 0, 0)
    assert ted.cache.clear() == 0
