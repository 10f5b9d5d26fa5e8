"""The runtime's tests again, on libted_runtime and the extension under ASan and UBSan."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
TESTS = (
    "test_faults.py", "test_calls.py", "test_bad_calls.py", "test_guarded_buffers.py",
    "test_threads.py",
)  # fmt: skip
# CPython keeps memory until it ends; libraries of others mix allocators; tests ask for huge sizes.
OPTIONS = (
    "detect_leaks=0:alloc_dealloc_mismatch=0:detect_odr_violation=0:allocator_may_return_null=1"
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "CI" not in os.environ and None in (shutil.which("gcc"), shutil.which("cmake")),
        reason="gcc and cmake build the sanitized library",
    ),
]


def library(name: str) -> str:
    """The file of one of gcc's libraries."""
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run_sanitized(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on the build; gcc's C++ library comes early, for ASan wraps its exceptions."""
    preload = f"{library('libasan.so')} {library('libstdc++.so.6')}"
    environment = {**os.environ, "LD_PRELOAD": preload, "ASAN_OPTIONS": OPTIONS}
    script = str(Path(__file__).with_name("sanitized.py"))
    # Without capture, for ASan writes to the file descriptor; an exception of torch ends ASan.
    options = ["-q", "-s", "-p", "no:cacheprovider", "-k", "not tracks_gradients"]
    command = [sys.executable, script, str(folder), *options, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native part with sanitizers, out of the tree."""
    folder = tmp_path_factory.mktemp("sanitized")
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    compiler = [f"-DCMAKE_C_FLAGS={FLAGS}", "-DCMAKE_C_COMPILER=gcc"]
    for command in ([*configure, *compiler], ["cmake", "--build", str(folder)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("name", TESTS)
def test_the_runtime_is_clean_under_sanitizers(build: Path, name: str):
    done = run_sanitized(build, "-n0", str(Path(__file__).with_name(name)))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "passed" in done.stdout


def test_the_pool_is_clean_under_thread_sanitizer(tmp_path: Path) -> None:
    sources = [Path(__file__).with_name("pool_stress.c"), *(ROOT / "runtime").glob("*.c")]
    flags = ["-std=gnu11", "-O1", "-g", "-fsanitize=thread", f"-I{ROOT / 'runtime/include'}"]
    program = str(tmp_path / "stress")
    command = ["gcc", *flags, *map(str, sources), "-o", program, "-lpthread"]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer does not know this kernel's layout of memory")
    assert done.returncode == 0, done.stderr[-4000:]


def test_an_overrun_is_found(build: Path, tmp_path: Path):
    faulty = tmp_path / "test_overrun.py"
    faulty.write_text(
        "import ctypes\n"
        "from ted import _runtime\n"
        "import numpy as np\n"
        "def test_overrun():\n"
        "    data = np.frombuffer(_runtime.Buffer(100), np.uint8)\n"
        "    ctypes.memset(data.ctypes.data, 0, 1000)\n"
    )
    done = run_sanitized(build, "-n0", "--rootdir", str(tmp_path), str(faulty))
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr
