"""Use an installed wheel the way users do: forward, gradient, file, library for C. No checkout.

    python release/smoke.py

cibuildwheel runs it in the environment of each wheel, and `test/hygiene` on the one that it builds.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from importlib import metadata, resources
from pathlib import Path

import numpy as np

import ted

LOAD = "import sys, ted, numpy as np; print(ted.load(sys.argv[1])(np.ones((3, 4)), np.ones(4))[0])"


def used(folder: Path) -> None:
    """Compile, differentiate, save, load in another process, and export."""
    x, w = ted.placeholder((3, 4), "float64", name="x"), ted.placeholder((4,), "float64", name="w")
    loss = ted.sum(ted.tanh(x @ w))
    f = ted.compile([x, w], [loss, *ted.differentiate(loss, [w])], name="loss")
    a, b = np.ones((3, 4)), np.ones(4)
    value, slope = f(a, b)
    np.testing.assert_allclose(value, 3 * np.tanh(4), rtol=1e-12)
    np.testing.assert_allclose(slope, 3 * (1 - np.tanh(4) ** 2) * np.ones(4), rtol=1e-9)
    f.save(folder / "loss.ted")
    command = [sys.executable, "-c", LOAD, str(folder / "loss.ted")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert float(said) == float(value), said
    exported = ted.export(f, folder / "library")
    for name in ("loss.h", "loss.o", "loss.pc", "lossConfig.cmake", "ted/runtime.h"):
        assert (folder / "library" / name).is_file(), f"{name} is not in {exported.folder}"


def shipped() -> None:
    """What a wheel holds beside Python."""
    package = resources.files("ted")
    assert package.joinpath("py.typed").is_file()
    for name in ("tedConfig.cmake", "tedConfigVersion.cmake"):
        assert package.joinpath(f"cmake/{name}").is_file(), name
    (bill,) = (f for f in metadata.files("ted") or () if f.name == "ted.cdx.json")
    said = Path(str(bill.locate())).read_text()
    assert json.loads(said)["metadata"]["component"]["version"] == ted.__version__
    assert metadata.version("ted") == ted.__version__


if __name__ == "__main__":
    shipped()
    with tempfile.TemporaryDirectory() as folder:
        used(Path(folder))
    print(f"ted {ted.__version__}, Python {platform.python_version()}, {platform.machine()}: works")
