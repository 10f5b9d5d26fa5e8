"""Add up the pieces of a tensor that mostly overlap in one equation, each under its own condition.

Before: T[i] += a[i];  T[i + 1] += b[i]             for i < n, into zeros of n + 1 elements
After:  T[i] = (a[i] if i < n) + (b[i - 1] if 1 <= i)  for i < n + 1

The gradient of a stencil is a sum of shifted pieces.  One by one they take a pass over memory
each; as one equation, lowering cuts it into an interior, on which all are there and nothing is
tested, and thin strips around it.  Pieces are joined if they write the same lattice of elements
and at least half of the elements in the box around them get a summand of each.  Before that,
domains that leave out only zeros are widened (`wider_domains.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import reduce
from typing import Any

from ted.domain import conversion, sets
from ted.domain.budget import BudgetExhausted, required
from ted.ir.affine import canonical_indices
from ted.ir.affine_attributes import conjunction_to_expr
from ted.ir.dtypes import DType
from ted.ir.equations import Equation, System, Tensor, recurrent_tensors, rewrite_system
from ted.ir.expressions import Expr, postorder
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import add, const, dim, index, mul, select, substitute
from ted.records import dataclass
from ted.transforms.lattice_pieces import Lattice, Piece, Range, piece_of, volume
from ted.transforms.ted_simplify import started_with_stores
from ted.transforms.wider_domains import widen_domains
from ted.transforms.written_elements import Written

MAX_NODES = 400  # a joined body stays below this size


def join_pieces(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Join the pieces of every tensor that is no recurrence; also old tensor -> new tensor."""
    if not any(map(_is_open, system.tensors())):
        return system, {}
    recurrent = recurrent_tensors(system.outputs)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if tensor in recurrent or not _is_open(tensor):
            return equations
        try:
            return _joined(tensor, equations)
        except BudgetExhausted:
            return equations

    return rewrite_system(system, visit)


def _is_open(tensor: Tensor) -> bool:
    """Whether there are several pieces of numbers."""
    return len(tensor.equations) > 1 and tensor.dtype.kind != "bool"


def _joined(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
    if not _is_sum(tensor, equations):
        return equations
    pieces = [piece_of(e) for e in equations]
    groups = _groups([p for p in pieces if p is not None])
    joined = {g.pieces[0]: g.equation() for g in groups if len(g.pieces) > 1}
    if not joined:
        return equations
    gone = {p for g in groups for p in g.pieces[1:]}
    kept = [
        joined.get(p, p.equation) if p is not None else e
        for p, e in zip(pieces, equations, strict=True)
        if p not in gone
    ]
    summed = [replace(e, combiner="add") for e in kept]
    zeros = replace(tensor, fill=0)
    return replace(zeros, equations=started_with_stores(zeros, summed))


def _is_sum(tensor: Tensor, equations: Sequence[Equation]) -> bool:
    """Whether the equations add to zeros, or store where zeros are."""
    first = equations[0]
    if tensor.fill != 0 and not (
        tensor.fill is None and first.combiner == "set" and first.covers(tensor.shape)
    ):
        return False
    if any(e.combiner not in ("add", "set") for e in equations):
        return False
    written = Written(equations)
    return all(e.combiner == "add" or written.is_first(k) for k, e in enumerate(equations))


# ------------------------------------------------------------------ which pieces


@dataclass(eq=False)
class _Group:
    """Pieces with a common interior, at least half of the box around them."""

    pieces: list[Piece]
    interior: tuple[Range, ...]
    hull: tuple[Range, ...]
    nodes: int = field(default=0)

    @classmethod
    def of(cls, piece: Piece) -> _Group:
        return cls([piece], piece.ranges, piece.ranges, len(postorder(piece.body)))

    def takes(self, piece: Piece) -> bool:
        """Add the piece, if it is on most of what the others are on."""
        for (low, high), (first, last) in zip(self.interior, piece.ranges, strict=True):
            if first > high or last < low:  # as most of many pieces are
                return False
        interior = tuple(
            (max(a[0], b[0]), min(a[1], b[1]))
            for a, b in zip(self.interior, piece.ranges, strict=True)
        )
        hull = tuple(
            (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(self.hull, piece.ranges, strict=True)
        )
        nodes = self.nodes + len(postorder(piece.body))
        if 2 * volume(interior) < volume(hull) or nodes > MAX_NODES:
            return False
        self.pieces.append(piece)
        self.interior, self.hull, self.nodes = interior, hull, nodes
        return True

    def equation(self) -> Equation:
        """One equation over the box around the pieces."""
        first, lattice = self.pieces[0].equation, self.pieces[0].lattice
        lower = [low for low, _ in self.hull]
        extents = tuple(high - low + 1 for low, high in self.hull)
        here = [add(dim(k), index(low)) for k, low in enumerate(lower)]
        domain = sets.box(extents)
        (body,) = substitute([self._sum()], here)
        (body,) = canonical_indices([body], domain)
        return replace(
            first, combiner="add", body=body, extents=extents, parallel=len(extents),
            domain=domain, dim_names=(),
            write=tuple(
                add(mul(at, index(stride)), index(offset))
                for at, (stride, offset) in zip(here, lattice, strict=True)
            ),
        )  # fmt: skip

    def _sum(self) -> Expr:
        box = sets.bounding_box(self.hull)
        return reduce(add, [_within(p, box) for p in self.pieces])


def _groups(pieces: Iterable[Piece]) -> list[_Group]:
    groups: dict[tuple[Lattice, DType, int], list[_Group]] = {}
    for piece in pieces:
        key = (piece.lattice, piece.body.dtype, piece.equation.recomputed)
        alike = groups.setdefault(key, [])
        if not any(group.takes(piece) for group in alike):
            alike.append(_Group.of(piece))
    return [group for alike in groups.values() for group in alike]


# ------------------------------------------------------------------ one equation of them


def _within(piece: Piece, box: Any) -> Expr:
    """The summand at points of the piece, else 0."""
    (conjunction,) = required(conversion.conjunctions, piece.points.gist(box))
    return select(conjunction_to_expr(conjunction), piece.body, const(0, piece.body.dtype))


@dataclass(frozen=True)
class TedJoinPieces(SystemPass):
    """Make one equation of the pieces of a tensor that mostly overlap."""

    def rewrite(self, system: System) -> System:
        """The system after the pass."""
        return join_pieces(widen_domains(system))[0]
