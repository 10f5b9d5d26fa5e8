"""Turn floordiv and mod by constants into dims of their own.

Before: C[i] = A[i // 4] * B[i % 4]              over i < 12
After:  C[4*q + s] = A[q] * B[s]                 over q < 3, s < 4

Done syntactically, before isl sees the divisions: isl is free to rewrite one division in terms of
other dims, and then a grouped or flattened index no longer looks affine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.domain import conversion, parameters, sets
from ted.domain.affine import Aff
from ted.domain.affine import dim as dim_aff
from ted.domain.sizes import surely_at_most
from ted.ir.affine import NotAffine, aff_to_expr, canonical_indices, single_piece
from ted.ir.equations import Equation, System, Tensor, recurrent_tensors, rewrite_system
from ted.ir.expressions import postorder
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import dim, dims_used, is_const, substitute
from ted.records import dataclass

MAX_ROUNDS = 8


@dataclass(frozen=True)
class _Split:
    """Dim `position` becomes `divisor * q + s`."""

    position: int
    divisor: int


def split_dims(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Split the dims of every equation; also old tensor -> new tensor."""

    recurrent = recurrent_tensors(system.outputs)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        times = tensor.time_dims if tensor in recurrent else ()
        return tuple(split_equation(e, times) for e in equations)

    return rewrite_system(system, visit)


def split_equation(equation: Equation, times: Sequence[int] = ()) -> Equation:
    """The equation with every splittable division removed; steps, by `times`, stay whole."""
    for _ in range(MAX_ROUNDS):
        split = _find(equation, times)
        if split is None:
            return equation
        equation = with_dim_split(equation, split.position, split.divisor)
    return equation


def _find(equation: Equation, times: Sequence[int]) -> _Split | None:
    """The first `f // m` or `f % m` where f is v + m * (anything) and dim v is longer than m."""
    whole = dims_used(*(equation.write[time] for time in times))
    numbered = equation.combiner in ("argmax", "argmin")  # reduction dims number the result
    for node in postorder(*equation.expressions):
        if node.op not in ("floordiv", "mod") or not node.dtype.is_index:
            continue
        if not is_const(node.args[1]) or node.args[1].attr < 2:
            continue
        divisor = node.args[1].attr
        try:
            aff = single_piece(node.args[0], equation.domain)
        except NotAffine:
            continue
        position = None if aff is None else _remainder_dim(aff, divisor)
        if position is None or position in whole or (numbered and position >= equation.parallel):
            continue
        if not surely_at_most(equation.extents[position], divisor):
            return _Split(position, divisor)
    return None


def _remainder_dim(aff: Aff, divisor: int) -> int | None:
    """The dim of coefficient 1 that alone decides the remainder by `divisor`."""
    if aff.const % divisor or not aff.is_affine:
        return None
    rest = [(c, d) for c, d in aff.terms if c % divisor]
    if len(rest) != 1 or rest[0][0] != 1:
        return None
    (_, position) = rest[0]
    return position if isinstance(position, int) else None


def with_dim_split(equation: Equation, at: int, divisor: int) -> Equation:
    """The equation over q where dim `at` was, and over s right behind it."""
    quotient = -(-equation.extents[at] // divisor)
    extents = (*equation.extents[:at], quotient, divisor, *equation.extents[at + 1 :])
    whole = dim_aff(at) * divisor + dim_aff(at + 1)
    affs = [dim_aff(k) if k < at else dim_aff(k + 1) for k in range(equation.rank)]
    affs[at] = whole
    rank = len(extents)
    inside = sets.preimage(equation.domain, rank, [conversion.to_isl(a, rank) for a in affs])
    domain = inside.intersect(parameters.box(extents)).coalesce()
    dims = [aff_to_expr(whole) if k == at else dim(k + (k > at)) for k in range(equation.rank)]
    body, *write = canonical_indices(substitute(equation.expressions, dims), domain)
    names = _split_names(equation.dim_names, at)
    return replace(
        equation, extents=extents, parallel=equation.parallel + (at < equation.parallel),
        domain=domain, body=body, write=tuple(write), dim_names=names,
    )  # fmt: skip


def _split_names(names: tuple[str, ...], at: int) -> tuple[str, ...]:
    if not names:
        return names
    return (*names[:at], f"{names[at]}_outer", f"{names[at]}_inner", *names[at + 1 :])


@dataclass(frozen=True)
class TedSplitDims(SystemPass):
    """Split dims by the constants that divide them, in every equation."""

    def rewrite(self, system: System) -> System:
        """The system after the pass."""
        return split_dims(system)[0]
