"""One compilation: what it depends on, and its result from the disk or from the child."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from ted.codegen import disk_cache, llvm_worker
from ted.codegen.children import TIMEOUT, ChildFailed
from ted.codegen.llvm.child import child, version
from ted.errors import CompileError
from ted.ir.kept_files import keep
from ted.records import dataclass


@dataclass(frozen=True)
class Request:
    """A module for one target, as `texts` that call each other.

    `keep` names the functions that stay visible, all of them where it is None. `linked` has
    functions that they call: the name, the one that it has in texts of its own, and these.
    `library` is the path of bitcode to link, `options` are LLVM's command-line options, `output` is
    "assembly", or "object" for that and an object file. Code for `anywhere` is linked by others.
    """

    texts: tuple[str, ...]
    triple: str
    chip: str
    features: str = ""
    keep: tuple[str, ...] | None = ()
    library: str | None = None
    options: tuple[str, ...] = ()
    output: str = "assembly"
    anywhere: bool = False
    linked: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


def compile_cached(request: Request, what: str, timeout: float = TIMEOUT) -> dict[str, str]:
    """The assembly of a request for `what`, and its object file in base 64 when it asks for one.

    Raises: CompileError when LLVM does not compile it.
    """
    name = _key(request)
    stored = disk_cache.load(name)
    if stored is not None:
        return json.loads(stored)
    try:
        reply = child(request.options).request(asdict(request), timeout)
    except ChildFailed as error:
        raise _refusal(what, request, error) from None
    disk_cache.store(name, json.dumps(reply).encode())
    return reply


def _refusal(what: str, request: Request, error: ChildFailed) -> CompileError:
    """The error of a module that LLVM did not compile, which is kept in a file to look at."""
    text = "\n".join(request.texts)
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    try:
        place = f"; the module is in {keep(f'{name}.ll', text)}"
    except OSError:  # the failure itself matters more
        place = ""
    return CompileError(f"{what}: LLVM must compile the module, got {error}{place}")


def _key(request: Request) -> str:
    """A hash of the request, of the library's content, of the code generator and of its driver."""
    fields = json.dumps(asdict(request) | {"library": None}, sort_keys=True)
    library = disk_cache.content_hash(request.library) if request.library is not None else ""
    driver = disk_cache.content_hash(llvm_worker.__file__)
    return disk_cache.key("llvm", fields, library, version(), driver)
