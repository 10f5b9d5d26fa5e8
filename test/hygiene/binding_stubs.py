"""Write annotations of the MLIR binding's native modules into the environment, for pyright.

The binding ships as compiled nanobind modules, whose signatures only their docstrings know;
`nanobind.stubgen` reads those. The result belongs to the environment and is not committed.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from nanobind.stubgen import main

from ted.mlir import BINDING


def write_stubs() -> None:
    """Put `_mlir/*.pyi` beside the native module `_mlir`."""
    module = f"{BINDING}._mlir_libs._mlir"
    native = importlib.import_module(module).__file__
    assert native is not None
    folder = str(Path(native).parent)
    main(["-q", "-P", "-m", module, "-r", "-O", folder])


if __name__ == "__main__":
    write_stubs()
