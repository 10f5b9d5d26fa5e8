"""Rows whose indices are data: reads and writes, in every mode."""

from __future__ import annotations

from fuzz.pool import Pool, type_name
from fuzz.rows.row import Drawn, Row, row


def read(pool: Pool) -> Drawn:
    """A tensor, integers, a dim and a mode; with `check` the integers are wrapped into range."""
    x = pool.pick(lambda v: v.ndim >= 1 and 0 not in v.shape and type_name(v) != "bool")
    indices = pool.integral(0, 2)
    axis, mode = pool.axis(x), pool.choose(("check", "clip", "drop", "unchecked"))
    extent = pool.shape(x)[axis]
    wrap = f" % {extent}" if mode in ("check", "unchecked") else ""
    return Drawn((x, indices), {"axis": axis, "mode": mode, "wrap": wrap})


def read_along(pool: Pool) -> Drawn:
    """A tensor and integers of its shape."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and 0 not in v.shape)
    shape = pool.shape(x)
    indices = pool.pick(lambda v: type_name(v) == "int64" and tuple(v.shape) == shape)
    axis = pool.axis(x)
    return Drawn((x, indices), {"axis": axis, "n": shape[axis]})


def write(pool: Pool) -> Drawn:
    """A target, a vector of integers, and values that fit, made by broadcasting."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and 0 not in v.shape)
    indices = pool.integral(1, 1)
    axis, shape = pool.axis(x), list(pool.shape(x))
    extent = shape[axis]
    shape[axis] = pool.shape(indices)[0]
    values = pool.like(x)
    short = tuple(n for n in pool.shape(values))
    if len(short) > len(shape) or any(
        m not in (1, n) for m, n in zip(short[::-1], shape[::-1], strict=False)
    ):
        values = pool.pick(lambda v: v.dtype == pool.values[x].dtype and v.ndim == 0)
    mode = pool.choose(("check", "clip", "drop"))
    wrap = f" % {extent}" if mode == "check" else ""
    return Drawn(
        (x, indices, values), {"axis": axis, "shape": tuple(shape), "mode": mode, "wrap": wrap}
    )


def segments(pool: Pool) -> Drawn:
    """Values and integers for their first dim."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1)
    rows = pool.shape(x)[0]
    indices = pool.pick(lambda v: type_name(v).startswith("int") and tuple(v.shape) == (rows,))
    return Drawn((x, indices), {"n": pool.integer(1, 5), "shape": pool.shape(x)[1:]})


def looked_up(pool: Pool) -> Drawn:
    """A matrix or vector, a vector of integers: a read inside a lambda."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim in (1, 2) and 0 not in v.shape)
    indices = pool.integral(1, 1)
    return Drawn((x, indices), {"n": pool.shape(x)[0], "m": pool.shape(indices)[0]})


def beside_numbers(pool: Pool) -> Drawn:
    """A tensor and numbers for its last dim: few, or rows of them that are no literal."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and 0 not in v.shape)
    values = [float(pool.integer(-3, 3)) for _ in range(pool.shape(x)[-1])]
    return Drawn((x,), {"values": values, "dtype": type_name(pool.values[x])})


def at_known_places(pool: Pool) -> Drawn:
    """A tensor and indices into its first dim."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and 0 not in v.shape)
    extent, count = pool.shape(x)[0], pool.integer(0, 4)
    return Drawn((x,), {"at": [pool.integer(-extent, extent - 1) for _ in range(count)]})


ROWS: tuple[Row, ...] = (
    row("constant", beside_numbers, "{x} * ted.constant({values}, '{dtype}')",
        "{x} * torch.tensor({values}, dtype=torch.{dtype})", True, weight=2),
    row("large_constant", beside_numbers,
        "ted.sum({x}[..., None, :] * ted.constant([{values}] * 200, '{dtype}')[:2], axis=-2)",
        "{x} * 2 * torch.tensor({values}, dtype=torch.{dtype})", True),
    row("at_places", at_known_places, "{x}[{at}]",
        "{x}[torch.tensor({at}, dtype=torch.int64)]", True, weight=2),
    row("take", read, "ted.take({x}, {y}{wrap}, {axis}, mode='{mode}')",
        "take({x}, {y}{wrap}, {axis}, '{mode}')", True, weight=3),
    row("take_along", read_along, "ted.take_along_axis({x}, {y} % {n}, {axis})",
        "{x}.gather({axis}, {y} % {n})", True, weight=2),
    row("index_add", write,
        "ted.index_add({x}, {axis}, {y}{wrap}, ted.broadcast_to({z}, {shape}), mode='{mode}')",
        "index_add({x}, {axis}, {y}{wrap}, {z}.expand({shape}), '{mode}')", True, weight=4),
    row("segment_sum", segments, "ted.segment_sum({x}, {y} % {n}, {n})",
        "torch.zeros(({n}, *{shape}), dtype={x}.dtype).index_add(0, ({y} % {n}).long(), {x})",
        True, weight=2),
    row("scatter_max", segments,
        "ted.stop_gradient(ted.scatter(({n}, *{shape}), {y} % {n}, {x}, combine='max', init=-4.0))",
        "torch.full(({n}, *{shape}), -4.0, dtype={x}.dtype).index_reduce(0, ({y} % {n}).long(), "
        "{x}, 'amax').detach()", True, weight=0.5),
    row("bincount", segments, "ted.bincount({y} % {n}, {n})",
        "torch.bincount(({y} % {n}).long(), minlength={n})", True, weight=0.5),
    row("one_hot", segments, "ted.one_hot({y} % {n}, {n}, 'float64')",
        "F.one_hot(({y} % {n}).long(), {n}).to(torch.float64)", True, weight=0.5),
    row("looked_up", looked_up,
        "ted.compute(({m},), lambda i: {x}[{y}[i] % {n}] if {x}.ndim == 1 else "
        "{x}[{y}[i] % {n}, i % {x}.shape[1]])",
        "{x}[({y} % {n}).long()] if {x}.ndim == 1 else "
        "{x}[({y} % {n}).long(), torch.arange({m}) % {x}.shape[1]]", True, weight=2),
)  # fmt: skip
