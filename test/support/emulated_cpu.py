"""Code for a CPU of another architecture, run by QEMU's emulation of it: numbers of NEON on x86.

With `$TED_TEST_EMULATED=neon` tests compile for that row, and their calls run a program that a
cross compiler links with the runtime: arrays go in and come out through pipes. It needs Debian's
`qemu-user` and `gcc-aarch64-linux-gnu`.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ted._runtime import IndexFault
from ted.api import cpu_functions, host, options
from ted.codegen.emission import assembly
from ted.codegen.jit import Compiled
from ted.machine import CPUS, Cpu
from ted.options import subnormals_code
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import BoundFunction, bound

ROW = "TED_TEST_EMULATED"
RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
ARCHITECTURE = "aarch64"
_PREFIX = "aarch64-linux-gnu-"
_MAIN = """
#include "ted/runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern void program({pointers}) __asm__("program");
static void *data[] = {{{nulls}}};
static const size_t bytes[] = {{{sizes}}};
static void packed(void **a) {{ (void)a; program({given}); }}
int main(void) {{
  for (int k = 0; k < {count}; ++k) {{
    if (posix_memalign(&data[k], 64, bytes[k] + 64)) return 3;
    memset(data[k], 0xa5, bytes[k]);
    if (k < {inputs} && fread(data[k], 1, bytes[k], stdin) != bytes[k]) return 4;
  }}
  struct ted_call call;
  int64_t head[6] = {{ted_call_run(&call, packed, 0, {threads}, {subnormals})}};
  memcpy(head + 1, &call.fault, sizeof call.fault);
  head[5] = call.peak;
  fwrite(head, sizeof head, 1, stdout);
  for (int k = {inputs}; k < {count}; ++k) fwrite(data[k], 1, bytes[k], stdout);
  return 0;
}}
"""


def can_emulate(cpu: Cpu) -> bool:
    """Whether there is a way to run code for a row; on ARM there is none for x86."""
    return cpu.architecture == ARCHITECTURE


def missing() -> list[str]:
    """The programs that are needed, and not installed."""
    wanted = (f"qemu-{ARCHITECTURE}", f"{_PREFIX}gcc", f"{_PREFIX}objcopy")
    return [name for name in wanted if shutil.which(name) is None]


def emulate(row: str) -> None:
    """Let this process compile for a row of another architecture, and run it emulated."""
    cpu = CPUS[row]
    assert can_emulate(cpu)
    for module in (host, cpu_functions):
        module.executable_cpus = lambda: (cpu,)
    for module in (host, options):
        module.host_cpu = lambda: cpu
    cpu_functions.bind = _bind


def _bind(
    code: int,
    inputs: Sequence[ArgSpec],
    outputs: Sequence[ArgSpec],
    *,
    name: str,
    accesses: Mapping[int, tuple[str, str]],
    donated: Mapping[int, int],
    owner: Compiled,
    threads: int | None,
    subnormals: str | None,
    notice: Any,
    constants: Sequence[np.ndarray],
) -> BoundFunction:
    del code, notice
    texts = [*map(bytes.decode, owner.made.objects)]
    code = assembly(texts, host.host_cpu())
    kernel = _Emulated(
        [code.encode()], inputs, outputs, name, threads or 2, subnormals_code(subnormals)
    )
    return bound(kernel, inputs, outputs, name, accesses, donated, constants)


class _Emulated:
    """What `ted._runtime.Kernel` is for code of this machine."""

    def __init__(
        self,
        objects: Sequence[bytes],
        inputs: Sequence[ArgSpec],
        outputs: Sequence[ArgSpec],
        name: str,
        threads: int,
        subnormals: int,
    ) -> None:
        self._specs, self._inputs = (*inputs, *outputs), len(inputs)
        self._objects, self._threads, self._subnormals = objects, threads, subnormals
        self._symbol = name if name == "main" else f"ted.{name}"
        self._program: Path | None = None
        self.peak_bytes = 0

    def fill(self, *arguments: Any) -> int | None:
        for k, (one, spec) in enumerate(zip(arguments, self._specs, strict=True)):
            fits = isinstance(one, np.ndarray) and one.flags.c_contiguous
            if not (fits and one.dtype == spec.numpy_dtype and one.shape == spec.shape):
                return k
        if self._program is None:
            self._program = _linked(self._objects, self._symbol, self._source())
        given = b"".join(a.tobytes() for a in arguments[: self._inputs])
        command = [f"qemu-{ARCHITECTURE}", str(self._program)]
        done = subprocess.run(command, input=given, capture_output=True, check=True)
        head, rest = np.frombuffer(done.stdout[:48], np.int64), done.stdout[48:]
        status, *fault, self.peak_bytes = (int(number) for number in head)
        if status == 1:
            raise IndexFault(*fault)
        assert status == 0, "the emulated call has memory"
        for one in arguments[self._inputs :]:
            one[...] = np.frombuffer(rest, one.dtype, one.size).reshape(one.shape)
            rest = rest[one.nbytes :]
        return None

    def fresh(self, *inputs: Any) -> None:
        """Makes no results: who calls hands them over."""

    def _source(self) -> str:
        count = len(self._specs)
        return _MAIN.format(
            pointers=", ".join(["void *"] * count), nulls=", ".join(["0"] * count),
            given=", ".join(f"data[{k}]" for k in range(count)),
            sizes=", ".join(str(spec.nbytes) for spec in self._specs),
            count=count, inputs=self._inputs, threads=self._threads, subnormals=self._subnormals,
        )  # fmt: skip


def _linked(objects: Sequence[bytes], symbol: str, source: str) -> Path:
    folder = _folder()
    place = Path(tempfile.mkdtemp(dir=folder))
    for k, text in enumerate(objects):
        (place / f"{k}.s").write_bytes(text)
        _run("gcc", "-c", f"{place}/{k}.s", "-o", f"{place}/{k}.o")
    _run("objcopy", "--redefine-sym", f"{symbol}=program", f"{place}/0.o")
    (place / "main.c").write_text(source)
    parts = [str(part) for part in place.glob("*.o")]
    _run(
        "gcc", "-O1", "-static", "-pthread", f"-I{RUNTIME}/include", f"{place}/main.c", *parts,
        *_runtime(), "-lm", "-o", f"{place}/program",
    )  # fmt: skip
    return place / "program"


@cache
def _runtime() -> tuple[str, ...]:
    made: list[str] = []
    for source in sorted(RUNTIME.glob("*.c")):
        made.append(f"{_folder()}/{source.stem}.o")
        _run("gcc", "-O2", "-pthread", f"-I{RUNTIME}/include", "-c", str(source), "-o", made[-1])
    return tuple(made)


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ted-emulated-")


def _folder() -> str:
    return _kept().name


def _run(tool: str, *arguments: str) -> None:
    subprocess.run([_PREFIX + tool, *arguments], check=True)
