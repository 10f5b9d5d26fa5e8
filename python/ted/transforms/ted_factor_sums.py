"""Sum what depends on few dims over these alone: factors leave sums, products are taken in pairs.

Before: G[j, i] += 2 * c[i, r]                        D[i, l] += a[i, j] * b[j, k] * c[k, l]
After:  s[i] += 2 * c[i, r];  G[j, i] = s[i]          t[i, k] += a[i, j] * b[j, k]
                                                      D[i, l] += t[i, k] * c[k, l]

Before: T[i, j] += a[i, r] * b[r, j] + c[i, r] * d[r, j]
After:  T[i, j] += a[i, r] * b[r, j];  T[i, j] += c[i, r] * d[r, j]

An equation changes if it takes at most half of its points then, or becomes contractions with no
more operations.  No tensor is made that is larger than those that it reads and writes, and than
caches hold.  Values that are added get equations of their own only if one is a contraction, and
each of them is one or takes at most half of the points.  Equations of recurrences stay, those too
about which somebody asks for something, and those in types that a tensor would round.

For floats this is another order of multiplications and additions (docs/design.md, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ted.ir.dtypes import FLOAT32, FLOAT64, INT32, INT64
from ted.ir.equations import Equation, System, Tensor, operands, recurrent_tensors, rewrite_system
from ted.ir.expressions import Expr
from ted.ir.rewriting import SystemPass
from ted.records import dataclass
from ted.transforms.copies import copied_read, reading_through
from ted.transforms.factored_products import FactoredProduct
from ted.transforms.separable_points import CoupledError
from ted.transforms.sums_of_products import collected, factors, summands
from ted.transforms.ted_simplify import simplify, tensor_key

TYPES = (FLOAT64, FLOAT32, INT64, INT32)
LEAST_SUMMED = 8  # points of a sum below which one more equation over the result is no gain

Share = Callable[[Tensor], Tensor]


def factor_sums(
    system: System, keep: Collection[Tensor] = (), through: bool = False
) -> tuple[System, dict[Tensor, Tensor]]:
    """Factor the sums of all tensors but those in `keep`; also old tensor -> new tensor.

    `through`: who reads a tensor that becomes a copy of a smaller one reads that one instead.
    """
    if not any(_is_open(t, e) for t in system.tensors() for e in t.equations):
        return system, {}
    recurrent = recurrent_tensors(system.outputs)
    known: dict[object, Tensor] = {}
    sources: dict[Tensor, Expr] = {}

    def share(tensor: Tensor) -> Tensor:
        return known.setdefault(tensor_key(tensor), tensor)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if tensor in keep or tensor in recurrent or tensor.is_input:
            return equations
        old = tensor if equations == tensor.equations else replace(tensor, equations=equations)
        if any(operand in sources for operand in operands(old)):
            old = reading_through(old, sources)
        new = _with_factored_sums(old, share)
        source = copied_read(new) if through and new is not old else None
        if source is not None:
            sources[new] = source
        return new

    return rewrite_system(system, visit)


def _with_factored_sums(tensor: Tensor, share: Share) -> Tensor:
    parts = [_factored(tensor, e, share) for e in tensor.equations]
    if not any(parts):
        return tensor
    made = [new for e, own in zip(tensor.equations, parts, strict=True) for new in own or (e,)]
    first, *rest = made
    if tensor.fill == 0 and first.parallel == first.rank and first.covers(tensor.shape):
        first = replace(first, combiner="set")
    return replace(tensor, equations=(first, *rest))


def _factored(tensor: Tensor, equation: Equation, share: Share) -> Sequence[Equation] | None:
    """The equations that one becomes; None where it stays."""
    if not _is_open(tensor, equation):
        return None
    chosen = _products(tensor, equation)
    try:
        return [one.rewritten(share) for one in chosen] or None
    except CoupledError:
        return None


def _is_open(tensor: Tensor, equation: Equation) -> bool:
    """Whether it is a sum whose terms may be taken in another order."""
    if equation.combiner != "add" or equation.parallel == equation.rank or equation.is_scatter:
        return False
    return equation.body.dtype == tensor.dtype and tensor.dtype in TYPES and not equation.wishes


def _products(tensor: Tensor, equation: Equation) -> list[FactoredProduct]:
    """The products to sum one by one; none where the equation should stay."""
    terms = summands(equation.body, frozenset(equation.reduction_dims))
    if len(terms) > 1:
        found = [FactoredProduct(tensor, equation, t) for t in collected(terms)]
        summed = found[0].volume(frozenset(equation.reduction_dims))
        if summed >= LEAST_SUMMED and _come_apart(found):
            return found
        terms = [factors(equation.body)]
    (term,) = terms
    single = FactoredProduct(tensor, equation, term)
    return [single] if single.pays else []


def _come_apart(found: Sequence[FactoredProduct]) -> bool:
    if not any(one.contracts for one in found):
        return False
    return all(one.contracts or one.takes_half for one in found)


@dataclass(frozen=True)
class TedFactorSums(SystemPass):
    """Take sums over the dims that their parts depend on, products of many factors in pairs."""

    def rewrite(self, system: System) -> System:
        """The system after the pass."""
        result, moved = factor_sums(system, through=True)
        if all(old is new for old, new in moved.items()):
            return system
        return simplify(result)[0]
