"""More ways to differentiate functions of tensors: `jvp`, `hvp`, `jacobian`, `hessian`.

Like `grad` they return ordinary expressions of tensors, so they nest with each other, with `vjp`
and with `vmap` in any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ted.api.derived import derived
from ted.api.differentiating import differentiate
from ted.api.functions import Function
from ted.api.gradients import grad
from ted.api.index_lambdas import of_elements
from ted.api.lifting import fitted, lift, with_floats
from ted.api.options import options_for
from ted.api.overrides import batched
from ted.api.wanted_arguments import Argnums, result_and_aux, wanted_arguments
from ted.errors import DerivativeError
from ted.frontend.checks import called, check_callable, flag
from ted.frontend.functions import as_tensor
from ted.frontend.tensors import Tensor, wrap
from ted.frontend.trees import NestsDiffer, Tree, flatten, spread, unflatten
from ted.ir.equations import System
from ted.ir.equations import Tensor as Node
from ted.options import CompileOptions
from ted.transforms.batching import Batched
from ted.transforms.overrides import carry, named_below, override_of


def jvp(
    fn: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
    target: str | None = None,
    deterministic: bool | None = None,
) -> Any:
    """fn's result and its directional derivative: (fn(*primals), J(primals) @ tangents).

    With `has_aux`, fn returns a pair of its result and of what else is wanted, the third here.
    Shapes: a tangent has the nest and the shapes of its primal, None where the primal is constant;
    the derivative has the nest and the shapes of the result (zeros for results of integers).
    `target` and `deterministic` are those of `ted.function`: without them, those of `fn`.
    Raises: DerivativeError for a tangent of another shape, or for an integer primal; CompileError
    for an unknown target; FrontendError for a function of other parameters.
    """

    if not callable(fn) or not all(isinstance(v, (tuple, list)) for v in (primals, tangents)):
        raise DerivativeError(
            "jvp: takes a function, a tuple of primals and a tuple of tangents, got "
            f"{type(fn).__name__}, {type(primals).__name__} and {type(tangents).__name__}"
        )

    has_aux = flag(has_aux, "jvp: has_aux")

    @functools.wraps(fn)
    def pushed(primals: Any, tangents: Any) -> Any:
        lifted = lift((with_floats(tuple(primals), primals), tuple(tangents)))
        positions, directions = lifted.arguments
        moving = _moving(positions, directions)
        result = called("jvp", "fn(*primals)", fn, *positions)
        result, *aux = result_and_aux(result, "jvp") if has_aux else (result,)
        leaves, tree = flatten(result)
        outputs = [as_tensor(value, path, "jvp") for path, value in leaves]
        found = push_tensors(outputs, [x for x, _ in moving], [v for _, v in moving])
        nest = (unflatten(tree, iter(outputs)), unflatten(tree, iter(found)), *aux)
        return lifted.lowered(nest)

    for name in ("__wrapped__", "__signature__"):  # its parameters are not those of fn
        pushed.__dict__.pop(name, None)
    compiled = Function(of_elements("jvp")(pushed), options_for(fn, target, deterministic))
    return compiled(tuple(primals), tuple(tangents))


def push_tensors(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], tangents: Sequence[Tensor]
) -> list[Tensor]:
    """The derivatives of tensors when `inputs` move by `tangents`."""
    results, moving, given = ([t.node for t in v] for v in (outputs, inputs, tangents))

    def derive() -> Sequence[Node]:
        from ted.transforms.gradient import push_forward  # not where the disk knows

        found = push_forward(results, moving, given, override_of)
        carry(found.moved)
        return found.gradients

    return [wrap(n) for n in derived("jvp", (results, moving, given), results, derive, override_of)]


def hvp(
    fn: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    target: str | None = None,
    deterministic: bool | None = None,
) -> Any:
    """Products of the Hessian of fn's scalar result: a tuple with one product per primal.

    Shapes: as the primals.  It is the `jvp` of the gradient: about four times the work of `grad`.
    Raises: DerivativeError when `primals` is no tuple, or for what `grad` and `jvp` refuse.
    """
    if not isinstance(primals, (tuple, list)):
        raise DerivativeError(f"hvp: takes a tuple of primals, got {type(primals).__name__}")
    first = grad(fn, tuple(range(len(primals))), target, deterministic=deterministic)
    return jvp(first, primals, tangents)[1]


def _moving(primals: Any, tangents: Any) -> list[tuple[Tensor, Tensor]]:
    """The tensors that move, each with its tangent."""
    pairs = _paired(primals, tangents)
    for x, v in pairs:
        if not isinstance(x, Tensor) or not x.dtype.is_float:
            kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
            raise DerivativeError(f"jvp: only float tensors move, got a tangent for {kind}")
        if not isinstance(v, Tensor) or (v.shape, v.dtype) != (x.shape, x.dtype):
            raise DerivativeError(
                f"jvp: a tangent has the shape and type of its primal, got {v!r} for {x!r}"
            )
    return pairs


def _paired(primals: Any, tangents: Any) -> list[tuple[Any, Any]]:
    """Leaves of two equal nests, without those whose tangent is None."""
    try:
        directions = spread(tangents, primals)
    except NestsDiffer:
        raise DerivativeError(
            f"jvp: tangents have the nest of the primals, got {tangents!r}"
        ) from None
    leaves = [value for _, value in flatten(primals)[0]]
    pairs = zip(leaves, directions, strict=True)
    return [(x, fitted(v, x)) for x, v in pairs if v is not None]


# ------------------------------------------------------------------ whole matrices


def jacobian(
    of: Any,
    wrt: Any = 0,
    argnums: Any = None,
    *,
    target: str | None = None,
    deterministic: bool | None = None,
) -> Any:
    """Every partial derivative: of a function, or of a tensor with respect to tensors.

    `jacobian(fn, argnums)` is a function, compiled as `target` and `deterministic` say, or as `fn`
    is; `jacobian(output, inputs)` is a tensor, or a list of tensors for several inputs.
    Shapes: (*output shape, *input shape); for functions in the nest of the results, each leaf in
    the nest of the argument (a tuple of them for several argnums).
    A Jacobian is as large as the product of two tensors: `vjp` and `jvp` are its products.
    Raises: DerivativeError when an output or an input has no derivative; FrontendError for what is
    neither tensor nor function.
    """
    if isinstance(of, Tensor):
        if target is not None or deterministic is not None:
            raise DerivativeError(
                "jacobian: of a tensor, it is a tensor, which has no target, got "
                f"target={target!r} and deterministic={deterministic!r}; give them to ted.compile"
            )
        several = isinstance(wrt, (tuple, list))
        found = _jacobians(of, list(wrt) if several else [wrt])
        return found if several else found[0]
    check_callable(of, "jacobian")
    options = options_for(of, target, deterministic)
    return _jacobian_function(of, wrt if argnums is None else argnums, options)


def hessian(
    fn: Callable[..., Any],
    argnums: int | str = 0,
    target: str | None = None,
    *,
    deterministic: bool | None = None,
) -> Function:
    """The function of all second derivatives of fn's scalar result; see `jacobian`.

    Shapes: (*argument shape, *argument shape).
    Raises: DerivativeError and FrontendError as `grad`.
    """
    first = grad(fn, argnums, target, deterministic=deterministic)
    return _jacobian_function(first, argnums, first.options)


def _jacobian_function(
    fn: Callable[..., Any], argnums: Argnums, options: CompileOptions
) -> Function:
    wanted = wanted_arguments(fn, argnums, "jacobian")

    @of_elements("jacobian")
    @functools.wraps(fn)
    def all_derivatives(*args: Any, **kwargs: Any) -> Any:
        lifted = lift(wanted.with_floats(args, kwargs))
        positional, keywords = lifted.arguments
        flat = [flatten(nest) for nest in wanted.of(positional, keywords)]
        result, tree = flatten(fn(*positional, **keywords))
        inputs = [leaf for leaves, _ in flat for _, leaf in leaves]
        trees = [below for _, below in flat]
        blocks = [
            _block(as_tensor(value, path, "jacobian"), inputs, trees) for path, value in result
        ]
        return lifted.lowered(unflatten(tree, map(wanted.nested, blocks)))

    return Function(all_derivatives, options)


def _block(output: Tensor, inputs: Sequence[Tensor], trees: Sequence[Tree]) -> list[Any]:
    found = iter(_jacobians(output, inputs))
    return [unflatten(tree, found) for tree in trees]


def _jacobians(output: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The VJPs of one output with every one-hot head at once, by batching over its dims."""
    head = Node(f"d{output.name}", output.shape, output.dtype)
    gradients = differentiate(output, inputs, wrap(head))
    found = [g.node for g in gradients]
    for extent in reversed(output.shape):
        wider = Node(head.name, (extent, *head.shape), head.dtype)
        rows = batched(found, {head: Batched(wider, 0)}, extent)
        found, head = [b.tensor for b in rows], wider
    from ted.transforms.one_hot_heads import with_one_hot

    rows, became = with_one_hot(System((), (*found, *named_below(found))), head)
    carry(became)
    return [
        wrap(row) if row.shape == (*output.shape, *x.shape) else _no_rows(output, x)
        for row, x in zip(rows.outputs[: len(found)], inputs, strict=True)
    ]


def _no_rows(output: Tensor, x: Tensor) -> Tensor:
    """The Jacobian with respect to what the output does not depend on."""
    return wrap(Node(f"d{x.name}", (*output.shape, *x.shape), x.dtype, 0))
