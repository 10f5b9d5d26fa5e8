"""The cache on disk: it never fails, and never gives what was not stored."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

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


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_entries_are_their_owner_s(cache_folder: Path) -> None:
    disk_cache.store(disk_cache.key("kind", "text"), b"content")
    (path,) = files(cache_folder)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
