"""The package that users install: built from the source archive, complete, and importable."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that was built from the source archive, not from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    assert len(list(folder.glob("ted-*.tar.gz"))) == 1
    (built,) = folder.glob("ted-*.whl")
    return built


def test_the_wheel_holds_all_packages_and_the_native_part(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        "ted" / path.relative_to(ROOT / source)
        for source in ("python/ted",)
        for path in (ROOT / source).rglob("*.py")
    }
    for folder in ("dialects", "tools"):
        sources |= {"ted" / path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py")}
    assert {path.as_posix() for path in sources} <= names
    assert "ted/_runtime.abi3.so" in names
    assert any(re.match(r"ted/(lib)?ted_runtime\.(so|dylib|dll)$", name) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("test", "runtime")) for name in names)


def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    site = sysconfig.get_paths()["purelib"]
    program = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {site!r}]
import ted.dialects.ted.ops, ted.tools, ted._runtime
from ted.runtime.library import library_path
print(ted.__file__, library_path(), sep='\\n')
"""
    # -S leaves out the .pth files, and with them the finder of an editable installation.
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], check=True, capture_output=True, text=True
    )
    assert all(line.startswith(str(tmp_path)) for line in done.stdout.splitlines())
