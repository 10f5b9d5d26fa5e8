"""Operators on tensors without elements: ted beside torch and NumPy, with gradients of two orders.

A case is an operator's call of the page of operators (`docs/coverage_page.py`), with one of the
extents of its arguments, or several, made 0.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import ted
from docs.coverage_page import CALLS, FLOATS, NAMES, ROWS, arrays, gradients_in_torch, operators
from ted.errors import TedError
from ted.testing.tracing import interpreted

# Which extents are 0: x and y are (3, 4), m (3, 3), v (4,), images (1, 4, 4, 4).
EMPTY: dict[str, tuple[int, ...]] = {
    "rows": (3,), "columns": (4,), "all": (3, 4), "batches": (1,), "images": (1, 4), "times": (6,),
    "halves": (2,),
}  # fmt: skip


def emptied(which: str) -> dict[str, np.ndarray]:
    """The arguments by name, with some extents 0."""
    gone = EMPTY[which]
    return {
        name: a[tuple(slice(0 if n in gone else None) for n in a.shape)]
        for name, a in arrays().items()
    }


def text_of(name: str) -> str | None:
    """The arguments of an operator's call, as the page has them."""
    if name in ROWS:
        return ROWS[name][0]
    full = arrays()
    for text in CALLS:
        try:
            _, found = _called(name, text, full)
        except (TedError, TypeError, ValueError, AttributeError):
            continue
        if found:
            return text
    return None


@dataclass
class Result:
    """What a library makes of a call: results and gradients of two orders, or what it raises."""

    values: list[np.ndarray]
    error: str = ""


def _called(name: str, text: str, known: dict[str, np.ndarray]) -> tuple[dict[str, Any], list[Any]]:
    given = {k: ted.placeholder(a.shape, str(a.dtype), name=k) for k, a in known.items()}
    result = eval(f"function({text})", {"function": operators()[name], "ted": ted, **given})
    return given, [t for t in ted.tree.leaves(result) if isinstance(t, ted.Tensor)]


def in_ted(name: str, text: str, known: dict[str, np.ndarray]) -> Result:
    """Values and gradients by the reference interpreter; what is no TedError is not caught."""
    try:
        given, values = _called(name, text, known)
        inputs = [given[k] for k in _floats(text)]
        moving = [t for t in values if t.dtype.is_float]
        for _ in range(2 if moving and inputs else 0):
            squares = [ted.sum(ted.cast(t, "float64") ** 2) for t in moving]
            moving = list(ted.differentiate(sum(squares[1:], squares[0]), inputs))
            values = values + moving
        return Result(list(interpreted(list(given.values()), values)(*known.values())))
    except TedError as error:
        return Result([], f"{type(error).__name__}: {error}")


def _floats(text: str) -> list[str]:
    import re

    words = set(re.findall(r"\w+", text))
    return [k for k in arrays() if k in FLOATS & words]


def in_torch(name: str, text: str, known: dict[str, np.ndarray]) -> Result:
    """The same by torch, where it has the name."""
    short, plain = name.rpartition(".")[2], text.partition(", layout=")[0]
    call = ROWS.get(name, ())[1:] or (f"{short}({plain})",)
    leaves = {k: torch.tensor(a, requires_grad=k in FLOATS) for k, a in known.items()}
    inputs = [leaves[k] for k in _floats(text)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(call[0], {**NAMES, **leaves})
            found = [t for t in ted.tree.leaves(result) if isinstance(t, torch.Tensor)]
            return Result([t.detach().numpy() for t in found + gradients_in_torch(found, inputs)])
    except Exception as error:
        return Result([], f"{type(error).__name__}: {error}")


def in_numpy(name: str, text: str, known: dict[str, np.ndarray]) -> Result:
    """The values by NumPy, where it has the name."""
    home, _, short = name.rpartition(".")
    module = {"": np, "linalg": np.linalg, "fft": np.fft}.get(home)
    function = getattr(module, short, None)
    if function is None:
        return Result([], "no such name")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = eval(f"function({text})", {"function": function, "ted": np, **known})
        leaves = ted.tree.leaves(result)
        return Result([np.asarray(a) for a in leaves])
    except Exception as error:
        return Result([], f"{type(error).__name__}: {error}")


def differs(mine: Result, theirs: Result) -> str:
    """What is other than what a library gives; gradients may be missing there."""
    if theirs.error:
        return ""
    if mine.error:
        return f"is refused, {mine.error}"
    for k, (a, b) in enumerate(zip(mine.values, theirs.values, strict=False)):
        if a.shape != b.shape:
            return f"result {k} has shape {a.shape} for {b.shape}"
        if not np.allclose(np.asarray(a, np.complex128), np.asarray(b, np.complex128),
                           equal_nan=True):  # fmt: skip
            return f"result {k} is {a} for {b}"
    return ""
