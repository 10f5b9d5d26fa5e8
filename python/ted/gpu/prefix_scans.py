"""Prefix scans: loops over time whose state joins a value each step, or is linear in it.

Before: `for t { for p { h[t + 1, p] = h[t, p] + x[t + 1, p] } }`
After: a `PrefixScan`: what joins (+), the value x at a time and point, and the step as code that
takes the state from a register

Since what joins is associative, what segments of time do to the state can be found apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.domain.linear import Form, dot, term
from ted.gpu.flat_views import flat_view_of
from ted.gpu.launching import only_if
from ted.gpu.nest_points import Counter, candidates, chain_of
from ted.gpu.segment_summaries import LinearSegments, Segments, joining, linear
from ted.linalg.loops import PARALLEL
from ted.mlir import arith, ir
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.building import constant
from ted.mlir.combining import combiner_of_operation
from ted.mlir.index_values import form_of
from ted.mlir.queries import constant_of, defining
from ted.records import dataclass

_PURE = ("arith.", "affine.", "math.")


@dataclass(frozen=True)
class PrefixScan:
    """The loop over time, the loops over points, and the operations of a step in their order.

    `before` are the loads of the state of the step before, `known` are loads of what the step has
    stored, `after` is the new state, `store` the operation that keeps it.
    """

    time: Counter
    points: tuple[Counter, ...]
    body: tuple[ir.Operation, ...]
    before: tuple[ir.Operation, ...]
    known: dict[ir.Value, ir.Value]
    after: ir.Value
    store: ir.Operation
    address: Address  # of the new state
    layout: Address  # of something that each step stores
    segments: Segments

    @property
    def steps(self) -> int:
        """Steps of time."""
        return self.time.extent

    @property
    def extents(self) -> list[int]:
        """Points, as a box."""
        return [c.extent for c in self.points]

    def start(self, dims: Sequence[ir.Value]) -> ir.Value:
        """The state before the first step."""
        first = constant(self.time.range[0])
        return self._wide(self._copied([self.before[0].results[0]], dims, first)[0])

    def segment(self, dims: Sequence[ir.Value], time: ir.Value) -> list[ir.Value]:
        """What one step does to the state."""
        leaves = self._leaves(self.after)
        copies = dict(zip(leaves, self._copied(leaves, dims, time), strict=True))
        if isinstance(self.segments, LinearSegments):
            copies = {leaf: self._wide(copy) for leaf, copy in copies.items()}
            factor, rest = self._linear(self.after, copies)
            zero = arith.ConstantOp(self.segments.kind, -0.0).result
            assert factor is not None, "a linear step depends on the state"
            return [factor, zero if rest is None else rest]
        joined = defining(self.after)
        assert joined is not None, "an operation joins"
        nothing = replace(self.segments.combiner, kind=self.after.type).identity()
        copy = joined.clone().operation
        for k, operand in enumerate(joined.operands):
            copy.operands[k] = copies.get(self._now(operand), nothing)
        return [self._wide(copy.results[0])]

    def _wide(self, value: ir.Value) -> ir.Value:
        kind = self.segments.kind
        return value if value.type == kind else arith.ExtFOp(kind, value).result

    def narrowed(self, value: ir.Value) -> ir.Value:
        """The state of a segment as what a step takes."""
        kind = self.after.type
        return value if value.type == kind else arith.TruncFOp(kind, value).result

    def step(self, dims: Sequence[ir.Value], time: ir.Value, state: ir.Value) -> ir.Value:
        """The step, with all that it stores; returns the new state."""
        given = {load.results[0]: state for load in self.before}
        found = self._made(self.body, dims, time, given)
        return found.get(self.after, self.after)

    def _now(self, value: ir.Value) -> ir.Value:
        return self.known.get(value, value)

    def _leaves(self, value: ir.Value) -> list[ir.Value]:
        """The values that do not depend on the state, of which one is made that does."""
        value = self._now(value)
        if value in [load.results[0] for load in self.before]:
            return []
        if not depends(value, self.before, self.known, self.body):
            return [value]
        op = defining(value)
        assert op is not None, "what depends is made"
        return list(dict.fromkeys(leaf for o in op.operands for leaf in self._leaves(o)))

    def _linear(
        self, value: ir.Value, copies: dict[ir.Value, ir.Value]
    ) -> tuple[ir.Value | None, ir.Value | None]:
        """A value as a * h + b; None is 0."""
        value = self._now(value)
        if value in copies:
            return None, copies[value]
        if value in [load.results[0] for load in self.before]:
            return self.segments.identity()[0], None
        op = defining(value)
        assert op is not None, "what depends is made"
        parts = [self._linear(o, copies) for o in op.operands]
        if op.name == "arith.mulf":
            (factor, rest), (_, by) = sorted(parts, key=lambda p: p[0] is None)
            return _scaled(factor, by), _scaled(rest, by)
        (factor, rest), (other, more) = parts
        is_sum = op.name == "arith.addf"
        return _added(factor, other, is_sum), _added(rest, more, is_sum)

    def _copied(
        self, values: Sequence[ir.Value], dims: Sequence[ir.Value], time: ir.Value
    ) -> list[ir.Value]:
        """Values that do not depend on the state, made here."""
        needed: set[ir.Operation] = set()
        left = [self._now(v) for v in values]
        while left:
            op = defining(left.pop())
            if op is not None and op in self.body and op not in needed:
                needed.add(op)
                left += [self._now(o) for o in op.operands]
        found = self._made([op for op in self.body if op in needed], dims, time, {})
        return [found.get(self._now(v), self._now(v)) for v in values]

    def _made(
        self,
        operations: Sequence[ir.Operation],
        dims: Sequence[ir.Value],
        time: ir.Value,
        given: dict[ir.Value, ir.Value],
    ) -> dict[ir.Value, ir.Value]:
        """Copy operations of the body here; what became of their values."""
        found = dict(given)
        found[self.time.value] = time
        found.update(zip((c.value for c in self.points), dims, strict=True))
        for op in operations:
            if len(op.results) and (op.results[0] in given or op.results[0] in self.known):
                continue
            with only_if(self._is_last(time) if op == self.store else None):
                copy = op.clone().operation
            for k, operand in enumerate(op.operands):
                copy.operands[k] = found.get(self._now(operand), self._now(operand))
            found.update(zip(op.results, copy.results, strict=True))
        return found

    def _is_last(self, time: ir.Value) -> ir.Value | None:
        """Whether the state of this step stays; None: that of every step does."""
        if self.address.offset[self.time.value]:
            return None
        last = constant(self.time.range[1])
        return arith.CmpIOp(arith.CmpIPredicate.eq, time, last).result


def _scaled(value: ir.Value | None, by: ir.Value | None) -> ir.Value | None:
    return None if value is None or by is None else arith.MulFOp(value, by).result


def _added(left: ir.Value | None, right: ir.Value | None, is_sum: bool) -> ir.Value | None:
    if right is None:
        return left
    if left is None:
        return right if is_sum else arith.NegFOp(right).result
    return arith.AddFOp(left, right).result if is_sum else arith.SubFOp(left, right).result


def depends(
    value: ir.Value,
    before: Sequence[ir.Operation],
    known: dict[ir.Value, ir.Value],
    body: Sequence[ir.Operation],
) -> bool:
    """Whether the state of the step before is needed for a value."""
    left, seen = [value], set[ir.Operation]()
    while left:
        last = left.pop()
        op = defining(known.get(last, last))
        if op is not None and op in before:
            return True
        if op is not None and op in body and op not in seen:
            seen.add(op)
            left += list(op.operands)
    return False


def prefix_scan_of(
    nest: Sequence[ir.Operation], temporaries: Sequence[ir.Value] = ()
) -> PrefixScan | None:
    """The scan that a nest is; None if it is, or does, something else.

    Nothing but the nest uses the `temporaries`, and no step those of another.
    """
    chain = chain_of(nest, is_marked=False)
    serial = [c for c in chain if PARALLEL not in c.loop.attributes]
    if len(serial) != 1 or len(chain) < len(candidates(nest, is_marked=False)):
        return None
    if any(constant_of(b) is None for c in chain for b in list(c.loop.operands)[:2]):
        return None
    body = _body(chain)
    if body is None:
        return None
    points = tuple(c for c in chain if c != serial[0])
    return _Step(serial[0], points, body, temporaries).found()


def _body(chain: Sequence[Counter]) -> list[ir.Operation] | None:
    """The operations of a step; None where they are not all made once a step."""
    loops, found = [c.loop for c in chain], []
    for loop in loops:
        for op in [o.operation for o in loop.regions[0].blocks[0].operations][:-1]:
            if op in loops:
                continue
            is_plain = op.name in ("memref.load", "memref.store", *VIEWS)
            if len(op.regions) or not (is_plain or op.name.startswith(_PURE)):
                return None
            found.append(op)
    return found


class _Step:
    """The operations of a step, and what is found out about them."""

    def __init__(
        self,
        time: Counter,
        points: tuple[Counter, ...],
        body: Sequence[ir.Operation],
        temporaries: Sequence[ir.Value],
    ) -> None:
        self.time, self.points, self.body = time, points, list(body)
        self.temporaries = temporaries
        self.loads = [op for op in body if op.name == "memref.load"]
        self.stores = [op for op in body if op.name == "memref.store"]
        self.addresses = {op: address_of(op) for op in (*self.loads, *self.stores)}
        self.written = {root(s.operands[1]) for s in self.stores}

    def found(self) -> PrefixScan | None:
        """The scan; None if the step is something else."""
        kept = [s for s in self.stores if root(s.operands[1]) not in self.temporaries]
        if any(self.addresses[s] is None for s in self.stores):
            return None
        known = self._known()
        scans = [self._kept(store, kept, known) for store in kept]
        return next((s for s in scans if s is not None), None)

    def _known(self) -> dict[ir.Value, ir.Value]:
        """What loads of elements that the step has stored give."""
        latest: dict[Address, ir.Value] = {}
        known: dict[ir.Value, ir.Value] = {}
        for op in self.body:
            address = self.addresses.get(op)
            if op.name == "memref.store" and address is not None:
                (stored, *_) = op.operands
                latest[address] = known.get(stored, stored)
            elif op.name == "memref.load" and address is not None and address in latest:
                known[op.results[0]] = latest[address]
        return known

    def _kept(
        self, store: ir.Operation, kept: Sequence[ir.Operation], known: dict[ir.Value, ir.Value]
    ) -> PrefixScan | None:
        """The scan that a store keeps."""
        address = self.addresses[store]
        assert address is not None, "stores have known addresses"
        earlier = replace(address, offset=address.offset - address.offset[self.time.value])
        before = [
            op for op in self.loads if self.addresses[op] == earlier and op.results[0] not in known
        ]
        if not before or not self._is_apart(store, kept, {*before}, known):
            return None
        (stored, *_) = store.operands
        after = known.get(stored, stored)
        body = [
            op for op in self.body
            if op not in self.stores or root(op.operands[1]) not in self.temporaries
        ]  # fmt: skip
        segments = self._joins(after, before, known)
        if segments is None and self._is_linear(after, before, known):
            segments = linear()
        return segments and PrefixScan(
            self.time, self.points, tuple(body), tuple(before), known, after, store, address,
            self._layout(address, kept), segments,
        )  # fmt: skip

    def _layout(self, address: Address, kept: Sequence[ir.Operation]) -> Address:
        moving = [p for s in kept if (p := self.addresses[s]) and p.offset[self.time.value]]
        return address if address.offset[self.time.value] or not moving else moving[0]

    def _is_apart(
        self,
        store: ir.Operation,
        kept: Sequence[ir.Operation],
        before: set[ir.Operation],
        known: dict[ir.Value, ir.Value],
    ) -> bool:
        """Whether all but the state stays within a step: no other step meets what it stores."""
        for other in kept:
            address = self.addresses[other]
            assert address is not None, "stores have known addresses"
            again = [s for s in kept if s != other and root(s.operands[1]) == address.memory]
            if again or (other != store and not address.offset[self.time.value]):
                return False
        own = {
            self.addresses[s]
            for s in kept
            if (p := self.addresses[s]) and p.offset[self.time.value]
        }
        return all(
            load in before or load.results[0] in known or self.addresses[load] in own
            for load in self.loads
            if root(load.operands[0]) in self.written
        )

    def _joins(
        self, after: ir.Value, before: Sequence[ir.Operation], known: dict[ir.Value, ir.Value]
    ) -> Segments | None:
        """The segments, if the step joins a value to the state and does nothing else."""
        op = defining(after)
        if op is None or op not in self.body or len(op.operands) != 2:
            return None
        states = [load.results[0] for load in before]
        sides = [known.get(o, o) in states for o in op.operands]
        rest = [o for o, is_state in zip(op.operands, sides, strict=True) if not is_state]
        if len(rest) != 1 or depends(rest[0], before, known, self.body):
            return None
        combiner = combiner_of_operation(op, is_left=sides[0])
        return None if combiner is None else joining(combiner)

    def _is_linear(
        self, value: ir.Value, before: Sequence[ir.Operation], known: dict[ir.Value, ir.Value]
    ) -> bool:
        """Whether a value is a * state + b, in one type of floats."""
        op = defining(known.get(value, value))
        is_leaf = op in list(before) if op is not None else True
        if is_leaf or not depends(value, before, known, self.body):
            return isinstance(value.type, ir.FloatType)
        if op is None or op.name not in ("arith.addf", "arith.subf", "arith.mulf"):
            return False
        moving = [o for o in op.operands if depends(o, before, known, self.body)]
        if op.name == "arith.mulf" and len(moving) != 1:
            return False
        return all(self._is_linear(o, before, known) for o in moving)


# ------------------------------------------------------------------ addresses


@dataclass(frozen=True)
class Address:
    """Where a load or a store goes: an element of a memory, a form in counters of loops."""

    memory: ir.Value
    offset: Form[ir.Value]


def address_of(access: ir.Operation) -> Address | None:
    """Where a `memref.load` or `memref.store` goes; None if that is no such number."""
    view, *subscripts = list(access.operands)[access.name == "memref.store" :]
    flat = flat_view_of(view)
    if flat is None:
        return None
    strides = ir.MemRefType(view.type).get_strides_and_offset()[0]
    offset = flat.start + dot(map(term, subscripts), strides)
    forms = {value: form_of(value, _counter) for value, _ in offset.terms}
    known = {value: form for value, form in forms.items() if form is not None}
    return Address(root(view), offset.compose(known)) if len(known) == len(forms) else None


def _counter(value: ir.Value) -> Form[ir.Value] | None:
    return term(value) if defining(value) is None else None
