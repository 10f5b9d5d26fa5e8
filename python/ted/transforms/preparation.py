"""A program as a sweep wants it, and the way back to the tensors of the program itself.

Sweeps work on a prepared copy (guarded producers inlined, divisions split, combiners expanded);
afterwards reads of the copy's tensors become reads of the program's own, so that forward values are
computed once.  A tensor with a derivative of the user's is cut off from what computes it, so that
no stage looks through it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from ted.autodiff.override import Override
from ted.errors import DerivativeError
from ted.ir.equations import System, Tensor, rewrite_system, topological
from ted.records import dataclass
from ted.transforms.overrides import Overrides, overrides_below, substituted

Stage = Callable[[System], "tuple[System, dict[Tensor, Tensor]]"]
Stages = Callable[[Collection[Tensor]], Sequence[Stage]]  # of tensors cut off from their equations


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
    stages: Mapping[Tensor, Tensor]  # what a stage made of it on the way -> original

    def restored(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Tensors computed from the prepared system as computed from the original one."""
        back = {new: old for new, old in {**self.stages, **self.origin}.items() if new is not old}
        return substituted(tensors, back)


def prepare(system: System, stages: Stages, overrides: Overrides) -> Prepared:
    """The system after the stages; its inputs may be tensors that it computes.

    Raises: DerivativeError when an output depends on an input in a way that an override leaves out.
    """
    own = overrides_below(system.outputs, overrides)
    _check_covered(system.inputs, own)
    roots = (*system.outputs, *(d for o in own.values() for d in o.dependencies))
    prepared, cut = _cut(replace(system, outputs=roots), own)
    became = {t: cut.get(t, t) for t in topological(roots)}
    passed = {new: old for old, new in reversed(became.items())}
    for stage in stages([became[t] for t in own]):
        prepared, step = stage(prepared)
        became = {old: step.get(new, new) for old, new in became.items()}
        passed.update((new, old) for old, new in reversed(became.items()))
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
        passed,
    )


def _check_covered(inputs: Sequence[Tensor], overrides: Mapping[Tensor, Override]) -> None:
    """No gradient is dropped: beside its dependencies nothing leads from an input to a tensor.

    An override without dependencies says that its tensor is a constant.
    """
    for tensor, override in overrides.items():
        seen = {tensor, *override.dependencies}
        stack = [tensor] if override.dependencies else []
        while stack:
            node = stack.pop()
            inner = None if node is tensor else overrides.get(node)
            below = _moving_operands(node) if inner is None else inner.dependencies
            fresh = [t for t in below if t not in seen]
            seen.update(fresh)
            stack += fresh
        missed = [x for x in inputs if x in seen and x not in (tensor, *override.dependencies)]
        if missed:
            raise DerivativeError(
                f"override of {tensor}: its dependencies stand between it and all inputs, got a "
                f"way to {missed[0]} past {list(override.dependencies)}; name it too, with no "
                "adjoint (None) if it has none",
                tensor.location,
            )


def _moving_operands(tensor: Tensor) -> list[Tensor]:
    """The float tensors that a tensor reads outside stop_gradient, subscripts and conditions."""
    found: dict[Tensor, None] = {}
    stack = [e.body for e in tensor.equations]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if node.op == "load":
            found.setdefault(node.attr)
        elif node.op != "stop_gradient":
            fresh = [a for a in node.args if a.dtype.is_float and a not in seen]
            seen.update(fresh)
            stack += fresh
    return list(found)


def _cut(
    system: System, overrides: Mapping[Tensor, Override]
) -> tuple[System, dict[Tensor, Tensor]]:
    """The system in which tensors with an override have no equations."""
    if not overrides:
        return system, {}
    return rewrite_system(
        system, lambda t, e: replace(t, equations=(), fill=None) if t in overrides else e
    )
