"""The hand-written parts of the ABIs of Python and NumPy agree with headers, where those are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
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
    assert "Py_tp_new 65" in ours


def test_signatures_do_not_contradict_python(tmp_path: Path) -> None:
    both = '#define Py_LIMITED_API 0x030B0000\n#include <Python.h>\n#include "stable_abi.h"'
    assert run_c(tmp_path, f"{both}\nint main(void) {{ return 0; }}") == ""


NUMPY_H = Path(np.get_include()) / "numpy" / "ndarraytypes.h"
NUMPY_LAYOUTS = {
    ("struct ted_array", "PyArrayObject_fields"): ["data", "nd", "dimensions", "strides", "base",
                                                   "descr", "flags"],
    ("struct ted_dtype", "PyArray_Descr"): ["kind", "type", "byteorder", "type_num"],
}  # fmt: skip


def numpy_probe(header: str, side: int) -> str:
    """Prints offsets and flags, of our declarations or those of NumPy."""
    fields = [(names[side], f) for names, found in NUMPY_LAYOUTS.items() for f in found]
    prints = [f'printf("{f} %zu\\n", offsetof({name}, {f}));' for name, f in fields]
    flags = re.findall(r"NPY_ARRAY_\w+(?= =)", (FOLDER / "numpy_abi.h").read_text())
    prints += [f'printf("{flag} %d\\n", {flag});' for flag in flags]
    includes = f"{header}\n#include <stddef.h>\n#include <stdio.h>"
    return f"{includes}\nint main(void) {{ {' '.join(prints)} return 0; }}"


def test_arrays_and_dtypes_lie_as_in_numpy(tmp_path: Path) -> None:
    theirs = f'#define NPY_NO_DEPRECATED_API 7\n#include <Python.h>\n#include "{NUMPY_H}"'
    found = run_c(tmp_path, numpy_probe('#include "numpy_abi.h"', 0))
    assert found == run_c(tmp_path, numpy_probe(theirs, 1))
    assert "NPY_ARRAY_WRITEABLE 1024" in found


def test_functions_of_numpy_have_their_places() -> None:
    text = (FOLDER / "numpy_abi.h").read_text()
    header = NUMPY_H.with_name("__multiarray_api.h").read_text()
    places = re.findall(r"(Py\w+)_PLACE = (\d+)", text)
    assert len(places) == 5
    for name, place in places:
        found = re.search(rf"#define {name}\b[^#]*?PyArray_API\[(\d+)\]", header)
        assert found is not None, name
        assert found[1] == place, name
