"""Rows that work on a function: batches, derivatives, checkpoints, recurrences, nested at will.

The function is a small program over some operands, drawn by the same table: these rows nest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fuzz.pool import Pool, Unsuitable, type_name
from fuzz.programs import Input, Program
from fuzz.rebuilding import pruned
from fuzz.rows.row import Drawn, Row, row

LONGEST_BODY = 4
FEW = 8  # elements of what is differentiated in every direction
MANY = 60  # elements of what passes through a loop or a batch


def body(pool: Pool, samples: list[Any], wanted: Any = None) -> tuple[Program, Any]:
    """A function of such arguments with one float as result, like `wanted`, if any; and a sample.

    Raises: Unsuitable.
    """
    inner = Pool(pool.random, pool.exact, pool.extend, pool.library)
    inner.values = list(samples)
    inputs = [Input(tuple(v.shape), type_name(v), pool.exact, 0) for v in samples]
    program = pool.extend(inner, inputs, pool.integer(1, LONGEST_BODY))
    fitting = [
        k
        for k, v in enumerate(inner.values)
        if k >= len(samples)
        and v.is_floating_point()
        and (wanted is None or (v.shape, v.dtype) == (wanted.shape, wanted.dtype))
    ]
    result = pool.choose(fitting[-2:])
    return pruned(Program(program.inputs, program.steps, (result,))), inner.values[result]


def _small(pool: Pool, most: int) -> int:
    return pool.pick(lambda v: v.is_floating_point() and 0 < v.numel() <= most)


def _some(pool: Pool, most: int = MANY) -> list[int]:
    return [_small(pool, most) for _ in range(pool.integer(1, 2))]


def scalar_function(pool: Pool) -> Drawn:
    """A function of one or two floats; which one the derivative is of."""
    args = _some(pool)
    made, _ = body(pool, [pool.values[a] for a in args])
    return Drawn(tuple(args), {"k": pool.integer(0, len(args) - 1)}, made)


def tangent(pool: Pool) -> Drawn:
    """A function of one float and a direction."""
    x = _small(pool, MANY)
    made, _ = body(pool, [pool.values[x]])
    return Drawn((x, pool.like(x, pool.shape(x))), {"k": pool.integer(0, 1)}, made)


def cotangent(pool: Pool) -> Drawn:
    """A function of one float and a head of its result's shape."""
    x = _small(pool, MANY)
    made, result = body(pool, [pool.values[x]])
    head = pool.pick(lambda v: (v.shape, v.dtype) == (result.shape, result.dtype))
    return Drawn((x, head), {}, made)


def every_direction(pool: Pool) -> Drawn:
    """A function of a few numbers."""
    x = _small(pool, FEW)
    made, _ = body(pool, [pool.values[x]])
    return Drawn((x,), {}, made)


def batched(pool: Pool) -> Drawn:
    """A function of an example, with arguments that are batches along some dim or shared."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and 0 not in v.shape)
    axis = pool.axis(x)
    extent = pool.shape(x)[axis]
    args, axes = [x], [axis]
    samples = [pool.values[x].select(axis, 0)]
    if pool.chance(0.6):
        y = _small(pool, MANY)
        fitting = [k for k, n in enumerate(pool.shape(y)) if n == extent]
        shared = not fitting or pool.chance(0.3)
        args.append(y)
        axes.append(None if shared else pool.choose(fitting))
        samples.append(pool.values[y] if shared else pool.values[y].select(axes[1], 0))
    made, _ = body(pool, samples)
    return Drawn(tuple(args), {"axes": tuple(axes)}, made)


def recurrence(pool: Pool) -> Drawn:
    """A step from a carry and a row to the next carry and a row of results."""
    carry = _small(pool, MANY)
    xs = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and v.numel())
    steps = pool.shape(xs)[0]
    if steps > 9:
        raise Unsuitable
    made, _ = body(pool, [pool.values[carry], pool.values[xs][0]], pool.values[carry])
    both = replace(made, results=(*made.results, pool.integer(0, 1 + len(made.steps))))
    fields = {
        "reverse": pool.chance(0.4), "k": pool.integer(0, 1),
        "keep": pool.choose((None, None, True, 2)),
    }  # fmt: skip
    return Drawn((carry, xs), fields, both)


ROWS: tuple[Row, ...] = (
    row("grad", scalar_function, "ted.grad(lambda *a: ted.sum({f}(*a)), {k})({all})",
        "torch.func.grad(lambda *a: {f}(*a).sum(), {k})({all})", True, weight=2,
        jax="jax.grad(lambda *a: jnp.sum({f}(*a)), {k})({all})"),
    row("jvp", tangent, "ted.jvp({f}, ({x},), ({y},))[{k}]",
        "torch.func.jvp({f}, ({x},), ({y},))[{k}]", True, jax="jax.jvp({f}, ({x},), ({y},))[{k}]"),
    row("vjp", cotangent, "ted.vjp({f}, {x})[1]({y})[0]",
        "torch.func.vjp({f}, {x})[1]({y})[0]", True,
        jax="jax.vjp({f}, {x})[1]({y})[0]"),
    row("hvp", tangent, "ted.hvp(lambda a: ted.sum({f}(a)), ({x},), ({y},))[0]",
        "torch.func.jvp(torch.func.grad(lambda a: {f}(a).sum()), ({x},), ({y},))[1]", True,
        jax="jax.jvp(jax.grad(lambda a: jnp.sum({f}(a))), ({x},), ({y},))[1]"),
    row("hessian", every_direction, "ted.hessian(lambda a: ted.sum({f}(a)))({x})",
        "torch.func.jacrev(torch.func.grad(lambda a: {f}(a).sum()))({x})", True,
        jax="jax.hessian(lambda a: jnp.sum({f}(a)))({x})"),
    row("jacobian", every_direction, "ted.jacobian({f})({x})", "torch.func.jacrev({f})({x})", True,
        jax="jax.jacrev({f})({x})"),
    row("vmap", batched, "ted.vmap({f}, {axes})({all})", "torch.func.vmap({f}, {axes})({all})",
        True, weight=3, jax="jax.vmap({f}, {axes})({all})"),
    row("checkpoint", scalar_function, "ted.checkpoint({f})({all})", "{f}({all})", True,
        jax="jax.checkpoint({f})({all})"),
    row("scan", recurrence,
        "ted.scan({f}, {x}, {y}, reverse={reverse}, checkpoint={keep})[{k}]",
        "scan({f}, {x}, {y}, {reverse})[{k}]", True, weight=3,
        jax="jax.lax.scan({f}, {x}, {y}, reverse={reverse})[{k}]"),
)  # fmt: skip
