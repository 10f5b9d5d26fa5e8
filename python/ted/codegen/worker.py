"""The child process that compiles: a module of ted ops and a pipeline in, machine code out.

A reply has what was `made`, or `refused`: the class, text and place of a `TedError`. MLIR and LLVM
keep some memory of every compilation, so a child that holds much is `worn`: its parent starts
another one.
"""

from __future__ import annotations

import gc
import importlib
import os
from dataclasses import astuple
from functools import partial
from typing import Any

from ted import dialects
from ted.codegen.children import INSIDE
from ted.codegen.llvm_worker import serve
from ted.codegen.requests import HOME, KINDS, answered
from ted.codegen.watching import Doing, ignored
from ted.errors import TedError
from ted.ir.pass_driver import plan
from ted.ir.pipeline_text import parse_pipeline
from ted.mlir import load_ahead

_MOST_PROCESSES = 4
_MOST_BYTES = 1 << 30  # a fresh one holds a fifth
_PIPELINE = "builtin.module(ted-cpu-pipeline)"
_YOUNG = 50_000  # objects between two looks for garbage: 700 would take a tenth of the time


def answer(request: dict[str, Any], doing: Doing = ignored, processes: int = 1) -> dict[str, Any]:
    """The reply to a request; `stranger` says where this ted is, when it is another one.

    So many processes make the parts of a program: this one, and forks of it.
    """
    if request["ted"] != HOME:
        return {"stranger": HOME}
    try:
        reply = {"made": _made(request, doing, processes)}
    except TedError as error:
        place = None if error.location is None else astuple(error.location)
        reply: dict[str, Any] = {"refused": [type(error).__name__, error.message, place]}
    return reply | {"worn": _is_worn()}


def _made(request: dict[str, Any], doing: Doing, processes: int) -> Any:
    if processes == 1 or request["kind"] != "objects":
        return answered(request, doing)
    from ted.codegen.shares import made_by

    return made_by(processes, answered, request, doing)


def _is_worn() -> bool:
    # Not ru_maxrss, which begins with what the parent held when it started this process.
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") > _MOST_BYTES
    except OSError:
        return False  # no Linux: it stays until its parent ends


def main() -> None:
    """Serve requests."""
    gc.set_threshold(_YOUNG)
    os.environ["TED_CACHE_DIR"] = ""  # the parent keeps what is made
    os.environ.pop(INSIDE, None)  # this is one, and may start another
    serve(partial(answer, processes=min(_MOST_PROCESSES, _cores())), _load)


def _cores() -> int:
    """How many this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _load() -> None:
    """Import what a program for a CPU needs, while the parent still derives and writes it."""
    load_ahead()
    dialects.keep_context()
    with dialects.session() as context:
        plan(parse_pipeline(_PIPELINE), context)
    for kind in ("cpu", "objects"):
        importlib.import_module(KINDS[kind])
    gc.freeze()  # what was loaded stays
    gc.enable()
