"""Cut a program with its gradients in two: what can be done before the cotangents come, and after.

Before: (x, dy) -> (y, dx)        After: x -> (y, residuals)   and   (x, y, residuals, dy) -> dx

Of the tensors that the second part reads, arguments and results are there anyway.  Another is
computed again if that is cheap: a map of arguments, results and residuals that costs at most
`recompute` operations an element, those of the maps below it included.  So is a triangle that a
product makes, such as the weights of a causal attention: stored it is a whole box, made again it
is strips (`ted_cut_strips.py`).  Everything else is stored: sums, products, maxima, indices,
histories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ted.domain.sizes import estimate
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    is_contraction,
    is_recurrence,
    operands,
    rewrite_system,
)
from ted.ir.scalar import weight
from ted.records import dataclass
from ted.transforms.ted_cut_strips import FEW

TRIANGLE = 256.0  # operations an element of a triangle, with a product of so many half of them
SMALL = 8  # how many times what is stored for a triangle fits into it
RECOMPUTE = 4.0  # operations an element: as long as a division, less than any function


@dataclass(frozen=True)
class Split:
    """The two programs and how their values meet.

    The arguments of `backward` are the arguments of `forward` at the positions `inputs`, its
    results at the positions `results`, all its residuals (what it returns after the results), and
    the cotangents.
    """

    forward: System
    backward: System
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    residuals: tuple[Tensor, ...]


def split_residuals(joint: System, heads: int, results: int, recompute: float = RECOMPUTE) -> Split:
    """Split a program whose last `heads` arguments are cotangents, and whose first `results`
    results are not gradients.

    Shapes: forward (arguments) -> (results, residuals); backward (some arguments, some results,
    residuals, cotangents) -> (gradients).
    """
    count = len(joint.inputs) - heads
    primals, cotangents = joint.inputs[:count], joint.inputs[count:]
    known, gradients = joint.outputs[:results], joint.outputs[results:]
    groups = components(gradients)
    later = _dependents(groups, cotangents)
    needed = {o for t in later for o in operands(t) if o not in later}
    needed |= {g for g in gradients if g not in later}
    stored = _stored(groups, needed, [*primals, *known], recompute)
    residuals = tuple(t for t in stored if t not in primals and t not in known)
    used = tuple(dict.fromkeys(k for k, t in enumerate(primals) if t in stored))
    read = tuple(k for k, t in enumerate(known) if t in stored and known.index(t) == k)
    read = tuple(k for k in read if known[k] not in primals)
    given = [*(primals[k] for k in used), *(known[k] for k in read), *residuals]
    backward = _cut(gradients, given, cotangents, f"{joint.name}_bwd")
    forward = System(primals, (*known, *residuals), f"{joint.name}_fwd")
    return Split(forward, backward, used, read, residuals)


def _dependents(groups: Sequence[Sequence[Tensor]], roots: Sequence[Tensor]) -> set[Tensor]:
    """The tensors that depend on roots, and the roots."""
    found = set(roots)
    for group in groups:
        if any(o in found for t in group for o in operands(t)):
            found.update(group)
    return found


def _stored(
    groups: Sequence[Sequence[Tensor]],
    needed: set[Tensor],
    given: Sequence[Tensor],
    recompute: float,
) -> dict[Tensor, None]:
    """The tensors that pass from one part to the other, operands first, arguments included.

    Constants are in both parts.
    """
    constants = {t for group in groups for t in group if t.constant is not None}
    free = {*given, *constants}
    stored: dict[Tensor, None] = {}
    for group in groups:
        recurrent = is_recurrence(group)
        for tensor in group:
            if tensor not in needed:
                continue
            leaves = None
            if not recurrent and tensor not in free:
                leaves = _recomputed_from(tensor, free, recompute)
                if leaves is None and recompute:
                    leaves = _triangle_from(tensor, free)
            made = (tensor,) if leaves is None else leaves
            stored.update(dict.fromkeys(made))
            free.update(made)
    return {t: None for t in stored if t not in constants}


def _recomputed_from(tensor: Tensor, free: set[Tensor], recompute: float) -> list[Tensor] | None:
    """The stored tensors from which this one is cheaply made; None if it is to be stored."""
    made, leaves = _made_from(tensor, free.__contains__, _is_map) or ((), None)
    return leaves if _work(made) <= recompute * estimate(tensor.size) else None


def _triangle_from(tensor: Tensor, free: set[Tensor]) -> list[Tensor] | None:
    """What a triangle is made of again: what is there anyway, and what is much smaller than it."""
    size = estimate(tensor.size)

    def is_leaf(one: Tensor) -> bool:
        return one in free or SMALL * estimate(one.size) <= size

    def is_repeated(one: Tensor) -> bool:
        return one.time is None and not any(e.is_scatter for e in one.equations)

    made, leaves = _made_from(tensor, is_leaf, is_repeated) or ((), None)
    equations = (e for one in made for e in one.equations)
    products = any(not e.is_box and is_contraction(e) and e.box_size >= FEW for e in equations)
    return leaves if products and _work(made) <= TRIANGLE * size else None


def _made_from(
    tensor: Tensor, is_leaf: Callable[[Tensor], bool], is_repeated: Callable[[Tensor], bool]
) -> tuple[list[Tensor], list[Tensor]] | None:
    """The tensors that are repeated for one, first itself, and the leaves below them."""
    made, leaves = list[Tensor](), list[Tensor]()
    waiting, seen = [tensor], {tensor}
    while waiting:
        one = waiting.pop()
        if is_leaf(one):
            leaves.append(one)
            continue
        if one.is_input or not is_repeated(one):
            return None
        made.append(one)
        fresh = [o for o in operands(one) if o not in seen]
        seen.update(fresh)
        waiting += fresh
    return made, leaves


def _work(tensors: Sequence[Tensor]) -> float:
    return sum(e.box_size * weight(e.body) for one in tensors for e in one.equations)


def _is_map(tensor: Tensor) -> bool:
    """Whether every equation computes elements one by one."""
    return tensor.time is None and all(
        e.parallel == e.rank and e.combiner in ("set", "add") and not e.is_scatter
        for e in tensor.equations
    )


def _cut(
    outputs: Sequence[Tensor], given: Sequence[Tensor], heads: Sequence[Tensor], name: str
) -> System:
    """The program of `outputs` with the tensors in `given` as arguments."""
    arguments = {
        t: t if t.is_input else Tensor(t.name, t.shape, t.dtype, location=t.location) for t in given
    }

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        return arguments.get(tensor, equations)

    rewritten, _ = rewrite_system(System((), tuple(outputs)), visit)
    return replace(rewritten, inputs=(*arguments.values(), *heads), name=name)
