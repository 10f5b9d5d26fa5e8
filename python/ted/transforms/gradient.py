"""From a program to its gradients or tangents: the stages of differentiation in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from ted.autodiff.combiners import expand_combiners
from ted.autodiff.jvp import Transpose, jvp
from ted.autodiff.override import Override
from ted.autodiff.vjp import vjp
from ted.errors import DerivativeError
from ted.ir.equations import System, Tensor, topological
from ted.ir.remarks import Remark, collected, remark
from ted.records import dataclass
from ted.transforms.copies import compose_copies
from ted.transforms.demanded_boxes import shrink_to_demand
from ted.transforms.forgotten import reading_copies
from ted.transforms.guarded_producers import (
    guarded_overrides,
    inline_guarded_producers,
    mask_guarded_producers,
    narrow_recurrences,
)
from ted.transforms.overrides import Overrides, carry
from ted.transforms.preparation import Stage, no_overrides, prepare
from ted.transforms.saturated_producers import inline_saturated_producers
from ted.transforms.single_points import map_single_points
from ted.transforms.summands import Summands, Sweep
from ted.transforms.ted_factor_sums import factor_sums
from ted.transforms.ted_scatter_to_gather import scatter_to_gather
from ted.transforms.ted_simplify import simplify
from ted.transforms.ted_split_dims import split_dims


def preparation(cut: Collection[Tensor]) -> Sequence[Stage]:
    """The stages before a reverse sweep; tensors that are cut off can have any values."""
    parts = partial(narrow_recurrences, opaque=cut)
    masks = partial(mask_guarded_producers, opaque=cut)
    # Maps first: an extremum of one point asks for no argument. Guards while producers are still
    # pointwise, and masks for what cannot be inlined; divisions before anything asks isl; combiners
    # then, since a product tree introduces reads that need no further preparation; sums last: the
    # adjoint of a sum in steps is one in as many steps, and what these store is known.
    return (
        map_single_points, inline_guarded_producers, inline_saturated_producers, parts, masks,
        split_dims, expand_combiners, factor_sums,
    )  # fmt: skip


def forward_preparation(cut: Collection[Tensor]) -> Sequence[Stage]:
    """Tangents are selected, not multiplied, and no read is inverted: combiners and sums matter."""
    del cut
    return inline_saturated_producers, expand_combiners, factor_sums


@dataclass(frozen=True)
class Gradient:
    """Gradients of the requested tensors and the adjoints of everything on the way.

    `moved` says what the stages made of each tensor, if one with an override is among them;
    `remarks` what could not be inverted, or only with guards.
    """

    gradients: tuple[Tensor, ...]
    adjoints: dict[Tensor, Tensor]
    moved: Mapping[Tensor, Tensor] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    summands: Callable[[], Summands] = dict


def differentiate(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    heads: Sequence[Tensor],
    overrides: Overrides = no_overrides,
) -> Gradient:
    """Vector-Jacobian products of `outputs` with `heads` with respect to `inputs`.

    Shapes: heads like outputs; gradients like inputs.
    """
    system = System(tuple(inputs), tuple(outputs))
    primals = system.tensors()
    with collected() as said:
        sweep = _swept(system, heads, overrides)
    swept = sweep.adjoints
    wanted = [*inputs, *(t for t in primals if t in swept and t not in inputs)]
    adjoints = [_adjoint(swept, t) for t in wanted]
    marked = _marked(adjoints, overrides)
    reached = topological(adjoints) if marked else ()
    # Values that are there already stay the same tensors, those that a head comes from too: copies
    # of them would be computed again, and are not what an override depends on.
    keep = list(dict.fromkeys([*primals, *topological(heads), *marked]))
    with collected() as remarks:
        for unused in (t for t in inputs if t not in swept):
            text = f"ted-differentiate: no output depends on {unused}, its gradient is zeros"
            remark(text, unused.location)
        result, gathered = scatter_to_gather(System((*inputs, *heads), tuple(adjoints)), keep=keep)
    keep += [gathered.get(t, t) for t in marked]
    result, cleaned = simplify(result, keep=keep, alias_outputs=True)
    found = dict(zip(wanted, result.outputs, strict=True))
    # Who asks for the adjoints on the way gets them whole; the gradients need not store them.
    asked = System(result.inputs, tuple(found[t] for t in inputs))
    opaque = [cleaned.get(t, t) for t in (gathered.get(t, t) for t in marked)]
    result, direct = compose_copies(asked, keep, opaque)
    opaque = [direct.get(t, t) for t in opaque]
    result, factored = factor_sums(result, {*keep, *opaque}, through=True)
    result, demanded = shrink_to_demand(result, {*keep, *(factored.get(t, t) for t in opaque)})
    found.update(zip(inputs, result.outputs, strict=True))
    moved = _composed(reached, gathered, cleaned, direct, factored, demanded)
    summands = partial(sweep.gathered, found, keep)
    return Gradient(result.outputs, found, moved, (*said, *remarks), summands)


def scatter_form(
    system: System, heads: Sequence[Tensor], overrides: Overrides = no_overrides
) -> dict[Tensor, Tensor]:
    """The adjoint of every active tensor of the system, as the reverse sweep leaves it."""
    return _swept(system, heads, overrides).adjoints


def _swept(system: System, heads: Sequence[Tensor], overrides: Overrides) -> Sweep:
    prepared = prepare(system, preparation, overrides)
    own = guarded_overrides(prepared.system, prepared.overrides)
    found = vjp(prepared.system, heads, own, prepared.origin)
    again = reading_copies(found.adjoints, prepared.system, heads)
    found = replace(found, adjoints=again)
    restored = prepared.restored(list(found.adjoints.values()))
    pairs = zip(found.adjoints, restored, strict=True)
    adjoints = {prepared.origin[t]: adjoint for t, adjoint in pairs if t in prepared.origin}
    return Sweep(prepared, found, adjoints)


def push_forward(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    tangents: Sequence[Tensor],
    overrides: Overrides = no_overrides,
) -> Gradient:
    """Jacobian-vector products: the tangents of `outputs` when `inputs` move by `tangents`.

    Shapes: tangents like inputs; results, the `gradients` of the answer, like outputs.
    Raises: DerivativeError when the adjoints of an override are not linear in the head.
    """
    restored = _tangent_form(System(tuple(inputs), tuple(outputs)), tangents, overrides)
    marked = _marked(restored, overrides)
    keep = [*topological(outputs), *marked]
    result, cleaned = simplify(
        System((*inputs, *tangents), restored), keep=keep, alias_outputs=True
    )
    reached = topological(restored) if marked else ()
    return Gradient(result.outputs, {}, _composed(reached, cleaned))


def _tangent_form(
    system: System, tangents: Sequence[Tensor], overrides: Overrides = no_overrides
) -> tuple[Tensor, ...]:
    """The tangents of the outputs of a system, as the forward sweep leaves them."""
    prepared = prepare(system, forward_preparation, overrides)
    found = jvp(prepared.system, tangents, prepared.overrides, transposing(overrides))
    pushed = {t: found.get(prepared.became[t]) or zeros_like(t, "_dot") for t in system.outputs}
    return prepared.restored([pushed[t] for t in system.outputs])


def transposing(overrides: Overrides) -> Transpose:
    """How forward mode gets the tangent of a tensor of which only the VJP is known.

    Raises: DerivativeError, when it is used, where the user's adjoints are not linear in the head.
    """
    return partial(_transposed, overrides=overrides)


def _transposed(
    tensor: Tensor, override: Override, tangents: Sequence[Tensor | None], overrides: Overrides
) -> Tensor | None:
    """The tangent of a tensor of which only the VJP is known: the VJP of that VJP in its head.

    Raises: DerivativeError when the user's adjoints are not linear in the head.
    """
    head = Tensor(f"u_{tensor.name}", tensor.shape, tensor.dtype)
    adjoints = override.adjoints(tensor, head)
    pairs = [(a, t) for a, t in zip(adjoints, tangents, strict=True) if t is not None]
    if not pairs:
        return None
    products, moving = zip(*pairs, strict=True)
    found = differentiate(products, [head], moving, overrides)
    carry(found.moved)  # what the adjoints are made of may have derivatives of the user's
    (tangent,) = found.gradients
    if head in topological([tangent]):
        raise DerivativeError(
            f"override of {tensor}: adjoints must be linear in the head for forward mode, got "
            f"{[a.name for a in adjoints]}",
            tensor.location,
        )
    return tangent


def vjp_system(
    system: System, wrt: Sequence[int], name: str, overrides: Overrides = no_overrides
) -> System:
    """The program (inputs, heads) -> (outputs, gradients of the inputs `wrt`), in scatter form."""
    results = [t for t in system.outputs if t.dtype.is_float]
    heads = [Tensor(f"d{t.name}", t.shape, t.dtype, location=t.location) for t in results]
    swept = scatter_form(System(system.inputs, tuple(results)), heads, overrides)
    gradients = [_adjoint(swept, system.inputs[k]) for k in wrt]
    return System((*system.inputs, *heads), (*system.outputs, *gradients), name)


def jvp_system(
    system: System, wrt: Sequence[int], name: str, overrides: Overrides = no_overrides
) -> System:
    """The program (inputs, tangents of the inputs `wrt`) -> (outputs, their tangents).

    Raises: DerivativeError when the adjoints of an override are not linear in the head.
    """
    moving = tuple(system.inputs[k] for k in wrt)
    results = tuple(t for t in system.outputs if t.dtype.is_float)
    given = [Tensor(f"{t.name}_dot", t.shape, t.dtype, location=t.location) for t in moving]
    pushed = _tangent_form(System(moving, results), given, overrides)
    return System((*system.inputs, *given), (*system.outputs, *pushed), name)


def _adjoint(adjoints: dict[Tensor, Tensor], tensor: Tensor) -> Tensor:
    """The adjoint of a tensor; zeros when no output depends on it."""
    found = adjoints.get(tensor)
    return found or Tensor(f"d{tensor.name}", tensor.shape, tensor.dtype, 0, (), tensor.location)


def zeros_like(tensor: Tensor, suffix: str) -> Tensor:
    """Zeros of the shape and the type of a tensor, called after it."""
    name = f"{tensor.name}{suffix}"
    return Tensor(name, tensor.shape, tensor.dtype, 0, (), tensor.location)


def _marked(roots: Sequence[Tensor], overrides: Overrides) -> list[Tensor]:
    """The tensors below the roots that stay tensors of their own: those with an override.

    So do its dependencies, or the equations between would read past them.
    """
    found: dict[Tensor, None] = {}
    for tensor in topological(roots):
        override = overrides(tensor)
        if override is not None:
            found.update(dict.fromkeys((tensor, *override.dependencies)))
    return list(found)


def _composed(tensors: Sequence[Tensor], *steps: Mapping[Tensor, Tensor]) -> dict[Tensor, Tensor]:
    moved = {t: t for t in tensors}
    for step in steps:
        moved = {old: step.get(new, new) for old, new in moved.items()}
    return {old: new for old, new in moved.items() if new is not old}
