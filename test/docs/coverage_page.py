"""The page docs/coverage.md: what each operator has, measured, and the names of other libraries.

    PYTHONPATH=test python test/docs/coverage_page.py

An operator is called with the first of `CALLS` that it takes, or as its line in coverage_rows.txt
says, which also has torch's call where it is another one, and names what is no operator. What it
gives in float64, and gradients of two orders of a sum of squares, are computed by the reference
interpreter and compared with torch where torch has the name.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.fft
import torch.nn.functional

import ted
from docs.blocks import ROOT
from docs.library_names import RENAMED, section
from ted.errors import TedError
from ted.testing.tracing import interpreted

PAGE = ROOT / "docs/coverage.md"
HOMES = {"": ted, "nn.": ted.nn, "linalg.": ted.linalg, "fft.": ted.fft}
TORCH = (torch.fft, torch.nn.functional, torch, torch.linalg, torch.special)
CALLS = ("x", "x, y", "i", "i, k", "b", "b, b", "m", "m, m", "img", "[x, y]", "x, 0")
FLOATS = {"x", "y", "m", "v", "img", "seq", "vol"}
TYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]
NAMES = {n: getattr(home, n) for home in reversed(TORCH) for n in dir(home)} | {"torch": torch}


def rows() -> dict[str, tuple[str, ...]]:
    """What stands behind the name in each line of the table: nothing where it is no operator."""
    lines = (ROOT / "test/docs/coverage_rows.txt").read_text().splitlines()
    parts = [line.split(" : ") for line in lines]
    return {name: tuple(rest) for name, *rest in parts}


ROWS = rows()


def arrays() -> dict[str, np.ndarray]:
    """The arguments by their names: floats between 0.2 and 0.8, so that every function has them."""
    rng = np.random.default_rng(0)
    square = rng.uniform(0.2, 0.8, (3, 3))
    return {
        "x": rng.permutation(np.linspace(0.2, 0.8, 12)).reshape(3, 4),
        "y": rng.permutation(np.linspace(0.25, 0.75, 12)).reshape(3, 4),
        "m": square @ square.T + np.eye(3),
        "v": np.linspace(0.3, 0.7, 4),
        "img": rng.permutation(np.linspace(0.2, 0.8, 64)).reshape(1, 4, 4, 4),
        "seq": rng.permutation(np.linspace(0.2, 0.8, 24)).reshape(1, 6, 4),
        "vol": rng.permutation(np.linspace(0.2, 0.8, 64)).reshape(1, 2, 4, 4, 2),
        "i": rng.integers(1, 3, (3, 4)),
        "k": rng.integers(1, 3, (3, 4)),
        "l": np.array([0, 2, 1]),
        "b": rng.integers(0, 2, (3, 4)).astype(bool),
    }


def operators() -> dict[str, Callable[..., Any]]:
    """What is measured: every public function that makes tensors of tensors."""
    public = {p + name: getattr(home, name) for p, home in HOMES.items() for name in home.__all__}
    return {
        name: f
        for name, f in public.items()
        if callable(f) and not isinstance(f, type) and ROWS.get(name) != ()
    }


def called(name: str, function: Callable[..., Any], kinds: dict[str, str]) -> Call:
    """The first call that an operator takes, with floats of other types as `kinds` says."""
    why: Exception | None = None
    for text in (ROWS[name][0],) if name in ROWS else CALLS:
        given = {
            key: ted.placeholder(value.shape, kinds.get(key, str(value.dtype)), name=key)
            for key, value in arrays().items()
        }
        try:
            result = eval(f"function({text})", {"function": function, "ted": ted, **given})
        except (TedError, TypeError, ValueError, AttributeError) as error:
            why = error
            continue
        found = [t for t in ted.tree.leaves(result) if isinstance(t, ted.Tensor)]
        words = set(re.findall(r"\w+", text))
        if found:
            return Call(name, text, given, [k for k in given if k in FLOATS & words], found)
    raise LookupError(f"{name}: its arguments are a line in coverage_rows.txt, {why}")


@dataclass
class Call:
    """A call, its placeholders, the names of those that are floats, and what it gives."""

    name: str
    text: str
    given: dict[str, Any]
    floats: list[str]
    results: list[Any]
    forms: tuple[str, str] = ("-", "-")

    def derive(self) -> list[Any]:
        """Results and gradients of two orders of sums of squares; notes the forms of both."""
        inputs, values, forms = [self.given[k] for k in self.floats], list(self.results), []
        moving = [t for t in self.results if t.dtype.is_float]
        for _ in range(2 if moving and inputs else 0):
            squares = [ted.sum(ted.cast(t, "float64") ** 2) for t in moving]
            gradients = ted.differentiate(sum(squares[1:], squares[0]), inputs)
            scattered = any("scatter)" in line for line in str(gradients).splitlines())
            zero = set(gradients.unused) == set(inputs)
            forms.append("zero" if zero else "scatter" if scattered else "gather")
            moving = list(gradients)
            values += moving
        self.forms = (*forms, "-", "-")[:2]
        return values

    def in_torch(self, known: dict[str, np.ndarray]) -> list[np.ndarray] | None:
        """The same in torch, if it has the name and takes the arguments."""
        short, plain = self.name.rpartition(".")[2], self.text.partition(", layout=")[0]
        call = ROWS.get(self.name, ())[1:] or (f"{short}({plain})",)
        leaves = {k: torch.tensor(a, requires_grad=k in FLOATS) for k, a in known.items()}
        inputs = [leaves[k] for k in self.floats]
        try:
            result = eval(call[0], {**NAMES, **leaves})
            found = [t for t in ted.tree.leaves(result) if isinstance(t, torch.Tensor)]
            return [t.detach().numpy() for t in found + gradients_in_torch(found, inputs)]
        except (TypeError, RuntimeError, IndexError, ValueError, NameError):
            return None


def gradients_in_torch(found: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Gradients of two orders of sums of squares."""
    gradients: list[torch.Tensor] = []
    moving = [t for t in found if t.dtype.is_floating_point]
    for _ in range(2 if moving and inputs else 0):
        head = sum((t.double() ** 2).sum() for t in moving) + sum(0 * t.sum() for t in inputs)
        moving = list(torch.autograd.grad(head, inputs, create_graph=True))
        gradients += moving
    return gradients


def error_of(call: Call, values: list[Any]) -> str:
    """The largest difference to torch, relative where numbers are above 1."""
    known = arrays()
    theirs = call.in_torch(known)
    if theirs is None:
        return "-"
    ours = interpreted(list(call.given.values()), values)(*(known[k] for k in call.given))
    if [a.shape for a in ours] != [b.shape for b in theirs]:
        return "-"
    far = 0.0
    for a, b in zip(ours, theirs, strict=True):
        apart = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
        far = max(far, float(np.max(apart / np.maximum(1, np.abs(b)), initial=0)))
    return f"{far:.0e}" if far else "0"


def types_of(name: str, function: Callable[..., Any]) -> str:
    """The element types that the floats among the arguments may have."""
    taken = []
    for kind in TYPES:
        with contextlib.suppress(LookupError):
            called(name, function, dict.fromkeys(FLOATS, kind))
            taken.append(kind)
    floats = [kind for kind in taken if "float" in kind]
    numbers = taken == [kind for kind in TYPES if kind != "bool"]
    if numbers:
        return "numbers"
    if len(taken) == len(TYPES):
        return "all"
    return "floats" if taken == floats and len(floats) == 4 else " ".join(taken)


HEADER = """# What there is

Written by `test/docs/coverage_page.py`. Each operator is called as shown, with floats x, y, v, a
square m, images, integers i, k, l and bools b. The two orders say how the gradients of a sum of
squares are made: by gathers or by scatters, or that they are zero. The types are those that the
floats may have. The error is the largest of values and gradients of both orders against torch in
float64, relative above 1; "-" is where torch has no such call. Those of digamma and lgamma
are torch's: its derivative of digamma is off by 4e-10, that of ted is within 1e-15 of mpmath.

| operator | called with | order 1 | order 2 | element types | error |
|---|---|---|---|---|---|"""


def row(name: str, function: Callable[..., Any]) -> str:
    """The line of an operator."""
    call = called(name, function, {})
    values = call.derive()
    cells = [f"ted.{name}", call.text.replace("|", "\\|"), *call.forms, types_of(name, function)]
    return "| " + " | ".join([*cells, error_of(call, values)]) + " |"


def lists() -> Iterator[str]:
    """The names of other libraries."""
    yield "\n## Names of other libraries\n"
    for library in RENAMED:
        yield from section(library)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = [row(name, function) for name, function in operators().items()]
    PAGE.write_text("\n".join([HEADER, *found, *lists()]).rstrip() + "\n")
