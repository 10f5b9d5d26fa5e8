"""Imports: one direction between packages, one owner for each heavy dependency, a light `ted`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_packages_keep_the_import_contracts() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "import_contracts.py")],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_ted_loads_nothing_heavy() -> None:
    program = "import sys, ted; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "torch_mlir", "islpy", "ml_dtypes", "torch", "jax"}
    assert heavy.isdisjoint(done.stdout.split())
