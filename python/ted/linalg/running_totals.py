"""Sums over all steps of a recurrence, of what is computed again -> totals that its steps carry.

Before: `dW[i, j] += dh[t, i] * h[t, j]` over t, after the steps, of which all dh and h are kept
After:  `total[t, i, j] = total[t + 1, i, j] + dh[t, i] * h[t, j]`, then `dW[i, j] = total[0, i, j]`

Else gradients of what all steps share would keep what `ted.scan(checkpoint=s)` forgets.
"""

from __future__ import annotations

from dataclasses import replace

from ted.domain import sets
from ted.ir.affine import condition_set
from ted.ir.equations import (
    Clock,
    Equation,
    System,
    Tensor,
    components,
    identity_dims,
    is_recurrence,
    whole,
)
from ted.ir.scalar import add, compare, dim, index, load, substitute


def carry_totals(system: System) -> dict[Tensor, Tensor]:
    """Rewrite the sums of a system in place; each new total, and a tensor of its recurrence."""
    groups = components(system.outputs)
    loops = {t: g for g in groups if is_recurrence(g) and not _is_copy(g) for t in g}
    again = {t for t, group in loops.items() if any(map(_reads_copies, group))}
    found: dict[Tensor, Tensor] = {}
    for group in groups if loops else ():
        if not is_recurrence(group):
            (tensor,) = group
            for equation in tensor.equations:
                loop, along = _summed_over(equation, loops)
                if loop is not None and (loop in again or _takes_copies(equation)):
                    total = _total(tensor, equation, along, loop.clocks[0])
                    found[total] = loop
                    _read_total(tensor, equation, total)
    return found


def _is_copy(group: list[Tensor]) -> bool:
    return any(e.recomputed for t in group for e in t.equations)


def _reads_copies(tensor: Tensor) -> bool:
    return any(map(_takes_copies, tensor.equations))


def _takes_copies(equation: Equation) -> bool:
    return any(_is_copy([o]) for o in equation.sources)


def _summed_over(
    equation: Equation, loops: dict[Tensor, list[Tensor]]
) -> tuple[Tensor | None, int]:
    """The recurrence over whose steps an equation sums, and the dim that is their time."""
    reads = [r for r in equation.reads if r.attr in loops]
    if equation.combiner != "add" or equation.is_scatter or not reads:
        return None, 0
    loop = reads[0].attr
    times = {r.args[r.attr.time] for r in reads}
    along = next(iter(times))
    alike = len(times) == 1 and all(loops[r.attr] is loops[loop] for r in reads)
    if not alike or along.op != "dim" or along.attr not in equation.reduction_dims:
        return None, 0
    fits = equation.extents[along.attr] == loop.shape[loop.time_dims[0]]
    return (loop, along.attr) if fits else (None, 0)


def _total(tensor: Tensor, equation: Equation, along: int, clock: Clock) -> Tensor:
    """The sum so far after each step."""
    order = [along, *(d for d in range(equation.rank) if d != along)]
    place = {d: k for k, d in enumerate(order)}
    moved = [dim(place[d]) for d in range(equation.rank)]
    body, *write = substitute(equation.expressions, moved)
    back = [sets.dim_aff(equation.rank, place[d]) for d in range(equation.rank)]
    steps = equation.extents[along]
    own = replace(
        equation, extents=tuple(equation.extents[d] for d in order), body=body,
        domain=sets.preimage(equation.domain, equation.rank, back), write=(dim(0), *write),
        parallel=equation.parallel + 1, dim_names=(),
    )  # fmt: skip
    total = Tensor(f"{tensor.name}_total", (steps, *tensor.shape), tensor.dtype, 0)
    total.location, total.clocks = equation.location, [Clock(0, clock.reverse)]
    here = identity_dims(len(total.shape))
    before = load(total, (add(dim(0), index(1 if clock.reverse else -1)), *here[1:]))
    first = index(steps - 1 if clock.reverse else 0)
    passed = whole(total.shape, before, equation.location, "add")
    order_of_steps = (dim(0), first) if clock.reverse else (first, dim(0))
    later = condition_set(compare("lt", *order_of_steps), passed.domain)
    total.equations = (replace(passed, domain=passed.domain.intersect(later)), own)
    return total


def _read_total(tensor: Tensor, equation: Equation, total: Tensor) -> None:
    """Let a tensor read the last total in place of an equation."""
    ((_, reverse),) = total.clocks
    last = index(0 if reverse else total.static_shape[0] - 1)
    body = load(total, (last, *identity_dims(len(tensor.shape))))
    final = whole(tensor.shape, body, equation.location, "add")
    tensor.equations = tuple(final if e is equation else e for e in tensor.equations)
