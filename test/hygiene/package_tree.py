"""The checkout as the one package `ted` that an installation would hold, made of links.

`ted.dialects` and `ted.tools` lie beside `python/ted` in the checkout. Tools that read sources
instead of importing them (pyright, import-linter) need them in one tree: `link_package(folder)`
makes `folder/ted`. Run as a script, it does so for the folder given as argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def link_package(folder: Path) -> Path:
    """Make `folder/ted` out of links to the sources; returns `folder`."""
    package = folder / "ted"
    package.mkdir(parents=True, exist_ok=True)
    sources = {path.name: path for path in (ROOT / "python" / "ted").iterdir()}
    sources |= {"dialects": ROOT / "dialects", "tools": ROOT / "tools"}
    for old in package.iterdir():
        old.unlink()
    for name, path in sources.items():
        if name != "__pycache__":
            (package / name).symlink_to(path)
    return folder


if __name__ == "__main__":
    link_package(Path(sys.argv[1]).resolve())
