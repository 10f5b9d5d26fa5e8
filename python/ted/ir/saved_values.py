"""Read what another tensor of the program holds instead of computing it again.

Before: t[i] = maximum(a[i], a[i + 1])      y[i] = maximum(maximum(a[i], a[i + 1]), a[i + 2])
After:  t[i] = maximum(a[i], a[i + 1])      y[i] = maximum(t[i], a[i + 2])

The reverse sweep stores parts of a body that several gradients need.  In a program that computes
the result and its gradients, the result needs them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ted.domain import sets
from ted.domain.sizes import Extent
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    identity,
    reads,
    recurrent_tensors,
    replace_operands,
)
from ted.ir.expressions import Expr
from ted.ir.operations import OPERATIONS
from ted.ir.scalar import dim, index, load, rebuild, rewrite, substitute

_Table = dict[tuple[Expr, tuple[Extent, ...]], Tensor]


def with_saved_values(system: System) -> System:
    """The same program, in which no equation computes a part that a tensor holds at each point."""
    tensors = system.tensors()
    recurrent = recurrent_tensors(system.outputs)
    saved = _saved(t for t in tensors if t not in recurrent)
    if not saved:
        return system
    changed: dict[Tensor, tuple[Equation, ...]] = {}
    for tensor in tensors:
        if tensor not in recurrent:
            equations = tuple(_reading(tensor, e, saved) for e in tensor.equations)
            if any(a is not b for a, b in zip(equations, tensor.equations, strict=True)):
                changed[tensor] = equations
    if not changed:
        return system
    equations = {t: changed.get(t, t.equations) for t in tensors}
    # What is read may come after its reader: new tensors first, what they read second.
    new = {t: replace(t, equations=()) for t in _affected(equations, changed)}
    for tensor, made in new.items():
        made.equations = tuple(replace_operands(e, new) for e in equations[tensor])
    return replace(system, outputs=tuple(new.get(t, t) for t in system.outputs))


def _affected(
    equations: Mapping[Tensor, Sequence[Equation]], changed: Iterable[Tensor]
) -> list[Tensor]:
    """The changed tensors and all that read them, directly or not."""
    readers: dict[Tensor, list[Tensor]] = {}
    for tensor, own in equations.items():
        for read in {r.attr for e in own for r in reads(e)}:
            readers.setdefault(read, []).append(tensor)
    found, stack = dict.fromkeys(changed), list(changed)
    while stack:
        fresh = [t for t in readers.get(stack.pop(), ()) if t not in found]
        found.update(dict.fromkeys(fresh))
        stack += fresh
    return [t for t in equations if t in found]


def _saved(tensors: Iterable[Tensor]) -> _Table:
    """Expression and the extents of its dims -> the tensor that holds it at all points."""
    table: _Table = {}
    for tensor in tensors:
        if len(tensor.equations) != 1:
            continue
        (equation,) = tensor.equations
        plain = equation.combiner == "set" and equation.parallel == equation.rank
        own = equation.body.dtype == tensor.dtype and not equation.recomputed
        if plain and own and equation.is_identity_write and equation.extents == tensor.shape:
            table.setdefault((equation.body, equation.extents), tensor)
    return table


def _reading(tensor: Tensor, equation: Equation, saved: _Table) -> Equation:
    """The equation with the parts of its body read that tensors hold at every point of it."""
    if equation.recomputed:
        return equation
    used: dict[Expr, frozenset[int]] = {}

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        own = {node.attr} if node.op == "dim" else ()
        used[node] = frozenset(own).union(*(used[a] for a in node.args))
        if not _is_work(node):
            return None
        dims = sorted(used[node])
        for part in dict.fromkeys((node, rebuild(node, args))):  # as it was, or with parts read
            holder = saved.get(_held(part, dims, equation))
            if holder is not None and holder is not tensor:
                needed = sets.project(equation.domain, dims)
                if needed.is_subset(holder.equations[0].domain):
                    return load(holder, [dim(d) for d in dims])
        return None

    (body,) = rewrite([equation.body], visit)
    return equation if body is equation.body else replace(equation, body=body)


def _is_work(node: Expr) -> bool:
    return node.op in OPERATIONS and OPERATIONS[node.op].weight > 0 and not node.dtype.is_index


def _held(node: Expr, dims: Sequence[int], equation: Equation) -> tuple[Expr, tuple[Extent, ...]]:
    """What a tensor over some dims of an equation would hold of its body, and its shape."""
    if len(dims) < equation.rank:
        position = [index(0)] * equation.rank
        for place, d in enumerate(dims):
            position[d] = dim(place)
        (node,) = substitute([node], position)
    return node, tuple(equation.extents[d] for d in dims)


# ------------------------------------------------------------------ saved arguments
#
# Find maxima whose index is computed too, so that one operation gives both.
#
# Before: y[i] = max over r of x[i, r];   arg[i] = argmax over r of x[i, r]
# After:  (y[i], arg[i]) = argmax over r of x[i, r]
#
# The reverse sweep asks for the index of every maximum that it passes; the search for the index
# knows the maximum.  Both agree on NaN (taken) and on equal values, of which the first is kept: of
# zeros that differ in sign, the first too.

_VALUE_OF = {"argmax": "max", "argmin": "min"}


def saved_arguments(tensors: Iterable[Tensor]) -> dict[Tensor, Tensor]:
    """Extremum -> the tensor of its index, for those that one operation can give together."""
    listed = [t for t in tensors if len(t.equations) == 1 and t.time is None]
    extrema: dict[object, list[Tensor]] = {}
    for tensor in listed:
        (equation,) = tensor.equations
        if equation.combiner in _VALUE_OF.values() and _is_started(tensor, equation):
            extrema.setdefault(_key(equation, equation.combiner), []).append(tensor)
    found: dict[Tensor, Tensor] = {}
    for tensor in listed:
        (equation,) = tensor.equations
        if equation.combiner not in _VALUE_OF or tensor.fill != -1:
            continue
        for extremum in extrema.get(_key(equation, _VALUE_OF[equation.combiner]), ()):
            same = equation.domain.is_equal(extremum.equations[0].domain)
            if same and extremum.shape == tensor.shape and extremum not in found:
                found[extremum] = tensor
                break
    return found


def _is_started(tensor: Tensor, equation: Equation) -> bool:
    """Whether the reduction starts from nothing, as a search does."""
    same = equation.body.dtype == tensor.dtype
    return same and tensor.fill == identity(equation.combiner, tensor.dtype)


def _key(equation: Equation, combiner: str) -> object:
    return equation.extents, equation.parallel, equation.write, equation.body, combiner
