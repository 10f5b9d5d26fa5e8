"""Files that stay behind for people to look at: what a failing pass or code generator was given.

They lie in a folder of this process that nobody else may read or write. A predictable name in the
common folder of temporary files could be a link that somebody else put there.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def keep(name: str, text: str) -> Path:
    """Write a text under a name that says what is in it, such as a hash; the path.

    Raises: OSError when it cannot be written.
    """
    path = Path(_private_folder(tempfile.gettempdir()), name)
    try:
        handle = os.open(path, _NEW, 0o600)
    except FileExistsError:  # the same text was kept before
        return path
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@cache
def _private_folder(place: str) -> str:
    """A fresh folder, with access for its owner alone."""
    return tempfile.mkdtemp(prefix="ted-", dir=place)
