"""Index expressions and conditions <-> integer sets: Expr -> isl, and isl -> Expr.

An index expression is Presburger when it uses dims, constants, symbolic sizes, +, -, scaling,
floordiv and mod by positive constants, min, max and select.  Anything else (products of dims,
values of tensors) raises `NotAffine`, and the caller keeps the expression as data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.domain import isl, parameters
from ted.domain.affine import Aff, Floor
from ted.domain.budget import bounded
from ted.domain.conversion import from_isl
from ted.errors import DomainError
from ted.ir.dtypes import INDEX
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import (
    TRUE,
    add,
    apply,
    as_extent,
    dim,
    index,
    is_const,
    mul,
    neg,
    rebuild,
    rewrite,
    sub,
)


class NotAffine(DomainError):
    """The expression is not a quasi-affine function of the dims."""


# ------------------------------------------------------------------ Expr -> isl


def piecewise(e: Expr, domain: isl.Set) -> isl.PwAff:
    """An index expression as a piecewise quasi-affine function on the space of `domain`.

    Raises: NotAffine for any other expression.
    """
    return _Translator(domain).value(e)


def condition_set(e: Expr, domain: isl.Set) -> isl.Set:
    """The points of the space of `domain` where a condition on indices holds.

    Raises: NotAffine for one that depends on data.
    """
    return _Translator(domain).condition(e)


def is_affine(e: Expr, domain: isl.Set) -> bool:
    """Whether an index expression or a condition is Presburger."""
    try:
        translator = _Translator(domain)
        _ = translator.value(e) if e.dtype.is_index else translator.condition(e)
    except NotAffine:
        return False
    return True


def condition_bounds(condition: Expr, domain: isl.Set) -> tuple[isl.Set, isl.Set]:
    """Sets (over, under) with under <= {condition} <= over on the domain; equal when it is affine.

    Parts that depend on data may hold anywhere. The sets may reach beyond the domain.
    """
    translator, unknown = _Translator(domain), (domain, domain.subtract(domain))
    known: dict[Expr, tuple[isl.Set, isl.Set]] = {}
    for node in _logical_parts(condition):  # what several parts share is looked at once
        parts = [known[a] for a in node.args] if node.op in _LOGIC and node.tests else []
        exact = None if parts else translator.condition_if_affine(node)
        known[node] = unknown if exact is None else (exact, exact)
        if parts:
            over, under = (_LOGIC[node.op](*sets) for sets in zip(*parts, strict=True))
            if all(a is b for a, b in parts):
                known[node] = over, over
            elif over.n_basic_set() + under.n_basic_set() <= MAX_PARTS:
                known[node] = (under, over) if node.op == "not" else (over, under)
    return known[condition]


MAX_PARTS = 64  # bounds in more parts than this are given up, which is safe
_LOGIC: dict[str, Callable[..., isl.Set]] = {
    "and": lambda a, b: a.intersect(b),
    "or": lambda a, b: a.union(b),
    "not": lambda a: a.complement(),
}


def _logical_parts(condition: Expr) -> list[Expr]:
    """What a condition combines by and, or and not: each part once, before its users.

    What has no part on indices alone is one part.
    """
    order: dict[Expr, None] = {}
    stack = [(condition, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded or node.op not in _LOGIC or not node.tests:
            order.setdefault(node)
        elif node not in order:
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args))
    return list(order)


def where_possible(condition: Expr, domain: isl.Set) -> isl.Set:
    """The points of the domain where a condition may hold: what depends on data counts as true."""
    return domain if condition is TRUE else domain.intersect(condition_bounds(condition, domain)[0])


def where_certain(condition: Expr, domain: isl.Set) -> isl.Set:
    """The points of the domain where a condition holds, whatever the data are."""
    return domain if condition is TRUE else domain.intersect(condition_bounds(condition, domain)[1])


class _Translator:
    """Expr -> isl over one space, memoised per node."""

    def __init__(self, domain: isl.Set) -> None:
        self.space = domain.get_space()
        self.local = isl.LocalSpace.from_space(self.space)
        self.memo: dict[Expr, isl.PwAff] = {}
        self.conditions: dict[Expr, isl.Set | None] = {}

    def value(self, e: Expr) -> isl.PwAff:
        if e not in self.memo:
            self.memo[e] = self._value(e)
        return self.memo[e]

    def _constant(self, value: int) -> isl.PwAff:
        aff = isl.Aff.zero_on_domain(self.local).add_constant_val(_val(self.space, value))
        return isl.PwAff.from_aff(aff)

    def _value(self, e: Expr) -> isl.PwAff:
        if e.op == "dim":
            return isl.PwAff.from_aff(isl.Aff.var_on_domain(self.local, isl.dim_type.set, e.attr))
        if not e.dtype.is_index:
            raise NotAffine(f"index expression: an affine function of dims, got {e}{_advice(e)}")
        if e.op == "const":
            return self._constant(e.attr)
        extent = as_extent(e)  # before its parts: a product of sizes is a parameter of its own
        if extent is not None:
            return parameters.extent_value(self.space.dim(isl.dim_type.set), extent)
        if e.op in _BINARY:
            return _BINARY[e.op](self.value(e.args[0]), self.value(e.args[1]))
        if e.op == "unchecked":  # what is no data is decided here, whatever the user says
            return self.value(e.args[0])
        if e.op == "neg":
            return self.value(e.args[0]).neg()
        if e.op == "abs":
            inner = self.value(e.args[0])
            return inner.max(inner.neg())
        if e.op == "mul":
            return self._scaled(*e.args)
        if e.op in ("floordiv", "mod"):
            return self._quotient(e)
        if e.op == "select":
            condition = self.condition(e.args[0])
            then = self.value(e.args[1]).intersect_domain(condition)
            return then.union_add(self.value(e.args[2]).intersect_domain(condition.complement()))
        raise NotAffine(f"index expression: an affine function of dims, got {e}{_advice(e)}")

    def _scaled(self, a: Expr, b: Expr) -> isl.PwAff:
        if is_const(a):
            a, b = b, a
        if not is_const(b):
            raise NotAffine(f"index expression: a product with a constant, got {a} * {b}")
        return self.value(a).scale_val(_val(self.space, b.attr))

    def _quotient(self, e: Expr) -> isl.PwAff:
        a, divisor = e.args
        if not is_const(divisor) or divisor.attr <= 0:
            raise NotAffine(f"index expression: division by a positive constant, got {e}")
        value, by = self.value(a), _val(self.space, divisor.attr)
        return value.scale_down_val(by).floor() if e.op == "floordiv" else value.mod_val(by)

    def condition(self, e: Expr) -> isl.Set:
        found = self.condition_if_affine(e)
        if found is None:
            # For every condition on data: writing all of it out would take most of the time.
            raise NotAffine(f"condition: comparisons of affine indices, got {e.op}")
        return found

    def condition_if_affine(self, e: Expr) -> isl.Set | None:
        for part in [] if e in self.conditions else _logical_parts(e):
            if part not in self.conditions:
                self.conditions[part] = self._condition(part)
        return self.conditions[e]

    def _condition(self, e: Expr) -> isl.Set | None:
        """A condition whose parts are known; None where it depends on data."""
        if not e.tests:
            return None
        if e.op == "const":
            universe = isl.Set.universe(self.space)
            return universe if e.attr else isl.Set.empty(self.space)
        if e.op in _LOGIC:
            parts = [self.conditions[a] for a in e.args]
            known = [p for p in parts if p is not None]
            return _LOGIC[e.op](*known) if len(known) == len(parts) else None
        if e.op in _COMPARE and e.args[0].dtype.is_index:
            try:
                a, b = (self.value(x) for x in e.args)
            except NotAffine:
                return None
            return getattr(a, _COMPARE[e.op])(b)
        return None


def _advice(e: Expr) -> str:
    """What to write instead of index arithmetic in floats, which may round."""
    nodes = postorder(e)
    in_floats = any(n.dtype.is_float for n in nodes) and not any(n.op == "load" for n in nodes)
    return "; floats may round, write // for the quotient of an index" if in_floats else ""


_BINARY = {
    "add": lambda a, b: a.add(b),
    "sub": lambda a, b: a.sub(b),
    "minimum": lambda a, b: a.min(b),
    "maximum": lambda a, b: a.max(b),
}
_COMPARE = {"lt": "lt_set", "le": "le_set", "eq": "eq_set", "ne": "ne_set"}


def _val(space: isl.Space, value: int) -> isl.Val:
    if value.bit_length() < 64:
        return isl.Val.int_from_si(space.get_ctx(), value)
    return isl.Val.read_from_str(space.get_ctx(), str(value))  # an unsigned number


# ------------------------------------------------------------------ isl -> Expr


def aff_to_expr(aff: Aff, dims: Sequence[Expr] | None = None) -> Expr:
    """A quasi-affine function as an index expression; dim k becomes `dims[k]` if given.

    Positive terms come first, so that `4 - i` is not written `-i + 4`.
    """
    plus, minus = index(max(aff.const, 0)), index(max(-aff.const, 0))
    for coefficient, term in aff.terms:
        if isinstance(term, Floor):
            atom = apply("floordiv", aff_to_expr(term.inner, dims), index(term.divisor))
        elif isinstance(term, str):
            atom = index(parameters.value_of(term))
        else:
            atom = dim(term) if dims is None else dims[term]
        scaled = mul(atom, index(abs(coefficient)))
        if coefficient > 0:
            plus = scaled if is_const(plus, 0) else _tail_constant(plus, scaled)
        else:
            minus = _tail_constant(minus, scaled)
    if is_const(plus, 0) and not is_const(minus):
        return neg(minus)
    return sub(plus, minus)


def _tail_constant(total: Expr, term: Expr) -> Expr:
    """total + term with a constant kept at the end."""
    if is_const(total):
        return add(term, total)
    if total.op == "add" and is_const(total.args[1]):
        return add(add(total.args[0], term), total.args[1])
    return add(total, term)


def single_piece(e: Expr, domain: isl.Set) -> Aff | None:
    """An index as one quasi-affine function on a domain, or None when it has several pieces."""
    value = bounded(lambda: piecewise(e, domain).gist(domain).coalesce())
    if value is None or value.n_piece() != 1:
        return None
    ((_, aff),) = value.get_pieces()
    simpler = bounded(lambda: _simpler(aff, domain))
    return None if simpler is None else from_isl(simpler)


def _simpler(aff: isl.Aff, domain: isl.Set) -> isl.Aff:
    model = domain.get_space()
    aligned = aff.align_params(model)
    return aligned.gist(domain.align_params(aligned.get_space()))


def canonical_index(e: Expr, domain: isl.Set) -> Expr:
    """The single-piece form of an index on a domain if that is no longer; else `e` itself."""
    if e.op in ("const", "dim") or as_extent(e) is not None:
        return e
    try:
        aff = single_piece(e, domain)
    except NotAffine:
        return e
    new = e if aff is None else aff_to_expr(aff)
    return new if len(postorder(new)) <= len(postorder(e)) else e


def canonical_indices(
    roots: Sequence[Expr], domain: isl.Set, known: dict[Expr, Expr] | None = None
) -> list[Expr]:
    """Every subscript, and every floordiv or mod, below the roots in canonical form.

    `known` has and gets the forms on this domain: one table for all roots that are asked about.
    """
    forms = {} if known is None else known

    def form(e: Expr) -> Expr:
        if e not in forms:
            forms[e] = canonical_index(e, domain)
        return forms[e]

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op == "load":
            return rebuild(node, map(form, args))
        if node.op in ("floordiv", "mod") and node.dtype == INDEX:
            return form(rebuild(node, args))
        return None

    return rewrite(roots, visit)


def decide_selects(roots: Sequence[Expr], domain: isl.Set) -> list[Expr]:
    """Drop the selects, index minima and maxima whose outcome the domain already decides."""
    translator = _Translator(domain)

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "select":
            return None
        try:
            holds = translator.condition(args[0])
        except NotAffine:
            return None
        if bounded(lambda: domain.is_subset(holds)):
            return args[1]
        return args[2] if bounded(lambda: domain.is_disjoint(holds)) else None

    return rewrite(roots, visit)
