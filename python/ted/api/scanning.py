"""`ted.scan`: a function of one step, traced once, as a recurrence over all of them.

Before: h, ys = ted.scan(step, h0, xs)    with    h', y = step(h, x)
After:  before[t] = where(t > 0, h[t - 1], h0);  h[t], ys[t] = step(before[t], xs[t])

The step is traced on tensors of one step and then batched over time, so everything that works on
tensors works in it; what depends on neither carry nor xs stays outside of the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from ted.api.index_lambdas import of_elements
from ted.api.lifting import placeholder_like
from ted.api.overrides import batched, leading
from ted.api.weak_numbers import beside, is_rehearsed, rehearsed, settled
from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.checks import called, check_callable
from ted.frontend.compute import compute
from ted.frontend.elementwise import where
from ted.frontend.functions import as_tensor
from ted.frontend.joining import concatenate
from ted.frontend.layout import reshape
from ted.frontend.locations import fail, here
from ted.frontend.notes import Loop, Note, here_in_notes, record, taken
from ted.frontend.recurrences import settle
from ted.frontend.tensors import Tensor, placeholder, wrap
from ted.frontend.trees import Tree, flatten, unflatten
from ted.ir.equations import Clock, components, is_recurrence, topological
from ted.ir.equations import Tensor as Node
from ted.ir.recurrences import UNBOUNDED
from ted.transforms.batching import Batched
from ted.transforms.forgotten import forget


@of_elements("scan")
def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Extent | None = None,
    reverse: bool = False,
    checkpoint: int | bool | str | None = None,
) -> tuple[Any, Any]:
    """The final carry of `carry, y = step(carry, x)` over all x, and the ys stacked along dim 0.

    `init` is a nest of tensors, the first carry; `xs` a nest of tensors whose dim 0 is time (or
    None, then `length` says how many steps there are and x is None); y is a nest of tensors or
    None.  `reverse` begins with the last x.  With `checkpoint=s` the gradient keeps only the
    carries between segments of s steps, computes the carries of a segment again when it comes to
    it, and what is inside of a step when it comes to that: T / s + s carries and one step are in
    memory at once, for two more evaluations.  `True` or "sqrt" is s near the root of T, the
    least, or little more where segments have equal lengths then.
    Raises: FrontendError when a step changes the shape or type of its carry, or lengths differ.
    """
    check_callable(step, "scan: step")
    reverse = checks.flag(reverse, "scan: reverse")
    inputs, tree = _tensors(xs, "xs")

    def turn(carry: Any) -> tuple[Any, Any]:
        return _called(step, carry, unflatten(tree, (_one_step(t) for _, t in inputs)))

    if is_rehearsed():
        carry, y = rehearsed(init, turn)
        return carry, _stacked(y, _steps(inputs, length))
    init = settled(init, turn)
    if checkpoint is not None and checkpoint is not False:
        return _in_segments(step, init, xs, length, reverse, checkpoint)
    return _scan(step, init, xs, length, reverse)


def _called(step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, x: Any) -> tuple[Any, Any]:
    result = called("scan", "step(carry, x)", step, carry, x)
    if not isinstance(result, tuple) or len(result) != 2:
        fail(f"scan: a step gives a pair (carry, y), got {type(result).__name__}")
    return result


def _stacked(y: Any, steps: Extent) -> Any:
    """Inputs of the shapes and types of the ys of all steps."""
    found, tree = _tensors(y, "y")
    return unflatten(tree, (placeholder((steps, *t.shape), t.dtype, "y") for _, t in found))


def _scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    init: Any, xs: Any, length: Extent | None, reverse: bool, forgets: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    starts, carry_tree = _tensors(init, "init")
    inputs, xs_tree = _tensors(xs, "xs")
    steps = _steps(inputs, length)
    carries = [placeholder_like(t) for _, t in starts]
    singles = [_one_step(t) for _, t in inputs]
    x = unflatten(xs_tree, iter(singles))
    begin = here_in_notes()
    carry, y = _called(step, unflatten(carry_tree, iter(carries)), x)
    after = _next_carry(carry, carry_tree, starts)
    ys, ys_tree = _tensors(y, "y")
    hidden, notes_tree = flatten(_noted(begin, steps, reverse))
    # What no step changes has no history: a loop that may be left would have to keep it.
    moving = [k for k, t in enumerate(after) if t.node is not carries[k].node]
    before = {k: _history(starts[k][1], steps, reverse) for k in moving}
    given = {
        c.node: Batched(before[k], 0) if k in before else Batched(t.node, None)
        for k, (c, (_, t)) in enumerate(zip(carries, starts, strict=True))
    }
    given |= {s.node: Batched(t.node, 0) for s, (_, t) in zip(singles, inputs, strict=True)}
    own = (*after, *(t for _, t in (*ys, *hidden)))
    found = batched([t.node for t in own], given, steps)
    if steps == UNBOUNDED:
        _check_inner(found)
    states, stacked = found[: len(after)], found[len(after) :]
    histories = list(before.values())
    _tie(histories, [states[k] for k in moving], [starts[k][1] for k in moving], steps, reverse)
    if forgets:
        given = [t.node for _, t in (*starts, *inputs)]
        forget([s.tensor for s in found], histories if steps != 1 else (), given)
    last = [_last(s, t, steps, reverse) for s, (_, t) in zip(states, starts, strict=True)]
    outputs = (leading(y, steps) for y in stacked)
    final, listed = unflatten(carry_tree, iter(last)), unflatten(ys_tree, outputs)
    record(unflatten(notes_tree, outputs))
    return final, listed


def _check_inner(found: Sequence[Batched]) -> None:
    for tensor in topological([b.tensor for b in found]):
        if tensor.shape.count(UNBOUNDED) > 1:
            fail(
                "while_loop: a loop inside of one without max_steps has a number of steps, got "
                f"{tensor.name} in one without; give max_steps=, or write it as a fori_loop"
            )


def _noted(begin: int, steps: Extent, reverse: bool) -> list[Note]:
    """What a step says."""
    notes = taken(begin)
    if notes and steps == UNBOUNDED:
        fail(
            "while_loop: what ted.print and ted.check say in a loop is kept for all of its steps, "
            "got one without max_steps=; give the most that it takes"
        )
    loop = Loop("step", reverse)
    return [note.inside(loop) for note in notes]


def _in_segments(
    step: Callable[[Any, Any], tuple[Any, Any]],
    init: Any, xs: Any, length: Extent | None, reverse: bool, wanted: int | bool | str,
) -> tuple[Any, Any]:  # fmt: skip
    """The scan as one over segments of the wanted size, whose step is a checkpointed scan.

    What is left of the steps is a segment by itself, the last one in time order of xs.
    """
    inputs, tree = _tensors(xs, "xs")
    steps = _steps(inputs, length)
    if not isinstance(steps, int):
        fail(f"scan: checkpoint takes a number of steps that is no symbolic size, got {steps}")
    size = _segment_size(wanted, steps)
    count = max(steps // size, 1) if steps >= 2 * size else 0

    def whole(carry: Any) -> tuple[Any, Any]:
        parts = [reshape(t[: count * size], (count, size, *t.shape[1:])) for _, t in inputs]
        segment = _segment(step, size, reverse)
        carry, ys = scan(segment, carry, unflatten(tree, iter(parts)), count, reverse)
        found, ys_tree = _tensors(ys, "y")
        flat = [reshape(t, (count * size, *t.shape[2:])) for _, t in found]
        return carry, unflatten(ys_tree, iter(flat))

    def rest(carry: Any) -> tuple[Any, Any]:
        part = unflatten(tree, (t[count * size :] for _, t in inputs))
        return _segment(step, steps - count * size, reverse)(carry, part)

    parts = [whole] if count else []
    if count * size < steps or not steps:  # no step at all is a segment too: it has empty ys
        parts.append(rest)
    carry, stacks = init, []
    for part in reversed(parts) if reverse else parts:
        carry, ys = part(carry)
        stacks.append(flatten(ys))
    ordered = stacks[::-1] if reverse else stacks
    leaves = [[leaf for _, leaf in found] for found, _ in ordered]
    joined = (concatenate(list(column), axis=0) for column in zip(*leaves, strict=True))
    return carry, unflatten(ordered[0][1], joined)


def _segment_size(wanted: Any, steps: int) -> int:
    """The number of steps of a segment."""
    if wanted is True or (isinstance(wanted, str) and wanted == "sqrt"):
        return _least_memory(steps)
    steps_of_each = int(wanted) if isinstance(wanted, Integral) else 0
    if isinstance(wanted, bool) or steps_of_each < 1:
        fail(
            "scan: checkpoint is a number of steps, at least 1, or True for the least memory, got "
            f"{wanted!r}; leave it out to keep every carry"
        )
    return steps_of_each


# How much more a split without a rest may keep than the least: a rest doubles the code.
_SPARED_REST = 1 + 1 / 16


def _least_memory(steps: int) -> int:
    """The number of steps of segments of which as few carries are kept as possible."""
    root = math.sqrt(steps)
    size = -(-steps // (round(root) or 1)) or 1
    most = (-(-steps // size) + size) * _SPARED_REST
    divisors = [d for d in range(1, math.isqrt(steps) + 1) if steps % d == 0]
    equal = [s for d in divisors if d + steps // d <= most for s in (d, steps // d)]
    return min(equal, key=lambda s: abs(s - root), default=size)


def _segment(
    step: Callable[[Any, Any], tuple[Any, Any]], steps: Extent, reverse: bool
) -> Callable[..., Any]:
    def segment(carry: Any, xs: Any = None) -> Any:
        return _scan(step, carry, xs, steps, reverse, forgets=True)

    return segment


def _tensors(nest: Any, what: str) -> tuple[list[tuple[str, Tensor]], Tree]:
    leaves, tree = flatten(nest)
    found = [(path, as_tensor(v, path, "scan", what)) for path, v in leaves]
    return found, tree


def _steps(inputs: Sequence[tuple[str, Tensor]], length: Extent | None) -> Extent:
    counts: dict[Extent, str] = {}
    for _, tensor in inputs:
        if not tensor.shape:
            fail(f"scan: dim 0 of xs is time, got {tensor.name} of rank 0")
        counts.setdefault(tensor.shape[0], tensor.name)
    if length is not None:
        counts.setdefault(checks.extent(length, "scan: length"), "length")
    if len(counts) != 1:
        listed = ", ".join(f"{n} of {name}" for n, name in counts.items()) or "neither"
        fail(f"scan: xs and length agree on the number of steps, got {listed}")
    return next(iter(counts))


def _one_step(tensor: Tensor) -> Tensor:
    single = placeholder_like(tensor)
    single.node.shape = tensor.shape[1:]
    return single


def _next_carry(nest: Any, tree: Any, starts: Sequence[tuple[str, Tensor]]) -> list[Tensor]:
    """The carry that a step gives, of the same nest, shapes and types as the first one."""
    leaves, given = flatten(beside(nest, unflatten(tree, (t for _, t in starts))))
    found = [(path, as_tensor(new, path, "scan", "carry")) for path, new in leaves]
    if given != tree:
        fail(f"scan: a step keeps the nest of its carry, {tree}, got {given}")
    for (path, new), (_, old) in zip(found, starts, strict=True):
        if (new.shape, new.dtype) != (old.shape, old.dtype):
            name = f"carry {path}" if path else f"carry {old.name}"
            fail(
                f"scan: a step keeps the shape and type of its carry, {old.dtype}"
                f"{list(old.shape)} for {name}, got {new.dtype}{list(new.shape)}; give "
                "the first carry the shape and type of the others"
            )
    return [tensor for _, tensor in found]


# ------------------------------------------------------------------ over time


def _history(start: Tensor, steps: Extent, reverse: bool) -> Node:
    """The tensor of the carries before each step, to be defined."""
    shape = (steps, *start.shape)
    return Node(f"{start.name}_before", shape, start.dtype, None, (), here(), 0, reverse)


def _tie(
    before: Sequence[Node],
    states: Sequence[Batched],
    starts: Sequence[Tensor],
    steps: Extent,
    reverse: bool,
) -> None:
    """Define the carry before each step: the one after the step before it, or the first one."""
    for history, state, start in zip(before, states, starts, strict=True):
        made = compute(
            history.shape, _before(wrap(state.tensor), state.axis, start, steps, reverse)
        )
        history.fill, history.equations = made.node.fill, made.node.equations
    for group in components(before):
        if is_recurrence(group) and any(history in group for history in before):
            for tensor in group:  # a recurrence inside of a step keeps its times, after this one
                if tensor not in before:
                    tensor.clocks = (Clock(0, reverse), *tensor.clocks)
    settle(before, reverse)


def _before(
    state: Tensor, axis: int | None, start: Tensor, steps: Extent, reverse: bool
) -> Callable[..., Any]:
    def element(*i: Any) -> Any:
        t, rest = i[0], i[1:]
        going, at = (t < steps - 1, t + 1) if reverse else (t > 0, t - 1)
        previous = state[rest] if axis is None else state[(at, *rest)]
        return where(going, previous, start[rest])

    return element


def _last(state: Batched, start: Tensor, steps: Extent, reverse: bool) -> Tensor:
    if steps == 0:
        return start
    tensor = wrap(state.tensor)
    return tensor if state.axis is None else tensor[0 if reverse else steps - 1]
