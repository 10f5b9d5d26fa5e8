"""Functions of ted in programs of C and C++: built as users build them, run under sanitizers."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import ted
from ted.api.exporting import Exported
from ted.tools import ted_translate

EXAMPLE = Path(__file__).parents[2] / "examples" / "from_c"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined"]
ENDS = """
#include <stdio.h>
#include <stdlib.h>
#include "all.h"

static void say(int status, const struct ted_report *report) {
  char text[200];
  ted_report_text(status, report, text, sizeof text);
  printf("%d %s\\n", status, text);
}

int main(void) {
  static float x[f_x_count], y[f_f_count], z[12];
  int64_t i[f_i_count] = {0, 4, 2};
  struct ted_report report;
  for (int k = 0; k < f_x_count; k++)
    x[k] = (float)k;
  struct f_arguments a = {.x = {x, f_x_count}, .i = {i, f_i_count}, .f = {y, f_f_count}};
  say(f(&a, &report), &report);
  for (int k = 0; k < f_f_count; k++)
    printf("%g%c", y[k], k + 1 < f_f_count ? ' ' : '\\n');
  i[1] = 5;
  say(f(&a, &report), &report);
  i[1] = 4;
  a.x.count = 14;
  say(f(&a, &report), &report);
  a.x.count = f_x_count;
  a.f.data = x + 3;
  say(f(&a, &report), &report);
  a.f.data = NULL;
  say(f(&a, &report), &report);
  a.f.data = (float *)((char *)y + 1);
  say(f(&a, &report), &report);
  printf("%d without a report\\n", f(&a, NULL));
  struct g_arguments b = {.x = {x, 8}, .result = {z, 8}};
  say(g(&b, &report), &report);
  printf("%g\\n", z[7]);
  b.x.count = b.result.count = 12;
  say(g(&b, &report), &report);
  printf("%g\\n", z[11]);
  b.x.count = 9;
  say(g(&b, &report), &report);
  b.x.count = 8;
  say(g(&b, &report), &report);
  say(g(NULL, &report), &report);
  return 0;
}
"""
SAID = """0 f: the call ended well
100 102 104 112 114 116 106 108 110
1 f: index out of range: tensor x has extent 5 in dim 0, got index 5, at test_from_c.py:NN
16 f: argument x needs 15 elements, got 14
19 f: result f must not share bytes with another array
17 f: argument f needs 9 elements, got NULL
18 f: argument f must lie at a multiple of 4 bytes
18 without a report
0 g: the call ended well
14
0 g: the call ended well
22
21 g: no version takes these sizes, got 9 elements of x
21 g: no version takes these sizes, got 12 elements of result
23 g: a call takes a struct of arguments, got NULL
"""


SMALL = """
#include <stdio.h>
#include <xmmintrin.h>
#include "all.h"

int main(void) {
  float x[2] = {3e-45f, 1}, y[2];
  struct ted_report report;
  for (unsigned flushes = 0; flushes <= 0x8040; flushes += 0x8040) {
    unsigned mode = 0x5f80 | flushes; /* upward */
    struct keep_arguments a = {{x, 2}, {y, 2}};
    _mm_setcsr(mode);
    int status = keep((void *)&a, &report), met = report.met;
    unsigned left = _mm_getcsr();
    printf("%d %d %d %x", status, ((int *)y)[0], met, left ^ mode);
    status = flush((void *)&a, &report), met = report.met;
    left = _mm_getcsr();
    printf(", %d %d %d %x", status, ((int *)y)[0], met, left ^ mode);
    status = caller((void *)&a, &report), met = report.met;
    left = _mm_getcsr();
    printf(", %d %d %d %x\\n", status, ((int *)y)[0], met, left ^ mode);
  }
  return 0;
}
"""


def built(source: Path, exported: Exported, flags: Sequence[str], tool: str = "cc") -> Path:
    """A program with the library."""
    program = exported.folder / source.stem
    libraries = [str(exported.library), str(exported.folder / "libted_runtime.a")]
    command = [tool, *flags, f"-I{exported.folder}", str(source), *libraries, "-lm", "-pthread"]
    subprocess.run([*command, "-o", str(program)], check=True, timeout=120)
    return program


def said(program: Path) -> str:
    return subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout


def checked_functions() -> dict[str, object]:
    """`f` reads x at indices that are data, and a large constant; `g` has two sizes."""
    table, n = np.arange(3000, dtype="f4"), ted.size("n")
    x, i = ted.placeholder((5, 3), name="x"), ted.placeholder((3,), "int64", name="i")
    taken = ted.compute((3, 3), lambda a, b: x[i[a], b] + ted.constant(table)[b + 100], name="f")
    rows = ted.placeholder((n, 2), name="x")
    twice = ted.compile([rows], ted.compute((n, 2), lambda a, b: rows[a, b] * 2, name="result"))
    return {"f": ted.compile([x, i], taken), "g": [twice.specialise(n=k) for k in (4, 6)]}


def test_arguments_are_checked_and_results_are_right(tmp_path: Path) -> None:
    exported = ted.export(checked_functions(), tmp_path, "all")
    (tmp_path / "ends.c").write_text(ENDS)
    printed = said(built(tmp_path / "ends.c", exported, ["-std=c11", *STRICT]))
    assert re.sub(r"py:\d+", "py:NN", printed) == SAID


@pytest.mark.skipif(platform.machine() != "x86_64", reason="asks the mode of x86")
def test_subnormal_numbers_are_what_the_function_was_compiled_for(tmp_path: Path) -> None:
    x = ted.placeholder((2,), name="x")
    made = {m: ted.compile([x], x * 0.5 + x, subnormals=m) for m in ("keep", "flush", "caller")}
    exported = ted.export(made, tmp_path, "all")
    words = re.findall(r"subnormals: (.*)[.] ", exported.header.read_text())
    assert words == ["kept", "taken for zero", "as the caller's thread does"]
    (tmp_path / "small.c").write_text(SMALL)
    printed = said(built(tmp_path / "small.c", exported, ["-std=c11", "-Wall", "-Werror"]))
    assert printed == "0 3 1 0, 0 0 0 0, 0 3 1 0\n0 3 1 0, 0 0 0 0, 0 0 0 0\n"


def test_the_example_learns_as_in_python(tmp_path: Path) -> None:
    assert ted_translate.main([str(EXAMPLE / "kernels.py"), "--to", "static", "--name",
                               "regression", "-o", str(tmp_path)]) == 0  # fmt: skip
    exported = Exported(tmp_path, tmp_path / "regression.h", (), tmp_path / "libregression.a")
    printed = said(built(EXAMPLE / "main.c", exported, ["-std=c11", *STRICT]))
    x = np.sin(1 + np.outer(np.arange(200), np.arange(3) + 1.7))
    loss = np.mean(np.tanh(x @ [0.5, -1.0, 0.25]) ** 2)
    assert f"step   0  loss {loss:.10f}" in printed
    assert "weights 0.500000 -1.000000 0.250000" in printed
    printed = said(built(EXAMPLE / "main.cpp", exported, ["-std=c++11", *STRICT], "c++"))
    assert f"tanh(1.5) is {np.tanh(1.5):.12f}" in printed
    assert "predict: argument w needs 3 elements, got 2" in printed


def test_the_program_of_the_document_runs(tmp_path: Path) -> None:
    x, w = ted.placeholder((3, 4), name="x"), ted.placeholder((4,), name="w")
    loss = ted.sum(ted.tanh(x @ w))
    dw = ted.differentiate(loss, [w])
    exported = ted.export(ted.compile([x, w], [loss, *dw], name="loss"), tmp_path)
    text = (EXAMPLE.parents[1] / "docs" / "c.md").read_text()
    (tmp_path / "main.c").write_text(text.partition("```c\n")[2].partition("```")[0])
    printed = said(built(tmp_path / "main.c", exported, ["-std=c11", *STRICT]))
    assert printed == f"{np.tanh(0.5):.4f} {0.5 * (1 - np.tanh(0.5) ** 2):.4f}\n"


def test_a_program_with_one_kernel_is_small(tmp_path: Path) -> None:
    exported = ted.export(checked_functions(), tmp_path, "all")
    (tmp_path / "ends.c").write_text(ENDS)
    program = built(tmp_path / "ends.c", exported, ["-Os", "-s", "-Wl,--gc-sections"])
    assert program.stat().st_size <= 200_000
    assert "0 f: the call ended well" in said(program)


def test_a_shared_library_shows_its_functions_alone(tmp_path: Path) -> None:
    exported = ted.export(checked_functions(), tmp_path, "all", library="shared")
    named = subprocess.run(
        ["nm", "-D", "--defined-only", str(exported.library)], check=True, capture_output=True,
        text=True,
    ).stdout  # fmt: skip
    assert {line.split()[-1] for line in named.splitlines()} == {"f", "g", "ted_report_text"}
    (tmp_path / "ends.c").write_text(ENDS)
    command = ["cc", f"-I{tmp_path}", str(tmp_path / "ends.c"), f"-L{tmp_path}", "-lall"]
    program = tmp_path / "ends"
    subprocess.run([*command, f"-Wl,-rpath,{tmp_path}", "-o", str(program)], check=True)
    assert re.sub(r"py:\d+", "py:NN", said(program)) == SAID


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "ctest", "pkg-config"))),
    reason="needs cmake, ctest and pkg-config",
)
def test_cmake_builds_the_example_and_pkg_config_finds_a_library(tmp_path: Path) -> None:
    folder = subprocess.run(
        ["ted-translate", "--cmake-dir"], check=True, capture_output=True, text=True, env=_path()
    ).stdout.strip()
    for command in (
        ["cmake", "-S", str(EXAMPLE), "-B", str(tmp_path), f"-Dted_DIR={folder}"],
        ["cmake", "--build", str(tmp_path)],
        ["ctest", "--test-dir", str(tmp_path)],
    ):
        subprocess.run(command, check=True, capture_output=True, env=_path(), timeout=300)
    given = {**_path(), "PKG_CONFIG_PATH": str(tmp_path / "regression.ted")}
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "regression"], check=True, capture_output=True,
        text=True, env=given,
    ).stdout.split()  # fmt: skip
    program = tmp_path / "by_pkg_config"
    subprocess.run(["cc", str(EXAMPLE / "main.c"), *flags, "-o", str(program)], check=True)
    assert "weights 0.500000" in said(program)


def _path() -> dict[str, str]:
    """The environment with the commands of this installation."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


CLOSES = """
#include <dlfcn.h>
#include <unistd.h>
#include "rows.h"

static float x[rows_x_count], y[rows_result_count];

int main(int count, char **arguments) {
  for (int k = 0; k < 3; k++) {
    void *library = dlopen(arguments[count - 1], RTLD_NOW);
    int (*call)(const struct rows_arguments *, struct ted_report *) = dlsym(library, "rows");
    struct rows_arguments a = {.x = {x, rows_x_count}, .result = {y, rows_result_count}};
    if (call(&a, NULL))
      return 1;
    dlclose(library);
    usleep(2000);
  }
  return 0;
}
"""


def test_a_library_may_be_closed_while_its_threads_sleep(tmp_path: Path) -> None:
    x = ted.placeholder((300, 300), name="x")
    f = ted.compile([x], ted.compute((300, 300), lambda i, j: ted.tanh(x[j, i]), name="result"))
    (tmp_path / "closes.c").write_text(CLOSES)
    for runtime in ("static", "shared"):
        made = ted.export({"rows": f}, tmp_path / runtime, library="shared", runtime=runtime)
        program = tmp_path / runtime / "closes"
        command = ["cc", "-D_GNU_SOURCE", f"-I{made.folder}", str(tmp_path / "closes.c"), "-ldl"]
        subprocess.run([*command, "-o", str(program)], check=True, timeout=120)
        environment = {**os.environ, "TED_NUM_THREADS": "4"}
        subprocess.run([program, str(made.library)], check=True, env=environment, timeout=60)
