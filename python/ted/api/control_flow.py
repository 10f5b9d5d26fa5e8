"""`ted.cond`, `ted.while_loop`, `ted.fori_loop`: branches and loops out of choices and scans.

Before: y = ted.while_loop(going, body, x, max_steps=100)
After:  a scan of 100 steps over (g, y):  g = g and going(y);  y = ted.cond(g, body, same, y)

A branch is a choice whose equations do nothing where it is not taken (`transforms/branches.py`),
and a loop that leaves early is a scan of which every step is a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ted.api.index_lambdas import has_scalars, of_elements
from ted.api.scanning import scan
from ted.api.weak_numbers import beside, is_weak, paired
from ted.domain.sizes import Size
from ted.frontend import checks
from ted.frontend.checks import called, check_callable
from ted.frontend.compute import compute
from ted.frontend.elementwise import cast, where
from ted.frontend.functions import as_tensor
from ted.frontend.locations import fail
from ted.frontend.notes import Note, here_in_notes, record, taken
from ted.frontend.stated_bounds import held
from ted.frontend.tensors import Tensor, wrap
from ted.frontend.trees import Tree, flatten, unflatten
from ted.ir.dtypes import BOOL, INT64
from ted.ir.recurrences import UNBOUNDED
from ted.records import dataclass
from ted.transforms.branches import Branch, in_branch

Leaves = list[tuple[str, Tensor]]


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """`true_fun(*operands)` where `pred` holds, else `false_fun(*operands)`: one branch is run.

    `pred` is a bool scalar; of a tensor of bools with dims, or inside an index lambda, it is
    `ted.where` on each leaf of what both give. A Python bool calls one function.
    Shapes: both give the same nest, shapes and types.
    Raises: FrontendError when they do not, or for a `pred` that is no bool.
    """
    for name, fn in (("true_fun", true_fun), ("false_fun", false_fun)):
        check_callable(fn, f"cond: {name}")
    if isinstance(pred, (bool, np.bool_)):
        name, fn = ("true_fun", true_fun) if pred else ("false_fun", false_fun)
        return called(f"cond: {name}", "true_fun(*operands)", fn, *operands)
    if has_scalars((pred, operands)):
        return _choice(pred, true_fun, false_fun, operands)
    pred = as_tensor(pred, "", "cond", "pred")
    if pred.dtype != BOOL:
        fail(f"cond: pred must be of bools, got {pred.dtype}{list(pred.shape)}; compare it")
    if pred.ndim:
        return _choice(pred, true_fun, false_fun, operands)
    on = _traced(pred, "true_fun", true_fun, operands)
    off = _traced(pred, "false_fun", false_fun, operands)
    (yes, tree), (no, other) = on.results(off), off.results(on)
    _check_alike(yes, tree, no, other)
    pairs = ((a, b) for (_, a), (_, b) in zip(yes, no, strict=True))
    return unflatten(tree, (a if a.node is b.node else where(pred, a, b) for a, b in pairs))


def _choice(pred: Any, true_fun: Any, false_fun: Any, operands: Sequence[Any]) -> Any:
    form = "fun(*operands)"
    a, b = (
        called(f"cond: {name}", form, fn, *operands)
        for name, fn in (("true_fun", true_fun), ("false_fun", false_fun))
    )
    (yes, tree), (no, other) = map(flatten, paired(a, b))
    if tree != other:
        fail(f"cond: both branches give the same nest, got {tree} and {other}")
    return unflatten(tree, (where(pred, a, b) for (_, a), (_, b) in zip(yes, no, strict=True)))


@dataclass(frozen=True)
class _Traced:
    """What a branch gives and says, not yet under its condition."""

    name: str
    pred: Tensor
    branch: Branch
    given: Any
    notes: list[Note]

    def results(self, other: _Traced) -> tuple[Leaves, Tree]:
        """What it gives, computed where it is taken; numbers in the types of the other branch."""
        leaves, tree = flatten(beside(self.given, other.given))
        found = [as_tensor(value, path, f"cond: {self.name}") for path, value in leaves]
        hidden, notes_tree = flatten(self.notes)
        nodes = [t.node for t in (*found, *(t for _, t in hidden))]
        made = map(wrap, in_branch(nodes, self.branch))
        results = [(path, next(made)) for path, _ in leaves]
        is_taken = self.pred if self.branch.taken else ~self.pred
        record(note.under(is_taken) for note in unflatten(notes_tree, made))
        return results, tree


def _traced(pred: Tensor, name: str, fn: Any, operands: Sequence[Any]) -> _Traced:
    begin, branch = here_in_notes(), Branch.of(pred.node, name == "true_fun")
    given = called(f"cond: {name}", f"{name}(*operands)", fn, *operands)
    return _Traced(name, pred, branch, given, taken(begin))


def _check_alike(yes: Leaves, tree: Tree, no: Leaves, other: Tree) -> None:
    if tree != other:
        fail(f"cond: both branches give the same nest, got {tree} and {other}")
    for (path, a), (_, b) in zip(yes, no, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            place = f" at {path}" if path else ""
            fail(
                "cond: both branches give the same shapes and types, got "
                f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}{place}"
            )


# ------------------------------------------------------------------ loops


@of_elements("while_loop")
def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    max_steps: int | None = None,
    truncate: bool = False,
) -> Any:
    """`while cond_fun(val): val = body_fun(val)`, from `init_val` on; at most `max_steps` times.

    Gradients keep `max_steps` values. A condition that still holds after them is an ExecutionError;
    `truncate=True` ends the loop there. Without `max_steps` the condition alone ends it, on CPUs
    and without reverse mode; Ctrl-C interrupts it, and 2**31 - 3 steps are an ExecutionError.
    Shapes: `val` is a nest that keeps its shapes and types.
    Raises: FrontendError when it does not, or `cond_fun` gives no bool scalar.
    """
    check_callable(cond_fun, "while_loop: cond_fun")
    check_callable(body_fun, "while_loop: body_fun")
    steps = UNBOUNDED if max_steps is None else _max_steps(max_steps)
    truncate = checks.flag(truncate, "while_loop: truncate")
    if max_steps is None and truncate:
        fail("while_loop: truncate=True ends a loop after max_steps, got no max_steps")
    rule = (
        f"while_loop: at most max_steps={max_steps} steps are taken (truncate=True ends the loop "
        "there), got a condition that holds before step"
    )
    given = cond_fun, body_fun, init_val, steps
    return loop(*given, rule=None if max_steps is None or truncate else rule)


def loop(cond_fun: Any, body_fun: Any, init_val: Any, steps: int, rule: str | None) -> Any:
    """A `while_loop` of at most so many steps; more break a rule, where there is one.

    Raises: FrontendError as `while_loop`.
    """
    starts, tree = flatten(init_val)
    start = unflatten(
        tree,
        (v if is_weak(v) else as_tensor(v, path, "while_loop", "init_val") for path, v in starts),
    )

    def going(val: Any) -> Tensor:
        found = as_tensor(called("while_loop", "cond_fun(val)", cond_fun, val), "", "while_loop")
        if found.ndim or found.dtype != BOOL:
            kind = f"{found.dtype}{list(found.shape)}"
            fail(f"while_loop: cond_fun gives a bool scalar, got {kind}; use ted.any or ted.all")
        return found

    def body(val: Any) -> Any:
        given = called("while_loop", "body_fun(val)", body_fun, val)
        return _next_carry(given, val)

    def step(carry: Any, _: Any) -> Any:
        still, val = carry
        still = cond(still, going, lambda _: False, val)
        return (still, cond(still, body, lambda val: val, val)), None

    still, val = scan(step, (True, start), length=steps)[0]
    if rule is None:
        return val
    broken = cond(still, going, lambda _: False, val)
    leaves, tree = flatten(val)
    tensors = [as_tensor(value, path, "while_loop") for path, value in leaves]
    return unflatten(tree, iter(held(tensors, broken, steps + 1, rule)))


def _max_steps(value: Any) -> int:
    steps = checks.integer(value, "while_loop: max_steps")
    if not 0 <= steps < UNBOUNDED:
        fail(f"while_loop: max_steps is from 0 to {UNBOUNDED - 1}, got {steps}")
    return steps


def _next_carry(given: Any, val: Any) -> Any:
    """What a step gives, which has the nest, shapes and types of what it was given."""
    (new, tree), (old, wanted) = flatten(beside(given, val)), flatten(beside(val, given))
    if tree != wanted:
        fail(f"while_loop: body_fun keeps the nest of val, {wanted}, got {tree}")
    carry = []
    for (path, value), (_, before) in zip(new, old, strict=True):
        found = as_tensor(value, path, "while_loop: body_fun")
        carry.append(found)
        if (found.shape, found.dtype) != (before.shape, before.dtype):
            fail(
                f"while_loop: body_fun keeps shapes and types, {before.dtype}"
                f"{list(before.shape)} for {path or 'val'}, got {found.dtype}{list(found.shape)}"
            )
    return unflatten(tree, iter(carry))


@of_elements("fori_loop")
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    max_steps: int | None = None,
    truncate: bool = False,
) -> Any:
    """`for i in range(lower, upper): val = body_fun(i, val)`, from `init_val` on.

    With numbers or symbolic sizes as bounds it is a scan; with bounds that are data a `while_loop`,
    which may take `max_steps` and `truncate`. Inside, i is an int64 scalar.
    Raises: FrontendError when `val` does not keep nest, shapes and types, or a bound is no integer.
    """
    check_callable(body_fun, "fori_loop: body_fun")
    if any(isinstance(bound, Tensor) for bound in (lower, upper)):
        return _counted(lower, upper, body_fun, init_val, max_steps, truncate)
    if max_steps is not None or truncate is not False:
        name = "truncate" if max_steps is None else "max_steps"
        fail(f"fori_loop: {name} is for bounds that are data, got {lower!r} and {upper!r}")
    first, end = (
        checks.extent(b, f"fori_loop: {n}") for b, n in ((lower, "lower"), (upper, "upper"))
    )
    length = end - first
    steps = length if isinstance(length, Size) else max(length, 0)
    counter = compute((steps,), lambda i: cast(first + i, INT64))

    def step(val: Any, i: Any) -> Any:
        return called("fori_loop", "body_fun(i, val)", body_fun, i, val), None

    return scan(step, init_val, counter)[0]


def _counted(
    lower: Any, upper: Any, body_fun: Any, init_val: Any, max_steps: int | None, truncate: bool
) -> Any:
    first, end = (as_tensor(b, "", "fori_loop", n) for b, n in ((lower, "lower"), (upper, "upper")))
    for name, bound in (("lower", first), ("upper", end)):
        if bound.ndim or bound.dtype.kind != "int":
            fail(f"fori_loop: {name} is an integer scalar, got {bound.dtype}{list(bound.shape)}")

    def body(carry: Any) -> Any:
        i, val = carry
        return i + 1, called("fori_loop", "body_fun(i, val)", body_fun, i, val)

    start = (first.astype(INT64), init_val)
    stop = end.astype(INT64)
    return while_loop(lambda carry: carry[0] < stop, body, start, max_steps, truncate)[1]
