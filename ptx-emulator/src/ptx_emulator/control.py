"""Branches, ends, and instructions that have no effect here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptx_emulator import errors
from ptx_emulator.building import Builder
from ptx_emulator.forms import Form, Step, instruction
from ptx_emulator.syntax import Name


@instruction("bra", leaves=True)
def branch(form: Form, k: Builder) -> Step:
    """`bra`: the lanes that execute it go to a label."""
    form.count(1)
    form.flag("uni")
    target = k.target(form.operands[0])
    return lambda m, ix: [(target, m.numbers(ix))]


@instruction("brx", leaves=True)
def branch_by_index(form: Form, k: Builder) -> Step:
    """`brx.idx index, table`."""
    form.count(2)
    form.needed("idx")
    form.flag("uni")
    table = form.operands[1]
    names = k.function.tables.get(table.name if isinstance(table, Name) else "")
    if names is None:
        raise form.unknown("a table of branch targets")
    targets = np.array([k.target(Name(name)) for name in names])
    index = k.read(form.operands[0], "u32")

    def step(m: Any, ix: Any) -> list[tuple[int, Any]]:
        lanes, chosen = m.numbers(ix), m.spread(index(m, ix), ix)
        if (chosen >= len(targets)).any():
            worst = int(np.argmax(chosen >= len(targets)))
            m.fail(
                errors.OutOfBounds,
                f"brx.idx: an index below {len(targets)}, got {chosen[worst]}",
                int(lanes[worst]),
            )
        where = targets[chosen]
        return [(int(t), lanes[where == t]) for t in np.unique(where)]

    return step


@instruction("ret", "exit", leaves=True)
def end(form: Form, k: Builder) -> Step:
    """The lanes have ended; calls were expanded, so `ret` ends them too."""
    form.count(0)
    form.flag("uni")

    def step(m: Any, ix: Any) -> list[Any]:
        m.exit(ix)
        return []

    return step


@instruction("trap", "brkpt")
def trap(form: Form, k: Builder) -> Step:
    """The program stops with an error."""

    def step(m: Any, ix: Any) -> None:
        m.fail(errors.Trapped, "a program that goes on, got a trap", int(m.numbers(ix)[0]))

    return step


@instruction(
    "membar",
    "nanosleep",
    "prefetch",
    "prefetchu",
    "discard",
    "applypriority",
    "griddepcontrol",
    "setmaxnreg",
)
def without_effect(form: Form, k: Builder) -> Step:
    """Ordering of memory, which is in order here, and hints."""
    allowed = {
        "membar": ("cta", "gl", "sys"),
        "nanosleep": ("u32",),
        "prefetch": (
            "global",
            "local",
            "L1",
            "L2",
            "tensormap",
            "const",
            "param",
            "L2::evict_last",
            "L2::evict_normal",
        ),
        "prefetchu": ("L1",),
        "discard": ("global", "L2"),
        "applypriority": ("global", "L2::evict_normal"),
        "griddepcontrol": ("launch_dependents", "wait"),
        "setmaxnreg": ("inc", "dec", "sync", "aligned", "u32"),
    }[form.source.parts[0]]
    form.flag(*allowed)
    return lambda m, ix: None
