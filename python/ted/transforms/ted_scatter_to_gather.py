"""Invert the writes of scatter-form equations: every element gathers what is added to it.

Before: dX[2*i + k] += dY[i] * W[k]            over i < 4, k < 3
After:  dX[2*q] += dY[q - r] * W[2*r]          over q < 5, r < 2 where 0 <= q - r < 4
        dX[2*q + 1] += dY[q] * W[1]            over q < 4

The fibre solver turns any quasi-affine write into disjoint pieces.  What cannot be inverted (the
index is data, a product of dims, or the analysis ran over its budget) keeps the scatter form.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from ted.domain.budget import BudgetExhausted
from ted.domain.fibres import Fibre, solve_fibres
from ted.ir.affine import NotAffine, aff_to_expr, canonical_indices, decide_selects, piecewise
from ted.ir.equations import Equation, System, Tensor, reorder_dims, rewrite_system
from ted.ir.remarks import remark
from ted.ir.rewriting import rewrite_functions
from ted.ir.scalar import substitute
from ted.mlir import ir

INVERTIBLE = ("add", "max", "min", "mul")


def scatter_to_gather(
    system: System, keep: Collection[Tensor] = ()
) -> tuple[System, dict[Tensor, Tensor]]:
    """Gather forms for every equation that has one, but for tensors in `keep`; also old -> new."""

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        if tensor in keep:
            return equations
        return tuple(piece for e in equations for piece in gather_forms(e))

    return rewrite_system(system, visit)


def gather_forms(equation: Equation) -> tuple[Equation, ...]:
    """The disjoint gather pieces of one equation, or the equation itself when it has to scatter."""
    if not equation.is_scatter or equation.combiner not in INVERTIBLE:
        return (equation,)
    try:
        write = [piecewise(w, equation.domain) for w in equation.write]
        fibres = solve_fibres(equation.domain, write)
    except (NotAffine, BudgetExhausted) as reason:
        remark(f"ted-scatter-to-gather: a scatter stays, {reason}", equation.location)
        return (race_free_first(equation),)
    return tuple(_piece(equation, fibre) for fibre in fibres)


def _piece(equation: Equation, fibre: Fibre) -> Equation:
    """The equation over the dims of one fibre piece."""
    point = [aff_to_expr(p) for p in fibre.point]
    (body,) = substitute([equation.body], point)
    (body,) = canonical_indices([body], fibre.domain)
    (body,) = decide_selects([body], fibre.domain)
    return replace(
        equation, extents=fibre.extents, parallel=fibre.parallel, domain=fibre.domain,
        write=tuple(aff_to_expr(w) for w in fibre.write), body=body, dim_names=(),
    )  # fmt: skip


def race_free_first(equation: Equation) -> Equation:
    """Dims that are a subscript of the write by themselves come first: they cannot collide."""
    alone = [w.attr for w in equation.write if w.op == "dim"]
    first = list(dict.fromkeys(d for d in alone if d >= equation.parallel))
    if not first:
        return equation
    parallel = [*range(equation.parallel), *first]
    order = [*parallel, *(d for d in range(equation.rank) if d not in parallel)]
    return replace(reorder_dims(equation, order), parallel=len(parallel))


@dataclass(frozen=True)
class TedScatterToGather:
    """Invert every scatter that has a gather form."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function of the module."""
        rewrite_functions(module, lambda system: scatter_to_gather(system)[0])
