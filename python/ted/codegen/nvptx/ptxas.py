"""PTX -> machine code of one GPU, and what each kernel takes of it: the optional assembler.

The driver assembles PTX by itself when it loads it. Here it happens beforehand, on any machine, and
says how many registers and how much shared memory a kernel uses and whether values are spilled.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ted.codegen import disk_cache
from ted.codegen.nvptx import toolkit
from ted.errors import CompileError
from ted.records import dataclass

TIMEOUT = 300.0  # seconds

_ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Resources:
    """What a kernel takes: registers of a thread, bytes of its stack and spills, static shared."""

    registers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0


@dataclass(frozen=True)
class Assembled:
    """Machine code, the resources of each kernel, and the assembler's warnings."""

    cubin: bytes
    kernels: Mapping[str, Resources]
    warnings: tuple[str, ...] = ()


def assemble(ptx: str, chip: str) -> Assembled:
    """Assemble PTX for a chip, such as "sm_90a"; equal requests are answered from the disk.

    Raises: CompileError without an assembler, and with its message for PTX that it rejects.
    """
    program = toolkit.ptxas()
    if program is None:
        raise CompileError(
            "cuda: assembling needs ptxas, got none on PATH, in the nvidia-cuda-nvcc package, "
            "$CUDA_HOME or /usr/local/cuda; install it with: pip install nvidia-cuda-nvcc, or let "
            "the driver assemble the PTX"
        )
    state = program.stat()
    identity = f"{program} {state.st_size} {state.st_mtime_ns}"
    name = disk_cache.key("cubin", ptx, chip, identity)
    stored = disk_cache.load(name)
    if stored is not None:
        return _from_bytes(stored)
    assembled = _run(program, ptx, chip)
    disk_cache.store(name, _to_bytes(assembled))
    return assembled


def _run(program: Path, ptx: str, chip: str) -> Assembled:
    with tempfile.TemporaryDirectory(prefix="ted-") as folder:
        source, output = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [str(program), "-v", f"--gpu-name={chip}", str(source), "-o", str(output)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileError(f"cuda: ptxas must run, got {error}") from None
        said = (done.stdout + done.stderr).replace(f"{source}, ", "")
        if done.returncode != 0:
            reason = " ".join(said.split()) or f"status {done.returncode}"
            raise CompileError(f"cuda: ptxas must accept the PTX for {chip}, got {reason}")
        return Assembled(output.read_bytes(), _resources(said), _warnings(said))


def _resources(said: str) -> dict[str, Resources]:
    kernels = {}
    _, *parts = _ENTRY.split(said)  # name, text, name, text
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        stack, stores, loads = (int(n) for n in _first(_STACK, text, ("0", "0", "0")))
        (registers,), (shared,) = _first(_USED, text, ("0",)), _first(_SHARED, text, ("0",))
        kernels[name] = Resources(int(registers), stack, stores, loads, int(shared))
    return kernels


def _first(pattern: re.Pattern[str], text: str, default: tuple[str, ...]) -> tuple[str, ...]:
    found = pattern.search(text)
    return default if found is None else found.groups()


def _warnings(said: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in said.splitlines() if re.search(r"\bwarning\b", line))


def _to_bytes(assembled: Assembled) -> bytes:
    kernels = {name: asdict(resources) for name, resources in assembled.kernels.items()}
    cubin = base64.b64encode(assembled.cubin).decode()
    return json.dumps([cubin, kernels, assembled.warnings]).encode()


def _from_bytes(data: bytes) -> Assembled:
    cubin, kernels, warnings = json.loads(data)
    resources = {name: Resources(**fields) for name, fields in kernels.items()}
    return Assembled(base64.b64decode(cubin), resources, tuple(warnings))
