"""ted-translate: programs of ted as assembly, LLVM IR, PTX, libraries for C, files for ted.load.

`ted-translate model.mlir --to asm` prints what a function of ted ops becomes. `ted-translate
kernels.py --to static -o build` writes a library of the compiled functions that a program in Python
defines, `--to saved` a file of each as `f.save` does, for a CPU or a GPU.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ted.errors import TedError
from ted.tools.command_line import Parser, guarded, show, write
from ted.tools.inputs import parse, read

FILES = {
    "objects": "object files", "static": "a static library", "shared": "a shared library",
    "saved": "files for ted.load",
}  # fmt: skip


def _parser() -> Parser:
    parser = Parser(
        "ted-translate", description=(__doc__ or "").splitlines()[0], allow_abbrev=False
    )
    parser.add_argument("input", nargs="?", help="a module of ted ops, or a program in Python")
    parser.add_argument("--entry", nargs="+", help="the functions; all of them where not given")
    parser.add_argument("--to", choices=(*TEXTS, *FILES), default="asm", help="what is made")
    parser.add_argument(
        "--target", help="the machine for a module, 'cpu:avx2'; Python says its own"
    )
    parser.add_argument("--name", help="of the library and its header")
    parser.add_argument("--runtime", choices=("static", "shared"), default="static")
    parser.add_argument("-o", dest="output", help="file for a text, folder for files")
    parser.add_argument("--cmake-dir", action="store_true", help="print the folder for ted_DIR")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit code."""
    return guarded("ted-translate", lambda: _main(argv), is_process=argv is None)


def _main(argv: Sequence[str] | None) -> int:
    flags = _parser().parse_args(argv)
    if flags.cmake_dir:
        import ted.errors

        show(str(Path(str(ted.errors.__file__)).parent / "cmake"))
        return 0
    if flags.input is None:
        raise TedError("input: a module of ted ops or a program in Python, got none")
    functions = _functions(flags)
    if flags.to in TEXTS:
        _write_text("\n".join(map(TEXTS[flags.to], functions.values())), flags.output)
        return 0
    if flags.output is None:
        raise TedError(f"-o: --to={flags.to}, {FILES[flags.to]}, needs a folder, got none")
    if flags.to == "saved":
        _save(functions, Path(flags.output))
        return 0
    from ted.api.exporting import export

    export(functions, flags.output, flags.name, library=flags.to, runtime=flags.runtime)
    return 0


def _save(functions: Mapping[str, Any], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TedError(
            f"-o: a folder that can be written, got {folder}: {error.strerror}"
        ) from None
    for name, function in functions.items():
        function.save(folder / f"{name}.ted")


def _write_text(text: str, output: str | None) -> None:
    if output is None:
        show(text)
    else:
        write(output, text.encode())


def _functions(flags: argparse.Namespace) -> dict[str, Any]:
    """The functions by name."""
    if not flags.input.endswith(".py"):
        return _of_module(flags.input, flags.entry, flags.target or "cpu")
    if flags.target is not None:
        raise TedError(
            f"--target: a program in Python says its own, got {flags.target!r} for {flags.input}"
        )
    found = _of_python(flags.input)
    return _chosen(found, flags.entry, flags.input)


def _chosen(found: Mapping[str, Any], names: Sequence[str] | None, path: str) -> dict[str, Any]:
    missing = [name for name in names or () if name not in found]
    if missing or not found:
        raise TedError(
            f"--entry: {path} defines compiled functions {', '.join(found) or 'of no name'}, got "
            f"{', '.join(missing) or 'none'}; bind f.compiled(*arrays) of a ted.function, and "
            ".specialise(n=...) of one of symbolic sizes, to a name"
        )
    return {name: found[name] for name in names or found}


def _of_python(path: str) -> dict[str, Any]:
    """What a program in Python compiled, by the names of its variables."""
    from ted.api.staged_functions import StagedFunction

    read(path)  # whose errors say what is wrong with the file
    try:
        names = runpy.run_path(path)
    except TedError:
        raise
    except Exception as error:
        raise TedError(f"input: a program that runs, got {path}: {error!r}") from None
    return {name: f for name, f in names.items() if isinstance(f, StagedFunction)}


def _of_module(path: str, entries: Sequence[str] | None, target: str) -> dict[str, Any]:
    """The functions of a module, compiled for a target."""
    from ted.api.compiling import compile_system
    from ted.api.options import compile_options
    from ted.dialects import make_context
    from ted.ir.from_ops import from_module
    from ted.mlir.queries import functions

    module = parse(read(path), path, make_context(threading=False))
    names = entries or [one.name.value for one in functions(module)]
    options = compile_options(target)
    return {n: compile_system(from_module(module, n), options=options) for n in names}


def _portable(function: Any, what: str) -> Any:
    from ted.api.cpu_functions import CompiledFunction

    if not isinstance(function, CompiledFunction):
        raise TedError(
            f"--to={what}: functions for CPUs, got one for {function.options.target}; use --to=ptx"
        )
    return function.portable


def _asm(function: Any) -> str:
    from ted.codegen.emission import assembly

    code = _portable(function, "asm")
    return assembly(code.texts, code.cpu)


def _llvm(function: Any) -> str:
    return "\n".join(_portable(function, "llvm").texts)


def _ptx(function: Any) -> str:
    if not hasattr(function, "ptx"):
        raise TedError(f"--to=ptx: functions for GPUs, got one for {function.options.target}")
    return function.ptx


TEXTS: dict[str, Callable[[Any], str]] = {"asm": _asm, "llvm": _llvm, "ptx": _ptx}

if __name__ == "__main__":
    sys.exit(main())
