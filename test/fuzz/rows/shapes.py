"""Rows that move elements: slices, orders, joins, paddings."""

from __future__ import annotations

from typing import Any

from fuzz.pool import Pool, Unsuitable
from fuzz.rows.row import Drawn, Row, row


def sliced(pool: Pool) -> Drawn:
    """A random slice in every dim, with steps; some dims by a number or a new one."""
    x = pool.pick(lambda v: v.ndim >= 1)
    items = []
    for extent in pool.shape(x):
        kind = pool.integer(0, 6)
        if kind == 0 and extent:
            items.append(str(pool.integer(-extent, extent - 1)))
        elif kind < 4:
            lower, step = pool.integer(0, extent), pool.choose((1, 1, 2, 3))
            items.append(f"{lower}:{pool.integer(lower, extent)}:{step}")
        else:
            items.append(":" if kind < 6 else ":, None")
    return Drawn((x,), {"items": ", ".join(items)})


def backwards(pool: Pool) -> Drawn:
    """A dim, a start and a step for a slice from the end."""
    x = pool.pick(lambda v: v.ndim >= 1)
    axis = pool.axis(x)
    extent = pool.shape(x)[axis]
    start, step = pool.integer(0, max(extent - 1, 0)), pool.choose((1, 2, 3))
    items = [":"] * len(pool.shape(x))
    items[axis] = f":{start - 1 if start else ''}:-{step}"
    return Drawn((x,), {"items": ", ".join(items), "axis": axis, "start": start, "step": step})


def along(pool: Pool) -> Drawn:
    """A dim."""
    x = pool.pick(lambda v: v.ndim >= 1)
    return Drawn((x,), {"axis": pool.axis(x), "k": pool.integer(1, 3), "s": pool.integer(-4, 4)})


def permuted(pool: Pool) -> Drawn:
    """Another order of dims."""
    x = pool.pick(lambda v: v.ndim >= 2)
    order = tuple(map(int, pool.random.permutation(len(pool.shape(x)))))
    return Drawn((x,), {"order": order})


def reshaped(pool: Pool) -> Drawn:
    """Another shape of as many elements."""
    x = pool.pick()
    size, shape = pool.values[x].numel(), []
    for _ in range(pool.integer(0, 3)):
        divisors = [d for d in range(1, size + 1) if size % d == 0] or [0, 2]
        shape.append(pool.choose(divisors))
        size = size // shape[-1] if shape[-1] else size
    shape.insert(pool.integer(0, len(shape)), size)
    return Drawn((x,), {"shape": tuple(shape)})


def joined(pool: Pool) -> Drawn:
    """Two or three values that are alike but for one dim."""
    x = pool.pick(lambda v: v.ndim >= 1)
    axis, shape = pool.axis(x), pool.shape(x)

    def suits(v: Any) -> bool:
        other = list(v.shape)
        return (
            v.dtype == pool.values[x].dtype
            and len(other) == len(shape)
            and all(m == n for k, (m, n) in enumerate(zip(other, shape, strict=True)) if k != axis)
        )

    return Drawn((x, *(pool.pick(suits) for _ in range(pool.integer(1, 2)))), {"axis": axis})


def stacked(pool: Pool) -> Drawn:
    """Two values of one shape."""
    x = pool.pick(lambda v: v.ndim <= 3)
    axis = pool.integer(0, len(pool.shape(x)))
    return Drawn((x, pool.like(x, pool.shape(x))), {"axis": axis})


def padded(pool: Pool) -> Drawn:
    """Widths before and behind every dim, and a value."""
    x = pool.floating(1)
    width = tuple((pool.integer(0, 2), pool.integer(0, 2)) for _ in pool.shape(x))
    flat = tuple(n for pair in reversed(width) for n in pair)
    return Drawn((x,), {"width": width, "flat": flat, "value": pool.choose((0, 0, 1, -2))})


def triangle(pool: Pool) -> Drawn:
    """A matrix and a diagonal."""
    return Drawn((pool.floating(2),), {"k": pool.integer(-2, 2)})


def spread(pool: Pool) -> Drawn:
    """A larger shape to which a value broadcasts."""
    x = pool.pick(lambda v: v.ndim <= 3)
    shape = [n if n != 1 else pool.integer(1, 4) for n in pool.shape(x)]
    if len(shape) < 3:
        shape.insert(0, pool.integer(1, 3))
    return Drawn((x,), {"shape": tuple(shape)})


def squeezed(pool: Pool) -> Drawn:
    """A dim of extent 1."""
    x = pool.pick(lambda v: 1 in v.shape)
    return Drawn((x,), {"axis": pool.choose([k for k, n in enumerate(pool.shape(x)) if n == 1])})


def square(pool: Pool) -> Drawn:
    """A square matrix."""
    return Drawn((pool.pick(lambda v: v.ndim == 2 and v.shape[0] == v.shape[1]),), {})


def halves(pool: Pool) -> Drawn:
    """A dim that can be split in two, and which half."""
    x = pool.pick(lambda v: any(n and n % 2 == 0 for n in v.shape))
    axis = pool.choose([k for k, n in enumerate(pool.shape(x)) if n and n % 2 == 0])
    if not pool.shape(x)[axis]:
        raise Unsuitable
    half = pool.shape(x)[axis] // 2
    return Drawn((x,), {"axis": axis, "half": half, "k": pool.integer(0, 1)})


ROWS: tuple[Row, ...] = (
    row("slice", sliced, "{x}[{items}]", "{x}[{items}]", True, weight=4, jax="{x}[{items}]"),
    row("backwards", backwards, "{x}[{items}]", "flip_some({x}, {axis}, {step}, {start})", True,
        weight=2),
    row("flip", along, "ted.flip({x}, {axis})", "{x}.flip({axis})", True,
        jax="jnp.flip({x}, {axis})"),
    row("roll", along, "ted.roll({x}, {s}, {axis})", "{x}.roll({s}, {axis})", True,
        jax="jnp.roll({x}, {s}, {axis})"),
    row("repeat", along, "ted.repeat({x}, {k}, {axis})",
        "{x}.repeat_interleave({k}, {axis})", True, jax="jnp.repeat({x}, {k}, {axis})"),
    row("transpose", permuted, "ted.transpose({x}, {order})", "{x}.permute({order})", True,
        weight=2, jax="jnp.transpose({x}, {order})"),
    row("reshape", reshaped, "ted.reshape({x}, {shape})", "{x}.reshape({shape})", True,
        weight=2, jax="jnp.reshape({x}, {shape})"),
    row("concatenate", joined, "ted.concatenate([{all}], {axis})", "torch.cat([{all}], {axis})",
        True, weight=2, jax="jnp.concatenate([{all}], {axis})"),
    row("stack", stacked, "ted.stack([{all}], {axis})", "torch.stack([{all}], {axis})", True,
        jax="jnp.stack([{all}], {axis})"),
    row("pad", padded, "ted.pad({x}, {width}, value={value})",
        "F.pad({x}, {flat}, value={value})", True,
        jax="jnp.pad({x}, {width}, constant_values={value})"),
    row("tril", triangle, "ted.tril({x}, {k})", "torch.tril({x}, {k})", True),
    row("triu", triangle, "ted.triu({x}, {k})", "torch.triu({x}, {k})", True),
    row("broadcast", spread, "ted.broadcast_to({x}, {shape})", "{x}.expand({shape})", True,
        weight=2, jax="jnp.broadcast_to({x}, {shape})"),
    row("squeeze", squeezed, "ted.squeeze({x}, {axis})", "{x}.squeeze({axis})", True),
    row("diagonal", square, "ted.compute(({x}.shape[0],), lambda i: {x}[i, i])",
        "{x}.diagonal()", True),
    row("split", halves, "ted.split({x}, 2, {axis})[{k}]",
        "{x}.split({half}, {axis})[{k}]", True),
)  # fmt: skip
