"""The hand-written part of Python's stable ABI agrees with Python.h, where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "runtime" / "python"
PYTHON_H = Path(sysconfig.get_paths()["include"]) / "Python.h"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11) or not (PYTHON_H.exists() and COMPILER),
    reason="needs a C compiler and a Python.h whose limited API has the buffer protocol",
)

FIELDS = {
    "PyObject": ["ob_type"],
    "Py_buffer": ["buf", "obj", "len", "itemsize", "readonly", "ndim", "format", "shape"],
    "PyMethodDef": ["ml_name", "ml_meth", "ml_flags", "ml_doc"],
    "PyGetSetDef": ["name", "get", "set", "doc", "closure"],
    "PyType_Slot": ["slot", "pfunc"],
    "PyType_Spec": ["name", "basicsize", "itemsize", "flags", "slots"],
    "struct PyModuleDef": ["m_base", "m_name", "m_doc", "m_size", "m_methods", "m_free"],
}


def run_c(folder: Path, source: str) -> str:
    """Compile and run a C program that prints, in limited-API mode."""
    (folder / "probe.c").write_text(source)
    flags = ["-std=c11", "-Werror", f"-I{FOLDER}", f"-I{PYTHON_H.parent}"]
    subprocess.run([COMPILER, *flags, "probe.c", "-o", "probe"], cwd=folder, check=True)
    return subprocess.run(
        [folder / "probe"], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def constants() -> list[str]:
    text = (FOLDER / "stable_abi.h").read_text()
    return sorted(set(re.findall(r"\b((?:Py\w+|METH_\w+|PYTHON_\w+)) = \w+", text)))


def probe(header: str) -> str:
    prints = [f'printf("{name} %ld\\n", (long){name});' for name in constants()]
    for name, fields in FIELDS.items():
        prints.append(f'printf("{name} %zu\\n", sizeof({name}));')
        prints += [f'printf("{name}.{f} %zu\\n", offsetof({name}, {f}));' for f in fields]
    includes = f"{header}\n#include <stddef.h>\n#include <stdio.h>"
    return f"{includes}\nint main(void) {{ {' '.join(prints)} return 0; }}"


def test_constants_and_layouts_are_those_of_python(tmp_path: Path) -> None:
    ours = run_c(tmp_path, probe('#include "stable_abi.h"'))
    theirs = run_c(tmp_path, probe("#define Py_LIMITED_API 0x030B0000\n#include <Python.h>"))
    assert ours == theirs
    assert "Py_tp_call 50" in ours


def test_signatures_do_not_contradict_python(tmp_path: Path) -> None:
    both = '#define Py_LIMITED_API 0x030B0000\n#include <Python.h>\n#include "stable_abi.h"'
    assert run_c(tmp_path, f"{both}\nint main(void) {{ return 0; }}") == ""
