"""`ted-mask-boxes`: equations over a part of a box -> over the box, with masks.

Before: `s[i, j] += q[i, r] * k[j, r]` for j <= i, a triangle of scalar loops
After: `t[i, j] += q[i, r] * k[j, r]` over the box, a matrix product, and
`s[i, j] = t[i, j] if j <= i else 0`, which joins whatever reads it

Boxes are what rows, reductions and products in registers take. On GPUs all equations of which a
good part of the box is wanted get masks: threads of a warp wait for the longest of them, so the box
costs no more than the part. On CPUs those that ask for it do, as strips of a triangle
(`ted-cut-strips`). Nothing is read that
is not there. Where the mask is about a factor of a product, the factor is 0 elsewhere, as it is
outside of its tensor: the other factor should be finite there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import inf, prod
from typing import Any

from ted.dialects.ted import ComputeOp
from ted.dialects.ted.attributes import everywhere
from ted.domain.budget import BudgetExhausted, total_budget
from ted.domain.counting import count_points
from ted.domain.linear import Form
from ted.linalg.contraction_forms import factor_about, is_contraction
from ted.linalg.domain_forms import points
from ted.linalg.generics import filled
from ted.linalg.mask_conditions import dims_of, forms_of, value_where, zero_unless
from ted.linalg.subdomain import Constraint, Read, Subdomain, from_compute
from ted.mlir import ir, tensor
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.affine_ranges import value_range
from ted.mlir.queries import defining, factors_of, functions, is_zero
from ted.mlir.scalars import constant, element_type, is_float, shape_of
from ted.mlir.strategies import FORM, asked_for, forget, refused
from ted.records import dataclass

MASKED = "masked"
GROWTH = 3  # a box may have this many times the points that are wanted
_NEUTRAL = {"add": 0.0, "mul": 1.0, "max": -inf, "min": inf}
# What a product goes through: its sign and roundings change no zero.
_PRODUCTS = ("arith.mulf", "arith.negf", "arith.extf", "arith.truncf")
Constraints = Sequence[Constraint]


@dataclass(frozen=True)
class TedMaskBoxes:
    """Rewrite every equation whose domain or guards couple dims, if its box is in all tensors.

    With `asked`, for CPUs: only those that carry `ted.form = {name = "masked"}`.
    """

    asked: bool = False

    def run(self, module: ir.Module) -> None:
        """Rewrite the top level of every function; steps of recurrences have their own forms.

        Raises: ScheduleError for a `ted.form` that does not fit.
        """
        for function in functions(module):
            masks = _Masks()
            for op in [o.operation for o in function.entry_block.operations]:
                if op.name == "ted.compute":
                    self._visit(op, masks)

    def _visit(self, op: ir.Operation, masks: _Masks) -> None:
        wish = _wish(op)
        is_own = _writes_own_point(op)
        if not _is_simple(op) or not (is_own or self.asked):
            _refuse(op, wish, "one float at its own point, from affine reads")
            return
        subdomain = from_compute(op)
        if subdomain.is_empty:
            return
        if self.asked and wish is None:
            masks.note(op, subdomain.rank)
            return
        if _is_worth_masking(subdomain) and (is_own or _masks_reads_only(subdomain)):
            forget(op, FORM)
            with ir.InsertionPoint(op), op.location:
                masks.rewrite(op, subdomain)
        else:
            _refuse(op, wish, "a good part of a box that is in all tensors")
        masks.note(op, subdomain.rank)


# ---- what is asked for ---------------------------------------------------------------------------


def _wish(op: ir.Operation) -> dict[str, Any] | None:
    """What is asked for, if it is masks."""
    found = asked_for(op, FORM)
    return found if found is not None and found["name"] == MASKED else None


def _refuse(op: ir.Operation, wish: dict[str, Any] | None, rule: str) -> None:
    """Leave an equation as it is, which may ask for masks only if these are possible."""
    if wish is None:
        return
    if wish.get("if_possible") is not True:
        raise refused(op, f"masks are for {rule}, got another equation", FORM)
    forget(op, FORM)


# ---- which equations -----------------------------------------------------------------------------


def _is_simple(op: ir.Operation) -> bool:
    """Whether there is one result, of floats, and reads are affine."""
    if len(op.results) != 1 or not isinstance(op.attributes["extents"], ir.DenseI64ArrayAttr):
        return False
    if any(inner.operation.name == "ted.load" for inner in op.regions[0].blocks[0].operations):
        return False
    return is_float(element_type(op.results[0]))


def _writes_own_point(op: ir.Operation) -> bool:
    kinds = [str(a) for a in ir.ArrayAttr(op.attributes["iterators"])]
    places = _places(list(ir.AffineMapAttr(op.attributes["write"]).value.results))
    parallel = [k for k, kind in enumerate(kinds) if "parallel" in kind]
    return places is not None and list(places) == parallel == list(range(len(parallel)))


def _masks_reads_only(subdomain: Subdomain) -> bool:
    """Whether masks in a sum do, or of its factors, wherever it writes."""
    return subdomain.combiner != "set" and _RESULT not in (_owners(subdomain) or ())


def _places(subscripts: Sequence[ir.AffineExpr]) -> dict[int, int] | None:
    """Which subscript each dim is, if all others are numbers and none is used twice."""
    dims = [e.position for e in subscripts if isinstance(e, ir.AffineDimExpr)]
    numbers = [e for e in subscripts if isinstance(e, ir.AffineConstantExpr)]
    if len(set(dims)) + len(numbers) < len(subscripts):
        return None
    return {e.position: k for k, e in enumerate(subscripts) if isinstance(e, ir.AffineDimExpr)}


def _moved(
    constraints: Constraints, subscripts: Sequence[ir.AffineExpr], rank: int
) -> list[Constraint]:
    """Constraints on dims as constraints on the subscripts that are these dims."""
    dims: list[ir.AffineExpr] = [ir.AffineExpr.get_constant(0)] * rank
    for dim, place in (_places(subscripts) or {}).items():
        dims[dim] = ir.AffineExpr.get_dim(place)
    onto = ir.AffineMap.get(len(subscripts), 0, dims)
    return [Constraint(c.expr.compose(onto)) for c in constraints]


def _is_worth_masking(subdomain: Subdomain) -> bool:
    constraints = [
        *subdomain.domain,
        *(c for r in subdomain.reads if r is not None for c in r.guard),
    ]
    if subdomain.is_empty or not any(len(dims_used(c.expr)) > 1 for c in constraints):
        return False
    if any(c.is_equality or linear(c.expr) is None for c in constraints):
        return False
    if not all(_is_inside(r, subdomain.extents) for r in subdomain.reads):
        return False
    if is_contraction(subdomain):
        is_guarded = any(r is not None and r.guard for r in subdomain.reads)
        dense = all(factor_about(c, subdomain) is not None for c in subdomain.domain)
        if is_guarded or dense:
            return False
    return not subdomain.domain or (_otherwise(subdomain) is not None and _is_dense(subdomain))


def _is_inside(read: Read | None, extents: tuple[int, ...]) -> bool:
    """Whether all that the box reads is there."""
    if read is None:
        return False
    ranges = [value_range(e, extents) for e in read.subscripts]
    shape = shape_of(read.tensor)
    return all(low >= 0 and high < n for (low, high), n in zip(ranges, shape, strict=True))


def _is_dense(subdomain: Subdomain) -> bool:
    try:
        with total_budget():
            wanted = count_points(points(subdomain.extents, subdomain.domain))
    except BudgetExhausted:
        return False
    return prod(subdomain.extents) <= GROWTH * wanted


def _otherwise(subdomain: Subdomain) -> float | None:
    """What a point outside of the domain may give, so that nothing changes."""
    if subdomain.combiner != "set":
        return _NEUTRAL.get(subdomain.combiner)
    whole = prod(shape_of(subdomain.inits[0])) == prod(subdomain.extents)
    return _start(subdomain.inits[0]) if whole else None


def _start(init: ir.Value) -> float | None:
    """The number with which a tensor is filled."""
    fill = defining(init, "linalg.fill")
    number = None if fill is None else defining(fill.operands[0], "arith.constant")
    if number is None:
        return None
    return ir.FloatAttr(number.attributes["value"]).value


# ---- masks ---------------------------------------------------------------------------------------


@dataclass
class _Masks:
    copies: dict[tuple[ir.Value, tuple[Form[int], ...]], ir.Value] = field(default_factory=dict)
    zeros: dict[ir.Value, set[Form[int]]] = field(default_factory=dict)  # 0 where one does not hold

    def note(self, op: ir.Operation, rank: int) -> None:
        """Note where a result is 0."""
        combiner = ir.StringAttr(op.attributes["combiner"]).value
        extents = tuple(ir.DenseI64ArrayAttr(op.attributes["extents"]))
        write = ir.AffineMapAttr(op.attributes["write"]).value
        if write != ir.AffineMap.get_identity(rank) or extents != shape_of(op.results[0]):
            return
        starts = _start(op.operands[len(op.operands) - 1]) == 0
        is_whole = op.attributes["domain"] == ir.IntegerSetAttr.get(everywhere(rank))
        if (combiner in ("set", "add") and starts) or (combiner == "set" and is_whole):
            end = op.regions[0].blocks[0].operations[-1].operation
            result: ir.Value = op.results[0]
            known = self.zeros.setdefault(result, set())
            known.update(zero_unless(end.operands[0]))

    def rewrite(self, op: ir.Operation, subdomain: Subdomain) -> None:
        """Put masks in the place of domain and guards."""
        is_guarded = any(r is not None and r.guard for r in subdomain.reads)
        owners = None if is_guarded else _owners(subdomain)
        if owners is not None:
            self._product(op, subdomain, owners)
        else:
            _mask_body(op, subdomain, self._is_zero_outside(op, subdomain))
        _free(op, subdomain.rank)

    def _is_zero_outside(self, op: ir.Operation, subdomain: Subdomain) -> bool:
        """Whether a value is 0 where the domain ends, without a mask."""
        value, forms = _value(op), {*forms_of(subdomain.domain)}
        if forms <= {*zero_unless(value)}:
            return True
        if not isinstance(value, ir.BlockArgument):
            return False
        read = subdomain.reads[value.arg_number]
        dims = {d for c in subdomain.domain for d in dims_used(c.expr)}
        if read is None or read.guard or not dims <= _dims_of(read):
            return False
        moved = _moved(subdomain.domain, read.subscripts, subdomain.rank)
        return {*forms_of(moved)} <= self.zeros.get(read.tensor, set())

    def _product(self, op: ir.Operation, subdomain: Subdomain, owners: Sequence[int]) -> None:
        """Masks of factors in front of a sum of products; a mask of results behind it."""
        pairs = list(zip(subdomain.domain, owners, strict=True))
        for k in {k for k in owners if k != _RESULT}:
            read = subdomain.reads[k]
            if read is not None:
                found = [c for c, owner in pairs if owner == k]
                op.operands[k] = self._factor(read, found, subdomain.rank)
        behind = [c for c, owner in pairs if owner == _RESULT]
        if behind:
            self._results(op, _moved(behind, subdomain.write, subdomain.rank))

    def _factor(self, read: Read, constraints: Constraints, rank: int) -> ir.Value:
        """The tensor where the constraints hold, else 0."""
        moved = _moved(constraints, read.subscripts, rank)
        forms = forms_of(moved)
        if set(forms) <= self.zeros.get(read.tensor, set()):
            return read.tensor
        key = (read.tensor, forms)
        if key not in self.copies:
            self.copies[key] = _masked(read.tensor, _empty(read.tensor), moved, "set")
        return self.copies[key]

    def _results(self, op: ir.Operation, constraints: Constraints) -> None:
        """Sum into zeros, then take the sums where the constraints hold."""
        last = len(op.operands) - 1
        init, result = op.operands[last], op.results[0]
        start, uses = defining(init, "linalg.fill"), list(result.uses)
        is_whole = start is not None and is_zero(start.operands[0])
        if not is_whole:
            op.operands[last] = filled(_empty(init), constant(element_type(init), 0))
        with ir.InsertionPoint.after(op):
            into, combiner = (_empty(init), "set") if is_whole else (init, "add")
            masked: ir.Value = _masked(result, into, constraints, combiner)
        if is_whole:
            self.zeros[masked] = set(forms_of(constraints))
        _redirect(uses, masked)


_RESULT = -1


def _owners(subdomain: Subdomain) -> list[int] | None:
    """For each constraint of a sum of products, the factor that it is about, or _RESULT.

    None where one is about neither, or the sum is of another form: what a factor computes, such as
    an exponential, may be infinite where the domain ends, and 0 times that is NaN.
    """
    factors = factors_of(subdomain.body.operations[-1].operands[0], _PRODUCTS)
    if subdomain.combiner != "add" or not subdomain.reduction_dims or len(factors) < 2:
        return None
    arguments: list[ir.Value] = list(subdomain.body.arguments)
    if any(f not in arguments for f in factors):
        return None
    direct = [arguments.index(f) for f in factors]
    found: list[int] = []
    for constraint in subdomain.domain:
        dims = dims_used(constraint.expr)
        fitting = [k for k in direct if dims <= _dims_of(subdomain.reads[k])]
        if dims <= set(subdomain.parallel_dims):
            found.append(_RESULT)
        elif fitting:
            found.append(fitting[0])
        else:
            return None
    return found


def _dims_of(read: Read | None) -> set[int]:
    return set() if read is None else set(_places(read.subscripts) or ())


def _value(op: ir.Operation) -> ir.Value:
    """What an equation gives a point."""
    return op.regions[0].blocks[0].operations[-1].operation.operands[0]


def _mask_body(op: ir.Operation, subdomain: Subdomain, is_zero_outside: bool) -> None:
    """Zeros where a guard fails, and what changes nothing where the domain ends."""
    block = op.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        dims = dims_of(subdomain.rank)
        for argument, read in zip(block.arguments, subdomain.reads, strict=True):
            if read is not None and read.guard:
                uses = list(argument.uses)
                _redirect(uses, value_where(read.guard, argument, 0.0, dims))
    otherwise = _otherwise(subdomain) if subdomain.domain else None
    if otherwise is None or (otherwise == 0 and is_zero_outside):
        return
    end = block.operations[-1].operation
    with ir.InsertionPoint(end):
        dims = dims_of(subdomain.rank)
        end.operands[0] = value_where(subdomain.domain, end.operands[0], otherwise, dims)


def _masked(source: ir.Value, init: ir.Value, constraints: Constraints, combiner: str) -> ir.Value:
    shape = shape_of(source)
    here = ir.AffineMap.get_identity(len(shape))
    made: ir.Operation = ComputeOp.build(
        [source], [init], extents=list(shape), reads=[here], write=here, combiner=combiner,
        body=lambda value: [value_where(constraints, value, 0.0, dims_of(len(shape)))],
    )  # fmt: skip
    result: ir.Value = made.operation.results[0]
    return result


def _empty(like: ir.Value) -> ir.Value:
    return tensor.EmptyOp(list(shape_of(like)), element_type(like)).result


def _redirect(uses: Sequence[ir.OpOperand], value: ir.Value) -> None:
    for use in uses:
        use.owner.operation.operands[use.operand_number] = value


def _free(op: ir.Operation, rank: int) -> None:
    """Drop domain and guards."""
    free = ir.IntegerSetAttr.get(everywhere(rank))
    op.attributes["domain"] = free
    guards = ir.ArrayAttr(op.attributes["guards"])
    op.attributes["guards"] = ir.ArrayAttr.get([free for _ in guards])
