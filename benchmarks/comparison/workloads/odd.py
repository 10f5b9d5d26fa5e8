"""Odd shapes: primes, 1000, 17 channels, tiny arrays, arrays beyond every cache.

Some are written here; others are drawn by a seed, so that nothing can be tuned for them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..workload import Input, Workload, both, index, normal, uniform

Draw = random.Random
TINY = (1, 2, 3, 5, 8)
PRIMES = (7, 13, 31, 61, 127, 257, 509, 1021)
MIDDLE = (*PRIMES, 17, 100, 1000)
FLOATS = ("float32", "float64")


def case(name: str, program: Any, *inputs: Input, **more: Any) -> Workload:
    """A workload of this file."""
    return Workload(name, program, inputs, "odd", **more)


def named(name: str, *shapes: Sequence[int]) -> str:
    """A name with shapes."""
    return f"{name} {', '.join('x'.join(map(str, s)) for s in shapes)}"


def product(m: int, r: int, n: int, dtype: str = "float32") -> Workload:
    """A matrix product."""
    return case(
        named("mm", (m, r), (r, n)), lambda k, a, b: a @ b, normal(m, r), normal(r, n),
        bound="compute", flops=2.0 * m * n * r, dtype=dtype,
    )  # fmt: skip


def convolution(n: int, c: int, h: int, w: int, o: int, size: int, **options: int) -> Workload:
    """A convolution, channels first."""
    name = named("conv", (n, c, h, w), (o, c, size, size))
    name += "".join(f" {key} {value}" for key, value in options.items())
    stride, dilation = options.get("stride", 1), options.get("dilation", 1)
    places = [(e + 2 - dilation * (size - 1) - 1) // stride + 1 for e in (h, w)]
    return case(
        name, lambda k, x, v: k.conv(x, v, padding=1, **options), normal(n, c, h, w),
        normal(o, c, size, size, scale=0.1), bound="compute",
        flops=2.0 * n * o * places[0] * places[1] * c * size * size,
    )  # fmt: skip


def softmax(rows: int, columns: int) -> Workload:
    """Of rows."""
    return case(named("softmax", (rows, columns)), lambda k, x: k.softmax(x), normal(rows, columns))


def layer_norm(rows: int, columns: int) -> Workload:
    """Of rows."""
    inputs = (normal(rows, columns), normal(columns), normal(columns))
    name = named("layer norm", (rows, columns))
    return case(name, lambda k, x, w, b: k.layer_norm(x, w, b), *inputs, tolerance=1e-3)


def sums(axis: int, *shape: int) -> Workload:
    """Along a dim."""
    name = named(f"sum along {axis} of", shape)
    return case(name, lambda k, x: k.sum(x * x, axis), normal(*shape), tolerance=1e-3)


def mapped(*shape: int) -> Workload:
    """A few functions of two arrays."""
    program = lambda k, x, y: k.tanh(x) * y + k.exp(-x * x)  # noqa: E731
    return case(named("map", shape), program, normal(*shape), normal(*shape))


def transposed(*shape: int) -> Workload:
    """The transpose, stored."""
    program = lambda k, x: k.contiguous(k.transpose(x + 1.0, (1, 0)))  # noqa: E731
    return case(named("transpose", shape), program, normal(*shape))


def stencil(*shape: int) -> Workload:
    """Five points."""

    def program(k: Any, x: Any) -> Any:
        around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        return 0.5 * x[1:-1, 1:-1] + 0.125 * around

    return case(named("stencil", shape), program, normal(*shape))


def running(*shape: int) -> Workload:
    """Running sums of rows."""
    return case(named("cumsum", shape), lambda k, x: k.cumsum(x, 1), normal(*shape), tolerance=1e-3)


def batched(b: int, m: int, r: int, n: int) -> Workload:
    """Many small products."""
    return case(
        named("products", (b, m, r), (b, r, n)), lambda k, x, y: k.einsum("bij,bjk->bik", x, y),
        normal(b, m, r), normal(b, r, n), bound="compute", flops=2.0 * b * m * r * n,
    )  # fmt: skip


def taken(count: int, width: int, reads: int) -> Workload:
    """Rows at data."""
    return case(
        named("take", (count, width), (reads,)), lambda k, x, i: k.take(x, i, 0),
        normal(count, width), index(count, reads), tolerance=1e-3,
    )  # fmt: skip


def dense(rows: int, inputs: int, outputs: int) -> Workload:
    """A layer with tanh."""
    return case(
        named("dense tanh", (rows, inputs), (inputs, outputs)),
        lambda k, x, w, b: k.tanh(k.dense(x, w, b)),
        normal(rows, inputs), normal(inputs, outputs, scale=inputs**-0.5), normal(outputs),
        bound="compute", flops=2.0 * rows * inputs * outputs,
    )  # fmt: skip


def _extents(draw: Draw, count: int, most: float) -> list[int]:
    """Extents with at most so many elements in all."""
    found: list[int] = []
    for _ in range(count):
        left = [n for n in (*TINY, *MIDDLE) if n <= most]
        found.append(draw.choice(left))
        most /= found[-1]
    draw.shuffle(found)
    return found


def _convolution(draw: Draw) -> Workload:
    size = draw.choice((1, 2, 3, 5))
    image = draw.choice((7, 13, 31, 56))
    option = draw.choice(({}, {"stride": 2}, {"dilation": 2}))
    channels = draw.choice((1, 3, 17, 31)), draw.choice((2, 17, 61))
    return convolution(
        draw.choice((1, 3, 7)), channels[0], max(image, 9), max(image, 9), channels[1], size,
        **option,
    )  # fmt: skip


FAMILIES: tuple[Callable[[Draw], Workload], ...] = (
    lambda draw: product(*_extents(draw, 3, 3e7), dtype=draw.choice(FLOATS)),
    _convolution,
    lambda draw: softmax(*_extents(draw, 2, 4e6)),
    lambda draw: layer_norm(draw.choice(MIDDLE), draw.choice(PRIMES)),
    lambda draw: sums(draw.choice((0, 1, 2)), *_extents(draw, 3, 8e6)),
    lambda draw: mapped(*_extents(draw, 2, 4e6)),
    lambda draw: transposed(draw.choice(MIDDLE), draw.choice(MIDDLE)),
    lambda draw: stencil(draw.choice(MIDDLE), draw.choice(MIDDLE)),
    lambda draw: running(draw.choice(MIDDLE), draw.choice(MIDDLE)),
    lambda draw: batched(draw.choice((3, 17, 127)), *_extents(draw, 3, 1e5)),
    lambda draw: taken(draw.choice(PRIMES), draw.choice(TINY), draw.choice(MIDDLE)),
    lambda draw: dense(draw.choice(MIDDLE[:8]), draw.choice(MIDDLE), draw.choice(MIDDLE)),
)


def drawn(seed: int, count: int) -> Iterator[Workload]:
    """So many cases, each of a family in turn, forward or its gradient."""
    draw = Draw(seed)
    for number in range(count):
        made = FAMILIES[number % len(FAMILIES)](draw)
        named_so = replace(made, name=f"{made.name} #{seed}.{number}")
        rows = list(both(named_so))
        yield draw.choice(rows)


def workloads() -> Iterator[Workload]:
    """The rows that are always there."""
    for sizes in (
        (509, 257, 1021),
        (1000, 1000, 1000),
        (1, 1000, 1000),
        (1000, 17, 1000),
        (3, 5, 7),
    ):
        yield from both(product(*sizes))
    yield from both(product(127, 1021, 31, "float64"))
    yield from both(convolution(7, 17, 31, 31, 17, 3))
    yield from both(convolution(3, 17, 57, 43, 31, 5, stride=2))
    yield from both(convolution(1, 3, 13, 13, 2, 3))
    for made in (softmax(1000, 1021), softmax(7, 13), layer_norm(1000, 1023), mapped(31, 31),
                 mapped(3), mapped(4099, 4099), sums(0, 1021, 509), sums(1, 5, 1_000_003),
                 transposed(1021, 1031), transposed(4099, 4093), stencil(1021, 1031),
                 stencil(5003, 4001), running(509, 1021), batched(1009, 7, 5, 3),
                 taken(1021, 17, 100_003), dense(127, 509, 61)):  # fmt: skip
        yield from both(made)
    for dtype in ("bfloat16", "float16"):
        made = replace(softmax(509, 1021), dtype=dtype, tolerance=None)
        yield replace(made, name=f"{made.name} {dtype}")
    far = case("log(1 + exp(x)) 10000019", lambda k, x: k.log(1.0 + k.exp(x)),
               uniform(-4, 4, 10_000_019))  # fmt: skip
    yield from both(far)
