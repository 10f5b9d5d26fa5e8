"""The subdomain of an equation, out of a `ted.compute`: box, accesses and constraints.

All coordinates are affine expressions over the subdomain's own dims, which start at 0.  Cutting a
box or reversing a dim substitutes dims everywhere, also in `coordinates` (the value that `ted.index
k` has for the user), so a subdomain always means the same set of scalar updates as the operation it
came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from ted.domain.linear import Form
from ted.mlir import integer_set, ir
from ted.mlir.affine_forms import down, linear, substitute, symbols_used
from ted.mlir.affine_ranges import settled_divisions, value_range
from ted.mlir.strategies import FORM, Wishes, wishes_of
from ted.records import dataclass

Expr = ir.AffineExpr
TESTED_AHEAD = "ted.tested_ahead"  # attribute of an equation
UNSIGNED = "ted.unsigned"  # of one whose combiner compares integers without their sign


@dataclass(frozen=True)
class Constraint:
    """`expr >= 0`, or `expr == 0` for an equality."""

    expr: Expr
    is_equality: bool = False

    def decide(self, extents: tuple[int, ...]) -> bool | None:
        """Whether the constraint holds on the whole box, nowhere, or (None) only on a part."""
        low, high = value_range(self.expr, extents)
        if self.is_equality:
            if low > 0 or high < 0:
                return False
            return True if low == high == 0 else None
        return True if low >= 0 else (False if high < 0 else None)


@dataclass(frozen=True)
class Read:
    """An affine read: subscripts, and the guard outside which it gives 0 without being made."""

    tensor: ir.Value
    subscripts: tuple[Expr, ...]
    guard: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class Start:
    """What memory holds before the first equation of a tensor: a value everywhere, or nothing."""

    memory: ir.Value
    value: ir.Value | None


@dataclass(frozen=True)
class Subdomain:
    """`for p in box /\\ domain: out[write(p)] = out[write(p)] (combiner) body(reads(p))`."""

    extents: tuple[int, ...]
    iterators: tuple[str, ...]
    domain: tuple[Constraint, ...]
    reads: tuple[Read | None, ...]  # None: the guard holds nowhere, the value is 0
    write: tuple[Expr, ...]
    coordinates: tuple[Expr, ...]  # of the original dims, which `ted.index` counts
    place: Expr  # row-major index over the original reduction dims
    reduction_extents: tuple[int, ...]
    combiner: str
    body: ir.Block
    inits: tuple[ir.Value, ...]
    location: ir.Location
    mode: str = "check"  # what a write at data does with a bad index
    unordered: bool = False  # reduction points come in any order, argmax must compare indices
    ahead: bool = False  # indices that are data are tested before the points are run through
    unsigned: bool = False  # integers are compared without their sign
    wishes: Wishes = ()  # what the operations that compute it carry, but for its form
    # Of results that are memory, where the subdomain is the first to write them.
    starts: tuple[Start | None, ...] = ()
    # What all elements of a result are when the subdomain begins; None where that is not known.
    begins: tuple[ir.Value | None, ...] = ()
    answers: Mapping[ir.Value, bool] = field(default_factory=dict)  # conditions of the body

    @property
    def rank(self) -> int:
        """Number of dims."""
        return len(self.extents)

    @property
    def is_empty(self) -> bool:
        """Whether there is no point."""
        return 0 in self.extents

    @property
    def reduction_dims(self) -> list[int]:
        """The dims summed over."""
        return [k for k, kind in enumerate(self.iterators) if kind == "reduction"]

    @property
    def parallel_dims(self) -> list[int]:
        """The dims that the write moves along."""
        return [k for k, kind in enumerate(self.iterators) if kind == "parallel"]

    @property
    def writes_at_data(self) -> bool:
        """Whether the body yields indices of the write beside the values."""
        return len(self.body.operations[-1].operands) > len(self.inits)

    @property
    def tested_subscripts(self) -> tuple[int, ...]:
        """The subscripts of the write that are data, and tested."""
        if self.mode != "check":
            return ()
        return tuple(k for k, e in enumerate(self.write) if symbols_used(e))

    def substituted(self, exprs: Sequence[Expr], extents: tuple[int, ...]) -> Subdomain:
        """The subdomain over new dims; `exprs` gives every old dim in terms of the new ones."""
        new = [substitute(exprs, e) for e in (*self.write, *self.coordinates, self.place)]
        return replace(
            self,
            extents=extents,
            domain=tuple(_moved(c, exprs) for c in self.domain),
            reads=tuple(r and _moved_read(r, exprs) for r in self.reads),
            write=tuple(new[: len(self.write)]),
            coordinates=tuple(new[len(self.write) : -1]),
            place=new[-1],
        )

    def without_dim(self, dim: int) -> Subdomain:
        """The subdomain without a dim that is 0, or that nothing uses."""
        rest = [ir.AffineExpr.get_dim(k if k < dim else k - 1) for k in range(self.rank)]
        exprs: list[Expr] = [*rest[:dim], ir.AffineExpr.get_constant(0), *rest[dim + 1 :]]
        iterators = (*self.iterators[:dim], *self.iterators[dim + 1 :])
        extents = (*self.extents[:dim], *self.extents[dim + 1 :])
        return replace(self, iterators=iterators).substituted(exprs, extents)

    def cut(self, lower: tuple[int, ...], extents: tuple[int, ...]) -> Subdomain:
        """The part of the subdomain in a smaller box, its dims starting at 0 again."""
        if not any(lower):
            return replace(self, extents=extents).settled()
        exprs = [ir.AffineExpr.get_dim(k) + low for k, low in enumerate(lower)]
        return self.substituted(exprs, extents).settled()

    def tight(self) -> Subdomain:
        """The subdomain in the box that the conditions on single dims leave of its own.

        A step of a recurrence may not even multiply by zero what later steps have to write.
        """
        lower, upper = [0] * self.rank, list(self.extents)
        for constraint in self.domain:
            form = linear(constraint.expr)
            terms = () if form is None else [t for t in form.terms if self.extents[t[0]] > 1]
            if form is None or len(terms) != 1 or constraint.is_equality:
                continue
            ((dim, factor),) = terms
            if factor > 0:
                lower[dim] = max(lower[dim], -(form.constant // factor))
            else:
                upper[dim] = min(upper[dim], form.constant // -factor + 1)
        extents = tuple(max(high - low, 0) for low, high in zip(lower, upper, strict=True))
        return self if extents == self.extents else self.cut(tuple(lower), extents)

    def flipped(self, dim: int) -> Subdomain:
        """The same points with one dim counted from its end."""
        exprs: list[Expr] = [ir.AffineExpr.get_dim(k) for k in range(self.rank)]
        exprs[dim] = ir.AffineExpr.get_constant(self.extents[dim] - 1) - exprs[dim]
        return self.substituted(exprs, self.extents)

    def settled(self) -> Subdomain:
        """Drop what always holds, and divisions of one quotient; no points make an empty box."""
        domain = [(c, c.decide(self.extents)) for c in self.domain]
        if any(holds is False for _, holds in domain):
            return replace(self, extents=(0,) * self.rank if self.rank else self.extents)
        return replace(
            self,
            domain=tuple(c for c, holds in domain if holds is None),
            reads=tuple(r and self._settled_read(r) for r in self.reads),
        )

    def _settled_read(self, read: Read) -> Read | None:
        decided = [(c, c.decide(self.extents)) for c in read.guard]
        if any(holds is False for _, holds in decided):
            return None
        return replace(
            read,
            subscripts=tuple(settled_divisions(e, self.extents) for e in read.subscripts),
            guard=tuple(c for c, holds in decided if holds is None),
        )


def from_compute(op: ir.Operation) -> Subdomain:
    """Read a `ted.compute` operation."""
    attributes, operands = op.attributes, list(op.operands)
    extents = tuple(ir.DenseI64ArrayAttr(attributes["extents"]))
    iterators = tuple(ir.StringAttr(a).value for a in ir.ArrayAttr(attributes["iterators"]))
    maps = [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(attributes["reads"])]
    guards = [constraints_of(a) for a in ir.ArrayAttr(attributes["guards"])]
    reads = [
        Read(tensor, tuple(m.results), guard)
        for tensor, m, guard in zip(operands, maps, guards, strict=False)
    ]
    subdomain = Subdomain(
        extents=extents,
        iterators=iterators,
        domain=constraints_of(attributes["domain"]),
        reads=tuple(reads),
        write=tuple(ir.AffineMapAttr(attributes["write"]).value.results),
        coordinates=tuple(ir.AffineExpr.get_dim(k) for k in range(len(extents))),
        place=_row_major(extents, iterators),
        reduction_extents=tuple(
            e for e, kind in zip(extents, iterators, strict=True) if kind == "reduction"
        ),
        combiner=ir.StringAttr(attributes["combiner"]).value,
        body=op.regions[0].blocks[0],
        inits=tuple(operands[len(reads) :]),
        location=op.location,
        mode=ir.StringAttr(attributes["mode"]).value if "mode" in attributes else "check",
        wishes=tuple(w for w in wishes_of(op) if w[0] != FORM),
        ahead=TESTED_AHEAD in op.attributes,
        unsigned=UNSIGNED in op.attributes,
    )
    return subdomain if subdomain.is_empty else subdomain.settled()


def _row_major(extents: tuple[int, ...], iterators: tuple[str, ...]) -> Expr:
    place = ir.AffineExpr.get_constant(0)
    for k, (extent, kind) in enumerate(zip(extents, iterators, strict=True)):
        if kind == "reduction":
            place = place * extent + ir.AffineExpr.get_dim(k)
    return down(place)


def constraints_of(attribute: ir.Attribute) -> tuple[Constraint, ...]:
    """The constraints of an affine_set, without the trivial `0 == 0`."""
    found = [Constraint(down(c.expr), c.is_eq) for c in integer_set(attribute).constraints]
    return tuple(c for c in found if linear(c.expr) != Form() or not c.is_equality)


def _moved(constraint: Constraint, exprs: Sequence[Expr]) -> Constraint:
    return replace(constraint, expr=substitute(exprs, constraint.expr))


def _moved_read(read: Read, exprs: Sequence[Expr]) -> Read:
    return replace(
        read,
        subscripts=tuple(substitute(exprs, e) for e in read.subscripts),
        guard=tuple(_moved(c, exprs) for c in read.guard),
    )
