"""Values of steps that a derivative computes again, segment by segment, instead of keeping them.

Before: adjoints of a scan over segments of steps, which read what every step of each has computed
After:  they read copies, computed again from the carry that the segment begins with

`ted.scan(checkpoint=s)` is a scan over segments whose step is a scan, and says what of that is
forgotten (`Tensor.forgotten`).  Of level 1, the carries of steps, there is one copy in a segment
that the adjoints go back through; what they read of level 2, the inside of a step, is computed
from those copies once more, when they come to the step.  The copies depend on no adjoint;
`ted-sink-recomputed` moves them into the steps that read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    operands,
    replace_operands,
    rewrite_system,
    topological,
)  # fmt: skip
from ted.transforms.overrides import carry


def forget(outputs: Sequence[Tensor], carries: Iterable[Tensor], given: Iterable[Tensor]) -> None:
    """Mark what a scan computes in its steps, from its carries and what is given to each."""
    kept = set(carries)
    for tensor in kept:
        tensor.forgotten = 1
    inside, known = set[Tensor](), kept | set(given)
    for group in components(outputs):
        if any(o in known or o in inside for t in group for o in operands(t)):
            inside.update(t for t in group if t not in known)
    for tensor in inside:
        tensor.forgotten = 2 if kept else 1


def reading_copies(
    adjoints: Mapping[Tensor, Tensor], system: System, heads: Sequence[Tensor]
) -> dict[Tensor, Tensor]:
    """The adjoints of a system, reading copies of what is forgotten."""
    levels = _levels(system)
    if not levels:
        return dict(adjoints)
    copies = _copies(levels)
    carry(copies)
    known = {*system.tensors(), *topological(heads)}

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        return (
            equations if tensor in known else tuple(replace_operands(e, copies) for e in equations)
        )

    rewritten, became = rewrite_system(System((), tuple(adjoints.values())), visit)
    carry({old: new for old, new in became.items() if old not in known})
    return dict(zip(adjoints, rewritten.outputs, strict=True))


def _levels(system: System) -> dict[Tensor, int]:
    """What is forgotten, with what stages of differentiation made between such tensors."""
    found: dict[Tensor, int] = {}
    if not any(t.forgotten for t in system.tensors()):
        return found
    users = system.consumers()
    for group in components(system.outputs):
        for tensor in group:
            if tensor.forgotten:
                found[tensor] = tensor.forgotten
    for tensor in reversed(system.tensors()):
        between = any(o in found for o in operands(tensor)) and users[tensor]
        if tensor not in found and between and all(u in found for u in users[tensor]):
            found[tensor] = max(found[u] for u in users[tensor])
    return found


def _copies(levels: Mapping[Tensor, int]) -> dict[Tensor, Tensor]:
    """The copy of each tensor that adjoints read."""
    order = 1 + max((e.recomputed for t in levels for e in t.equations), default=0)
    final: dict[Tensor, Tensor] = {}
    for level in sorted(set(levels.values())):
        shells = {t: replace(t, equations=()) for t, own in levels.items() if own >= level}
        reading = final | shells
        for old, shell in shells.items():
            shell.equations = tuple(
                replace(replace_operands(e, reading), recomputed=order) for e in old.equations
            )
        final |= {t: shell for t, shell in shells.items() if levels[t] == level}
    return final
