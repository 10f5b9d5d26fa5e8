"""`ted.checkpoint`: values that the gradient computes again instead of keeping.

Before: y = f(x); the gradient reads the values inside f that the forward program stored
After:  y = ted.checkpoint(f)(x); the gradient reads copies of them, computed from x when needed

The copies are equations marked as recomputed, so that no simplification takes them for the first
ones; those are dead after the forward program, and their memory goes back.  The price is one more
evaluation of f.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ted.api.differentiating import differentiate
from ted.api.functions import Function
from ted.api.overrides import carry, mark, substituted
from ted.autodiff.vjp import Override
from ted.frontend.functions import as_tensor, has_tensors
from ted.frontend.tensors import Tensor, pointwise, wrap
from ted.frontend.trees import flatten, unflatten
from ted.ir.equations import (
    Equation,
    System,
    components,
    operands,
    rewrite_system,
    topological,
)  # fmt: skip
from ted.ir.equations import Tensor as Node


def checkpoint(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; its gradient keeps the arguments and computes all else again.

    Works on tensors and, compiled, on arrays; nests.  What `fn` captures is kept like an argument.
    """
    compiled = Function(fn)

    @functools.wraps(fn)
    def checkpointed(*args: Any) -> Any:
        if not has_tensors(args, {}):
            return compiled(*args)
        leaves, tree = flatten(fn(*args))
        known = {k for k, (_, value) in enumerate(leaves) if value is not None}
        raw = [as_tensor(leaves[k][1], leaves[k][0], "checkpoint") for k in sorted(known)]
        results = [pointwise(lambda x: x, r.name, r) for r in raw]
        given = [x for _, x in flatten(args)[0] if isinstance(x, Tensor)]
        region = _Region(tuple(r.node for r in raw), tuple(x.node for x in given))
        for k, result in enumerate(results):
            if result.dtype.is_float and region.outputs[k] in region.inside:
                mark(result.node, Override(region.wanted, functools.partial(region.adjoints, k)))
        made = iter(results)
        return unflatten(tree, (next(made) if k in known else None for k in range(len(leaves))))

    return checkpointed


class _Region:
    """What lies between some tensors and what a function makes of them."""

    def __init__(self, outputs: Sequence[Node], given: Sequence[Node]) -> None:
        self.outputs = tuple(outputs)
        self.given = tuple(given)
        self.inside = _depending_on(outputs, given)
        reads = (o for t in topological(outputs) if t in self.inside for o in operands(t))
        borders = (*given, *(o for o in reads if o not in self.inside))
        self.wanted = tuple(dict.fromkeys(n for n in borders if n.dtype.is_float))

    @functools.cached_property
    def again(self) -> tuple[dict[Node, Node], tuple[Node, ...]]:
        """Placeholders for the borders, and the outputs computed from them a second time.

        The borders may depend on each other; as placeholders they are independent variables.
        """
        lifted = {n: Node(n.name, n.shape, n.dtype, location=n.location) for n in self.wanted}

        def visit(tensor: Node, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Node:
            if tensor in lifted:
                return lifted[tensor]
            if tensor not in self.inside:
                return equations
            return tuple(replace(e, recomputed=True) for e in equations)

        system, became = rewrite_system(System((), self.outputs), visit)
        carry({old: new for old, new in became.items() if old in self.inside}, lifted)
        return lifted, system.outputs

    def adjoints(self, position: int, tensor: Node, head: Node) -> Sequence[Node]:
        """The adjoints of the borders from the head of one output."""
        del tensor
        lifted, outputs = self.again
        variables = [wrap(n) for n in lifted.values()]
        found = differentiate(wrap(outputs[position]), variables, wrap(head))
        back = {new: old for old, new in lifted.items()}
        return substituted([g.node for g in found], back)


def _depending_on(outputs: Sequence[Node], given: Sequence[Node]) -> set[Node]:
    """The tensors between `given` and `outputs`."""
    start, found = set(given), set[Node]()
    for group in components(outputs):
        reads = {o for t in group for o in operands(t)}
        if reads & (start | found):
            found.update(t for t in group if t not in start)
    return found
