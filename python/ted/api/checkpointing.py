"""`ted.checkpoint`: values that the gradient computes again instead of keeping.

Before: y = f(x); the gradient reads the values inside f that the forward program stored
After:  y = ted.checkpoint(f)(x); the gradient reads copies of them, computed from x when needed

`transforms/recomputation.py` makes the copies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ted.api.functions import Function
from ted.api.index_lambdas import of_elements
from ted.frontend.checks import check_callable
from ted.frontend.functions import as_tensor, has_tensors
from ted.frontend.tensors import Tensor, pointwise
from ted.frontend.trees import flatten, unflatten
from ted.transforms.recomputation import mark_recomputed


def checkpoint(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; its gradient keeps the arguments and computes all else again.

    Works on tensors and, compiled, on arrays; nests.  What `fn` captures is kept like an argument.

    Raises: FrontendError when `fn` is no function.
    """
    check_callable(fn, "checkpoint")
    compiled = Function(fn)

    @functools.wraps(fn)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not has_tensors(args, kwargs):
            return compiled(*args, **kwargs)
        return marked(*args, **kwargs)

    @of_elements("checkpoint")
    def marked(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten(fn(*args, **kwargs))
        known = {k for k, (_, value) in enumerate(leaves) if value is not None}
        raw = [as_tensor(leaves[k][1], leaves[k][0], "checkpoint") for k in sorted(known)]
        results = [pointwise(lambda x: x, r.name, r) for r in raw]
        given = [x for _, x in flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        nodes = ([t.node for t in tensors] for tensors in (results, raw, given))
        mark_recomputed(*nodes)
        made = iter(results)
        return unflatten(tree, (next(made) if k in known else None for k in range(len(leaves))))

    checkpointed.__dict__["options"] = compiled.options
    return checkpointed
