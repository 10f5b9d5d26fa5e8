"""Compiled functions as libraries for C and C++, which need neither Python nor ted.

Before: ted.export({"f": ted.compile([x], [y])}, "build/f")
After:  build/f/f.h, build/f/libf.a, libted_runtime.a: `f(&arguments, &report)` in C
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ted import __version__
from ted.api.cpu_functions import CompiledFunction
from ted.api.host import is_foreign
from ted.api.saving import check_portable, toolchain
from ted.codegen.exported.entries import object_file
from ted.codegen.exported.headers import cmake_package, header, pkg_config
from ted.codegen.exported.interface import (
    Interface,
    Parameter,
    Version,
    c_names,
    check_declared,
    check_versions,
    checked_name,
)
from ted.errors import CompileError
from ted.records import dataclass
from ted.runtime.buffers import ArgSpec
from ted.runtime.library import headers_path, library_path, static_library_path

KINDS = ("objects", "static", "shared")
RUNTIMES = ("static", "shared")


@dataclass(frozen=True)
class Exported:
    """The files that `export` wrote: `library` is None where only objects were asked for."""

    folder: Path
    header: Path
    objects: tuple[Path, ...]
    library: Path | None


def export(
    functions: Any,
    folder: str | Path,
    name: str | None = None,
    *,
    library: str = "static",
    runtime: str = "static",
) -> Exported:
    """Write compiled functions as a library for C and C++ into a folder.

    `functions` is what `ted.compile` or `ted.Function.compiled` gave, for a CPU, or a dict of names
    and such; several under one name, in a list, are versions for other sizes. `library` is
    "static", "shared", or "objects" alone; `runtime` says whether libted_runtime is a part of it or
    a shared library beside it. `name` is that of the header and the library, by default the first
    function's. $CC and $AR name the tools that make libraries.
    Shapes: arrays are passed with their number of elements, which is checked. Results are arrays of
    their own: a donated argument is one that is only read.
    Raises: CompileError for what is no compiled function for a CPU, names that C does not have,
    versions that do not go together, a folder that cannot be written, missing tools.
    """
    if not isinstance(folder, (str, os.PathLike)):
        raise CompileError(f"export: folder is a path, got {folder!r}")
    _check_choice("library", library, KINDS)
    _check_choice("runtime", runtime, RUNTIMES)
    interfaces = [_interface(*pair) for pair in _named(functions)]
    check_declared(interfaces)
    whole = checked_name(interfaces[0].name if name is None else name, "the name of a library")
    codes = [object_file(one) for one in interfaces]
    try:
        return _write(Path(folder), whole, interfaces, codes, library, runtime)
    except OSError as error:
        raise CompileError(
            f"export: a folder that can be written, got {folder}: {error.strerror}"
        ) from None


def _check_choice(what: str, given: object, choices: Sequence[str]) -> None:
    if not isinstance(given, str) or given not in choices:
        raise CompileError(f"export: {what} is one of {', '.join(choices)}, got {given!r}")


def _named(functions: Any) -> list[tuple[str, Sequence[CompiledFunction]]]:
    """Names with the versions of each function.

    Raises: CompileError for what is something else.
    """
    pairs = functions if isinstance(functions, Mapping) else {None: functions}
    if not pairs:
        raise CompileError("export: at least one function, got none")
    found: list[tuple[str, Sequence[CompiledFunction]]] = []
    for name, given in pairs.items():
        versions = list(given) if isinstance(given, list | tuple) else [given]
        if not versions:
            raise CompileError(f"export: {name} has at least one version, got none")
        for one in versions:
            if not isinstance(one, CompiledFunction):
                raise CompileError(
                    "export: functions that are compiled for a CPU and for fixed sizes, got "
                    f"{type(one).__name__}; take f.compiled(*arrays) of a traced function, "
                    ".specialise(n=...) of one of symbolic sizes"
                )
        found.append((versions[0].for_files.name if name is None else name, versions))
    return found


def _interface(name: str, functions: Sequence[CompiledFunction]) -> Interface:
    checked_name(name, "the name of a function")
    versions = [_version(one) for one in functions]
    check_versions(name, versions)
    options = functions[0].options
    rows = {one.options for one in functions}
    if len(rows) > 1:
        raise CompileError(
            f"export: versions of {name} are compiled with the same options, got "
            f"{' and '.join(sorted(map(str, rows)))}"
        )
    cpu, threads = functions[0].for_files.cpu, options.threads or 0
    return Interface(name, tuple(versions), cpu, threads, options.subnormals)


def _version(function: CompiledFunction) -> Version:
    code = function.for_files
    check_portable(code, "export")
    count = len(code.inputs) - len(code.constants)
    names = c_names(spec.name for spec in (*code.inputs[:count], *code.outputs))
    held = [f"constant_{k}" for k, _ in enumerate(code.constants)]
    given = zip(
        [*names[:count], *held], code.inputs, [None] * count + [*code.constants], strict=True
    )
    parameters = [_parameter(n, spec, False, array) for n, spec, array in given]
    results = zip(names[count:], code.outputs, strict=True)
    parameters += [_parameter(n, spec, True) for n, spec in results]
    return Version(code.texts, code.symbol, tuple(parameters), code.accesses)


def _parameter(
    name: str, spec: ArgSpec, is_result: bool, constant: np.ndarray[Any, Any] | None = None
) -> Parameter:
    size = spec.numpy_dtype.itemsize
    data = None if constant is None else np.ascontiguousarray(constant).tobytes()
    return Parameter(name, spec.dtype, spec.shape, spec.nbytes // size, size, is_result, data)


def _write(
    folder: Path,
    name: str,
    interfaces: Sequence[Interface],
    codes: Sequence[bytes],
    library: str,
    runtime: str,
) -> Exported:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(headers_path(), folder / "ted", dirs_exist_ok=True)
    (folder / f"{name}.h").write_text(header(name, interfaces, __version__))
    objects = tuple(folder / f"{one.name}.o" for one in interfaces)
    for path, code in zip(objects, codes, strict=True):
        path.write_bytes(code)
    beside = None if is_foreign(interfaces[0].cpu) else _runtime(library, runtime)
    if beside is not None:
        shutil.copy(beside, folder)
    made = _library(folder, name, objects, library, runtime)
    if made is not None:
        is_shared = library == "shared"
        needed = beside.name if beside is not None else ""
        (folder / f"{name}Config.cmake").write_text(
            cmake_package(name, made.name, needed, is_shared)
        )
        (folder / f"{name}.pc").write_text(pkg_config(name, __version__, needed, is_shared))
    return Exported(folder, folder / f"{name}.h", objects, made)


def _runtime(library: str, runtime: str) -> Path | None:
    """The library of the runtime that goes along, if it is no part of the other one."""
    if runtime == "shared":
        return Path(library_path())
    return None if library == "shared" else Path(static_library_path())


def _library(
    folder: Path, name: str, objects: Sequence[Path], library: str, runtime: str
) -> Path | None:
    if library == "objects":
        return None
    tools, made = toolchain(), folder / f"lib{name}.{'a' if library == 'static' else 'so'}"
    if library == "static":
        tools.archive(objects, made)
        return made
    beside = (f"-L{folder}", "-lted_runtime", "-Wl,-rpath,$ORIGIN")
    tools.link(objects, made, beside if runtime == "shared" else (static_library_path(),))
    return made
