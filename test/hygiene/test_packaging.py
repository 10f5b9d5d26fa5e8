"""The packages that users install: built from source archives, complete, and importable."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "ptx-emulator"


def built(sources: Path, folder: Path) -> Path:
    """A wheel that was built from the source archive, not from the checkout."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(sources)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    assert len(list(folder.glob("*.tar.gz"))) == 1
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.mark.parametrize(("name", "package"), [("ted", ROOT), ("ptx-emulator", EMULATOR)])
def test_each_package_brings_its_license(name: str, package: Path) -> None:
    described = (package / "pyproject.toml").read_text()
    assert 'license = "Apache-2.0 WITH LLVM-exception"' in described
    assert 'license-files = ["LICENSE"]' in described
    assert f'\nname = "{name}"\n' in described
    own, shared = ((folder / "LICENSE").read_text().splitlines() for folder in (package, ROOT))
    assert own.pop(1) == f"{name} is under the Apache License v2.0 with LLVM Exceptions:"
    assert own == [shared[0], *shared[2:]]


@pytest.mark.slow
def test_the_wheel_of_the_emulator_has_its_license(tmp_path: Path) -> None:
    wheel = zipfile.ZipFile(built(EMULATOR, tmp_path))
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    assert b"License-File: LICENSE" in wheel.read(metadata)
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
    assert "ptx_emulator/device.py" in wheel.namelist()


@pytest.mark.slow
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
    assert not any("ptx_emulator" in name or "ptx-emulator" in name for name in names)


@pytest.mark.slow
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
