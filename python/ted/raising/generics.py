"""`linalg.generic` -> equations: loops are dims, maps are subscripts, the body is the expression.

Before: linalg.generic {maps, iterators} ins(%A, %B) outs(%C) { ^bb0(%a, %b, %c): ... yield %d }
After:  one equation for each result, with the combiner that the body is (`accumulations.py`); a
        body that is of no combiner is a recurrence along the points of the reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.api.scanning import scan
from ted.frontend.complex_pairs import Complex
from ted.frontend.creation import arange
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.ir import scalar
from ted.ir.dtypes import INDEX, INT64
from ted.ir.equations import Equation, Tensor, identity, identity_dims, whole
from ted.ir.exact_indices import exact_indices
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import dims_used
from ted.mlir import indexing_maps, ir
from ted.raising.accumulations import NOTHING, Best, accumulation, best
from ted.raising.bodies import body_values
from ted.raising.complexes import closed, opened
from ted.raising.reading import Reader
from ted.raising.values import (
    Value,
    element,
    made,
    mapped,
    over_box,
    place_of,
    type_of,
    unraisable,
)
from ted.records import dataclass


def generic(reader: Reader, op: ir.Operation) -> Sequence[Value]:
    """The results of a `linalg.generic`.

    Raises: VerifyError for a body without equations.
    """
    return _Generic.of(reader, op).results()


@dataclass(frozen=True)
class _Generic:
    """A generic with its dims in the order of equations: parallel ones first."""

    reader: Reader
    op: ir.Operation
    extents: tuple[int, ...]
    parallel: int
    dims: tuple[Expr, ...]  # of each loop, in the order of the op
    maps: tuple[ir.AffineMap, ...]
    starts: tuple[Tensor, ...]  # of each result, or of both of its parts
    pairs: tuple[bool, ...]  # which results are pairs

    @staticmethod
    def of(reader: Reader, op: ir.Operation) -> _Generic:
        """The loops of an op."""
        maps = tuple(indexing_maps(op))
        kinds = [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
        sizes = _extents(reader, op, maps, len(kinds))
        results = len(op.results)
        outs = [_uses(access) for access in maps[-results:]]
        own = [
            k
            for k, kind in enumerate(kinds)
            if all(plain.get(k, False) or ("parallel" in kind and k in plain) for plain in outs)
        ]
        order = own + [k for k in range(len(kinds)) if k not in own]
        dims = tuple(scalar.dim(order.index(k)) for k in range(len(kinds)))
        given = [reader.value(v) for v in list(op.operands)[-results:]]
        pairs = tuple(isinstance(v, Complex) for v in given)
        extents = tuple(sizes[k] for k in order)
        return _Generic(reader, op, extents, len(own), dims, maps, tuple(opened(given)), pairs)

    @property
    def slots(self) -> list[int]:
        """The result that each start belongs to."""
        return [k for k, is_pair in enumerate(self.pairs) for _ in range(1 + is_pair)]

    @property
    def summed(self) -> tuple[int, ...]:
        """The extents of the dims that are reduced."""
        return self.extents[self.parallel :]

    def at(self, operand: int) -> list[Expr]:
        """The subscripts of an operand."""
        return mapped(self.maps[operand], self.dims)

    def write(self, result: int) -> list[Expr]:
        """The subscripts of a result, or of a part of one."""
        return self.at(len(self.op.operands) - len(self.pairs) + self.slots[result])

    def made(self, result: int, start: Tensor | None, equation: Equation) -> Tensor:
        """A result, or a part of one: an equation on top of a start."""
        return made(self.op, self.slots[result], start, equation)

    def results(self) -> Sequence[Value]:
        """What the op gives."""
        return closed(self.parts(), self.pairs)

    def parts(self) -> Sequence[Value]:
        """Both parts of each result that is a pair, and the others."""
        holes = [Tensor(f"total{k}", t.shape, t.dtype) for k, t in enumerate(self.starts)]
        bodies = self.bodies(holes)
        totals = [scalar.load(h, self.write(k)) for k, h in enumerate(holes)]
        if self.parallel == len(self.extents):
            return [self.mapped(k, body, holes) for k, body in enumerate(bodies)]
        found = self.combined(bodies, totals)
        return self.stepped(holes, bodies) if found is None else found

    def bodies(self, totals: Sequence[Tensor]) -> list[Expr]:
        """What the body yields, reading `totals` for what is there."""
        inputs = len(self.op.operands) - len(self.pairs)
        given = [self.reader.value(v) for v in list(self.op.operands)[:inputs]]
        there = closed(totals, self.pairs)
        (block,) = self.op.regions[0].blocks
        values = (element(v, self.at(k)) for k, v in enumerate((*given, *there)))
        arguments = [
            scalar.cast(v, INDEX) if isinstance(a.type, ir.IndexType) else v
            for v, a in zip(values, block.arguments, strict=True)
        ]
        return opened(body_values(self.reader, block, arguments, self.dims))

    # ---- maps ------------------------------------------------------------------------------------

    def mapped(self, result: int, body: Expr, holes: Sequence[Tensor]) -> Tensor:
        """A result of parallel loops, which may read what the others' starts are."""
        (value,) = scalar.replace_tensors([body], dict(zip(holes, self.starts, strict=True)))
        return self.last(result, value)

    def last(self, result: int, value: Expr) -> Tensor:
        """A result that is written without a look at it: the last point of an element counts."""
        write = self.write(result)
        own = dims_used(*write)
        at = [
            scalar.dim(k) if k in own else scalar.index(n - 1) for k, n in enumerate(self.extents)
        ]
        extents = [n if k in own else min(n, 1) for k, n in enumerate(self.extents)]
        (value,) = scalar.substitute([value], at)
        equation = over_box(self.op, extents, value, write)
        return self.made(result, self.starts[result], equation)

    # ---- reductions ------------------------------------------------------------------------------

    def combined(self, bodies: Sequence[Expr], totals: Sequence[Expr]) -> list[Value] | None:
        """The results as reductions with a combiner; None where one is none."""
        if len(bodies) == 2 and (pair := self.best(bodies, totals)) is not None:
            return pair
        found: list[Value] = []
        for k, (body, total) in enumerate(zip(bodies, totals, strict=True)):
            part = accumulation(body, total)
            if part is None and not _reads(body, totals):
                found.append(self.last(k, body))
                continue
            if part is None or _reads(part.value, totals):
                return None
            if part.combiner == NOTHING or part.value is None:
                found.append(self.starts[k])
            else:
                equation = self.reduction(k, part.value, part.combiner)
                found.append(self.made(k, self.starts[k], equation))
        return found

    def reduction(self, result: int, value: Expr, combiner: str) -> Equation:
        """An equation over all of the dims."""
        write = self.write(result)
        return over_box(self.op, self.extents, value, write, self.parallel, combiner)

    def best(self, bodies: Sequence[Expr], totals: Sequence[Expr]) -> list[Value] | None:
        """The greatest or least values and the payloads of their points."""
        found = best(bodies, totals)
        if found is None or _reads(found.value, totals) or _reads(found.payload, totals):
            return None
        if not self.is_first(found) or not self.begins(found) or self.kept(0) or self.kept(1):
            return None
        extremum = self.reduction(0, found.value, found.combiner.removeprefix("arg"))
        top = made(self.op, 0, self.starts[0], extremum)
        shape, _ = type_of(self.op.results[1].type, self.op.location, self.op.name)
        place = self.reduction(1, found.value, found.combiner)
        number = Tensor("at", shape, INT64, -1, (place,), place.location)
        own = [scalar.dim(k) for k in range(self.parallel)]
        (write,) = [self.write(1)]
        position = scalar.cast(scalar.load(number, write), INDEX)
        payload = scalar.substitute([found.payload], [*own, *_spread(position, self.summed)])[0]
        given = over_box(self.op, self.extents[: self.parallel], payload, write)
        return [top, made(self.op, 1, self.starts[1], given)]

    def is_first(self, found: Best) -> bool:
        """Whether the payload of equals is the first one's: a least one is that of the only dim."""
        (value,) = exact_indices([_counted(found.payload)], self.extents)
        while value.op == "cast":
            (value,) = value.args
        number = len(self.summed) == 1 and value is scalar.dim(self.parallel)
        return found.of_equals == "first" or number

    def begins(self, found: Best) -> bool:
        """Whether the totals start as if nothing were there, with the first point's payload."""
        value, at = (t.fill if not t.equations else None for t in self.starts)
        neutral = identity(found.combiner.removeprefix("arg"), found.value.dtype)
        dims = [scalar.dim(k) for k in range(self.parallel)]
        origin = [*dims, *(scalar.index(0) for _ in self.summed)]
        (first,) = scalar.substitute([_counted(found.payload)], origin)
        is_same = scalar.is_const(first) and first.attr == at
        return value == neutral and is_same and prod(self.summed) > 0

    # ---- recurrences -----------------------------------------------------------------------------

    def stepped(self, holes: Sequence[Tensor], bodies: Sequence[Expr]) -> list[Value]:
        """The results of a body without a combiner: one point of the reduction after the other.

        What has an element for each point is given by the steps, and read where it starts.
        """
        own = [scalar.dim(k) for k in range(self.parallel)]
        totals = [k for k in range(len(bodies)) if not self.kept(k)]
        rows = [k for k in range(len(bodies)) if self.kept(k)]

        def step(carry: Sequence[Wrapped], time: Wrapped) -> tuple[list[Wrapped], list[Wrapped]]:
            now = scalar.cast(scalar.load(time.node, ()), INDEX)
            dims = [*own, *_spread(now, self.summed)]
            known = dict(zip(holes, self.starts, strict=True))
            known |= {holes[k]: c.node for k, c in zip(totals, carry, strict=True)}

            def value(k: int) -> tuple[Expr, list[Expr]]:
                body, *write = scalar.substitute([bodies[k], *self.write(k)], dims)
                return scalar.replace_tensors([body], known)[0], write

            after: list[Wrapped] = []
            for k in totals:
                equation = over_box(self.op, self.extents[: self.parallel], *value(k))
                after.append(wrap(self.made(k, known[holes[k]], equation)))
            return after, [wrap(self.row(k, value(k)[0])) for k in rows]

        starts = [wrap(self.starts[k]) for k in totals]
        last, stacks = scan(step, starts, arange(prod(self.summed)))
        found = dict(zip(totals, (tensor.node for tensor in last), strict=True))
        for k, stack in zip(rows, stacks, strict=True):
            found[k] = self.stacked(k, stack.node)
        return [found[k] for k in range(len(bodies))]

    def kept(self, result: int) -> bool:
        """Whether a result has an element for each point of the reduction.

        Raises: VerifyError where points share some of its elements.
        """
        access = self.maps[len(self.op.operands) - len(self.pairs) + self.slots[result]]
        used = _uses(access)
        plain = [used.get(k) for k, d in enumerate(self.dims) if d.attr >= self.parallel]
        if all(plain):
            return True
        if any(found is not None for found in plain):
            raise unraisable(
                self.op,
                "a result without a combiner must keep all dims that are reduced, or none, "
                f"got {access}",
            )
        return False

    def row(self, result: int, value: Expr) -> Tensor:
        """The elements of a result at one point of the reduction."""
        extents, start = self.extents[: self.parallel], self.starts[result]
        place = place_of(self.op)
        return Tensor(start.name, extents, start.dtype, 0, (whole(extents, value, place),), place)

    def stacked(self, result: int, rows: Tensor) -> Tensor:
        """A result of the rows of all points of the reduction."""
        number = scalar.index(0)
        for k, extent in enumerate(self.summed):
            point = scalar.dim(self.parallel + k)
            number = scalar.add(scalar.mul(number, scalar.index(extent)), point)
        own = [scalar.dim(k) for k in range(self.parallel)]
        value = scalar.load(rows, [number, *own])
        return self.made(
            result, self.starts[result],
            over_box(self.op, self.extents, value, self.write(result)),
        )  # fmt: skip


def _uses(access: ir.AffineMap) -> dict[int, bool]:
    """The dims that a map uses, and whether each is a subscript by itself.

    Of such a one no two values share an element, whatever the op says of it: it is no reduction.
    One that is not used shares all.
    """
    found: dict[int, bool] = {}
    for subscript in mapped(access, identity_dims(access.n_dims)):
        for k in dims_used(subscript):
            found[k] = found.get(k, False) or subscript.op == "dim"
    return found


def _counted(payload: Expr) -> Expr:
    """A payload with the expressions of the tensors that hold nothing but numbers of points."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "load" or len(node.attr.equations) != 1:
            return None
        (equation,) = node.attr.equations
        if not equation.covers(node.attr.shape) or scalar.loads(equation.body):
            return None
        return scalar.substitute([equation.body], args)[0]

    return scalar.rewrite([payload], visit)[0]


def _reads(value: Expr | None, totals: Sequence[Expr]) -> bool:
    return value is not None and any(node in totals for node in postorder(value))


def _spread(position: Expr, extents: Sequence[int]) -> list[Expr]:
    """The subscripts of a row-major number."""
    found: list[Expr] = []
    for extent in reversed(extents):
        found.insert(0, scalar.mod(position, scalar.index(extent)))
        position = scalar.floordiv(position, scalar.index(extent))
    return found


def _extents(
    reader: Reader, op: ir.Operation, maps: Sequence[ir.AffineMap], loops: int
) -> list[int]:
    """The extent of each loop: that of a dim of an operand which it subscribes alone."""
    found: dict[int, int] = {}
    for operand, access in zip(op.operands, maps, strict=True):
        (value, *_) = opened([reader.value(operand)])
        shape = value.static_shape if isinstance(value, Tensor) else ()
        for expression, extent in zip(access.results, shape, strict=bool(shape)):
            plain = expression.maybe_downcast()
            if isinstance(plain, ir.AffineDimExpr):
                found[plain.position] = extent
    return [found[k] for k in range(loops)]  # MLIR has verified that there is one of each
