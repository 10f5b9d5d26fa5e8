"""The C of the runtime is C11 for compilers that have neither GNU's extensions nor POSIX.

There is no Windows here. The fast test reads the sources as MSVC does: its macros, no header but
those below, and none of the words that it lacks. The slow one compiles them with the headers of
other systems, which the package `ziglang` has; it is not among those that the tests install.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted((ROOT / "runtime").glob("*.c")) + sorted((ROOT / "runtime/python").glob("*.c"))
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

MSVC = [
    "-std=c11", "-pedantic", "-nostdinc",
    "-undef", "-D_WIN32=1", "-D_MSC_VER=1939", "-D_M_X64=100", "-D__STDC_NO_ATOMICS__=1",
    "-D__declspec(x)=", f"-I{ROOT / 'runtime/include'}", f"-I{ROOT / 'runtime/python'}",
]  # fmt: skip
# What the sources may use of Microsoft's headers.
HEADERS = {
    "stdbool.h": "#define bool _Bool\n#define true 1\n#define false 0",
    "stddef.h": "typedef unsigned long long size_t; typedef long long ptrdiff_t;\n"
    "#define NULL ((void *)0)",
    "stdint.h": "typedef unsigned char uint8_t; typedef unsigned short uint16_t;"
    "typedef int int32_t; typedef unsigned uint32_t; typedef long long int64_t;"
    "typedef unsigned long long uint64_t; typedef long long intptr_t;"
    "typedef unsigned long long uintptr_t;\n"
    "#define INT32_MAX 2147483647\n#define PTRDIFF_MAX 9223372036854775807LL",
    "setjmp.h": "typedef int jmp_buf[64]; int setjmp(jmp_buf);"
    "_Noreturn void longjmp(jmp_buf, int);",
    "stdio.h": "#include <stddef.h>\ntypedef struct file FILE; extern FILE *const stderr;"
    "int fprintf(FILE *, const char *, ...); int snprintf(char *, size_t, const char *, ...);",
    "stdlib.h": "#include <stddef.h>\nvoid *malloc(size_t); void *calloc(size_t, size_t);"
    "void free(void *); _Noreturn void abort(void);",
    "string.h": "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);"
    "size_t strlen(const char *); int strcmp(const char *, const char *);"
    "char *strstr(const char *, const char *);"
    "int memcmp(const void *, const void *, size_t);",
    "time.h": "struct timespec { long long tv_sec; long tv_nsec; };\n#define TIME_UTC 1\n"
    "int timespec_get(struct timespec *, int);",
    "xmmintrin.h": "unsigned _mm_getcsr(void); void _mm_setcsr(unsigned);",
    "intrin.h": "long long _InterlockedExchangeAdd64(volatile long long *, long long);"
    "long long _InterlockedExchange64(volatile long long *, long long);"
    "long long _InterlockedCompareExchange64(volatile long long *, long long, long long);",
}
MISSING = (
    r"__attribute__|__builtin_\w+|__atomic_\w+|__sync_\w+|__asm__|__typeof__|_Atomic|_Thread_local"
)


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("msvc")
    for name, text in HEADERS.items():
        (folder / name).write_text(f"#pragma once\n{text}\n")
    return folder


def refusals(source: Path, headers: Path) -> str:
    """What such a compiler would say of a file; nothing for one that is right."""
    command = [str(COMPILER), *MSVC, f"-I{headers}", str(source)]
    read = subprocess.run([*command, "-fsyntax-only"], capture_output=True, text=True, check=False)
    text = subprocess.run([*command, "-E", "-P"], capture_output=True, text=True, check=False)
    said = [line for line in read.stderr.splitlines() if re.search(r"(error|warning): ", line)]
    # Tables of Python and NumPy hold functions as `void *`, which MSVC takes.
    said = [line for line in said if "function pointer" not in line]
    return "\n".join(said + re.findall(rf"\b(?:{MISSING})\b", text.stdout))


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_the_sources_need_nothing_that_msvc_lacks(headers: Path) -> None:
    assert len(SOURCES) == 13
    assert {s.name: refusals(s, headers) for s in SOURCES} == {s.name: "" for s in SOURCES}


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('__attribute__((visibility("default"))) void f(void) {}', "__attribute__"),
        ("int f(int *p) { return __atomic_load_n(p, 5); }", "__atomic_load_n"),
        ("static _Thread_local int x; int f(void) { return x; }", "_Thread_local"),
        ("#include <unistd.h>\nint f(void) { return 0; }", "unistd.h"),
        ("int f(int x) { return ({ x; }); }", "pedantic"),
    ],
)
def test_what_msvc_lacks_is_found(headers: Path, tmp_path: Path, text: str, word: str) -> None:
    source = tmp_path / "wrong.c"
    source.write_text(f"{text}\n")
    assert word in refusals(source, headers)


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_integers_of_windows_count_as_those_of_c(tmp_path: Path) -> None:
    """The half of `platform.h` for MSVC runs, over what its intrinsics are elsewhere."""
    (tmp_path / "intrin.h").write_text(
        "#define _InterlockedExchangeAdd64(p, v) __atomic_fetch_add(p, v, 5)\n"
        "#define _InterlockedExchange64(p, v) __atomic_exchange_n(p, v, 5)\n"
        "#define _InterlockedCompareExchange64(p, v, c) __sync_val_compare_and_swap(p, c, v)\n"
    )
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "ted/platform.h"\n'
        "int main(void) {\n"
        "  ted_atomic x = 5; int64_t seen = 4;\n"
        "  int64_t before = ted_add(&x, 2), old = ted_swap(&x, 9);\n"
        "  bool no = ted_replace(&x, &seen, 1), yes = ted_replace(&x, &seen, 3);\n"
        "  ted_atomic lock = 0;\n"
        "  ted_lock(&lock); int64_t held = ted_get(&lock); ted_unlock(&lock);\n"
        '  printf("%d %d %d%d %d %d %d%d\\n", (int)before, (int)old, no, yes, (int)seen,\n'
        "         (int)ted_get(&x), (int)held, (int)ted_get(&lock));\n"
        "}\n"
    )
    include = f"-I{ROOT / 'runtime/include'}"
    for flags in ([], ["-D__STDC_NO_ATOMICS__=1", f"-I{tmp_path}"]):
        command = [str(COMPILER), "-std=c11", include, *flags, "main.c", "-o", "main", "-pthread"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
        assert done.stdout == "5 7 01 9 3 10\n"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs pip install ziglang")
@pytest.mark.parametrize("target", ["x86_64-windows-gnu", "aarch64-macos", "aarch64-linux-gnu"])
def test_the_sources_compile_with_headers_of_other_systems(target: str, tmp_path: Path) -> None:
    flags = ["-target", target, "-std=c11", "-Wall", "-Wextra", "-Werror"]
    for source in SOURCES:
        command = [sys.executable, "-m", "ziglang", "cc", *flags, f"-I{ROOT / 'runtime/include'}"]
        made = ["-c", str(source), "-o", str(tmp_path / "made.o")]
        done = subprocess.run([*command, *made], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
