"""From a program to its gradients: the stages of differentiation in order.

The sweep works on a prepared copy of the program (guarded producers inlined, divisions split,
combiners expanded); afterwards reads of the copy's tensors become reads of the program's own, so
that forward values are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ted.autodiff.combiners import expand_combiners
from ted.autodiff.vjp import vjp
from ted.ir.equations import System, Tensor, rewrite_system
from ted.transforms.ted_inline_pointwise import inline_pointwise
from ted.transforms.ted_scatter_to_gather import scatter_to_gather
from ted.transforms.ted_simplify import simplify
from ted.transforms.ted_split_dims import split_dims

# Guards first, while producers are still pointwise; divisions before anything asks isl; combiners
# last, since a product tree introduces reads that need no further preparation.
PREPARATION = (inline_pointwise, split_dims, expand_combiners)


@dataclass(frozen=True)
class Gradient:
    """Gradients of the requested tensors and the adjoints of everything on the way."""

    gradients: tuple[Tensor, ...]
    adjoints: dict[Tensor, Tensor]


def differentiate(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], heads: Sequence[Tensor]
) -> Gradient:
    """Vector-Jacobian products of `outputs` with `heads` with respect to `inputs`.

    Shapes: heads like outputs; gradients like inputs.
    """
    system = System(tuple(inputs), tuple(outputs))
    prepared, origin = _prepare(system)
    found = vjp(prepared, heads)
    gradients = [_adjoint(found.adjoints, t) for t in inputs]
    became = _finish(System((*inputs, *heads), (*gradients, *found.adjoints.values())), origin)
    adjoints = {origin[t]: became[d] for t, d in found.adjoints.items() if t in origin}
    return Gradient(tuple(became[d] for d in gradients), adjoints)


def _prepare(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """The prepared program, and for each of its tensors the original one of the same value."""
    origin = {t: t for t in system.tensors()}
    for stage in PREPARATION:
        system, became = stage(system)
        origin = {new: origin[old] for old, new in became.items() if old in origin}
    return system, origin


def _adjoint(adjoints: dict[Tensor, Tensor], tensor: Tensor) -> Tensor:
    """The adjoint of an input; zeros when no output depends on it."""
    found = adjoints.get(tensor)
    return found or Tensor(f"d{tensor.name}", tensor.shape, tensor.dtype, 0, (), tensor.location)


def _finish(system: System, origin: dict[Tensor, Tensor]) -> dict[Tensor, Tensor]:
    """What each adjoint becomes: in gather form over the original program's tensors, simplified."""
    back = {new: old for new, old in origin.items() if new is not old}
    program = set(origin.values())
    roots = system.outputs
    system, _ = rewrite_system(system, lambda t, e: back.get(t, e))
    system, _ = scatter_to_gather(system, keep=program)
    system, _ = simplify(system, keep=program, alias_outputs=True)
    return dict(zip(roots, system.outputs, strict=True))
