"""Finished expressions -> tensors with equations: dims by position, nested reductions outlined.

An outlined reduction is computed only where the surrounding expression uses it: the affine part of
its path condition (`where(i > 0, ted.sum(...), 0)`) becomes part of its domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ted.domain import parameters, sets
from ted.domain.sizes import Extent
from ted.errors import FrontendError
from ted.frontend.axes import Axis
from ted.frontend.lazy_reductions import Call, PendingTensor, Reduction, free_axes, pending_reads
from ted.frontend.locations import fail, here
from ted.ir import affine
from ted.ir.dtypes import BOOL, INT64
from ted.ir.equations import (
    Clock,
    Equation,
    Tensor,
    components,
    identity,
    operands,
    topological,
)  # fmt: skip
from ted.ir.exact_indices import exact_indices
from ted.ir.expressions import Expr, postorder
from ted.ir.index_bounds import out_of_bounds
from ted.ir.index_ranges import overflow
from ted.ir.paths import path_conditions
from ted.ir.scalar import (
    FALSE,
    TRUE,
    cast,
    const,
    dim,
    dims_used,
    land,
    lnot,
    lor,
    replace_tensors,
    rewrite,
    select,
)


def close_map(name: str, axes: Sequence[Axis], body: Expr) -> Tensor:
    """The tensor `T[axes] = body`, its nested reductions outlined.

    Raises: FrontendError for an index used outside its lambda, or one that may leave 64 bits.
    """
    _check_bound(name, [body], axes)
    body = outline(cast(body, INT64) if body.dtype.is_index else body, TRUE, name)
    shape = tuple(axis.extent for axis in axes)
    equation = _equation(axes, (), TRUE, body, "set")
    place = equation.location
    return timed(Tensor(name, shape, body.dtype, None, (equation,), place), axes)


def close_reduction(
    name: str, axes: Sequence[Axis], reduction: Reduction, path: Expr = TRUE, root: str = ""
) -> Tensor:
    """The tensor `T[axes] = combiner over reduction.axes of its body`.

    `path` is a condition under which alone the value is used; points outside keep the identity.
    Tensors outlined from its body are named after `root`, the tensor that the user wrote.

    Raises: FrontendError for an index used outside its lambda, or one that may leave 64 bits.
    """
    r, root = reduction, root or name
    _check_bound(r.what, [r.body, r.condition], [*axes, *r.axes])
    condition = land(affine_part(path), r.condition)
    body = outline(r.body, land(path, r.condition), root)
    equations = [_equation(axes, r.axes, condition, body, r.combiner, r)]
    if r.init is not None:
        _check_bound(f"{r.what}: init", [r.init], axes)
        init = outline(r.init, path, root)
        equations.insert(0, _equation(axes, (), affine_part(path), init, "set", r))
    shape = tuple(axis.extent for axis in axes)
    # A value without a reduction, needed everywhere, is written everywhere.
    written = r.combiner == "set" and path is TRUE
    fill = None if written else identity(r.combiner, r.dtype)
    place = equations[0].location
    return timed(Tensor(name, shape, r.dtype, fill, tuple(equations), place), axes)


def timed(tensor: Tensor, axes: Sequence[Axis]) -> Tensor:
    """The tensor with the axes along which a recurrence runs as its times, the outer one first."""
    tensor.clocks = [Clock(k, a.reverse) for k, a in enumerate(axes) if a.reverse is not None]
    return tensor


def _check_bound(what: str, roots: Sequence[Expr], axes: Sequence[Axis]) -> None:
    """Every index in the roots belongs to the dims of the equation that is being closed."""
    bound = {axis.number for axis in axes}
    for axis in free_axes(list(roots), bound, what):
        if axis.is_reduction:
            fail(
                f"{what}: a reduction axis may be used only under a reduction over it, "
                f"got {axis!r}; write ted.sum(..., axis={axis.name})"
            )
        fail(f"{what}: an index may be used only inside its own lambda, got {axis!r}")


# ------------------------------------------------------------------ one equation


def _equation(
    parallel: Sequence[Axis],
    reduced: Sequence[Axis],
    condition: Expr,
    body: Expr,
    combiner: str,
    reduction: Reduction | None = None,
) -> Equation:
    axes = [*parallel, *reduced]
    position = {axis.number: dim(k) for k, axis in enumerate(axes)}
    extents = tuple(axis.extent for axis in axes)
    condition, body = exact_indices(_renumber([condition, body], position), extents)
    domain = domain_of(condition, extents)
    _check_indices(condition, body, axes, domain, reduction)
    equation = Equation(
        extents,
        len(parallel),
        domain,
        tuple(dim(k) for k in range(len(parallel))),
        combiner,
        body,
        reduction.location if reduction is not None else here(),
        tuple(axis.name for axis in axes),
        "first" if reduction is None else reduction.ties,
    )
    what = "compute" if reduction is None else reduction.what
    return checked(equation, what, extents[: len(parallel)], condition)


def checked(
    equation: Equation, what: str, shape: Sequence[Extent], condition: Expr = TRUE
) -> Equation:
    """The equation of a tensor of `shape`, whose affine accesses lie inside their tensors.

    `condition` holds at the points of its domain.
    Raises: FrontendError at the equation for one that does not.
    """
    found = out_of_bounds(equation, shape, condition)
    if found is not None:
        raise FrontendError(f"{what}: {found}", equation.location)
    return equation


def _check_indices(
    condition: Expr, body: Expr, axes: Sequence[Axis], domain: Any, reduction: Reduction | None
) -> None:
    """No index of an equation leaves 64 bits where its value is used."""
    extents, names = [axis.extent for axis in axes], [axis.name for axis in axes]
    found = overflow([condition], extents, None, names) or overflow([body], extents, domain, names)
    if found is not None:
        what = "compute" if reduction is None else reduction.what
        raise FrontendError(f"{what}: {found}", here() if reduction is None else reduction.location)


def _renumber(roots: Sequence[Expr], position: dict[int, Expr]) -> list[Expr]:
    return rewrite(roots, lambda n, _: position[n.attr] if n.op == "dim" else None)


def domain_of(condition: Expr, extents: Sequence[Extent]) -> Any:
    """The points of the box where an affine condition over positional dims holds; None for all."""
    if condition is TRUE:
        return None
    box = parameters.box(extents)
    return box.intersect(affine.condition_set(condition, box)).coalesce()


# ------------------------------------------------------------------ nested reductions


def outline(body: Expr, path: Expr, root: str) -> Expr:
    """Replace the pending tensors that `body` reads by tensors with equations."""
    reads = pending_reads(body)
    if not reads:
        return body
    paths = path_conditions(body)
    used: dict[PendingTensor, Expr] = {}
    for read in reads:
        used[read.attr] = lor(used.get(read.attr, FALSE), paths[read])
    closed: dict[Tensor, Tensor] = {
        tensor: _close_pending(tensor, land(path, condition), root)
        for tensor, condition in used.items()
    }
    return replace_tensors([body], closed)[0]


def _close_pending(tensor: PendingTensor, path: Expr, root: str) -> Tensor:
    source = tensor.source
    assert source is not None
    if isinstance(source, Call):
        return _close_call(source, path, root)[tensor.position]
    path = _restrict(path, tensor)
    if path not in tensor.closed:
        name = f"{root}_{tensor.name}"
        tensor.closed[path] = close_reduction(name, tensor.axes, source, path, root)
    return tensor.closed[path]


def _close_call(call: Call, path: Expr, root: str) -> Sequence[Tensor]:
    """The results of a call, of arguments that are 0 where a condition on its axes does not hold.

    So a root under a condition has no slope that is infinite outside of it.
    """
    own = {axis.number for axis in call.axes}
    path = _keep(path, lambda e: dims_used(e) <= own and not pending_reads(e))
    if path not in call.closed:
        affine_path, others = split_condition(path)
        values = [select(others, a, const(0, a.dtype)) for a in call.arguments]
        sets_of = [Reduction(call.what, "set", v, (), location=call.location) for v in values]
        name = f"{root}_{call.what}"
        given = [close_reduction(name, call.axes, v, affine_path, root) for v in sets_of]
        call.closed[path] = call.made(given)
        _give_times(call, given, call.closed[path])
    return call.closed[path]


def _give_times(call: Call, given: Sequence[Tensor], made: Sequence[Tensor]) -> None:
    """Let what a call makes of a history that is being defined take the steps of that."""
    clocks = [Clock(k, a.reverse) for k, a in enumerate(call.axes) if a.reverse is not None]
    before = topological(given)
    moving = {t for t in before if t.is_input and t.clocks} if clocks else set()
    for group in components((*given, *made)) if moving else ():
        if any(o in moving for t in group for o in operands(t)):
            moving.update(group)
            for tensor in group:
                if tensor not in before:  # which has its times
                    tensor.clocks = (*clocks, *tensor.clocks)


def _restrict(path: Expr, tensor: PendingTensor) -> Expr:
    """The conjuncts of a path condition on the dims of a pending tensor alone.

    Dropping a conjunct only enlarges the set of points that are computed.
    """
    own = {axis.number for axis in tensor.axes}
    return _keep(affine_part(path), lambda e: dims_used(e) <= own)


def affine_part(condition: Expr) -> Expr:
    """A weaker condition made of the affine comparisons of indices only."""
    return _keep(condition, is_affine)


def is_affine(condition: Expr) -> bool:
    """Whether a condition on unfinished dims is a Presburger formula."""
    numbers = sorted(dims_used(condition))
    position = {number: dim(k) for k, number in enumerate(numbers)}
    (positional,) = _renumber([condition], position)
    return positional is TRUE or affine.is_affine(positional, sets.universe(len(numbers)))


def _keep(condition: Expr, keep: Callable[[Expr], bool]) -> Expr:
    """Weaken a condition by replacing the leaves that are not kept by what is always true."""
    weaker: dict[tuple[Expr, bool], Expr] = {}
    for node in postorder(condition):  # both the condition and its negation, weakened
        for negated in (False, True):
            weaker[node, negated] = _weaken(node, negated, keep, weaker)
    return weaker[condition, False]


def _weaken(
    node: Expr,
    negated: bool,
    keep: Callable[[Expr], bool],
    weaker: dict[tuple[Expr, bool], Expr],
) -> Expr:
    if node.op == "not":
        return weaker[node.args[0], not negated]
    if node.op in ("and", "or"):
        a, b = (weaker[x, negated] for x in node.args)
        return land(a, b) if (node.op == "and") != negated else lor(a, b)
    if node.dtype != BOOL or not keep(node):
        return TRUE
    return lnot(node) if negated else node


def split_condition(condition: Expr) -> tuple[Expr, Expr]:
    """A condition as (affine conjuncts, the others)."""
    if condition.op == "and":
        parts = [split_condition(x) for x in condition.args]
        return land(parts[0][0], parts[1][0]), land(parts[0][1], parts[1][1])
    return (condition, TRUE) if is_affine(condition) else (TRUE, condition)
