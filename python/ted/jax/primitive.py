"""The primitive of JAX that runs programs of ted, and its rules, which derive programs.

The tangents of a call are a call of the program's `jvp`, which is linear in the tangents; the
transpose of that is a call of `vjp`. What is linear for another reason, as batches of tangents, is
transposed by its own `vjp` at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from ted.errors import DerivativeError, FrontendError
from ted.ir.dtypes import BY_NAME
from ted.jax.programs import Mask, Program, Shape
from ted.runtime.xla import handler

TARGET = "ted_call"

call_p = Primitive(TARGET)
call_p.multiple_results = True


def call(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """The results of a program.

    Inside of `jax.shard_map` what differs between devices makes all results differ, so that JAX
    adds the gradients of arguments that do not: those are said to differ, too.
    """
    varying = frozenset().union(*(jax.typeof(a).mat.varying for a in arrays))
    if varying:
        arrays = [_varying(array, varying) for array in arrays]
    return call_p.bind(*arrays, program=program)


def _varying(array: Any, axes: frozenset[Any]) -> Any:
    left = tuple(sorted(axes - jax.typeof(array).mat.varying))
    return jax.lax.pcast(array, left, to="varying") if left else array


def _shapes(avals: Sequence[Any]) -> list[Shape]:
    return [(tuple(a.shape), _kind(a.dtype)) for a in avals]


def _kind(dtype: Any) -> str:
    """The name of a type of JAX.

    Raises: FrontendError for one that ted does not have.
    """
    if str(dtype) in BY_NAME:
        return str(dtype)
    raise FrontendError(
        f"ted.jax.op: arrays are of {', '.join(BY_NAME)}, got one of {dtype}; pass jnp.real(x) and "
        "jnp.imag(x), jax.random.key_data(x) or x.astype(...)"
    )


def _is_float(value: Any) -> bool:
    return jax.numpy.issubdtype(jax.numpy.result_type(value), np.floating)


def _zero(value: Any) -> ad.Zero:
    return ad.Zero(jax.typeof(value).to_tangent_aval())


@call_p.def_impl
def _run(*arrays: Any, program: Program) -> list[Any]:
    if program.alone is None:
        program.alone = _alone(program)
    return program.alone(*arrays)


def _alone(program: Program) -> Callable[..., Any]:
    """The program by itself, for arrays that nobody traces."""

    def alone(*arrays: Any) -> list[Any]:
        return call(program, arrays)

    # As JAX marks its own: where jax_debug_nans finds NaN, it is not called again in smaller steps.
    alone.__dict__["_apply_primitive"] = True
    alone.__name__ = alone.__qualname__ = program.name
    return jax.jit(alone)


@call_p.def_abstract_eval
def _abstract(*avals: Any, program: Program) -> list[ShapedArray]:
    found = program.results(_shapes(avals))
    return [_aval(shape, kind, avals) for shape, kind in found]


def _aval(shape: tuple[int, ...], kind: str, avals: Sequence[Any]) -> ShapedArray:
    """The type of a result, of the devices on which the arguments differ."""
    dtype = jax.numpy.dtype(kind)
    for one in avals:
        if one.mat.varying:
            spec = PartitionSpec(*[None] * len(shape))
            whole = NamedSharding(one.sharding.mesh, spec)
            return ShapedArray(shape, dtype, sharding=whole, manual_axis_type=one.mat)
    return ShapedArray(shape, dtype)


def _lower(ctx: Any, *operands: Any, program: Program) -> Any:
    number = program.number(_shapes(ctx.avals_in))
    return jax.ffi.ffi_lowering(TARGET)(ctx, *operands, program=np.int64(number))


def _push(
    primals: Sequence[Any], tangents: Sequence[Any], *, program: Program
) -> tuple[list[Any], list[Any]]:
    results = call(program, primals)
    moving = tuple(type(t) is not ad.Zero for t in tangents)
    chosen = tuple(map(_is_float, results))
    if not any(moving) or not any(chosen):
        return results, list(map(_zero, results))
    given = [*primals, *compress(tangents, moving)]
    found = iter(call(program.jvp(moving, chosen), given))
    pairs = zip(results, chosen, strict=True)
    return results, [next(found) if is_one else _zero(r) for r, is_one in pairs]


def _transpose(cotangents: Sequence[Any], *arguments: Any, program: Program) -> list[Any]:
    wanted = tuple(ad.is_undefined_primal(a) for a in arguments)
    heads = tuple(type(c) is not ad.Zero for c in cotangents)
    linear = program.linear
    if linear is None or not all(map(max, linear.arguments, [not w for w in wanted])):
        raise DerivativeError(
            f"{program.name}: it is no linear function of the arguments whose transpose is wanted; "
            "differentiate it with jax.vjp"
        )
    if not any(heads):
        return [ad.Zero(a.aval) if w else None for a, w in zip(arguments, wanted, strict=True)]
    found = iter(_pulled(program, arguments, wanted, heads, list(compress(cotangents, heads))))
    return [next(found) if w else None for w in wanted]


def _pulled(
    program: Program, arguments: Sequence[Any], wanted: Mask, heads: Mask, given: list[Any]
) -> list[Any]:
    linear = program.linear
    assert linear is not None, "checked before"
    base, count = linear.base, linear.arguments.index(True)
    if base is not None and len(heads) == len(base.results(_shapes_of(arguments[:count]))):
        places = compress(range(count), linear.moving)
        chosen = set(compress(places, wanted[count:]))
        own = tuple(k in chosen for k in range(count))
        return call(base.vjp(own, heads), [*arguments[:count], *given])
    at = [jax.numpy.zeros(a.aval.shape, a.aval.dtype) if w else a
          for a, w in zip(arguments, wanted, strict=True)]  # fmt: skip
    return call(program.vjp(wanted, heads), [*at, *given])


def _shapes_of(values: Sequence[Any]) -> list[Shape]:
    return [(np.shape(v), np.dtype(jax.numpy.result_type(v)).name) for v in values]


def _batch(arrays: Sequence[Any], dims: Sequence[int | None], *, program: Program) -> Any:
    results = call(program.batched(tuple(dims)), arrays)
    return results, [0] * len(results)


jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler()), platform="cpu")
mlir.register_lowering(call_p, _lower, platform="cpu")
ad.primitive_jvps[call_p] = _push
ad.primitive_transposes[call_p] = _transpose
batching.primitive_batchers[call_p] = _batch
