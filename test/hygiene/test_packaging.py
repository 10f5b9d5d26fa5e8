"""The packages that users install: built from source archives, complete, and importable."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import ted

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


def bill_of_materials() -> ModuleType:
    """The script, which is no part of a package."""
    path = ROOT / "release/bill_of_materials.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_said_in_one_place() -> None:
    said = {
        str(path.relative_to(ROOT))
        for path in (
            *(ROOT / "python").rglob("*.*"), *(ROOT / "runtime").rglob("*.[ch]"),
            ROOT / "pyproject.toml", ROOT / "CMakeLists.txt",
        )
        if path.suffix != ".pyc" and f'"{ted.__version__}"' in path.read_text(errors="replace")
    }  # fmt: skip
    assert said == {"python/ted/__init__.py"}
    assert metadata.version("ted") == ted.__version__, "pip install -e . again"
    assert bill_of_materials().version() == ted.__version__
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (\d\S*)", changes, re.MULTILINE)[0] == ted.__version__


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [("", True), ("{0}", True), ("{1}", True), ("{1}.99", False), ("0.0.9", False), ("9.0", False)],
)
def test_cmake_asks_for_versions_of_the_package(tmp_path: Path, wanted: str, fits: bool) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake reads it")
    release = ted.__version__.rpartition(".")[0]
    script = tmp_path / "versions.cmake"
    script.write_text(
        f'set(PACKAGE_FIND_VERSION "{wanted.format(ted.__version__, release)}")\n'
        f'include("{ROOT}/python/ted/cmake/tedConfigVersion.cmake")\n'
        'message("${PACKAGE_VERSION} ${PACKAGE_VERSION_COMPATIBLE}")\n'
    )
    done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True)
    assert done.stderr.split() == [ted.__version__, str(fits).upper()]


def test_the_bill_of_materials_has_every_pin() -> None:
    bill = bill_of_materials().bill()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    described = (ROOT / "pyproject.toml").read_text()
    users = described.partition("dependencies = [")[2].partition("[project.scripts]")[0]
    for extra in ("test", "demo", "bench"):  # of who works on ted
        before, _, after = users.partition(f"\n{extra} = [\n")
        users = before + "\n" + after.partition("\n]\n")[2]
    pinned = {tuple(pin) for pin in re.findall(r'"([\w-]+)==([\w.]+)', users)}
    parts = bill["components"]
    assert {(part["name"], part["version"]) for part in parts if "version" in part} == pinned
    assert ("torch-mlir", "20261001") in pinned
    (numpy,) = (part for part in parts if part["name"] == "numpy")
    assert numpy["properties"] == [{"name": "ted:versions", "value": ">=1.26,<3"}]
    assert {part["name"] for part in parts if part["scope"] == "required"} == {
        "islpy", "llvmlite", "ml_dtypes", "numpy", "torch-mlir",
    }  # fmt: skip
    references = [part["bom-ref"] for part in parts]
    assert len(set(references)) == len(references)
    assert bill["dependencies"][0]["dependsOn"] == references
    assert bill == bill_of_materials().bill()


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
    assert {"ted/_runtime.abi3.so", "ted/py.typed", "ted/__init__.pyi"} <= names
    assert {"ted/cmake/tedConfig.cmake", "ted/cmake/tedConfigVersion.cmake"} <= names
    (bill,) = (name for name in names if name.endswith(".dist-info/sboms/ted.cdx.json"))
    said = json.loads(zipfile.ZipFile(wheel).read(bill))
    assert said["metadata"]["component"]["version"] == ted.__version__
    assert any(re.match(r"ted/(lib)?ted_runtime\.(so|dylib|dll)$", name) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("test", "runtime", "release")) for name in names)
    assert not any("ptx_emulator" in name or "ptx-emulator" in name for name in names)


@pytest.mark.slow
def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    site = sysconfig.get_paths()["purelib"]
    paths = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {site!r}]"
    own = "from ted.runtime.library import library_path as p; import ted; print(ted.__file__, p())"
    script = (
        f"import runpy; runpy.run_path({str(ROOT / 'release/smoke.py')!r}, run_name='__main__')"
    )
    # -S leaves out the .pth files, and with them the finder of an editable installation.
    command = [sys.executable, "-S", "-c", "; ".join((paths, own, script))]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{site}"}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    places, works = done.stdout.splitlines()
    assert all(place.startswith(str(tmp_path)) for place in places.split())
    assert works.startswith(f"ted {ted.__version__}, ")
