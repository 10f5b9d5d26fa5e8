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
    primals = system.tensors()
    swept = scatter_form(system, heads)
    wanted = [*inputs, *(t for t in primals if t in swept and t not in inputs)]
    adjoints = [_adjoint(swept, t) for t in wanted]
    result, _ = scatter_to_gather(System((*inputs, *heads), tuple(adjoints)), keep=primals)
    result, _ = simplify(result, keep=primals, alias_outputs=True)
    found = dict(zip(wanted, result.outputs, strict=True))
    return Gradient(tuple(found[t] for t in inputs), found)


def scatter_form(system: System, heads: Sequence[Tensor]) -> dict[Tensor, Tensor]:
    """The adjoint of every active tensor of the system, as the reverse sweep leaves it."""
    prepared, origin = _prepare(system)
    found = vjp(prepared, heads).adjoints
    back = {new: old for new, old in origin.items() if new is not old}
    swept = System((*system.inputs, *heads), tuple(found.values()))
    result, _ = rewrite_system(swept, lambda tensor, equations: back.get(tensor, equations))
    pairs = zip(found, result.outputs, strict=True)
    return {origin[t]: adjoint for t, adjoint in pairs if t in origin}


def vjp_system(system: System, wrt: Sequence[int], name: str) -> System:
    """The program (inputs, heads) -> (outputs, gradients of the inputs `wrt`), in scatter form."""
    results = [t for t in system.outputs if t.dtype.is_float]
    heads = [Tensor(f"d{t.name}", t.shape, t.dtype, location=t.location) for t in results]
    swept = scatter_form(System(system.inputs, tuple(results)), heads)
    gradients = [_adjoint(swept, system.inputs[k]) for k in wrt]
    return System((*system.inputs, *heads), (*system.outputs, *gradients), name)


def _prepare(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """The prepared program, and for each of its tensors the original one of the same value."""
    origin = {t: t for t in system.tensors()}
    for stage in PREPARATION:
        system, became = stage(system)
        origin = {new: origin[old] for old, new in became.items() if old in origin}
    return system, origin


def _adjoint(adjoints: dict[Tensor, Tensor], tensor: Tensor) -> Tensor:
    """The adjoint of a tensor; zeros when no output depends on it."""
    found = adjoints.get(tensor)
    return found or Tensor(f"d{tensor.name}", tensor.shape, tensor.dtype, 0, (), tensor.location)
