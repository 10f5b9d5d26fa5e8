"""Equations of a branch -> equations that do nothing where the branch is not taken.

Before: C[i, j] += A[i, r] * B[r, j]
After:  C[i, j] += where(p[], A[i, r] * B[r, j], 0)

So a branch is no form of its own: derivatives, batches and the interpreter take it for the choice
that it is, adjoints keep the condition, and a read at data is made only where it holds. That the
condition has no dims is what lowering sees: a test around the loop (`linalg/uniform_choices.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.autodiff.override import Override
from ted.ir.equations import Equation, System, Tensor, rewrite_system
from ted.ir.expressions import Expr
from ted.ir.scalar import const, index, load, reads_data, select
from ted.records import dataclass
from ted.transforms.overrides import carry, mark, override_of


@dataclass(frozen=True)
class Branch:
    """A scalar condition, the answer for which a branch is taken, and the first tensor in it."""

    condition: Tensor
    taken: bool
    begin: int

    @staticmethod
    def of(condition: Tensor, taken: bool) -> Branch:
        """A branch that holds all tensors that are made from now on."""
        return Branch(condition, taken, Tensor("begin", (), condition.dtype).born)

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor was made in the branch."""
        return tensor.born > self.begin and bool(tensor.equations)

    def choice(self, value: Expr, otherwise: Expr) -> Expr:
        """The value where the branch is taken."""
        sides = (value, otherwise) if self.taken else (otherwise, value)
        return select(load(self.condition, ()), *sides)


def in_branch(outputs: Sequence[Tensor], branch: Branch) -> tuple[Tensor, ...]:
    """The outputs of a branch, with what is made in it under its condition."""

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        if not branch.holds(tensor):
            return equations
        return tuple(e if _is_view(e) else _conditional(e, branch) for e in equations)

    system, became = rewrite_system(System((), tuple(outputs)), visit)
    carry(became)
    for old, new in became.items():
        override = override_of(old)
        if override is not None and branch.holds(old):
            mark(new, _conditional_override(override_of(new) or override, branch))
    return system.outputs


def _is_view(equation: Equation) -> bool:
    """Whether an equation only copies: without it, its readers read what it copies."""
    body = equation.body
    return equation.combiner == "set" and body.op == "load" and not _at_data(equation)


def _at_data(equation: Equation) -> bool:
    subscripts = [s for read in equation.reads for s in read.args]
    return reads_data(*subscripts, *equation.write)


def _conditional(equation: Equation, branch: Branch) -> Equation:
    body = branch.choice(equation.body, const(0, equation.body.dtype))
    write = tuple(branch.choice(w, index(0)) if reads_data(w) else w for w in equation.write)
    return replace(equation, body=body, write=write)


def _conditional_override(override: Override, branch: Branch) -> Override:
    """Adjoints that are computed where the branch is taken."""

    def under(products: Sequence[Tensor], begin: int) -> Sequence[Tensor]:
        return in_branch(products, replace(branch, begin=begin))

    def adjoints(tensor: Tensor, head: Tensor) -> Sequence[Tensor]:
        begin = Branch.of(branch.condition, branch.taken).begin
        return under(override.adjoints(tensor, head), begin)

    inner = override.guarded
    if inner is None:
        return Override(override.dependencies, adjoints)

    def guarded(mask: Tensor, tensor: Tensor, head: Tensor) -> Sequence[Tensor]:
        begin = Branch.of(branch.condition, branch.taken).begin
        return under(inner(mask, tensor, head), begin)

    return Override(override.dependencies, adjoints, guarded)
