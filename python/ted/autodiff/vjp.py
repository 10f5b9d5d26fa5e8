"""Reverse mode on systems: every read of every equation adds one equation to an adjoint.

Before: C[i, j] += A[i, r] * B[r, j]      After: dA[i, r] += dC[i, j] * B[r, j]  over all i, j, r

The new equations are in scatter form: they iterate over the primal equation's points and write
where the primal read.  `ted-scatter-to-gather` inverts the writes.  No operation has a rule here:
one equation, one read, one adjoint equation, whatever the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ted.autodiff.body import read_adjoints
from ted.autodiff.data_writes import guarded_writes
from ted.autodiff.extrema import cotangent_of_points
from ted.autodiff.materialise import materialise_shared
from ted.autodiff.override import Override
from ted.autodiff.steps import in_steps, settle_recurrences, written_at_data
from ted.autodiff.support import Supports
from ted.autodiff.sweep_order import sweep_order
from ted.domain.budget import bounded
from ted.errors import DerivativeError
from ted.ir.affine import decide_selects
from ted.ir.dtypes import DType, accumulator
from ted.ir.equations import (
    Clock,
    Equation,
    System,
    Tensor,
    identity_dims,
    is_recurrence,
    operands,
    whole,
)
from ted.ir.expressions import Expr
from ted.ir.recurrences import UNBOUNDED, step_count
from ted.ir.scalar import (
    cast,
    compare,
    dims_used,
    is_const,
    is_linear,
    load,
    replace_nodes,
    rewrite,
    select,
    weight,
)  # fmt: skip
from ted.records import dataclass

DIFFERENTIABLE = ("set", "add", "max", "min")


@dataclass(frozen=True)
class Adjoints:
    """The result of one reverse sweep: adjoints per primal tensor, and what each is the sum of,
    by the tensor that reads it: {tensor: {reader: equations}}, without heads.
    """

    adjoints: dict[Tensor, Tensor]
    summands: dict[Tensor, dict[Tensor, list[Equation]]]


@dataclass(frozen=True)
class Sweep:
    """What is known of the tensors of a sweep.

    The active ones, those with a derivative of the user's, what has been added to the adjoint of
    each so far, tensors of the same value in the program that the system was made of, and what can
    be non-zero of all that is defined.
    """

    active: set[Tensor]
    overrides: Mapping[Tensor, Override]
    summands: Mapping[Tensor, Sequence[Equation]]
    origin: Mapping[Tensor, Tensor]
    supports: Supports


def vjp(
    system: System,
    heads: Sequence[Tensor],
    overrides: Mapping[Tensor, Override] | None = None,
    origin: Mapping[Tensor, Tensor] = MappingProxyType({}),
) -> Adjoints:
    """The adjoints of every tensor between the system's inputs and outputs.

    `origin` has tensors of the same value in the program that the system was made of.
    Shapes: one head per output, of its shape and type.
    Raises: DerivativeError when a combiner or a scalar operation has no derivative.
    """
    overrides = overrides or {}
    groups = sweep_order(system, overrides)
    active = active_tensors(system, groups, overrides)
    summands: dict[Tensor, list[Equation]] = {t: [] for group in groups for t in group}
    parts: dict[Tensor, dict[Tensor, list[Equation]]] = {}
    adjoints: dict[Tensor, Tensor] = {}
    sweep = Sweep(active, overrides, summands, origin, Supports())
    seeds = {copy_of(head): head for head in heads}
    for output, seed in zip(system.outputs, seeds, strict=True):
        summands[output].append(seed)
    for group in reversed(groups):
        recurrent = is_recurrence(group)
        moving = [t for t in group if t in active]
        steps = moving if recurrent else []
        if steps and step_count(steps) == UNBOUNDED:
            raise DerivativeError(
                "while_loop: reverse mode keeps the values of all steps, got no max_steps; give "
                "max_steps=, or use ted.jvp",
                steps[0].location,
            )
        for tensor in steps:
            summands[tensor] = _outside_of_steps(tensor, summands[tensor])
        for tensor in moving:
            adjoints[tensor] = _started(tensor, summands[tensor], seeds, recurrent)
            if not recurrent and adjoints[tensor] not in heads:  # a user's override may look at it
                finish_adjoint(adjoints[tensor], tensor, summands[tensor])
        for tensor in moving if any(summands[t] for t in moving) else ():
            loop = group if recurrent else ()
            for operand, summand in _pulled_back(tensor, adjoints[tensor], sweep, loop):
                summands[operand].append(summand)
                parts.setdefault(operand, {}).setdefault(tensor, []).append(summand)
        for tensor in steps:
            finish_adjoint(adjoints[tensor], tensor, summands[tensor])
        if any(t in overrides for t in steps):
            settle_recurrences([adjoints[t] for t in steps])
        elif steps:
            _leave_zeros_out(steps, adjoints, summands, parts, sweep.supports)
    return Adjoints(adjoints, {t: parts.get(t, {}) for t in adjoints})


def _leave_zeros_out(
    steps: Sequence[Tensor],
    adjoints: Mapping[Tensor, Tensor],
    summands: dict[Tensor, list[Equation]],
    parts: Mapping[Tensor, dict[Tensor, list[Equation]]],
    supports: Supports,
) -> None:
    """Restrict what a recurrence adds, to its adjoints and others, now that all of it is known."""
    new: dict[Equation, Equation] = {}
    for readers in parts.values():
        for equation in (e for t in steps for e in readers.get(t, ())):
            points = supports.of_value(equation.body, equation.domain)
            if not bounded(equation.domain.is_subset, points):
                new[equation] = replace(equation, domain=points)
    for operand, readers in parts.items() if new else ():
        summands[operand] = [new.get(e, e) for e in summands[operand]]
        for tensor in readers.keys() & set(steps):
            readers[tensor] = [new.get(e, e) for e in readers[tensor]]
    for tensor in steps if new else ():
        finish_adjoint(adjoints[tensor], tensor, summands[tensor])


def _pulled_back(
    tensor: Tensor, cotangent: Tensor, sweep: Sweep, loop: Sequence[Tensor]
) -> Iterator[tuple[Tensor, Equation]]:
    """What the adjoint of one tensor adds to the adjoints of others.

    `loop` is the recurrence that the tensor is part of.
    """
    override = sweep.overrides.get(tensor)
    if override is None:
        if loop:
            sweep = replace(sweep, origin={})
        for equation in tensor.equations:
            for operand, summand in _equation_vjp(tensor, equation, cotangent, sweep):
                inside = operand in loop
                yield operand, in_steps(operand, summand, tensor, equation) if inside else summand
        return
    found = override.adjoints(tensor, cotangent)
    for dependency, adjoint in zip(override.dependencies, found, strict=True):
        if (adjoint.shape, adjoint.dtype) != (dependency.shape, dependency.dtype):
            raise DerivativeError(
                f"override of {tensor}: one adjoint of the type of each dependency, got "
                f"{adjoint.dtype}{list(adjoint.shape)} for {dependency.dtype} {dependency}",
                tensor.location,
            )
        if dependency in sweep.active and not adjoint.is_zero:  # 0 * a slope of inf is NaN
            yield dependency, copy_of(adjoint)


def active_tensors(
    system: System, groups: Sequence[Sequence[Tensor]], overrides: Mapping[Tensor, Override]
) -> set[Tensor]:
    """The float tensors that depend on an input of the system."""
    active: set[Tensor] = set()
    inputs = set(system.inputs)
    for group in groups:
        reads = {d for t in group for d in _dependencies(t, overrides)}
        if not (inputs.isdisjoint(group) and active.isdisjoint(reads)):
            active.update(t for t in group if t.dtype.is_float)
    return active


def _dependencies(tensor: Tensor, overrides: Mapping[Tensor, Override]) -> Sequence[Tensor]:
    override = overrides.get(tensor)
    return operands(tensor) if override is None else override.dependencies


def _equation_vjp(
    tensor: Tensor, equation: Equation, cotangent: Tensor, sweep: Sweep
) -> Iterator[tuple[Tensor, Equation]]:
    """One scatter-form equation for each active read of `equation`."""
    if equation.combiner not in DIFFERENTIABLE:
        raise DerivativeError(
            f"{tensor.name}: a combiner in {DIFFERENTIABLE} to differentiate, "
            f"got {equation.combiner}",
            equation.location,
        )
    taken, g = cotangent_of_points(tensor, equation, cotangent, sweep.origin.get(tensor))
    pairs = read_adjoints(equation.body, g, sweep.active.__contains__, equation.location, taken)
    pairs = [(read, _reuse_value(tensor, equation, g)) for read, g in pairs]
    domains = [sweep.supports.of_value(g, equation.domain, cotangent) for _, g in pairs]
    writes = guarded_writes(equation, [read for read, _ in pairs])
    writes = [decide_selects(w, where) for w, where in zip(writes, domains, strict=True)]
    pairs = [
        (read, decide_selects([g], where)[0])
        for (read, g), where in zip(pairs, domains, strict=True)
    ]
    factors = replace(cotangent, name=f"{cotangent.name}_shared", fill=0)
    stored = {  # a first summand that never meets another one is no addition
        read.attr
        for (read, _), write in zip(pairs, writes, strict=True)
        if not sweep.summands[read.attr] and _writes_once(equation, write)
    }
    additions = len(pairs) - len(stored)
    pairs = materialise_shared(equation, pairs, domains, factors, additions)
    for (read, g), write, where in zip(pairs, writes, domains, strict=True):
        if not bounded(where.is_empty) and 0 not in read.attr.shape:
            yield read.attr, _scatter(equation, tuple(write), g, where)


def _writes_once(equation: Equation, write: Sequence[Expr]) -> bool:
    """Whether each dim can be told from one subscript, so that no two points write one element."""
    told = [dims_used(w) for w in write if is_linear(w)]
    return {d for d, extent in enumerate(equation.extents) if extent != 1} <= set().union(*told)


def _scatter(equation: Equation, write: tuple[Expr, ...], body: Expr, domain: Any) -> Equation:
    return Equation(
        equation.extents, 0, domain, write, "add", body, equation.location, equation.dim_names
    )


def _reuse_value(tensor: Tensor, equation: Equation, g: Expr) -> Expr:
    """Read the stored result instead of evaluating the body again inside its adjoint.

    Of a body `where(c, a, b)` also instead of `a`, where `c` holds; of `maximum(c, x)`, instead of
    `x` where that is compared with a constant: `x` may be needed for nothing else then.
    """
    body = equation.body
    stored = len(tensor.equations) == 1 and equation.combiner == "set"
    if not stored or equation.parallel != equation.rank or weight(body) == 0:
        return g
    value = load(tensor, equation.write)
    g = replace_nodes(g, {body: value, **_bounded_by_first(body, value)})
    if body.op != "select" or weight(body.args[1]) == 0:
        return g
    condition, chosen, _ = body.args

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "select" or node.args[0] is not condition:
            return None
        return select(args[0], replace_nodes(args[1], {chosen: value}), args[2])

    return rewrite([g], visit)[0]


def _bounded_by_first(body: Expr, value: Expr) -> dict[Expr, Expr]:
    """The condition that an extremum takes its first argument, a constant: of the value instead.

    `x <= c` if and only if `maximum(c, x) <= c`, for infinities and NaN as well.
    """
    if body.op not in ("maximum", "minimum") or not is_const(body.args[0]):
        return {}
    first, other = body.args
    if body.op == "maximum":
        return {compare("le", other, first): compare("le", value, first)}
    return {compare("le", first, other): compare("le", first, value)}


def _started(
    primal: Tensor, summands: Sequence[Equation], seeds: Mapping[Equation, Tensor], recurrent: bool
) -> Tensor:
    """The adjoint without its equations; the head itself where nothing else is added to it.

    In a recurrence a user's override gets it like this, as a variable, before they are known.
    """
    alone = seeds.get(summands[0]) if len(summands) == 1 and not recurrent else None
    if alone is not None:
        return alone
    adjoint = replace(primal, name=f"d{primal.name}", fill=None, equations=())
    adjoint.clocks = [Clock(at, not reverse) for at, reverse in primal.clocks]
    return adjoint


def finish_adjoint(adjoint: Tensor, primal: Tensor, summands: Sequence[Equation]) -> None:
    """Define an adjoint as the sum of its summands, accumulated in the wider type."""
    adjoint.fill = 0
    wide = accumulator(primal.dtype)
    if wide == primal.dtype:
        adjoint.equations = tuple(summands)
        return
    widened = tuple(replace(e, body=_unrounded(e.body, wide)) for e in summands)
    total = replace(adjoint, name=f"{adjoint.name}_wide", dtype=wide, equations=widened)
    copy = copy_of(total)
    adjoint.equations = (replace(copy, body=cast(copy.body, primal.dtype)),)


def _unrounded(body: Expr, wide: DType) -> Expr:
    """A summand in the wider type: the sum is rounded, so it need not be before.

    So the summand of a gradient is a product in the wider type, as that of the primal is.
    """
    if body.op == "cast" and body.args[0].dtype == wide:
        return body.args[0]
    return cast(body, wide)


def _outside_of_steps(tensor: Tensor, summands: list[Equation]) -> list[Equation]:
    """What comes into the adjoint of a recurrence at times that are data: summed beforehand."""
    apart = [e for e in summands if written_at_data(tensor, e)]
    if not apart:
        return summands
    total = replace(tensor, name=f"d{tensor.name}_read", equations=(), time=None)
    finish_adjoint(total, tensor, apart)
    return [*(e for e in summands if e not in apart), copy_of(total)]


def copy_of(source: Tensor) -> Equation:
    """The equation that adds every element of `source` to the same place."""
    body = load(source, identity_dims(len(source.shape)))
    return whole(source.shape, body, source.location, "add")
