"""Whether a size is a batch: each row of a tensor is computed from the same row of others alone.

Before: y[i, j] += x[i, r] * w[r, j] over i < n      After: no refusal: n is a batch, i its loop
Before: y[i] = x[i] - x[n - 1 - i] over i < n        After: "y[n] reads x at row n - 1 - i"

A tensor *has rows* when the size is one of its extents. An equation that computes rows has the size
as the extent of one dim, its *loop*, and uses that dim for nothing but to name the row. A tensor
without rows may be a *total*: an equation with the loop adds to it, or takes the maximum. What a
program does with a row is then the same for every row and any number of them, so that programs of
few rows can be run over slices of many (`ted.transforms.row_programs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ted.domain import parameters, sets
from ted.domain.sizes import Extent, Quotient, Symbol, symbolic, symbols_of
from ted.ir.equations import Equation, System, Tensor, components, is_recurrence
from ted.ir.expressions import Expr, format_expr, postorder
from ted.ir.scalar import as_extent

TOTALS = ("add", "mul", "max", "min")


def row_dim(tensor: Tensor, size: Symbol) -> int | None:
    """Which dim of a tensor counts its rows."""
    return _position(tensor.shape, size)


def row_loop(equation: Equation, size: Symbol) -> int | None:
    """Which dim of an equation runs over rows."""
    return _position(equation.extents, size)


def is_total(tensor: Tensor, size: Symbol) -> bool:
    """Whether a tensor without rows is made of all rows."""
    looped = any(row_loop(e, size) is not None for e in tensor.equations)
    return looped and row_dim(tensor, size) is None


def _position(extents: Sequence[Extent], size: Symbol) -> int | None:
    return next((k for k, e in enumerate(extents) if size in symbols_of([e])), None)


def refusal(system: System, size: Symbol) -> str | None:
    """Why a size of a system is no batch; None when it is one."""
    return next(_refusals(system, size), None)


def _refusals(system: System, size: Symbol) -> Iterator[str]:
    if all(row_dim(t, size) is None for t in system.inputs):
        yield f"no input has {size} rows"
    for tensor in (*system.inputs, *system.outputs):
        rows = row_dim(tensor, size)
        if rows and rows == len(tensor.shape) - 1:
            yield f"{size} is the innermost dim of {tensor}, so that rows are elements apart"
    for group in components(system.outputs):
        if is_recurrence(group):
            yield from _of_recurrence(group, size)
    tensors = [*system.inputs, *(t for t in system.tensors() if not t.is_input)]
    for tensor in tensors:
        yield from _of_extents(f"{tensor}", tensor.shape, size)
        for equation in tensor.equations:
            yield from _of_extents(f"an equation of {tensor}", equation.extents, size)
            for rule in _RULES:
                found = rule(tensor, equation, size)
                if found is not None:
                    yield f"{tensor} {found}" + _at(equation)
        yield from _of_total(tensor, size)


def _at(equation: Equation) -> str:
    return f", at {equation.location}" if equation.location else ""


def _of_extents(what: str, extents: Sequence[Extent], size: Symbol) -> Iterator[str]:
    """The size stands alone, and once."""
    places = [k for k, extent in enumerate(extents) if size in symbols_of([extent])]
    for k in places:
        if extents[k] != symbolic(size):
            yield f"{what} has the extent {extents[k]} in dim {k}, which is not {size} itself"
    if len(places) > 1:
        yield f"{what} has the extent {size} in more than one dim"


def _of_total(tensor: Tensor, size: Symbol) -> Iterator[str]:
    """What joins a total is joined in any order."""
    if not is_total(tensor, size):
        return
    looped = [k for k, e in enumerate(tensor.equations) if row_loop(e, size) is not None]
    joined = {e.combiner for e in tensor.equations[looped[0] : looped[-1] + 1]}
    if len(joined) > 1 or not joined <= set(TOTALS):
        yield (
            f"{tensor} is made of all rows by {', '.join(sorted(joined))}, where one of "
            f"{', '.join(TOTALS)} does not mind how many rows there are at a time"
        )


def _of_recurrence(group: Sequence[Tensor], size: Symbol) -> Iterator[str]:
    """The steps of a recurrence are those of each row."""
    for tensor in group:
        if row_dim(tensor, size) is None:
            loops = any(row_loop(e, size) is not None for e in tensor.equations)
            if loops or any(row_dim(t, size) is not None for t in group):
                yield f"each step of the recurrence of {tensor} needs all rows"
        elif row_dim(tensor, size) in tensor.time_dims:
            yield f"{tensor} is a recurrence over the rows"


# ------------------------------------------------------------------ rules of one equation


def _of_write(tensor: Tensor, equation: Equation, size: Symbol) -> str | None:
    loop, rows = row_loop(equation, size), row_dim(tensor, size)
    if rows is None:
        used = any(_is_loop(w, loop) for w in equation.write)
        return "is written at the number of the row" if used else None
    if loop is None:
        return "has an equation for some rows only"
    return None if _is_loop(equation.write[rows], loop) else "is written at another row"


def _of_uses(tensor: Tensor, equation: Equation, size: Symbol) -> str | None:
    """The number of a row stands only where rows of tensors are named."""
    del tensor
    loop = row_loop(equation, size)
    for k, root in enumerate(equation.write):
        if _is_loop(root, loop) and k != _written_row(equation, loop):
            return "is written at the number of the row"
    for node in postorder(*equation.expressions):
        rows = row_dim(node.attr, size) if node.op == "load" else None
        if rows is not None and not _is_loop(node.args[rows], loop):
            return f"reads {node.attr} at row {_text(node.args[rows], equation)}"
        if any(_is_loop(a, loop) for k, a in enumerate(node.args) if k != rows):
            return f"computes with the number of the row in {_text(node, equation)}"
    return None


def _text(e: Expr, equation: Equation) -> str:
    return format_expr(e, equation.dim_names or _NAMES)


_NAMES = tuple("ijklmn")


def _written_row(equation: Equation, loop: int | None) -> int | None:
    """The first subscript of the write that is the row; `_of_write` looks at which one it is."""
    return next((k for k, w in enumerate(equation.write) if _is_loop(w, loop)), None)


def _is_loop(e: Expr, loop: int | None) -> bool:
    return e.op == "dim" and e.attr == loop


def _of_sizes(tensor: Tensor, equation: Equation, size: Symbol) -> str | None:
    """The size itself is only a number in values, which is then data."""
    del tensor
    roots = equation.expressions
    numbers = set(numbers_of(roots, size))
    stack, seen = list(roots), set(roots)
    while stack:
        node = stack.pop()
        if node.op == "size" and node.attr == size:
            return f"compares or indexes with the size {size} itself"
        fresh = [a for a in node.args if a not in seen] if node not in numbers else []
        seen.update(fresh)
        stack += fresh
    return None


def numbers_of(roots: Sequence[Expr], size: Symbol) -> list[Expr]:
    """The values in expressions that depend on the size and on no point or tensor."""
    return [n for n in postorder(*roots) if n.op == "cast" and _depends(n.args[0], size)]


def _depends(e: Expr, size: Symbol) -> bool:
    extent = as_extent(e) if e.dtype.is_index else None
    return extent is not None and size in symbols_of([extent])


def _of_domain(tensor: Tensor, equation: Equation, size: Symbol) -> str | None:
    """Which points take part does not depend on the row."""
    del tensor
    if equation.is_box:
        return None
    if any(_mentions(p, size, alone=False) for p in parameters.parameters_of(equation.domain)):
        return f"has points that depend on {size}"
    every = every_row(equation, size)
    promised = parameters.promises(equation.rank, parameters.parameters_of(equation.domain))
    whole = every.intersect(parameters.box(equation.extents)).intersect(promised)
    if whole.is_subset(equation.domain):
        return None
    return "has points that depend on the number of the row"


def every_row(equation: Equation, size: Symbol) -> Any:
    """The points of an equation at any row of any number of rows; the row is not bounded."""
    points = equation.domain
    loop = row_loop(equation, size)
    if loop is not None:
        points = points.eliminate(sets.SET, loop, 1)
    for name in parameters.parameters_of(points):
        if _mentions(name, size, alone=True):
            place = points.find_dim_by_name(sets.PARAM, name)
            points = points.project_out(sets.PARAM, place, 1)
    return points


def _mentions(parameter: str, size: Symbol, *, alone: bool) -> bool:
    """Whether a parameter is the size, or else depends on it in another way."""
    monomial = parameters.monomial_of(parameter)
    if alone:
        return monomial == (size,)
    inner = [f.inner if isinstance(f, Quotient) else symbolic(f) for f in monomial]
    return monomial != (size,) and size in symbols_of(inner)


_RULES: tuple[Callable[[Tensor, Equation, Symbol], str | None], ...] = (
    _of_write, _of_uses, _of_sizes, _of_domain,
)  # fmt: skip
