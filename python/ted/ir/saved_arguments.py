"""Find maxima whose index is computed too, so that one operation gives both.

Before: y[i] = max over r of x[i, r];   arg[i] = argmax over r of x[i, r]
After:  (y[i], arg[i]) = argmax over r of x[i, r]

The reverse sweep asks for the index of every maximum that it passes; the search for the index knows
the maximum.  Both agree on NaN (taken) and on equal values, of which the first is kept: of zeros
that differ in sign, the first too.
"""

from __future__ import annotations

from collections.abc import Iterable

from ted.ir.equations import Equation, Tensor, identity

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
