"""Where an expression, and a tensor, can be non-zero: the exact zero elimination of adjoints.

The support of a product is the intersection of the supports, of a sum the union, of a select on an
affine condition the matching parts, of a read the points that read what is not zero of its tensor.
A tensor is zero where no equation writes, or only zeros.  Restricting an adjoint equation to its
support turns guards and paddings of the forward program into bounds of the backward one, and what
is behind a slice is differentiated at the points of the slice only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ted.domain import bounds, parameters, sets
from ted.domain.boxes import Sides, joined, settled, whole_box
from ted.domain.budget import BudgetExhausted, bounded, required, total_budget
from ted.domain.sizes import is_symbolic
from ted.ir.affine import NotAffine, condition_bounds, piecewise
from ted.ir.equations import Equation, Tensor, is_recurrence, operands
from ted.ir.expressions import Expr, postorder
from ted.ir.graphs import circles
from ted.ir.scalar import is_const

_KEEPS_ZERO = {"neg", "tanh", "sin", "sinh", "asin", "atan", "asinh", "sqrt", "cast", "abs", "erf",
               "expm1", "log1p", "floor", "ceil", "round", "trunc", "stop_gradient", "cbrt",
               "tan", "atanh"}  # fmt: skip

Part = Callable[["Tensor"], "Any | None"]  # the elements of a tensor that can be non-zero


class Supports:
    """What can be non-zero of tensors, from the inputs on: a basic set, or None for everything.

    A tensor is looked at once.
    """

    def __init__(self) -> None:
        self._known: dict[Tensor, Any | None] = {}
        self._flat: dict[Tensor, Any | None] = {}

    def of_tensor(self, tensor: Tensor) -> Any | None:
        """The elements of a tensor that can be non-zero; None where that can be all."""
        if tensor.is_input:  # an adjoint of a recurrence is one until its equations are known
            return None
        for group in circles([tensor], self._unknown_operands) if self._is_new(tensor) else ():
            if is_recurrence(group):
                self._known |= self._of_steps(group)
            elif self._is_new(group[0]):
                self._known[group[0]] = self._written(group[0])
        return self._known[tensor]

    def _is_new(self, tensor: Tensor) -> bool:
        return tensor not in self._known and not tensor.is_input

    def _unknown_operands(self, tensor: Tensor) -> Sequence[Tensor]:
        return [t for t in operands(tensor) if self._is_new(t)]

    def _of_steps(self, group: Sequence[Tensor]) -> dict[Tensor, Any | None]:
        """What can be non-zero of the tensors of a recurrence, as boxes: from a step on."""
        if not all(_starts_from_zeros(t) and t.time is not None for t in group):
            return dict.fromkeys(group)
        try:
            with total_budget():
                boxes = settled({}, partial(self._with_next_steps, group), _whole)
        except (NotAffine, BudgetExhausted):
            return dict.fromkeys(group)
        return {t: _points(t, boxes.get(t)) for t in group}

    def _with_next_steps(
        self, group: Sequence[Tensor], boxes: dict[Tensor, Sides]
    ) -> dict[Tensor, Sides]:
        """Boxes that hold what steps make of some boxes, too, and all later steps.

        Raises: NotAffine, BudgetExhausted.
        """

        def part(tensor: Tensor) -> Any | None:
            if tensor not in group:
                return self.of_tensor(tensor)
            return _points(tensor, boxes.get(tensor))

        found = dict(boxes)
        for tensor in group:
            for equation in tensor.equations if boxes.get(tensor) != _whole(tensor) else ():
                made = _image(equation, tensor, part)
                if made is None or not made.is_empty():
                    sides = None if made is None else required(sets.dim_steps, made)
                    sides = _until_the_end(tensor, sides or _whole(tensor))
                    found[tensor] = joined(found.get(tensor), sides)
        return found

    def of_value(self, root: Expr, domain: Any, exact: Tensor | None = None) -> Any:
        """A set containing every point of `domain` where `root` is not zero.

        Of tensors other than `exact` it follows bounds, steps and equalities: a loop gets shorter
        by them, or none, where `i <= j` makes one that tests conditions, and costs more.
        """

        def part(tensor: Tensor) -> Any | None:
            return self.of_tensor(tensor) if tensor is exact else self._flat_part(tensor)

        try:
            with total_budget():
                found = _of_value(root, domain, part)
                return domain if found is None else found.coalesce()
        except BudgetExhausted:
            return domain

    def _flat_part(self, tensor: Tensor) -> Any | None:
        if tensor not in self._flat:
            part = self.of_tensor(tensor)
            hull = None if part is None else bounded(sets.flat_hull, part)
            box = parameters.box(tensor.shape)
            self._flat[tensor] = None if hull is None or bounded(box.is_subset, hull) else hull
        return self._flat[tensor]

    def _written(self, tensor: Tensor) -> Any | None:
        if not _starts_from_zeros(tensor):
            return None
        try:
            with total_budget():
                found = [_image(e, tensor, self.of_tensor) for e in tensor.equations]
                return _united(tensor, found)
        except (NotAffine, BudgetExhausted):
            return None


def _united(tensor: Tensor, found: Sequence[Any | None]) -> Any | None:
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return None
    union = functools.reduce(lambda a, b: a.union(b), parts, sets.empty(len(tensor.shape)))
    written = bounded(union.coalesce)
    if written is None or written.n_basic_set() > 1:
        return None
    return None if parameters.box(tensor.shape).is_subset(written) else written


def _starts_from_zeros(tensor: Tensor) -> bool:
    plain = all(e.combiner in ("set", "add") for e in tensor.equations)
    return plain and tensor.fill in (0, None) and not is_symbolic(tensor.shape)


def _image(equation: Equation, tensor: Tensor, part: Part) -> Any | None:
    """The elements that an equation gives what is not zero, and some more; None for all.

    A quotient that only some points of the domain know (`exists e`) is left out: readers intersect
    supports, which would double it with each tensor, and isl tells no copies of it.

    Raises: NotAffine, BudgetExhausted.
    """
    points = _of_value(equation.body, equation.domain, part)
    if points is None:
        if _writes_all(equation, tensor):
            return None
        points = equation.domain
    written = bounds.image(points, [piecewise(w, equation.domain) for w in equation.write])
    return written.remove_unknown_divs()


def _until_the_end(tensor: Tensor, sides: Sides) -> Sides:
    """The box with all later steps of a recurrence."""
    time = tensor.time or 0
    own, last = sides[time], tensor.static_shape[time]
    later = range(own.stop) if tensor.reverse else range(own.start, last)
    return [later if k == time else side for k, side in enumerate(sides)]


def _points(tensor: Tensor, sides: Sides | None) -> Any | None:
    """The elements in a box, none without one; None for all, which costs no arithmetic."""
    if sides is None:
        return sets.empty(len(tensor.shape))
    return None if sides == _whole(tensor) else sets.lattice(sides)


def _whole(tensor: Tensor) -> Sides:
    return whole_box(tensor.static_shape)


def _of_value(root: Expr, domain: Any, part: Part) -> Any | None:
    """The points where a value can be non-zero; None, for the most, without any arithmetic."""
    memo: dict[Expr, Any | None] = {}
    for node in postorder(root):
        if node.dtype.is_float:
            memo[node] = _of_node(node, domain, memo, part)
    return memo.get(root)


def _of_node(node: Expr, domain: Any, memo: dict[Expr, Any | None], part: Part) -> Any | None:
    if is_const(node, 0):
        return domain.subtract(domain)
    if node.op == "load":
        return _of_read(node, domain, part(node.attr))
    if node.op == "select":
        return _of_select(node, domain, memo)
    if node.op == "div" or (node.op in _KEEPS_ZERO and node.args[0] in memo):
        return memo[node.args[0]]
    if node.op not in ("mul", "add", "sub"):
        return None
    known = [points for a in node.args if (points := memo[a]) is not None]
    if node.op == "mul":
        return functools.reduce(lambda a, b: a.intersect(b), known) if known else None
    return known[0].union(known[1]) if len(known) == 2 else None


def _of_read(read: Expr, domain: Any, part: Any | None) -> Any | None:
    if part is None:
        return None
    try:
        return bounds.writing(domain, [piecewise(a, domain) for a in read.args], part)
    except (NotAffine, BudgetExhausted):
        return None


def _of_select(node: Expr, domain: Any, memo: dict[Expr, Any | None]) -> Any | None:
    condition, a, b = node.args
    first, second = memo[a], memo[b]
    if first is None and second is None:
        return None
    over, under = condition_bounds(condition, domain)
    first = (domain if first is None else first).intersect(over)
    return first.union((domain if second is None else second).subtract(under))


def _writes_all(equation: Equation, tensor: Tensor) -> bool:
    """Whether an equation writes every element, each at a place of its own dims."""
    extents = [equation.extents[w.attr] if w.op == "dim" else None for w in equation.write]
    places = {w.attr for w in equation.write if w.op == "dim"}
    plain = len(places) == len(tensor.shape) and tuple(extents) == tensor.shape
    return plain and equation.is_box
