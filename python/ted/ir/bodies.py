"""Scalar expressions -> the ops of a `ted.compute` body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ted.dialects.ted.ops import IndexOp, LoadOp
from ted.ir.equations import Tensor
from ted.ir.reads import Access
from ted.ir.scalar import Expr
from ted.ir.spelling import add_values, constant, spell
from ted.mlir import ir


class BodyBuilder:
    """Emits each node once, at the current insertion point."""

    def __init__(self, tensors: Mapping[Tensor, ir.Value], place: ir.Location) -> None:
        self.tensors = tensors
        self.place = place
        self.values: dict[Expr, ir.Value] = {}

    def build(
        self,
        roots: Sequence[Expr],
        scalars: Mapping[Expr, list[ir.Value]],
        found: Mapping[Expr, Access],
    ) -> list[ir.Value]:
        """The values of the roots; `scalars` are the block arguments of affine reads."""
        for node in self._needed(roots, scalars, found):
            arguments = scalars.get(node, [])
            if arguments:
                self.values[node] = self._sum(node, arguments)
            elif node.op == "load":
                self.values[node] = self._load(node, found[node])
            else:
                self.values[node] = self._value(node)
        return [self.values[r] for r in roots]

    def _needed(
        self,
        roots: Sequence[Expr],
        scalars: Mapping[Expr, list[ir.Value]],
        found: Mapping[Expr, Access],
    ) -> list[Expr]:
        """The nodes to emit, arguments first; subscripts and predicates of affine reads are not."""
        order: dict[Expr, None] = {}

        def visit(root: Expr) -> None:
            stack: list[tuple[Expr, bool]] = [(root, False)]
            while stack:
                node, expanded = stack.pop()
                if expanded:
                    order.setdefault(node)
                elif node not in order:
                    stack.append((node, True))
                    stack.extend((a, False) for a in reversed(below(node)))

        def below(node: Expr) -> tuple[Expr, ...]:
            if scalars.get(node):
                return ()
            return (*node.args, found[node].condition) if node.op == "load" else node.args

        for root in roots:
            visit(root)
        return list(order)

    def _sum(self, read: Expr, parts: list[ir.Value]) -> ir.Value:
        """A read made under disjoint guards: the others are 0."""
        total = parts[0]
        for part in parts[1:]:
            total = add_values(total, part, read.dtype)
        return total

    def _load(self, node: Expr, access: Access) -> ir.Value:
        predicate = self.values[access.condition]
        at = [self.values[a] for a in node.args]
        return LoadOp.build(self.tensors[node.attr], predicate, at, loc=self.place).result

    def _value(self, node: Expr) -> ir.Value:
        if node.op == "const":
            return constant(node.attr, node.dtype)
        if node.op == "dim":
            return IndexOp.build(node.attr, loc=self.place).result
        return spell(node, [self.values[a] for a in node.args])
