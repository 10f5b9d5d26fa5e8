"""Invert the writes of scatter-form equations: every element gathers what is added to it.

Before: dX[2*i + k] += dY[i] * W[k]            over i < 4, k < 3
After:  dX[2*q] += dY[q - r] * W[2*r]          over q < 5, r < 2 where 0 <= q - r < 4
        dX[2*q + 1] += dY[q] * W[1]            over q < 4

The fibre solver turns any quasi-affine write into disjoint pieces.  What cannot be inverted (the
index is data, a product of dims, or the analysis ran over its budget) keeps the scatter form.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ted.domain.budget import BudgetExhausted
from ted.domain.fibres import MAX_PIECES, Fibre, solve_fibres, wanted_pieces
from ted.ir.affine import NotAffine, aff_to_expr, canonical_indices, decide_selects, piecewise
from ted.ir.equations import Equation, System, Tensor, reorder_dims, rewrite_system
from ted.ir.remarks import remark
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import reads_data, substitute
from ted.records import dataclass
from ted.transforms.counted_elements import counting_elements
from ted.transforms.reshapes import by_targets

INVERTIBLE = ("add", "max", "min", "mul")


def scatter_to_gather(
    system: System, keep: Collection[Tensor] = ()
) -> tuple[System, dict[Tensor, Tensor]]:
    """Gather forms for every equation that has one, but for tensors in `keep`; also old -> new."""

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        if tensor in keep:
            return equations
        flat = [by_targets(e, tensor.shape) or e for e in equations]
        return _few([gather_forms(e) for e in flat], flat)

    return rewrite_system(system, visit)


def _few(forms: list[tuple[Equation, ...]], equations: Sequence[Equation]) -> tuple[Equation, ...]:
    """The pieces of all equations of an adjoint; those of many are guarded ones above the limit."""
    order = sorted(range(len(forms)), key=lambda k: -len(forms[k]))
    for k in order:
        if len(forms[k]) == 1 or len({_shape(piece) for f in forms for piece in f}) <= MAX_PIECES:
            break
        before = len(forms[k])
        forms[k] = gather_forms(equations[k], 1)
        if len(forms[k]) < before:
            _say_guarded(equations[k], len(forms[k]), before, "an adjoint")
    return tuple(piece for form in forms for piece in form)


def _shape(equation: Equation) -> object:
    """What equations that fit together have in common."""
    return equation.extents, equation.parallel, equation.write


def _say_guarded(equation: Equation, made: int, wanted: int, what: str) -> None:
    remark(
        f"ted-scatter-to-gather: {made} guarded in place of {wanted} pieces, {what} has at most "
        f"{MAX_PIECES}",
        equation.location,
    )


def gather_forms(equation: Equation, most: int = MAX_PIECES) -> tuple[Equation, ...]:
    """The disjoint gather pieces of one equation, or the equation itself when it has to scatter.

    Above `most` pieces they are guarded ones, with divisions in their bounds.
    """
    if not equation.is_scatter or equation.combiner not in INVERTIBLE:
        return (equation,)
    try:
        write = [piecewise(w, equation.domain) for w in equation.write]
        fibres = solve_fibres(equation.domain, write, most=most)
        wanted = wanted_pieces(equation.domain, write)
    except (NotAffine, BudgetExhausted) as reason:
        remark(f"ted-scatter-to-gather: a scatter stays, {reason}", equation.location)
        why = "" if reads_data(*equation.write) else str(reason)
        return (race_free_first(replace(equation, scatter_reason=why)),)
    if most == MAX_PIECES < wanted:
        _say_guarded(equation, len(fibres), wanted, "a read")
    return tuple(_piece(equation, fibre) for fibre in fibres)


def _piece(equation: Equation, fibre: Fibre) -> Equation:
    """The equation over the dims of one fibre piece."""
    point = [aff_to_expr(p) for p in fibre.point]
    (body,) = substitute([equation.body], point)
    (body,) = canonical_indices([body], fibre.domain)
    (body,) = decide_selects([body], fibre.domain)
    piece = replace(
        equation, extents=fibre.extents, parallel=fibre.parallel, domain=fibre.domain,
        write=tuple(aff_to_expr(w) for w in fibre.write), body=body, dim_names=(),
        scatter_reason="",
    )  # fmt: skip
    return counting_elements(piece)


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
class TedScatterToGather(SystemPass):
    """Invert every scatter that has a gather form."""

    def rewrite(self, system: System) -> System:
        """The system after the pass."""
        return scatter_to_gather(system)[0]
