"""Gradients of functions of tensors: `grad`, `value_and_grad`, `vjp`.

They are functions by tracing as well, so they nest with each other and with what is made of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ted.api.differentiating import differentiate
from ted.api.functions import Function, batch_of, function
from ted.api.index_lambdas import of_elements
from ted.api.lifting import fitted, lift, with_floats
from ted.api.options import options_for
from ted.api.wanted_arguments import Argnums, check_floats, result_and_aux, wanted_arguments
from ted.errors import DerivativeError
from ted.frontend.checks import called, check_callable, flag
from ted.frontend.complex_pairs import Complex
from ted.frontend.functions import as_tensor
from ted.frontend.notes import recording
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor
from ted.frontend.trees import NestsDiffer, flatten, spread, unflatten


def value_and_grad(
    fn: Callable[..., Any],
    argnums: Argnums = 0,
    target: str | None = None,
    *,
    has_aux: bool = False,
    deterministic: bool | None = None,
    batch: int | Sequence[int] | None = None,
    memory_limit: int | None = None,
    debug_nans: bool | None = None,
    subnormals: str | None = None,
) -> Function:
    """The function that returns (fn's scalar result, its gradients).

    `argnums` is a position or a name of an argument, or a tuple of them. With `has_aux`, fn
    returns a pair of the scalar and of what else is wanted, and so does this one as its first.
    Shapes: one gradient for one argument, a tuple for several; each has the nest and the shapes
    of its argument, and is zeros where the result does not depend on it. `batch`,
    `memory_limit`, `debug_nans` and `subnormals` are those of `function`.
    Raises: DerivativeError when the result is no scalar tensor, or an argument has no gradient;
    FrontendError when `fn` is no function.
    """
    options = (target, deterministic, memory_limit, debug_nans, subnormals)
    return _differentiated(fn, argnums, has_aux, options, batch, with_value=True)


def grad(
    fn: Callable[..., Any],
    argnums: Argnums = 0,
    target: str | None = None,
    *,
    has_aux: bool = False,
    deterministic: bool | None = None,
    batch: int | Sequence[int] | None = None,
    memory_limit: int | None = None,
    debug_nans: bool | None = None,
    subnormals: str | None = None,
) -> Function:
    """The function that returns the gradients of fn's scalar result; see `value_and_grad`.

    With `has_aux` it returns a pair of them and of what fn returns beside its scalar.
    Raises: DerivativeError and FrontendError as `value_and_grad`.
    """
    options = (target, deterministic, memory_limit, debug_nans, subnormals)
    return _differentiated(fn, argnums, has_aux, options, batch, with_value=False)


def _differentiated(
    fn: Callable[..., Any],
    argnums: Argnums,
    has_aux: bool,
    options: tuple[Any, ...],
    batch: int | Sequence[int] | None,
    *,
    with_value: bool,
) -> Function:
    """The function that returns the gradients, beside what fn returns or its second result."""
    check_callable(fn, "grad")
    wanted = wanted_arguments(fn, argnums, "grad")

    @of_elements("grad")
    @functools.wraps(fn)
    def derive(*args: Any, **kwargs: Any) -> Any:
        lifted = lift(wanted.with_floats(args, kwargs))
        positional, keywords = lifted.arguments
        chosen = wanted.of(positional, keywords)
        result = called("grad", "fn(*args)", fn, *positional, **keywords)
        value, *aux = result_and_aux(result, "grad") if has_aux else (result,)
        _check_scalar(value)
        found = wanted.nested(_gradients(value, None, chosen))
        if with_value:
            return lifted.lowered((result, found))
        return lifted.lowered((found, *aux) if has_aux else found)

    return Function(derive, options_for(fn, *options), batch_of(fn, batch))


def vjp(
    fn: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    target: str | None = None,
    deterministic: bool | None = None,
) -> tuple[Any, ...]:
    """fn's result and the function from cotangents to a tuple of gradients, one per primal.

    With `has_aux`, fn returns a pair of its result and of what else is wanted, which is the third
    here.
    Shapes: the cotangent has the nest and the shapes of the result, gradients those of the primals.
    Raises: DerivativeError from the pullback for cotangents of another nest, shape or type than the
    results, or for a primal that is no array of floats; FrontendError for a has_aux that is neither
    True nor False.
    """
    result = function(fn, target, deterministic=deterministic)(*primals)
    aux = ()
    if flag(has_aux, "vjp: has_aux"):
        result, *aux = result_and_aux(result, "vjp")

    @of_elements("vjp")
    def pullback_of(*all_args: Any) -> Any:
        lifted = lift((*with_floats(all_args[:-1], all_args), all_args[-1]))
        *args, cotangent = lifted.arguments
        for k, value in enumerate(args):
            check_floats(value, k, "vjp")
        with recording([]):  # said when the result was computed
            value = fn(*args)
        outputs, heads = _with_cotangents(value[0] if has_aux else value, cotangent)
        found = _gradients(outputs, heads, args)
        return lifted.lowered(tuple(found))

    pullback = Function(pullback_of, options_for(fn, target, deterministic))

    def pulled_back(*cotangents: Any) -> Any:
        if len(cotangents) != 1:
            raise DerivativeError(
                f"vjp: the pullback takes one argument, of the nest of the result, got "
                f"{len(cotangents)}; cotangents of several results go in one tuple"
            )
        return pullback(*primals, *cotangents)

    pulled_back.__dict__["options"] = pullback.options  # for what is made of it
    return result, pulled_back, *aux


def _with_cotangents(result: Any, cotangent: Any) -> tuple[list[Any], list[Any]]:
    """The results and the cotangent of each."""
    (outputs, tree), (given, other) = flatten(result), flatten(cotangent)
    try:
        pairs = zip(spread(cotangent, result, ()), outputs, strict=True)
        heads = [fitted(head, output) for head, (_, output) in pairs]
    except NestsDiffer:
        heads = []
    if len(heads) != len(outputs) or len(given) != len(outputs):
        raise DerivativeError(
            f"vjp: one cotangent per result, got {len(given)} for {len(outputs)}, nested as "
            f"{other} for {tree}"
        )
    for (path, output), head in zip(outputs, heads, strict=True):
        _check_cotangent(output, head, path)
    return [output for _, output in outputs], heads


def _check_cotangent(result: Any, cotangent: Any, path: str) -> None:
    if not isinstance(result, Tensor):
        return
    if not isinstance(cotangent, Tensor) or (cotangent.shape, cotangent.dtype) != (
        result.shape, result.dtype,
    ):  # fmt: skip
        is_array = isinstance(cotangent, Tensor)
        got = f"{cotangent.dtype}{list(cotangent.shape)}" if is_array else repr(cotangent)
        raise DerivativeError(
            f"vjp: a cotangent{' at ' + path if path else ''} is an array of the shape and type "
            f"of its result, {result.dtype}{list(result.shape)}, got {got}; "
            "ted.vmap is for more of them"
        )


def _check_scalar(value: Any) -> None:
    """The result of a function that `grad` differentiates is one number."""
    if isinstance(value, Complex):
        raise DerivativeError(
            f"grad: the function must return a real scalar, got {value.dtype}{list(value.shape)}; "
            "take ted.real, ted.imag or ted.abs of it, or use ted.vjp for a cotangent"
        )
    if isinstance(value, Scalar):
        as_tensor(value, "", "grad")  # which refuses it
    if not isinstance(value, Tensor):
        raise DerivativeError(
            f"grad: the function must return one tensor, got {type(value).__name__}; "
            "return the scalar alone, or use ted.vjp for several results"
        )
    if value.shape != ():
        raise DerivativeError(
            f"grad: the function must return a scalar, got {value!r}; sum it, or use ted.vjp for "
            "a cotangent of this shape, ted.jacobian for every derivative",
            value.node.location,
        )


def _gradients(output: Any, head: Any, arguments: Sequence[Any]) -> list[Any]:
    """Gradients of `output` in the nests of the arguments."""
    flat = [flatten(a) for a in arguments]
    leaves = [leaf for found, _ in flat for _, leaf in found]
    gradients = iter(differentiate(output, leaves, head))
    return [unflatten(tree, gradients) for _, tree in flat]
