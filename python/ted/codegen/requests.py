"""One compilation: its result from the disk, or a worker, or at last this process.

Everything that code depends on is in the key of an entry: the program, the pipeline, ted, the
binding, the files that it is linked with, the CPU. Names of tensors and the user's lines are so
only where the code may report them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ted.errors
from ted import dialects
from ted.codegen import disk_cache
from ted.codegen.children import ChildFailed, NotStarted, Pool, interpreter
from ted.codegen.watching import Doing, ignored
from ted.errors import CompileError, SourceLocation, TedError
from ted.ir.pipelines import kept_reproducer
from ted.mlir import BINDING
from ted.records import dataclass

TIMEOUT = 3600.0  # seconds: what never ends is no compilation
_REPORTS = '"check"'  # the mode of accesses that name their tensor and line
HOME = str(Path(str(ted.errors.__file__)).parent)  # a worker must be the same ted
# Options of the interpreter that say where modules are found.
_FLAGS = {"no_site": "-S", "no_user_site": "-s", "ignore_environment": "-E"}
_START = (  # with no look for garbage until all is loaded
    "import gc, sys; gc.disable(); sys.path[:] = sys.argv[1:]; "
    "from ted.codegen.worker import main; main()"
)


# The modules whose `answer(source, pipeline, arguments, doing)` makes the result of each kind.
KINDS = {
    "cpu": "ted.codegen.splitting",
    "objects": "ted.codegen.objects",
    "cuda": "ted.api.cuda_compiling",
    "torch": "ted.mlir.torch_programs",
}


@dataclass(frozen=True)
class Request:
    """A module of ted ops as text, with and without names and places, and how it is lowered.

    `arguments`, as JSON has them, are for what answers the kind; the contents of `files` count.
    """

    kind: str
    source: str
    unnamed: str
    pipeline: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()


def compile_cached(request: Request, doing: Doing = ignored) -> dict[str, Any]:
    """What is made of a request, as JSON has it; `doing` hears what is done.

    Raises: TedError of the pass that refuses it; CompileError when MLIR or LLVM end the worker.
    """
    doing("cache")
    name = key_of(request)
    made = known(name)
    if made is None:
        made = _compile(request, doing)
        store(name, made)
    return made


def known(name: str) -> Any:
    """What was made of the request of a key; None where the disk does not have it."""
    found = disk_cache.load(name)
    return None if found is None else json.loads(found)


def store(name: str, made: Any) -> None:
    """Keep what was made of the request of a key."""
    disk_cache.store(name, json.dumps(made).encode())


def start_worker() -> None:
    """Start a worker, if none waits, for a request that is still to be made."""
    _workers.prepare()


def answered(message: Mapping[str, Any], doing: Doing) -> Any:
    """What is made of a request, in this process.

    Raises: TedError of a pass that refuses it; MLIR and LLVM may end the process.
    """
    answer = importlib.import_module(KINDS[message["kind"]]).answer
    return answer(message["source"], message["pipeline"], message["arguments"], doing)


def _compile(request: Request, doing: Doing) -> dict[str, Any]:
    doing("worker")
    try:
        return made_of(request.kind, request.source, request.pipeline, request.arguments, doing)
    except ChildFailed as error:
        raise ended(error, request.source, request.pipeline) from None


def made_of(
    kind: str, source: Any, pipeline: str, arguments: Mapping[str, Any], doing: Doing
) -> Any:
    """What a worker makes; without one, this process.

    Raises: TedError of a pass that refuses it; ChildFailed when MLIR or LLVM end the worker.
    """
    message = {
        "kind": kind, "source": source, "pipeline": pipeline, "arguments": dict(arguments),
        "ted": HOME,
    }  # fmt: skip
    try:
        reply = _workers.request(message, TIMEOUT, doing)
        if "stranger" in reply:
            raise NotStarted(f"a worker found ted in {reply['stranger']}, not in {HOME}")
    except NotStarted as error:
        _warn(str(error))
        return answered(message, doing)
    if "refused" in reply:
        raise _refusal(*reply["refused"])
    return reply["made"]


def ended(
    error: ChildFailed,
    source: str,
    pipeline: str,
    of: str = "",
    place: SourceLocation | None = None,
) -> CompileError:
    """The end of a worker as the user sees it: of what, where, and what repeats it."""
    what = f"compile: code generation{of} must not end its process, got {error}"
    return CompileError(f"{what}; {kept_reproducer(source, pipeline)}", place)


def _refusal(kind: str, text: str, place: Sequence[Any] | None) -> TedError:
    location = None if place is None else SourceLocation(*place)
    return getattr(ted.errors, kind)(text, location)


@cache
def _warn(reason: str) -> None:
    warnings.warn(
        f"ted compiles in this process, where a crash of LLVM ends it: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )


def _command() -> list[str]:
    """This interpreter as a worker, with the path of this process, but the user's folder last."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    mine = {_absolute(""), *([os.path.dirname(_absolute(script))] if script else [])}
    folders = [_absolute(entry) for entry in sys.path if isinstance(entry, str)]  # like `import`
    first = [f for f in folders if f not in mine]
    flags = [flag for name, flag in _FLAGS.items() if getattr(sys.flags, name)]
    return [interpreter(), *flags, "-c", _START, *first, *(f for f in folders if f in mine)]


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except FileNotFoundError:  # this process is in a folder that was deleted
        return os.path.join(os.sep, path)


_workers = Pool(_command, most=os.cpu_count() or 1)


def reports(request: Request) -> bool:
    """Whether the code may report names of tensors and the user's lines."""
    return _REPORTS in request.unnamed


def key_of(request: Request) -> str:
    """The name of what is made of a request, on the disk."""
    text = request.source if reports(request) else request.unnamed
    given = [disk_cache.content_hash(path) for path in request.files]
    arguments = json.dumps(request.arguments, sort_keys=True)
    return disk_cache.key(request.kind, text, request.pipeline, arguments, *given, *toolchain())


@cache
def toolchain() -> tuple[str, ...]:
    """What generates code: the sources of ted, the binding's libraries, the machine."""
    import llvmlite
    from llvmlite import binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return _sources(), _binding(), llvmlite.__version__, llvm.get_host_cpu_name(), features


def _sources() -> str:
    """A hash of the sources of ted, which are read again only after one of them changed."""
    roots = [str(Path(str(package.__file__)).parent) for package in (ted.errors, dialects)]
    files = [(root, *one) for root in roots for one in _modules(root)]
    states = [(path, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for _, path, s in files]
    name = disk_cache.key("sources", repr(states))
    known = disk_cache.load(name)
    if known is not None:
        return known.decode()
    digest = hashlib.sha256()
    for root, path, _ in files:
        digest.update(os.path.relpath(path, root).encode() + b"\0" + Path(path).read_bytes())
    disk_cache.store(name, digest.hexdigest().encode())
    return digest.hexdigest()


def _modules(root: str) -> list[tuple[str, os.stat_result]]:
    """The files of Python code under a folder and their states."""
    found: list[tuple[str, os.stat_result]] = []
    folders = [root]
    while folders:
        for entry in os.scandir(folders.pop()):
            if entry.name.endswith(".py") and entry.is_file():  # editors leave dead links
                found.append((entry.path, entry.stat()))
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
    return sorted(found)


def _binding() -> str:
    """The names and sizes of the libraries of MLIR: different versions have different ones."""
    found = find_spec(BINDING)
    assert found is not None, "MLIR was imported"
    files = (
        p for root in found.submodule_search_locations or () for p in Path(root).rglob("*.so*")
    )
    return repr(sorted((path.name, path.stat().st_size) for path in files))
