"""Reverse mode on systems: every read of every equation adds one equation to an adjoint.

Before: C[i, j] += A[i, r] * B[r, j]      After: dA[i, r] += dC[i, j] * B[r, j]  over all i, j, r

The new equations are in scatter form: they iterate over the primal equation's points and write
where the primal read.  `ted-scatter-to-gather` inverts the writes.  No operation has a rule here:
one equation, one read, one adjoint equation, whatever the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ted.autodiff.body import read_adjoints
from ted.autodiff.materialise import materialise_shared
from ted.autodiff.support import support
from ted.domain import sets
from ted.errors import DerivativeError
from ted.ir.affine import decide_selects
from ted.ir.dtypes import INDEX, INT64, accumulator
from ted.ir.equations import Equation, System, Tensor, operands
from ted.ir.scalar import (
    Expr,
    add,
    cast,
    compare,
    const,
    dim,
    index,
    load,
    mul,
    replace_nodes,
    select,
    weight,
)  # fmt: skip

DIFFERENTIABLE = ("set", "add", "max", "min")


@dataclass(frozen=True)
class Adjoints:
    """The result of one reverse sweep: adjoints per primal tensor, and what each is the sum of."""

    adjoints: dict[Tensor, Tensor]
    summands: dict[Tensor, list[Equation]]


def vjp(system: System, heads: Sequence[Tensor]) -> Adjoints:
    """The adjoints of every tensor between the system's inputs and outputs.

    Shapes: one head per output, of its shape and type.
    Raises: DerivativeError when a combiner or a scalar operation has no derivative.
    """
    order = system.tensors()
    active = active_tensors(system, order)
    summands: dict[Tensor, list[Equation]] = {t: [] for t in order}
    adjoints: dict[Tensor, Tensor] = {}
    seeds = {copy_of(head): head for head in heads}
    for output, seed in zip(system.outputs, seeds, strict=True):
        summands[output].append(seed)
    for tensor in reversed(order):
        if tensor not in active:
            continue
        alone = seeds.get(summands[tensor][0]) if len(summands[tensor]) == 1 else None
        adjoints[tensor] = alone or adjoint_tensor(tensor, summands[tensor])
        for equation in tensor.equations if summands[tensor] else ():
            for operand, summand in equation_vjp(tensor, equation, adjoints[tensor], active):
                summands[operand].append(summand)
    return Adjoints(adjoints, {t: summands[t] for t in adjoints})


def active_tensors(system: System, order: Sequence[Tensor]) -> set[Tensor]:
    """The float tensors that depend on an input of the system."""
    active: set[Tensor] = set()
    inputs = set(system.inputs)
    for tensor in order:
        depends = tensor in inputs or any(o in active for o in operands(tensor))
        if depends and tensor.dtype.is_float:
            active.add(tensor)
    return active


def equation_vjp(
    tensor: Tensor, equation: Equation, cotangent: Tensor, active: set[Tensor]
) -> Iterator[tuple[Tensor, Equation]]:
    """One scatter-form equation for each active read of `equation`."""
    if equation.combiner not in DIFFERENTIABLE:
        raise DerivativeError(
            f"{tensor.name}: a combiner in {DIFFERENTIABLE} to differentiate, "
            f"got {equation.combiner}",
            equation.location,
        )
    seed = _seed(tensor, equation, cotangent)
    pairs = read_adjoints(equation.body, seed, active.__contains__, equation.location)
    pairs = [(read, _reuse_value(tensor, equation, g)) for read, g in pairs]
    domains = [support(g, equation.domain) for _, g in pairs]
    pairs = [
        (decide_selects([read], points)[0], decide_selects([g], points)[0])
        for (read, g), points in zip(pairs, domains, strict=True)
    ]
    pairs = materialise_shared(equation, pairs, domains, f"{cotangent.name}_shared")
    for (read, g), points in zip(pairs, domains, strict=True):
        if not points.is_empty():
            yield read.attr, _scatter(equation, read.args, g, points)


def _scatter(equation: Equation, write: tuple[Expr, ...], body: Expr, domain: Any) -> Equation:
    return Equation(
        equation.extents, 0, domain, write, "add", body, equation.location, equation.dim_names
    )


def _seed(tensor: Tensor, equation: Equation, cotangent: Tensor) -> Expr:
    """The cotangent at the written point; for max and min only where this point was taken."""
    seed = load(cotangent, equation.write)
    if equation.combiner not in ("max", "min") or equation.parallel == equation.rank:
        return seed
    taken = load(_argument(tensor, equation), equation.write)
    here = compare("eq", cast(taken, INDEX), row_major(equation))
    return select(here, seed, const(0, seed.dtype))


def _argument(tensor: Tensor, equation: Equation) -> Tensor:
    """The tensor of the first index at which the extremum is reached."""
    search = replace(equation, combiner=f"arg{equation.combiner}")
    return Tensor(f"arg_{tensor.name}", tensor.shape, INT64, -1, (search,), equation.location)


def row_major(equation: Equation) -> Expr:
    """The row-major number of a point over the reduction dims."""
    number = index(0)
    for d in equation.reduction_dims:
        number = add(mul(number, index(equation.extents[d])), dim(d))
    return number


def _reuse_value(tensor: Tensor, equation: Equation, g: Expr) -> Expr:
    """Read the stored result instead of evaluating the body again inside its adjoint."""
    stored = len(tensor.equations) == 1 and equation.combiner == "set"
    if not stored or equation.parallel != equation.rank or weight(equation.body) == 0:
        return g
    return replace_nodes(g, {equation.body: load(tensor, equation.write)})


def adjoint_tensor(primal: Tensor, summands: list[Equation]) -> Tensor:
    """The sum of the summands, of the primal's shape and type, accumulated in the wider type."""
    name = f"d{primal.name}"
    wide = accumulator(primal.dtype)
    if wide == primal.dtype or not summands:
        return Tensor(name, primal.shape, primal.dtype, 0, tuple(summands), primal.location)
    widened = tuple(replace(e, body=cast(e.body, wide)) for e in summands)
    total = Tensor(f"{name}_wide", primal.shape, wide, 0, widened, primal.location)
    rounded = replace(copy_of(total), body=cast(copy_of(total).body, primal.dtype))
    return Tensor(name, primal.shape, primal.dtype, 0, (rounded,), primal.location)


def copy_of(source: Tensor) -> Equation:
    """The equation that adds every element of `source` to the same place."""
    dims = tuple(dim(k) for k in range(len(source.shape)))
    points = sets.box(source.shape)
    return Equation(
        source.shape, len(dims), points, dims, "add", load(source, dims), source.location
    )
