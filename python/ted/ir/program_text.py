"""A program as text: equal for programs that are equal but for names and places, in linear time.

Before: two systems in two processes      After: equal texts, if one is a copy of the other

Tensors are numbered in the order in which they are reached, so that what is read twice is told from
what is computed twice.  A tensor that a transform makes is said by the transform and what that is
given: its equations need not be there.  Of a large constant its number among them is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ted.domain.sizes import is_symbolic
from ted.ir.constants import Constant
from ted.ir.derivations import Derivation, origin_of
from ted.ir.equations import Equation, Tensor, operands
from ted.ir.expressions import Expr, postorder
from ted.ir.graphs import finished
from ted.records import dataclass

Node: TypeAlias = "Tensor | Derivation"
# What says the derivative of a tensor that has one of its own: a name, and tensors.
Marks: TypeAlias = Callable[[Tensor], "tuple[str, Sequence[Tensor]] | None"]


class NotSaid(Exception):
    """A text cannot say what the program is."""


@dataclass(frozen=True)
class ProgramText:
    """The text, the nodes in the order of their numbers, and names and places of all of them.

    `reads_data`: whether an index somewhere is data, so that a call may report names and places.
    """

    text: str
    nodes: Sequence[Node]
    places: str
    reads_data: bool


def program_text(roots: Sequence[Tensor], marks: Marks) -> ProgramText:
    """The text of all that the roots need.

    Raises: NotSaid for symbolic sizes; what `marks` raises.
    """
    start: list[Node] = [*roots]
    nodes = finished(start, lambda node: _led_to(node, marks))
    tensors = [n for n in nodes if isinstance(n, Tensor)]
    own = [t for t in tensors if origin_of(t) is None]
    written = [e for t in own for e in t.equations]
    values = postorder(*(v for e in written for v in e.expressions))
    held = dict.fromkeys(t.constant for t in own if t.constant is not None)
    numbers = _Numbers(
        {n: k for k, n in enumerate(nodes)},
        {v: k for k, v in enumerate(values)},
        {c: k for k, c in enumerate(held)},
    )
    lines = [numbers.value(v) for v in values]
    lines += [numbers.node(n, marks) for n in nodes]
    lines.append(f"roots {numbers.of(roots)}")
    at_data = any(v.op == "load" and any(a.reads for a in v.args) for v in values)
    at_data = at_data or any(v.reads for e in written for v in e.write)
    places = [name_of(t) if t.is_input else f"{name_of(t)} {t.location}" for t in own]
    places += [f"{e.location} {e.dim_names}" for e in written]
    return ProgramText("\n".join(lines), nodes, "\n".join(places), at_data)


def name_of(tensor: Tensor) -> str:
    """The name that a tensor was given, whatever others there are beside it."""
    return tensor.given_name or tensor.name


def _led_to(node: Node, marks: Marks) -> Sequence[Node]:
    if isinstance(node, Derivation):
        return [t for tensors in node.given for t in tensors]
    origin, mark = origin_of(node), marks(node)
    return [*(operands(node) if origin is None else origin[:1]), *(mark[1] if mark else ())]


@dataclass(frozen=True)
class _Numbers:
    """The numbers of nodes and of scalar expressions, and lines that use them."""

    nodes: Mapping[Node, int]
    values: Mapping[Expr, int]
    constants: Mapping[Constant, int]

    def of(self, tensors: Sequence[Tensor]) -> list[int]:
        return [self.nodes[t] for t in tensors]

    def value(self, e: Expr) -> str:
        attr = self.nodes[e.attr] if e.op == "load" else repr(e.attr)
        if e.op == "size":
            raise NotSaid("a symbolic size")
        return f"{e.op} {[self.values[a] for a in e.args]} {attr} {e.dtype}"

    def node(self, node: Node, marks: Marks) -> str:
        if isinstance(node, Derivation):
            return f"{node.what} {[self.of(tensors) for tensors in node.given]}"
        if is_symbolic(node.shape):
            raise NotSaid("a symbolic size")
        origin, mark = origin_of(node), marks(node)
        said = f"{node.shape} {node.dtype}" + (f" {mark[0]} {self.of(mark[1])}" if mark else "")
        if origin is not None:
            return f"{said} result {origin[1]} of {self.nodes[origin[0]]}"
        held = node.constant
        if held is not None:
            return f"{said} constant {held.digest if held.is_literal else self.constants[held]}"
        equations = "; ".join(map(self.equation, node.equations))
        return (
            f"{said} {node.fill!r} {[tuple(c) for c in node.clocks]} {node.forgotten}: {equations}"
        )

    def equation(self, e: Equation) -> str:
        values = [self.values[v] for v in e.expressions]
        own = (e.extents, e.parallel, e.combiner, e.ties, e.recomputed, e.scatter_reason, e.wishes)
        return f"{own} {'box' if e.is_box else e.domain} {values}"
