"""Files of NVIDIA's toolkit: `libdevice.10.bc` and `ptxas`, wherever they are installed.

Each has an environment variable of its own, then the packages of this environment are asked
(cuda-pathfinder for libdevice, NVIDIA's wheels), then PATH and an installed toolkit. None of it is
needed for kernels that call no mathematical function.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ted.errors import CompileError

LIBDEVICE = "nvvm/libdevice/libdevice.10.bc"
PTXAS = "bin/ptxas"
TOOLKITS = ("/usr/local/cuda", "/opt/cuda")  # where distributions put one


def libdevice() -> Path:
    """The bitcode of the mathematical functions `__nv_*`.

    Raises: CompileError when it is not found.
    """
    found = (
        _named("TED_LIBDEVICE")
        or _by_pathfinder()
        or next(_in_wheels(LIBDEVICE), None)
        or next(_in_toolkits(LIBDEVICE), None)
    )
    if found is None:
        raise CompileError(
            "cuda: mathematical functions need libdevice.10.bc, got none in the nvidia-nvvm "
            "package, $CUDA_HOME or /usr/local/cuda; install it with: pip install nvidia-nvvm, "
            "or name the file in TED_LIBDEVICE"
        )
    return found


def ptxas() -> Path | None:
    """The assembler; None when there is none, since the driver has its own.

    Raises: CompileError when TED_PTXAS names no file.
    """
    on_path = shutil.which("ptxas")
    return (
        _named("TED_PTXAS")
        or next(_in_wheels(PTXAS), None)
        or (Path(on_path) if on_path else None)
        or next(_in_toolkits(PTXAS), None)
    )


def _named(variable: str) -> Path | None:
    name = os.environ.get(variable)
    if not name:
        return None
    if not os.path.isfile(name):
        raise CompileError(f"cuda: {variable} must name a file, got {name!r}")
    return Path(name)


def _by_pathfinder() -> Path | None:
    try:
        return Path(importlib.import_module("cuda.pathfinder").find_bitcode_lib("device"))
    except (ImportError, AttributeError, RuntimeError):  # absent, too old, found nothing
        return None


def _in_wheels(relative: str) -> Iterator[Path]:
    """Where NVIDIA's packages in this environment have a file, the newest release first."""
    nvidia = importlib.util.find_spec("nvidia")
    places = [Path(p) for p in (nvidia.submodule_search_locations or ())] if nvidia else []
    for place in places:
        yield from filter(Path.is_file, sorted(place.glob(f"cu[0-9]*/{relative}"), reverse=True))
        yield from filter(Path.is_file, [place / "cuda_nvcc" / relative])


def _in_toolkits(relative: str) -> Iterator[Path]:
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *TOOLKITS]
    return filter(Path.is_file, (Path(root) / relative for root in roots if root))
