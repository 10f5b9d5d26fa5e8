"""Functions in files: what `ted.export` and `f.save` write, refuse, and read again."""

from __future__ import annotations

import copy
import ctypes
import pickle
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.api.host import executable_cpus, host_cpu, is_foreign
from ted.codegen.exported.interface import c_names
from ted.errors import CompileError, ExecutionError
from ted.machine import CPUS


def doubled(shape: tuple[int, ...] = (3,), dtype: str = "float32", target: str = "cpu") -> Any:
    x = ted.placeholder(shape, dtype, name="x")
    return ted.compile([x], x + x, target, name="doubled")


def many() -> Any:
    n = ted.size("n")
    x = ted.placeholder((n,), name="x")
    return ted.compile([x], x + x)


def noisy(batch: Any = ()) -> Any:
    def f(x: Any) -> Any:
        ted.print("sum {}", ted.sum(x))
        return x + x

    found = ted.function(f, batch=batch).compiled(np.ones((3,), "f4"))
    return found.specialise(batch=3) if batch == 0 else found


REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "nothing": (dict, {}, "at least one function, got none"),
    "no version": (lambda: {"f": []}, {}, "f has at least one version, got none"),
    "a Python function": (lambda: len, {}, r"got builtin_function_or_method; take f\.compiled"),
    "symbolic sizes": (many, {}, r"got SymbolicFunction; .*\.specialise\(n=\.\.\.\)"),
    "a GPU": (lambda: doubled(target="cuda:sm_80"), {}, "for a CPU .* got CudaFunction"),
    "a word of C++": (lambda: {"class": doubled()}, {}, "no word of theirs, got 'class'"),
    "no identifier": (lambda: {"a b": doubled()}, {}, "identifier of C and C[+][+] .*'a b'"),
    "a library's name": (doubled, {"name": "x-y"}, "the name of a library .* got 'x-y'"),
    "a kind": (doubled, {"library": "dll"}, "one of objects, static, shared, got 'dll'"),
    "a runtime": (doubled, {"runtime": "none"}, "one of static, shared, got 'none'"),
    "other types": (
        lambda: {"f": [doubled(), doubled((4,), "float64")]}, {},
        r"same names, types and ranks, got \(x: float32\[3\].* and \(x: float64\[4\]",
    ),
    "equal sizes": (
        lambda: {"f": [doubled((2, 3)), doubled((3, 2))]}, {}, "told by the numbers of elements",
    ),
    "other options": (
        lambda: {"f": [doubled(), doubled((4,), target="cpu,threads=1")]}, {}, "the same options",
    ),
    "equal names": (
        lambda: {"doubled": doubled(), "doubled_x_count": doubled()}, {},
        "differ, got 'doubled_x_count' of doubled and of doubled_x_count; export one",
    ),
    "notes": (noisy, {}, r"got 'f', which prints or checks .* without ted\.print"),
    "notes for any number of rows": (lambda: noisy(0), {}, "'f', which prints or checks"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_exported_is_refused(case: str, tmp_path: Path) -> None:
    make, options, message = REFUSED[case]
    with pytest.raises(CompileError, match=message):
        ted.export(make(), tmp_path / "made", **options)
    assert not (tmp_path / "made").exists()


def test_code_for_files_asks_for_no_registers(tmp_path: Path) -> None:
    f = doubled((64,), "bfloat16", target="cpu:avx512_amx,threads=1")
    ted.export(f, tmp_path, library="objects")
    assert f.portable.cpu.name == "avx512_amx"
    assert (f.for_files.cpu.name, f.for_files.options.threads) == ("avx512", 1)


def test_a_function_must_not_have_the_name_of_one_that_it_calls(tmp_path: Path) -> None:
    x = ted.placeholder((3,), "int64", name="x")
    reads = ted.compile([x], ted.compute((3,), lambda i: x[x[i]], name="y"))
    with pytest.raises(CompileError, match="that it calls, got 'ted_index_error'"):
        ted.export({"ted_index_error": reads}, tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompileError, match=r"a folder that can be written, got .*file"):
        ted.export(doubled(), tmp_path / "file")


def test_missing_and_failing_tools_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    monkeypatch.setenv("AR", "false")
    with pytest.raises(CompileError, match=r"no-such-compiler .* name it by \$CC, or export"):
        ted.export(doubled(), tmp_path, library="shared")
    with pytest.raises(CompileError, match="AR: false must succeed, got exit code 1"):
        ted.export(doubled(), tmp_path)
    monkeypatch.setenv("AR", "'ar")
    with pytest.raises(CompileError, match=r"\$AR is a command, got \"'ar\": No closing"):
        ted.export(doubled(), tmp_path)
    exported = ted.export(doubled(), tmp_path, library="objects")
    assert exported.library is None
    assert [path.name for path in exported.objects] == ["doubled.o"]


def test_a_header_says_types_shapes_and_machine(tmp_path: Path) -> None:
    x = ted.placeholder((2, 3), "bfloat16", name="x")
    y = ted.placeholder((), "bool", name="y")
    f = ted.compile([x, y], [ted.where(y, x, -x), ted.sum(x)], "cpu:sse2,threads=2")
    text = ted.export({"f": f}, tmp_path, library="objects").header.read_text()
    assert "const uint16_t *data;\n    int64_t count;\n  } x; /* bfloat16[2, 3] */" in text
    assert "const uint8_t *data;\n    int64_t count;\n  } y; /* bool[] */" in text
    assert "f_y_count = 1" in text
    assert "x86_64 with sse2; threads: at most 2" in text


def test_code_of_another_architecture_is_exported_without_its_runtime(tmp_path: Path) -> None:
    row, number = ("neon", 183) if is_x86() else ("sse2", 62)  # as ELF counts machines
    exported = ted.export(doubled(target=f"cpu:{row}"), tmp_path, library="objects")
    assert int.from_bytes(exported.objects[0].read_bytes()[18:20], "little") == number
    assert not (tmp_path / "libted_runtime.a").exists()


def test_names_for_c_differ_and_are_no_words() -> None:
    assert c_names(["a.b", "a_b", "int", "errno", "3", "é", ""]) == [
        "a_b", "a_b_2", "int_", "errno_", "_3", "array", "array_2",
    ]  # fmt: skip


def saved(f: Any, path: Path) -> Any:
    f.save(path)
    return ted.load(path)


def test_a_saved_function_computes_the_same(tmp_path: Path) -> None:
    x = ted.placeholder((5, 4), "float64", name="x")
    w = ted.placeholder((4, 3), "bfloat16", name="w")
    table = ted.constant(np.arange(5000.0))
    y = ted.compute((5, 3), lambda i, j: ted.exp(x[i, j]) + table[4000 + i], name="y")
    f = ted.compile([x, w], [y, ted.cast(w, "float32") * 2])
    g = saved(f, tmp_path / "f.ted")
    a = np.random.default_rng(0).standard_normal((5, 4))
    b = np.ones((4, 3), ml_dtypes.bfloat16)
    for one, other in zip(f(a, b), g(a, b), strict=True):
        np.testing.assert_array_max_ulp(one, other, 1)
        assert one.dtype == other.dtype
    out = np.zeros((5, 3))
    assert g(a, b, out=[out, None])[0] is out
    assert g.peak_bytes > 0
    assert repr(g) == f"<SavedFunction main(x: float64[5, 4], w: bfloat16[4, 3]) for {g.target}>"
    g.save(tmp_path / "again.ted")
    assert (tmp_path / "again.ted").read_bytes() == (tmp_path / "f.ted").read_bytes()


def test_a_function_that_tests_numbers_is_not_saved(tmp_path: Path) -> None:
    """Its results for tests would be results of the file's function, which tests nothing."""
    f = ted.function(ted.log, debug_nans=True).compiled(np.ones(3, "f4"))
    with pytest.raises(CompileError, match="save: a program for files returns its results alone"):
        f.save(tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_pickles_hold_the_code() -> None:
    f = doubled()
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(f))))
    np.testing.assert_array_equal(again(np.ones(3, "f4")), [2, 2, 2])
    assert copy.deepcopy(f) is f
    assert copy.copy(again) is again


def test_errors_of_a_saved_function_name_the_program(tmp_path: Path) -> None:
    x = ted.placeholder((3,), "int64", name="x")
    f = saved(ted.compile([x], ted.compute((3,), lambda i: x[x[i]]), name="reads"), tmp_path / "f")
    with pytest.raises(
        ExecutionError, match=r"reads: .* tensor x has extent 3 .* index 7, at test"
    ):
        f(np.array([0, 7, 1]))
    with pytest.raises(ExecutionError, match="reads: expected 1 arguments"):
        f()


def test_a_donated_argument_of_a_saved_function_is_taken_over(tmp_path: Path) -> None:
    x = ted.placeholder((4,), name="x")
    f = saved(ted.compile([x], x + 1.0, donate=[x]), tmp_path / "f")
    array = np.zeros(4, "f4")
    assert f(array) is array
    np.testing.assert_array_equal(array, 1)


def test_loading_a_function_needs_no_compiler(tmp_path: Path) -> None:
    doubled().save(tmp_path / "f")
    program = f"""
import sys, numpy, ted
print(ted.load({str(tmp_path / "f")!r})(numpy.ones(3, "f4")))
print([name for name in ("torch_mlir", "llvmlite", "islpy") if name in sys.modules])
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[2. 2. 2.]\n[]\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("program.json", b"{}", "a file of a compiled function as f.save writes it, got 'format'"),
        ("program.json", b"no JSON", "a file of a compiled function"),
        ("program.json", b"[]", "a file of a compiled function"),
        ("code.so", b"no library", "code that this machine loads from a file, got"),
        ("constants.npz", b"", "a file of a compiled function"),
    ],
)
def test_damaged_files_are_refused(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    doubled().save(tmp_path / "f")
    with zipfile.ZipFile(tmp_path / "f") as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "g", "w") as archive:
        for one, content in {**parts, name: data}.items():
            archive.writestr(one, content)
    with pytest.raises(ExecutionError, match=message):
        ted.load(tmp_path / "g")


def test_bytes_that_changed_on_their_way_are_found(tmp_path: Path) -> None:
    doubled().save(tmp_path / "f")
    data = bytearray((tmp_path / "f").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(ExecutionError, match="Bad CRC-32"):
        ted.load(tmp_path / "f")
    (tmp_path / "f").write_bytes(data[:100])
    with pytest.raises(ExecutionError, match="not a zip file"):
        ted.load(tmp_path / "f")


def test_code_for_another_cpu_and_wrong_wishes_are_refused(tmp_path: Path) -> None:
    foreign = doubled(target="cpu:neon" if is_x86() else "cpu:sse2")
    with pytest.raises(CompileError, match=r"save: code for .* is linked by a compiler for it"):
        foreign.save(tmp_path / "f")
    doubled().save(tmp_path / "f")
    with pytest.raises(ExecutionError, match="`like` is for arrays, got a compiled function in"):
        ted.load(tmp_path / "f", like=[])
    with pytest.raises(ExecutionError, match=r"save: a file that can be written, got .*missing"):
        doubled().save(tmp_path / "missing" / "f")
    rows = [row for row in CPUS.values() if row not in executable_cpus() and not is_foreign(row)]
    for row in rows:
        if not row.multiplies_matrices:
            doubled(target=f"cpu:{row.name}").save(tmp_path / "newer")
            with pytest.raises(ExecutionError, match=r"needs a CPU with .* 'cpu:sse2'"):
                ted.load(tmp_path / "newer")


def is_x86() -> bool:
    return host_cpu().architecture == "x86_64"


def test_loops_of_files_call_functions_on_vectors(tmp_path: Path) -> None:
    """Nobody calls those before loops are vectorised, and each of two versions has them."""
    row = "cpu:avx2" if is_x86() else "cpu:neon"
    inputs = [ted.placeholder((n,), "float64", name="x") for n in (256, 512)]
    versions = [ted.compile([x], ted.sin(x), row) for x in inputs]
    (path,) = ted.export({"sines": versions}, tmp_path, library="objects").objects
    listed = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    assert re.search(r" t ted_sin_f64_x\d", listed)
    assert re.findall(r" T (\w+)", listed) == ["sines"]


@pytest.mark.parametrize("sizes", [(4, 5000), (5000, 4)])
def test_versions_may_hold_other_constants(sizes: tuple[int, int], tmp_path: Path) -> None:
    """A small array is a part of the code, a large one an input that callers do not see."""

    @ted.function
    def f(x: Any) -> Any:
        return x + np.linspace(0, 1, x.shape[0])

    versions = [f.compiled(np.zeros(n)) for n in sizes]
    exported = ted.export({"f": versions}, tmp_path, library="shared")
    call = ctypes.CDLL(str(exported.library)).f
    for n in sizes:
        x, y, report = np.ones(n), np.empty(n), np.zeros(16, np.int64)
        arrays = np.array([x.ctypes.data, n, y.ctypes.data, n])
        assert call(ctypes.c_void_p(arrays.ctypes.data), ctypes.c_void_p(report.ctypes.data)) == 0
        np.testing.assert_allclose(y, 1 + np.linspace(0, 1, n))


def test_folders_that_are_not_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doubled().save(tmp_path / "f")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(ExecutionError, match=r"load: .*missing.*; name a folder for it by \$TMP"):
        ted.load(tmp_path / "f")
    with pytest.raises(CompileError, match=r"save: .*missing.*; name a folder for it by \$TMPDIR"):
        doubled().save(tmp_path / "g")


def test_what_is_no_file_of_a_function_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=r"load: a file that can be read, got .*directory"):
        ted.load(tmp_path)
    with pytest.raises(ExecutionError, match=r"a path is text or a pathlib\.Path, got 99"):
        ted.load(99)  # pyright: ignore[reportArgumentType]
