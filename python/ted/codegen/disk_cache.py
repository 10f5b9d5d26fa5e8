"""Results of slow compilers on disk, by a hash of everything that they depend on.

They lie in $TED_CACHE_DIR, else $XDG_CACHE_HOME/ted, else ~/.cache/ted; an empty TED_CACHE_DIR
turns the cache off. An entry begins with a hash of its name and its content: one that was cut off,
changed, or moved from another name counts as absent and is written anew. So does one that belongs
to somebody else, or that others may write. Nothing here fails: without a writable folder of our own
there is no cache, which the log says once. The least recently used entries go when there are too
many; the folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ted.records import dataclass

MOST_BYTES = 1 << 30  # of all entries: code of some thousands of programs
_FOLDERS = 256  # by the first two digits of the name; each has its share of the bytes
_DIGEST = 32  # bytes of a SHA-256
_log = logging.getLogger("ted.compile")
# A pipe must not be waited for, a link not be followed.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def folder() -> Path | None:
    """Where entries lie; None when there is to be no cache."""
    chosen = os.environ.get("TED_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "ted"
    except RuntimeError:  # no home
        return None


@dataclass(frozen=True)
class Info:
    """Where the cache is, None for nowhere, and what is in it, sizes in bytes."""

    folder: Path | None
    entries: int
    bytes: int
    most_bytes: int = MOST_BYTES


def info() -> Info:
    """What the cache holds now."""
    sizes = [size for _, size in _entries()]
    return Info(folder(), len(sizes), sum(sizes))


def clear() -> int:
    """Delete every entry, and what killed processes left behind; the number of files."""
    deleted = 0
    for path, _ in _entries():
        with contextlib.suppress(OSError):
            path.unlink()
            deleted += 1
    return deleted


def _entries() -> Iterator[tuple[Path, int]]:
    """The files of the cache and their sizes; nothing else that may lie in its folder."""
    root = folder()
    if root is None:
        return
    for k in range(_FOLDERS):
        with contextlib.suppress(OSError), os.scandir(root / f"{k:02x}") as found:
            for one in found:
                state = one.stat(follow_symlinks=False)
                if stat.S_ISREG(state.st_mode):
                    yield Path(one.path), state.st_size


def content_hash(path: str) -> str:
    """A hash of a file, which is read again only after it changed."""
    state = Path(path).stat()
    return _hash_of(path, state.st_size, state.st_mtime_ns)


@cache
def _hash_of(path: str, size: int, changed: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def key(kind: str, *parts: str | bytes) -> str:
    """The name of an entry: a hash of the kind and of each part."""
    digest = hashlib.sha256()
    for part in (kind, *parts):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """The content of an entry; None when there is none, or it is damaged or not ours."""
    path = _path(name)
    if path is None:
        return None
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            if not _is_private(os.fstat(file.fileno())):
                return None
            data = file.read()
            os.utime(file.fileno())  # it was used: others are older
    except OSError:
        return None
    head, content = data[:_DIGEST], data[_DIGEST:]
    return content if head == _digest(name, content) else None


def store(name: str, content: bytes) -> None:
    """Write an entry in one step: a reader sees all of it or nothing."""
    path = _path(name)
    if path is None:
        return
    try:
        _write(path, _digest(name, content) + content)
        _remove_oldest(path.parent, MOST_BYTES // _FOLDERS)
    except FileNotFoundError:  # somebody deletes entries, or all of the folder
        pass
    except OSError as error:
        _warn(path.parent.parent, error.strerror or str(error))


def _write(path: Path, data: bytes) -> None:
    root, place = path.parent.parent, path.parent
    root.mkdir(mode=0o700, parents=True, exist_ok=True)  # the mode is not that of its parents
    place.mkdir(mode=0o700, exist_ok=True)
    if not (_is_ours(root.stat()) and _is_ours(place.lstat())):
        raise PermissionError("it belongs to another user")
    handle, temporary = tempfile.mkstemp(dir=place, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@cache
def _warn(root: Path, reason: str) -> None:
    _log.warning(
        "cache: its folder must take entries of this user, got %s: %s; TED_CACHE_DIR names another "
        "one, and is empty for no cache", root, reason,
    )  # fmt: skip


def _path(name: str) -> Path | None:
    root = folder()
    return None if root is None else root / name[:2] / name


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def _is_ours(state: os.stat_result) -> bool:
    """Whether this user owns a file or folder, where there are users."""
    return not hasattr(os, "geteuid") or state.st_uid == os.geteuid()


def _is_private(state: os.stat_result) -> bool:
    """Whether a file can only have been written by this user."""
    others = stat.S_IWGRP | stat.S_IWOTH
    shared = hasattr(os, "geteuid") and bool(state.st_mode & others)
    return stat.S_ISREG(state.st_mode) and _is_ours(state) and not shared


def _remove_oldest(place: Path, most: int) -> None:
    """Keep the files of a folder that were used last, the newest whatever its size."""
    with os.scandir(place) as found:
        states = [(one.path, one.stat(follow_symlinks=False)) for one in found]
    states.sort(key=lambda one: one[1].st_mtime_ns, reverse=True)
    total = 0
    for position, (path, state) in enumerate(states):
        total += state.st_size
        if position and total > most and stat.S_ISREG(state.st_mode):
            os.unlink(path)
