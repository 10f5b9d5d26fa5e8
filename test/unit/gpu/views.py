"""Random views of memory and boxes of points on them, and where each point lies, by counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ted.gpu.bodies import Work, work_of
from ted.mlir import ir
from ted.mlir.queries import operations

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Cut:
    """A subview: offset, size and step of each dim, the dims that stay."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True)
class Read:
    """Memory of a shape, what is cut out of it one after the other, and a row a subscript.

    A subscript is the factor of each dim of the box, and a constant.
    """

    shape: tuple[int, ...]
    cuts: tuple[Cut, ...]
    subscripts: tuple[tuple[int, ...], ...]

    def numbers(self) -> Numbers:
        """The view, of which each element is its number in the memory."""
        found = np.arange(prod(self.shape)).reshape(self.shape)
        for cut in self.cuts:
            parts = zip(cut.offsets, cut.sizes, cut.steps, strict=True)
            found = found[tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in parts)]
            found = found.reshape([cut.sizes[k] for k in cut.kept])
        return found

    def at(self, point: Sequence[int]) -> int:
        """The number of the element that a point meets."""
        places = [sum(f * p for f, p in zip(s, (*point, 1), strict=True)) for s in self.subscripts]
        return int(self.numbers()[tuple(places)])


@st.composite
def cuts(draw: st.DrawFn, shape: Sequence[int]) -> Cut:
    """A part of a view, some dims of one element left out."""
    sides = []
    for extent in shape:
        offset = draw(st.integers(0, extent - 1))
        step = draw(st.integers(1, 3))
        sides.append((offset, draw(st.integers(1, -(-(extent - offset) // step))), step))
    units = [k for k, (_, n, _) in enumerate(sides) if n == 1]
    # The first ones: of dims with one stride, MLIR takes those to be what is left out.
    without = units[: draw(st.integers(0, len(units)))]
    kept = [k for k in range(len(sides)) if k not in without]
    offsets, sizes, steps = (tuple(side[k] for side in sides) for k in range(3))
    return Cut(offsets, sizes, steps, tuple(kept))


@st.composite
def reads(draw: st.DrawFn, extents: Sequence[int]) -> Read:
    """A memory, a view of it, and subscripts that stay inside for all points of a box."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    now, found = shape, []
    for _ in range(draw(st.integers(0, 2))):
        found.append(draw(cuts(now)))
        now = tuple(found[-1].sizes[k] for k in found[-1].kept)
    subscripts = []
    for extent in now:
        row, left = [0] * len(extents), extent - 1
        for dim in draw(st.permutations(range(len(extents)))):
            span = extents[dim] - 1
            most = left // span if span else 3
            row[dim] = draw(st.integers(0, min(3, most)))
            left -= row[dim] * span
        constant = draw(st.integers(0, left))
        if not constant and sum(row) == 1 and extents[row.index(1)] != extent:
            row = [0] * len(extents)  # MLIR wants all of a dim where a subscript is a loop alone
        subscripts.append((*row, constant))
    return Read(shape, tuple(found), tuple(subscripts))


def work_on(reads: Sequence[Read], extents: Sequence[int], kind: str = "f32") -> Work:
    """A copy of the first operand into the others, at the points of a box; its module must live."""
    rank = len(extents)
    lines, names, types, arguments = [], [], [], []
    for k, read in enumerate(reads):
        name, now = f"%m{k}", f"memref<{'x'.join(map(str, read.shape))}x{kind}>"
        arguments.append(f"{name}: {now}")
        for n, cut in enumerate(read.cuts):
            sides = " ".join(str(list(side)) for side in (cut.offsets, cut.sizes, cut.steps))
            view = _viewed(ir.MemRefType(ir.Type.parse(now)), cut)
            lines.append(f"%m{k}_{n} = memref.subview {name}{sides} : {now} to {view}")
            name, now = f"%m{k}_{n}", view
        names.append(name)
        types.append(now)
    dims = [f"d{k}" for k in range(rank)]
    maps = [_map(dims, read.subscripts) for read in reads]
    # Extents are read off an operand that has nothing else to say.
    box = f"memref<{'x'.join(map(str, extents))}xi8>"
    maps.insert(0, _map(dims, [[int(d == k) for d in range(rank + 1)] for k in range(rank)]))
    count = len(reads) - 1
    elements = ", ".join(f"%e{k}: {kind}" for k in range(len(reads)))
    text = f"""func.func @f(%box: {box}, {", ".join(arguments)}) {{
      {chr(10).join(lines)}
      linalg.generic {{indexing_maps = [{", ".join(maps)}],
          iterator_types = [{", ".join(['"parallel"'] * rank)}]}}
        ins(%box, {names[0]} : {box}, {types[0]})
        outs({", ".join(names[1:])} : {", ".join(types[1:])}) {{
      ^bb0(%b: i8, {elements}):
        linalg.yield {", ".join(["%e0"] * count)} : {", ".join([kind] * count)}
      }}
      return
    }}"""
    _KEPT.append(ir.Module.parse(text))
    (op,) = operations(_KEPT[-1].operation, "linalg.generic")
    work = work_of(op)
    assert work is not None
    return work


_KEPT: list[ir.Module] = []


def forget() -> None:
    """Let the modules go, before their context."""
    _KEPT.clear()


def points(extents: Sequence[int]) -> list[tuple[int, ...]]:
    """All points of a box."""
    return list(product(*map(range, extents)))


def _map(dims: Sequence[str], subscripts: Sequence[Sequence[int]]) -> str:
    terms = [
        " + ".join([*(f"{f} * {d}" for f, d in zip(s, dims, strict=False) if f), str(s[-1])])
        for s in subscripts
    ]
    return f"affine_map<({', '.join(dims)}) -> ({', '.join(terms)})>"


def _viewed(kind: ir.MemRefType, cut: Cut) -> str:
    strides, offset = kind.get_strides_and_offset()
    start = offset + sum(o * s for o, s in zip(cut.offsets, strides, strict=True))
    steps = [cut.steps[k] * strides[k] for k in cut.kept]
    sizes = "".join(f"{cut.sizes[k]}x" for k in cut.kept)
    return f"memref<{sizes}{kind.element_type}, strided<{steps}, offset: {start}>>"
