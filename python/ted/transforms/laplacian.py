"""The Laplacian of a program, forward: no Hessian, and no second derivative for each direction.

Before: y = f(x)                          After: y_lap = sum over i of d^2 f / d x[i]^2

Pushed forward are one value, one tangent with a dim of directions, one for each element of x, and
one sum of second derivatives (`ted.autodiff.curvature`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ted.autodiff.curvature import Directions
from ted.autodiff.jvp import jvp
from ted.autodiff.override import Override
from ted.autodiff.vjp import copy_of
from ted.domain.sizes import Extent
from ted.ir.equations import Equation, System, Tensor
from ted.transforms.batching import Batched
from ted.transforms.gradient import (
    forward_preparation,
    push_forward,
    transposing,
    zeros_like,
)
from ted.transforms.one_hot_heads import with_one_hot
from ted.transforms.overrides import Overrides, carry, substituted
from ted.transforms.preparation import Prepared, no_overrides, prepare

Batch = Callable[[Sequence[Tensor], Mapping[Tensor, Batched], Extent], Sequence[Batched]]


def laplacians(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    batched: Batch,
    overrides: Overrides = no_overrides,
) -> tuple[Tensor, ...]:
    """For each output, the sum of its second derivatives by every element of every input.

    `batched` does tensors many times at once, with derivatives of the user's.
    Shapes: results like outputs.
    Raises: DerivativeError when something has no derivative.
    """
    prepared = prepare(System(tuple(inputs), tuple(outputs)), forward_preparation, overrides)
    transpose = transposing(overrides)
    curvature = partial(_curvature, prepared.origin, batched, overrides)
    found = [_directions(prepared, x, batched, overrides) for x in prepared.system.inputs]
    heads, families = [head for head, _ in found], [directions for _, directions in found]

    def further(tensor: Tensor, part: Equation | Override) -> Iterable[Equation]:
        for directions in families:
            if isinstance(part, Equation):
                curved = directions.curvature(tensor, part)
            else:
                curved = curvature(tensor, part, directions)
            if curved is not None:
                yield curved

    still = [None] * len(inputs)
    pushed = jvp(prepared.system, still, prepared.overrides, transpose, further, "_lap")
    sums = [pushed.get(prepared.became[t]) or zeros_like(t, "_lap") for t in outputs]
    results = System((), prepared.restored(sums))
    for head in heads:
        results, became = with_one_hot(results, head)
        carry(became)
    return results.outputs


def _directions(
    prepared: Prepared, x: Tensor, batched: Batch, overrides: Overrides
) -> tuple[Tensor, Directions]:
    """The tangents along each element of one input, and the head that stands for these."""
    head = _variable(x)
    system = replace(prepared.system, inputs=(x,))
    along = jvp(system, [head], prepared.overrides, transposing(overrides))
    rows, (wide,) = _along_all(list(along.values()), [head], x.shape, batched)
    return wide, Directions(along, dict(zip(along.values(), rows, strict=True)), x.shape)


def _along_all(
    nodes: Sequence[Tensor],
    variables: Sequence[Tensor],
    extents: Sequence[Extent],
    batched: Batch,
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """What is linear in variables for one direction as it is for all, and the variables of that."""
    for extent in reversed(extents):
        wider = [replace(v, shape=(extent, *v.shape)) for v in variables]
        given = {v: Batched(w, 0) for v, w in zip(variables, wider, strict=True)}
        found = zip(nodes, batched(nodes, given, extent), strict=True)
        nodes = [_wide(node, batch, extent) for node, batch in found]
        variables = wider
    return nodes, variables


def _wide(node: Tensor, batch: Batched, extent: Extent) -> Tensor:
    """A tensor for all directions, of which those without a variable are zero."""
    wide = replace(node, shape=(extent, *node.shape), fill=0, equations=())
    return wide if batch.axis is None else batch.tensor


def _variable(tensor: Tensor) -> Tensor:
    """A tangent that something can be computed from."""
    return Tensor(f"{tensor.name}_dot", tensor.shape, tensor.dtype, location=tensor.location)


def _curvature(
    origin: Mapping[Tensor, Tensor],
    batched: Batch,
    overrides: Overrides,
    tensor: Tensor,
    override: Override,
    given: Directions,
) -> Equation | None:
    """What a tensor with a derivative of the user's adds to the sum of second derivatives.

    Its tangent is made of variables, which stay what they are when all that it reads moves; it
    reads tensors of the original program.
    """
    moving = [t for t in dict.fromkeys((*override.dependencies, tensor)) if t in given.along]
    own = {t: _variable(t) for t in moving}
    transpose = transposing(overrides)
    tangent = transpose(tensor, override, [own.get(t) for t in override.dependencies])
    if tangent is None:
        return None
    variables = list(own.values())
    (second,) = push_forward(
        [tangent], [origin.get(t, t) for t in moving], variables, overrides
    ).gradients
    rows, wide = _along_all([second], variables, given.extents, batched)
    known = [given.along_all[given.along[t]] for t in moving]
    rows = substituted(rows, dict(zip(wide, known, strict=True)))
    return Directions({}, {second: rows[0]}, given.extents).summed(copy_of(second))
