"""Equations as text that a mathematician reads: `dA[i, r] += dC[i, j] * B[r, j]  for j < 7`."""

from __future__ import annotations

from collections.abc import Sequence

from ted.domain import conversion, parameters
from ted.ir.equations import Equation, System, Tensor
from ted.ir.expressions import Expr, format_expr

_UPDATE = {"set": "=", "add": "+=", "mul": "*="}
_PARALLEL_NAMES = "ijklmnopq"


def dim_names(equation: Equation) -> list[str]:
    """The user's names where known and distinct, else i j k ... and r s ... for reductions."""
    given = list(equation.dim_names)
    if len(given) == equation.rank and len(set(given)) == len(given):
        return given
    rank, parallel = equation.rank, equation.parallel
    loops = [f"r{k}" for k in range(rank - parallel)] if rank - parallel > 1 else ["r"]
    points = _PARALLEL_NAMES if parallel <= len(_PARALLEL_NAMES) else ()
    return [*(points or [f"i{k}" for k in range(parallel)])[:parallel], *loops][:rank]


def format_guard(equation: Equation, names: Sequence[str]) -> str:
    """What the domain demands beyond the box; empty when it is the box."""
    rest = parameters.beyond_box(equation.domain, equation.extents)
    parts = conversion.conjunctions(rest)
    texts = [" and ".join(c.show(names) for c in part) for part in parts]
    if not texts:
        return "never"
    return "" if "" in texts else " or ".join(texts)


def format_equation(tensor: Tensor, equation: Equation) -> str:
    """One equation with the ranges of its reduction dims and, if any, its extra conditions."""
    names = dim_names(equation)

    def show(e: Expr) -> str:
        return format_expr(e, names)

    target = f"{tensor.name}[{', '.join(show(w) for w in equation.write)}]"
    body = show(equation.body)
    update = _UPDATE.get(equation.combiner)
    head = f"{target} {update} {body}" if update else f"{target} = {equation.combiner}({body})"
    full = equation.covers(tensor.shape)
    ranged = range(equation.rank) if not full and equation.parallel else equation.reduction_dims
    clauses = [f"{names[k]} < {equation.extents[k]}" for k in ranged]
    guard = format_guard(equation, names)
    text = head + (f"  for {', '.join(clauses)}" if clauses else "")
    text += f"  where {guard}" if guard else ""
    return text + ("  (scatter)" if equation.is_scatter else "")


def format_tensor(tensor: Tensor) -> str:
    """A tensor's declaration and its equations, one a line."""
    lines = [f"{tensor.name}: {tensor.dtype}{list(tensor.shape)}"]
    if tensor.constant is not None:
        return f"{lines[0]} constant {tensor.constant}"
    if tensor.is_input:
        return lines[0] + " input"
    if tensor.fill is not None and not (tensor.equations and tensor.fill == 0):
        lines.append(f"  {tensor.name} = {tensor.fill}")
    lines += [f"  {format_equation(tensor, e)}" for e in tensor.equations]
    return "\n".join(lines)


def format_system(system: System) -> str:
    """Every tensor of a system, operands first."""
    return "\n".join(format_tensor(t) for t in system.tensors())
