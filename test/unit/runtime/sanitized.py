"""Run the runtime's tests on a native part that was built with sanitizers, in this process.

    LD_PRELOAD=libasan.so python test/unit/runtime/sanitized.py BUILD [arguments of pytest]

`BUILD` holds libted_runtime and the extension, as CMake leaves them there; they take the place of
the installed ones before anything loads those.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest


def use_build(folder: Path) -> None:
    """Let `ted` load its native part from a folder."""
    spec = importlib.util.spec_from_file_location("ted._runtime", folder / "_runtime.abi3.so")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["ted._runtime"] = module
    library = importlib.import_module("ted.runtime.library")
    vars(library)["resources"] = SimpleNamespace(files=lambda package: folder)
    assert library.library_path().startswith(str(folder))


if __name__ == "__main__":
    use_build(Path(sys.argv[1]).resolve())
    sys.exit(pytest.main(sys.argv[2:]))
