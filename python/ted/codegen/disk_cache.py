"""Results of slow compilers on disk, by a hash of everything that they depend on.

They lie in $TED_CACHE_DIR, else $XDG_CACHE_HOME/ted, else ~/.cache/ted; an empty TED_CACHE_DIR
turns the cache off. An entry begins with the hash of its content: one that was cut off or changed
counts as absent and is written anew. Nothing here fails: without a writable folder there is no
cache. Entries are never removed; the folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST = 32  # bytes of a SHA-256


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


def key(kind: str, *parts: str | bytes) -> str:
    """The name of an entry: a hash of the kind and of each part."""
    digest = hashlib.sha256()
    for part in (kind, *parts):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """The content of an entry; None when there is none, or it is damaged."""
    path = _path(name)
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, content = data[:_DIGEST], data[_DIGEST:]
    return content if head == hashlib.sha256(content).digest() else None


def store(name: str, content: bytes) -> None:
    """Write an entry in one step: a reader sees all of it or nothing."""
    path = _path(name)
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def _path(name: str) -> Path | None:
    root = folder()
    return None if root is None else root / name[:2] / name
