"""Derivatives that compute the values in a region of a program again instead of keeping them.

Before: y = f(x); the gradient reads the values inside f that the forward program stored
After:  the gradient reads copies of them, computed from x when they are needed

The copies are equations marked as recomputed, so that no simplification takes them for the first
ones; those are dead after the forward program, and their memory goes back.  The price is one more
evaluation of f.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from ted.autodiff.override import Override
from ted.forking import cached_property
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    identity_dims,
    operands,
    rewrite_system,
    topological,
    whole,
)  # fmt: skip
from ted.ir.expressions import postorder
from ted.ir.scalar import const, load, select
from ted.transforms.overrides import carry, mark, override_of, substituted


def mark_recomputed(
    results: Sequence[Tensor], outputs: Sequence[Tensor], given: Sequence[Tensor]
) -> None:
    """Let the derivative of each result, a copy of an output, compute again what is above `given`.

    What the region reads beside `given` is kept like it.
    """
    region = _Region(outputs, given)
    for k, result in enumerate(results):
        if result.dtype.is_float and outputs[k] in region.inside:
            guarded = functools.partial(region.adjoints, k)
            plain = functools.partial(guarded, None)
            steep = guarded if region.is_steep else None
            said = f"recompute {k} of {len(outputs)}", (*outputs, *given)
            mark(result, Override(region.wanted, plain, steep, said))


class _Region:
    """What lies between some tensors and what a function makes of them."""

    def __init__(self, outputs: Sequence[Tensor], given: Sequence[Tensor]) -> None:
        self.outputs = tuple(outputs)
        self.inside = _depending_on(outputs, given)
        reads = (o for t in topological(outputs) if t in self.inside for o in operands(t))
        borders = (*given, *(o for o in reads if o not in self.inside))
        self.wanted = tuple(dict.fromkeys(n for n in borders if n.dtype.is_float))

    @property
    def is_steep(self) -> bool:
        """Whether something inside can have a slope of infinity."""
        from ted.transforms.ted_inline_pointwise import UNBOUNDED  # of who differentiates

        bodies = [e.body for t in self.inside for e in t.equations]
        return any(n.op in UNBOUNDED for n in postorder(*bodies))

    @cached_property
    def again(self) -> tuple[dict[Tensor, Tensor], tuple[Tensor, ...]]:
        """Placeholders for the borders, and the outputs computed from them a second time.

        The borders may depend on each other; as placeholders they are independent variables.
        """
        lifted = {n: Tensor(n.name, n.shape, n.dtype, location=n.location) for n in self.wanted}

        def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
            if tensor in lifted:
                return lifted[tensor]
            if tensor not in self.inside:
                return equations
            return tuple(replace(e, recomputed=1) for e in equations)

        system, became = rewrite_system(System((), self.outputs), visit)
        carry({old: new for old, new in became.items() if old in self.inside}, lifted)
        return lifted, system.outputs

    def adjoints(
        self, position: int, mask: Tensor | None, tensor: Tensor, head: Tensor
    ) -> Sequence[Tensor]:
        """The adjoints of the borders from the head of one output, of which a mask may be used."""
        from ted.transforms.gradient import differentiate

        del tensor
        lifted, outputs = self.again
        output = outputs[position] if mask is None else _masked(outputs[position], mask)
        found = differentiate([output], list(lifted.values()), [head], override_of)
        carry(found.moved)
        back = {new: old for old, new in lifted.items()}
        return substituted(found.gradients, back)


def _masked(tensor: Tensor, mask: Tensor) -> Tensor:
    here = identity_dims(len(tensor.shape))
    body = select(load(mask, here), load(tensor, here), const(0, tensor.dtype))
    equation = replace(whole(tensor.shape, body, tensor.location), recomputed=1)
    return replace(tensor, fill=0, equations=(equation,))


def _depending_on(outputs: Sequence[Tensor], given: Sequence[Tensor]) -> set[Tensor]:
    """The tensors between `given` and `outputs`."""
    start, found = set(given), set[Tensor]()
    for group in components(outputs):
        reads = {o for t in group for o in operands(t)}
        if reads & (start | found):
            found.update(t for t in group if t not in start)
    return found
