"""Forward mode on systems: the tangent of a tensor has the equations of the tensor, pushed forward.

Before: C[i] = tanh(A[i])                 After: C_dot[i] = A_dot[i] * (1 - C[i]*C[i])

The scalar rules are those of reverse mode: a rule is linear in the adjoint g of its node, so its
derivative with respect to g, weighted with the tangents of the arguments, is the node's tangent.
A tangent is a gather wherever its primal is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ted.autodiff.body import read_adjoints
from ted.autodiff.extrema import taken_part
from ted.autodiff.rules import contributions
from ted.autodiff.steps import settle_recurrences
from ted.autodiff.sweep_order import sweep_order
from ted.autodiff.vjp import (
    DIFFERENTIABLE,
    Override,
    active_tensors,
    copy_of,
)  # fmt: skip
from ted.errors import DerivativeError, SourceLocation
from ted.ir.equations import Equation, System, Tensor, is_recurrence
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import add, const, load, mul, replace_nodes, select, weight

Transpose = Callable[[Tensor, Override, Sequence["Tensor | None"]], "Tensor | None"]
Further = Callable[[Tensor, "Equation | Override"], Iterable[Equation]]


def nothing_further(tensor: Tensor, part: Equation | Override) -> Iterable[Equation]:
    """A tangent is what its equations are, pushed forward."""
    del tensor, part
    return ()


def jvp(
    system: System,
    tangents: Sequence[Tensor | None],
    overrides: Mapping[Tensor, Override] | None = None,
    transpose: Transpose | None = None,
    further: Further = nothing_further,
    suffix: str = "_dot",
) -> dict[Tensor, Tensor]:
    """The tangent of every tensor that moves with an input.

    Shapes: one tangent per input, of its shape and type, None if it is zero.  `transpose(t,
    override, tangents of its dependencies)` gives the tangent of a tensor whose derivative is the
    user's; `further(t, equation or override)` what is added to what this part of t contributes.
    Raises: DerivativeError when a combiner or a scalar operation has no derivative.
    """
    overrides = overrides or {}
    groups = sweep_order(system, overrides)
    active = active_tensors(system, groups, overrides)
    pairs = zip(system.inputs, tangents, strict=True)
    found = {x: tangent for x, tangent in pairs if tangent is not None}
    for group in groups:
        moving = [t for t in group if t in active and t not in system.inputs]
        for tensor in moving:  # variables, as long as their equations are not known
            found[tensor] = replace(tensor, name=f"{tensor.name}{suffix}", fill=None, equations=())
        pushed = {t: _pushed(t, found, overrides.get(t), transpose, further) for t in moving}
        for tensor, equations in pushed.items():
            found[tensor].fill, found[tensor].equations = 0, equations
            if not any(pushed.values()):
                del found[tensor]
        if is_recurrence(group) and any(t in overrides for t in moving):
            settle_recurrences([found[t] for t in moving])
    return found


def _pushed(
    tensor: Tensor,
    tangents: Mapping[Tensor, Tensor],
    override: Override | None,
    transpose: Transpose | None,
    further: Further,
) -> tuple[Equation, ...]:
    if override is None:
        return _pushed_chain(tensor, tangents, further)
    assert transpose is not None, f"{tensor}: an override, and no way to transpose it"
    found = transpose(tensor, override, [tangents.get(d) for d in override.dependencies])
    pushed = () if found is None else (replace(copy_of(found), combiner="set"),)
    return (*pushed, *further(tensor, override))


def _pushed_chain(
    tensor: Tensor, tangents: Mapping[Tensor, Tensor], further: Further
) -> tuple[Equation, ...]:
    """The equations of a tangent; a `set` without a tangent still clears what came before it."""
    pushed: list[Equation] = []
    for equation in tensor.equations:
        new = _pushed_equation(tensor, equation, tangents)
        if new is None and equation.combiner == "set" and pushed:
            new = replace(equation, body=const(0, tensor.dtype))
        if new is not None:
            pushed.append(new)
        pushed += further(tensor, equation)
    return tuple(pushed)


def _pushed_equation(
    tensor: Tensor, equation: Equation, tangents: Mapping[Tensor, Tensor]
) -> Equation | None:
    if equation.combiner not in DIFFERENTIABLE:
        raise DerivativeError(
            f"{tensor.name}: a combiner in {DIFFERENTIABLE} to differentiate, "
            f"got {equation.combiner}",
            equation.location,
        )
    tangent = push_body(equation.body, tangents, equation.location)
    if tangent is None:
        return None
    combiner = "set" if equation.combiner == "set" else "add"
    return replace(equation, combiner=combiner, body=tangent_of_point(tensor, equation, tangent))


def tangent_of_point(tensor: Tensor, equation: Equation, tangent: Expr) -> Expr:
    """What a point adds to a tangent of its tensor when `tangent` is that of its body.

    A value that is stored is read.
    """
    if equation.combiner != "set":
        return taken_part(tensor, equation, tangent)
    if len(tensor.equations) > 1 or not weight(equation.body):
        return tangent
    return replace_nodes(tangent, {equation.body: load(tensor, equation.write)})


# ------------------------------------------------------------------ one body


def push_body(
    body: Expr, tangents: Mapping[Tensor, Tensor], location: SourceLocation | None = None
) -> Expr | None:
    """The tangent of a scalar expression, None where it is zero for lack of a moving read."""
    pushed: dict[Expr, Expr] = {}
    for node in postorder(body):
        if not node.dtype.is_float:
            continue
        if node.op == "load":
            tangent = tangents.get(node.attr)
            new = None if tangent is None else load(tangent, node.args)
        else:
            new = _pushed_node(node, [pushed.get(a) for a in node.args], location)
        if new is not None:
            pushed[node] = new
    return pushed.get(body)


def _pushed_node(
    node: Expr, tangents: Sequence[Expr | None], location: SourceLocation | None
) -> Expr | None:
    """d/dg of the sum over the arguments of (tangent * contribution of g), which g drops out of."""
    if all(t is None for t in tangents):
        return None
    head = Tensor("g", (), node.dtype)
    total: Expr | None = None
    for position, condition, value in contributions(node, load(head, ()), location):
        tangent = tangents[position]
        if tangent is not None:
            term = select(condition, mul(tangent, value), const(0, value.dtype))
            total = term if total is None else add(total, term)
    if total is None:
        return None
    pairs = read_adjoints(total, const(1, total.dtype), lambda t: t is head, location)
    return pairs[0][1] if pairs else None
