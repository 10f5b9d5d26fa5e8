"""A program as a sweep wants it, and the way back to the tensors of the program itself.

Sweeps work on a prepared copy (guarded producers inlined, divisions split, combiners expanded);
afterwards reads of the copy's tensors become reads of the program's own, so that forward values are
computed once.  A tensor with a derivative of the user's is cut off from what computes it, so that
no stage looks through it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ted.autodiff.vjp import Override
from ted.ir.equations import System, Tensor, rewrite_system, topological

Stage = Callable[[System], "tuple[System, dict[Tensor, Tensor]]"]
Overrides = Callable[[Tensor], "Override | None"]


def no_overrides(tensor: Tensor) -> Override | None:
    """No tensor has a derivative of its own."""
    del tensor


@dataclass(frozen=True)
class Prepared:
    """The prepared system, its overrides, and both ways between its tensors and the original's."""

    system: System
    overrides: Mapping[Tensor, Override]
    origin: Mapping[Tensor, Tensor]  # prepared -> original of the same value
    became: Mapping[Tensor, Tensor]  # original -> prepared

    def restored(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Tensors computed from the prepared system as computed from the original one."""
        back = {new: old for new, old in self.origin.items() if new is not old}
        system = System((), tuple(tensors))
        return rewrite_system(system, lambda t, equations: back.get(t, equations))[0].outputs


def prepare(system: System, stages: Sequence[Stage], overrides: Overrides) -> Prepared:
    """The system after the stages; its inputs may be tensors that it computes."""
    own = _overridden(system, overrides)
    roots = (*system.outputs, *(d for o in own.values() for d in o.dependencies))
    prepared = replace(system, outputs=roots)
    became = {t: t for t in topological(roots)}
    for stage in (lambda s: _cut(s, own), *stages):
        prepared, step = stage(prepared)
        became = {old: step.get(new, new) for old, new in became.items()}
    results = prepared.outputs[: len(system.outputs)]
    inputs = tuple(became.get(t, t) for t in system.inputs)
    return Prepared(
        replace(prepared, inputs=inputs, outputs=results),
        {
            became[t]: replace(o, dependencies=tuple(became[d] for d in o.dependencies))
            for t, o in own.items()
        },
        {new: old for old, new in reversed(became.items())},
        became,
    )


def _overridden(system: System, overrides: Overrides) -> dict[Tensor, Override]:
    """The overrides of the tensors that the outputs or other overrides depend on."""
    found: dict[Tensor, Override] = {}
    roots = list(system.outputs)
    while roots:
        known = {t: overrides(t) for t in topological(roots) if t not in found}
        fresh = {t: o for t, o in known.items() if o is not None}
        found.update(fresh)
        roots = [d for o in fresh.values() for d in o.dependencies]
    return found


def _cut(
    system: System, overrides: Mapping[Tensor, Override]
) -> tuple[System, dict[Tensor, Tensor]]:
    """The system in which tensors with an override have no equations."""
    if not overrides:
        return system, {}
    return rewrite_system(
        system, lambda t, e: replace(t, equations=(), fill=None) if t in overrides else e
    )
