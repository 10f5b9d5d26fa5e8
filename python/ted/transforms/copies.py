"""Read what a copy is a copy of, and write where a copy is written.

Before: s[i, j] = a[i, j + 2];  y[i] += s[i, r] * w[r]     dt[i, j] += g[i, r] * w[r, j]
                                                           dx[i, j] = dt[j, i]
After:  y[i] += a[i, r + 2] * w[r]                         dx[i, j] += g[j, r] * w[r, i]

A copy that nothing else computes is not stored: its readers read through it.  A tensor that only a
copy reads is computed where the copy goes, be it a part of a tensor.  Both are the same values;
an index that is data is left alone, since its bounds are checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from ted.domain.sizes import estimate
from ted.ir.affine import canonical_index, canonical_indices
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    in_written_order,
    operands,
    reads,
    recurrent_tensors,
    rewrite_system,
)
from ted.ir.expressions import Expr, Number
from ted.ir.scalar import index, is_const, is_linear, reads_data, rewrite, substitute
from ted.transforms.written_elements import Written


def compose_copies(
    system: System, keep: Collection[Tensor] = (), opaque: Collection[Tensor] = ()
) -> tuple[System, dict[Tensor, Tensor]]:
    """The system without copies that need not be; also old tensor -> new tensor.

    Tensors in `keep` are left as they are, but are read through; those in `opaque`, which stand for
    more than their values, are not.
    """
    tensors = system.tensors()
    recurrent = recurrent_tensors(system.outputs)
    uses = Counter(read.attr for t in tensors for e in t.equations for read in reads(e))
    parts = parts_of_histories(tensors, recurrent)
    asked = {*keep, *opaque, *system.outputs, *recurrent}
    sources: dict[Tensor, Expr] = {}  # copy -> the read that each element of it is
    movable: set[Tensor] = set()  # read once, and asked for by nobody

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if tensor in recurrent or tensor.is_input:
            return equations
        new = tensor if equations == tensor.equations else replace(tensor, equations=equations)
        if tensor not in keep and tensor not in opaque:
            new = _with_moved(reading_through(new, sources), movable)
        source = None if tensor in opaque or tensor in parts else copied_read(new)
        if source is not None:
            sources[new] = source
            movable.discard(source.attr)  # readers of the copy will read it
        elif uses[tensor] == 1 and tensor not in asked:
            movable.add(new)
        return new

    return rewrite_system(system, visit)


def parts_of_histories(tensors: Sequence[Tensor], recurrent: Collection[Tensor]) -> set[Tensor]:
    """What is less than the histories that it reads, where some values are computed again.

    It is stored instead: who reads it would read the histories, and these would be kept for that.
    """
    if not any(e.recomputed for t in tensors for e in t.equations):
        return set()
    found = set()
    for tensor in tensors:
        read = [o for o in operands(tensor) if o in recurrent] if tensor not in recurrent else []
        if read and all(estimate(tensor.size) < estimate(o.size) for o in read):
            found.add(tensor)
    return found


# ------------------------------------------------------------------ readers


def copied_read(tensor: Tensor) -> Expr | None:
    """The read that every element of a tensor is, each subscript a linear function of one dim."""
    if len(tensor.equations) != 1:
        return None
    (equation,) = tensor.equations
    body = equation.body
    if not _is_copy(equation, tensor) or not equation.covers(tensor.shape):
        return None
    return body if all(is_linear(a) for a in body.args) else None


def _is_copy(equation: Equation, tensor: Tensor) -> bool:
    body = equation.body
    plain = equation.combiner == "set" and not equation.recomputed and not equation.wishes
    return plain and body.op == "load" and body.dtype == tensor.dtype


def reading_through(tensor: Tensor, sources: dict[Tensor, Expr]) -> Tensor:
    """The tensor with reads of copies made reads of what they are copies of."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        source = sources.get(node.attr) if node.op == "load" else None
        if source is None or reads_data(*args):
            return None
        return substitute([source], args)[0]

    changed: list[Equation] = []
    for equation in tensor.equations:
        body, *write = rewrite(equation.expressions, visit)
        if body is not equation.body or tuple(write) != equation.write:
            (body,) = canonical_indices([body], equation.domain)
            equation = replace(equation, body=body, write=tuple(write))
        changed.append(equation)
    return _with_equations(tensor, changed)


def _with_equations(tensor: Tensor, equations: Sequence[Equation]) -> Tensor:
    same = all(a is b for a, b in zip(equations, tensor.equations, strict=False))
    if same and len(equations) == len(tensor.equations):
        return tensor
    return replace(tensor, equations=tuple(equations))


# ------------------------------------------------------------------ writers


def _with_moved(tensor: Tensor, movable: Collection[Tensor]) -> Tensor:
    """The tensor with the equations of what it alone reads, as a copy, in place of the copy."""
    made: list[Equation] = []
    fill, written = tensor.fill, Written(tensor.equations)
    for position, equation in enumerate(tensor.equations):
        places = _places(equation, tensor, movable)
        source = equation.body.attr
        if places is None:
            made.append(equation)
        elif len(tensor.equations) == 1 and equation.covers(tensor.shape):
            moved = [_written_at(e, equation, places) for e in source.equations]
            return replace(tensor, fill=source.fill, equations=tuple(moved))
        elif _fits(fill, source) and written.is_first(position):
            fill = source.fill if fill is None else fill
            made += [_written_at(e, equation, places) for e in source.equations]
        else:
            made.append(equation)
    found = _with_equations(tensor, made)
    return found if found is tensor else replace(found, fill=fill)


def _places(
    equation: Equation, tensor: Tensor, movable: Collection[Tensor]
) -> dict[int, int] | None:
    """Dim -> the subscript of the source that it is, if the copy reads each element of it once."""
    source = equation.body.attr
    if not _is_copy(equation, tensor) or source not in movable or not equation.is_box:
        return None
    if any(reads_data(*e.write) for e in source.equations) or reads_data(*equation.body.args):
        return None
    places: dict[int, int] = {}
    for k, (subscript, extent) in enumerate(zip(equation.body.args, source.shape, strict=True)):
        if subscript.op == "dim" and equation.extents[subscript.attr] == extent:
            places[subscript.attr] = k
        elif extent != 1 or not is_const(subscript, 0):
            return None
    rest = [extent for d, extent in enumerate(equation.extents) if d not in places]
    sizes = [extent for extent in source.shape if extent != 1]
    used = [source.shape[k] for k in places.values() if source.shape[k] != 1]
    return places if set(rest) <= {1} and len(sizes) == len(used) else None


def _written_at(equation: Equation, copy: Equation, places: dict[int, int]) -> Equation:
    """An equation of the source that writes where the copy of an element goes."""
    zero = index(0)
    at = [equation.write[places[d]] if d in places else zero for d in range(copy.rank)]
    write = [canonical_index(w, equation.domain) for w in substitute(copy.write, at)]
    return in_written_order(replace(equation, write=tuple(write)))


def _fits(fill: Number | None, source: Tensor) -> bool:
    """Whether equations of the source may start from a fill; None where all elements are set."""
    return fill is None or source.fill is None or fill == source.fill
