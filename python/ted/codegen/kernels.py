"""Programs for CPUs -> object files: of the program, and of kernels, each compiled once for all.

Before: the kernels of a program, and the rest of its pipeline
After: `Objects` from the disk and from workers

The first half outlines kernels. What it makes is an entry of its own on the disk, and the text of a
kernel, which knows neither names nor places, is the key of its object: a program that was changed
compiles what is new in it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ted.codegen import requests
from ted.codegen.children import ChildFailed
from ted.codegen.parts import Objects, Part
from ted.codegen.requests import Request, key_of
from ted.codegen.watching import Doing, ignored
from ted.errors import SourceLocation, TedError
from ted.ir.pipelines import joined
from ted.records import dataclass


@dataclass
class _Failed(Exception):
    """A part was refused, or ended its worker."""

    part: Part
    error: TedError | ChildFailed


def objects_of(
    made: Mapping[str, Any],
    request: Callable[[], Request],
    rest: str,
    libraries: tuple[str, ...] | None,
    doing: Doing = ignored,
) -> Objects:
    """The objects of a program, whose kernels were made of a request, by the pipeline `rest`.

    Without `libraries` the code is not for this process: it is text of LLVM's.
    Raises: TedError of the pass that refuses it; CompileError when MLIR or LLVM end a worker, which
    names the kernel.
    """
    parts = [Part(*part) for part in made["parts"]]
    try:
        codes = _objects(parts, rest, libraries, doing)
    except _Failed as failed:
        raise _explained(failed, request(), rest) from None
    indexed = tuple((tensor, place) for tensor, place in made["indexed"])
    return Objects(tuple(map(base64.b64decode, codes)), indexed)


def _objects(
    parts: Sequence[Part], rest: str, libraries: tuple[str, ...] | None, doing: Doing
) -> list[str]:
    given, files = {"libraries": libraries}, libraries or ()
    wanted = [Request("objects", p.text, p.text, rest, given, files) for p in parts]
    names = list(map(key_of, wanted))
    found = list(map(requests.known, names))
    missing = [k for k, one in enumerate(found) if one is None]
    made = _made([parts[k] for k in missing], wanted[0], doing) if missing else []
    for k, code in zip(missing, made, strict=True):
        found[k] = code
        requests.store(names[k], code)
    return found


def _made(parts: Sequence[Part], request: Request, doing: Doing) -> list[str]:
    """What a worker makes of parts; `doing` hears the names of kernels, and steps of the rest."""
    known = {part.name: part for part in parts}
    now = parts[0]

    def hear(step: str) -> None:
        nonlocal now
        now = known.get(step, now)
        if now.is_kernel == (step in known):
            doing(step)

    source = [[part.name, part.text, part.weight] for part in parts]
    try:
        return requests.made_of("objects", source, request.pipeline, request.arguments, hear)
    except (TedError, ChildFailed) as error:
        raise _Failed(now, error) from None
    finally:
        doing("")


def _explained(failed: _Failed, request: Request, rest: str) -> TedError:
    """The error of a part, where the user's program is: the text of a part has no places."""
    part, error = failed.part, failed.error
    if isinstance(error, ChildFailed):
        of, place = _origin(part.name, request) if part.is_kernel else ("", None)
        return requests.ended(error, part.text, rest, of, place)
    try:  # the whole, with its places, is refused by the same pass
        requests.made_of("cpu", request.source, joined(request.pipeline, rest), {}, ignored)
    except TedError as found:
        return found
    except ChildFailed:
        pass
    return error


def _origin(kernel: str, request: Request) -> tuple[str, SourceLocation | None]:
    """What a kernel computes, as text behind a noun, and the user's line of it."""
    from ted import dialects  # for an error: what the disk has is called without MLIR
    from ted.ir.pipelines import run_text
    from ted.mlir import ir
    from ted.mlir.locations import source_location, user_name

    with dialects.session():
        module = run_text(ir.Module.parse(request.source), request.pipeline)
        location = ir.SymbolTable(module.operation)[kernel].location
        name, place = user_name(location), source_location(location)
    return f" of {kernel}" + (f" for {name}" if name else ""), place
