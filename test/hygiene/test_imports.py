"""Imports: one direction between packages, one owner for each heavy dependency, a light `ted`."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# What no test imports: their users would find a name that is gone.
FOLDERS = ("benchmarks", "examples")
PACKAGES = {"python/ted": "ted", "dialects": "ted.dialects", "tools": "ted.tools"}
# What users import by its name: documents have it.
FOR_USERS = {"ted.cache", "ted.cuda", "ted.tree", "ted.codegen.amdgpu", "ted.tools.ted_check",
             "ted.tools.ted_opt", "ted.tools.ted_run"}  # fmt: skip
SCRIPTS = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


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
    program = (  # tools ask every module for names with underscores
        "import sys, ted; assert not hasattr(ted, '_nothing'); "
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "torch_mlir", "islpy", "ml_dtypes", "torch", "jax", "onnx"}
    assert heavy.isdisjoint(done.stdout.split())


def installed_modules() -> dict[str, Path]:
    """The modules that `pip install .` brings, except for packages themselves."""
    return {
        ".".join((package, *path.relative_to(ROOT / folder).with_suffix("").parts)): path
        for folder, package in PACKAGES.items()
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "__init__.py"
    }


@pytest.mark.slow
def test_what_is_installed_is_used_by_what_is_installed() -> None:
    modules = installed_modules()
    used = set(FOR_USERS)
    for folder in PACKAGES:
        for path in (ROOT / folder).rglob("*.py*"):  # a stub names what is loaded late
            if path.suffix not in (".py", ".pyi"):
                continue
            text = path.read_text()
            named = {f"{module}.{name}" for module, name in named_of_ted(path)}
            named |= {module for module, _ in named_of_ted(path)}
            named |= {name for name in modules if f'"{name}"' in text}
            used |= {name for name in named if modules.get(name) != path}
    # Rows of ted.ir.passes name the folders of passes; test_passes looks at those.
    rest = [name for name in modules.keys() - used if "ted_" not in name.rpartition(".")[2]]
    assert not rest, "only tests use it: it belongs under test/"


def named_of_ted(path: Path) -> Iterator[tuple[str, str]]:
    """The modules of ted that a file names, each with what it takes of them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ted":
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts_import_what_is_there(path: Path) -> None:
    for module, name in named_of_ted(path):
        found = importlib.import_module(module)
        assert hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}"), (module, name)
