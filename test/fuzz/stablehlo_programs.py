"""Random programs of StableHLO: whole numbers, their ends, and what is special among floats."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from fuzz.imported_texts import (
    FLOATS,
    LARGEST,
    MOST_ELEMENTS,
    Shape,
    Text,
    Unfit,
    Value,
    drawn,
    tensor,
)

SIGNED, UNSIGNED = ("i8", "i16", "i32", "i64"), ("ui8", "ui16", "ui32", "ui64")
INTEGERS = (*SIGNED, *UNSIGNED)
BITS = {k: int("".join(c for c in k if c.isdigit())) for k in (*INTEGERS, *FLOATS, "i1")}


def program(seed: int) -> Text:
    """The program of a seed; every third one has infinities and NaN among its floats."""
    text = Text(np.random.default_rng([seed, 7]))
    special = seed % 3 == 0
    extents = [text.number(1, 4) for _ in range(2)] + [text.number(0, 3)]
    shape = tuple(
        text.choose(extents[: 2 if text.chance(0.9) else 3]) for _ in range(text.number(0, 3))
    )
    kinds = [text.choose(INTEGERS), text.choose(FLOATS)]
    for kind in [*kinds, kinds[0], text.choose((*INTEGERS, *FLOATS)), "i1", kinds[1]]:
        text.argument(shape if text.chance(0.7) else shape[::-1], kind, special)
    table = [r for r in ROWS if not (special and r in FINITE)]
    return drawn(text, table, text.number(1, 8))


def is_integer(v: Value) -> bool:
    return v.kind in INTEGERS


def is_signed(v: Value) -> bool:
    return v.kind in SIGNED


def is_exact(v: Value) -> bool:
    return v.exact


def is_small(v: Value) -> bool:
    return v.exact and v.is_float


def same(text: Text, op: str, *args: Value, exact: bool = True, size: float = LARGEST) -> Value:
    """An operation whose operands and result have one type."""
    names = ", ".join(a.name for a in args)
    exact = exact and all(a.exact for a in args)
    return text.line(f"stablehlo.{op} {names} : {args[0].type}", args[0].shape, args[0].kind,
                     exact, size)  # fmt: skip


def integer_unary(text: Text) -> None:
    v = text.one(is_integer)
    ops = ["negate", "not", "popcnt", "count_leading_zeros"]
    same(text, text.choose(ops + ["abs", "sign"] * is_signed(v)), v)


def integer_binary(text: Text) -> None:
    v = text.one(is_integer)
    op = text.choose(
        [
            "add",
            "subtract",
            "multiply",
            "maximum",
            "minimum",
            "divide",
            "remainder",
            "and",
            "or",
            "xor",
            "shift_left",
            "shift_right_arithmetic",
            "shift_right_logical",
            *(["power"] if v.kind in SIGNED[:3] else []),
        ]
    )  # XLA gives others a sign, or loses bits
    other = text.like(v)
    if op == "power":  # XLA reads six bits of the exponent
        other = same(text, "clamp", *ends(text, other, -9, 63))
    same(text, op, v, other)


def boolean(text: Text) -> None:
    v = text.one(lambda v: v.kind == "i1")
    op = text.choose(["and", "or", "xor", "not", "add", "multiply", "maximum", "minimum"])
    same(text, op, *([v] if op == "not" else [v, text.like(v)]))


def float_unary(text: Text) -> None:
    v = text.one(is_small)
    op = text.choose(["negate", "abs", "floor", "ceil", "sign", "round_nearest_even",
                      "round_nearest_afz"])  # fmt: skip
    same(text, op, v, size=v.size)


def float_binary(text: Text) -> None:
    v = text.one(is_small)
    w = text.like(v)
    op = text.choose(["add", "subtract", "multiply", "maximum", "minimum"])
    size = v.size * w.size if op == "multiply" else v.size + w.size
    same(text, op, v, w, size=size)


def float_rough(text: Text) -> None:
    v = text.one(lambda v: v.is_float and v.size <= LARGEST)
    op = text.choose(["tanh", "sine", "cosine", "logistic", "cbrt", "exponential_minus_one"])
    v = same(text, "clamp", *ends(text, v, -4, 4)) if op == "exponential_minus_one" else v
    same(text, op, v, exact=False)


def quotient(text: Text) -> None:
    v = text.one(is_small)
    same(text, "divide", v, text.like(v), exact=False)


def rest(text: Text) -> None:
    v = text.one(is_small)
    w = text.one(lambda w: w.type == v.type and w.exact)
    same(text, "remainder", v, w, exact=False)  # NaN by 0, whose bits are any


def ends(text: Text, v: Value, low: int, high: int) -> tuple[Value, Value, Value]:
    """Two constants around a value."""
    word = "{}.0" if v.is_float else "{}"
    found = [
        text.line(f"stablehlo.constant dense<{word.format(n)}> : {v.type}", v.shape, v.kind)
        for n in (low, high)
    ]
    return found[0], v, found[1]


def clamp(text: Text) -> None:
    v = text.one(is_exact)
    if v.kind == "i1":
        raise Unfit
    low = 0 if v.kind in UNSIGNED else -text.number(0, 5)
    same(text, "clamp", *ends(text, v, low, text.number(0, 5)), size=v.size)


def compare(text: Text) -> Value:
    v = text.one(is_exact)
    word = text.choose(["LT", "LE", "GT", "GE", "EQ", "NE"])
    kinds = ["", ", FLOAT", ", TOTALORDER"] if v.is_float else [""]
    w, kind = text.like(v), text.choose(kinds)
    if not w.exact:
        raise Unfit
    flags = tensor(v.shape, "i1")
    return text.line(f"stablehlo.compare {word}, {v.name}, {w.name}{kind} : "
                     f"({v.type}, {v.type}) -> {flags}", v.shape, "i1")  # fmt: skip


def select(text: Text) -> None:
    c = text.one(lambda v: v.kind == "i1")
    v = text.one(lambda v: v.shape == c.shape)
    w = text.like(v)
    text.line(f"stablehlo.select {c.name}, {v.name}, {w.name} : {c.type}, {v.type}", v.shape,
              v.kind, v.exact and w.exact, max(v.size, w.size))  # fmt: skip


def convert(text: Text) -> None:
    v = text.one(is_exact)
    kind = text.choose((*INTEGERS, *FLOATS, "i1"))
    if v.is_float and kind not in FLOATS:
        if v.size > LARGEST:
            raise Unfit
        v = same(text, "clamp", *ends(text, v, 0 if kind in UNSIGNED else -100, 100), size=100.0)
    size = 2.0 ** BITS[v.kind] if is_integer(v) else v.size
    exact = not (is_integer(v) and kind == "f32" and BITS[v.kind] > 16)
    text.line(f"stablehlo.convert {v.name} : ({v.type}) -> {tensor(v.shape, kind)}", v.shape, kind,
              exact, size if kind in FLOATS else LARGEST)  # fmt: skip


def bits(text: Text) -> None:
    v = text.one(lambda v: v.exact and v.kind in BITS and v.kind != "i1")
    kinds = [k for k in BITS if BITS[k] == BITS[v.kind] and k not in FLOATS and k != v.kind]
    kind = text.choose(kinds)
    text.line(f"stablehlo.bitcast_convert {v.name} : ({v.type}) -> {tensor(v.shape, kind)}",
              v.shape, kind)  # fmt: skip


def iota(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape) and v.kind != "i1")
    dim = text.number(0, len(v.shape) - 1)
    text.line(f"stablehlo.iota dim = {dim} : {v.type}", v.shape, v.kind)


def constant(text: Text) -> None:
    v = text.one()
    text.line(f"stablehlo.constant {text.dense(v.shape, v.kind)}", v.shape, v.kind)


# ------------------------------------------------------------------ shapes


def moved(text: Text, line: str, v: Value, shape: Shape) -> Value:
    if prod(shape) > MOST_ELEMENTS:
        raise Unfit
    return text.line(f"{line} : ({v.type}) -> {tensor(shape, v.kind)}", shape, v.kind, v.exact,
                     v.size)  # fmt: skip


def broadcast(text: Text) -> None:
    v = text.one(lambda v: len(v.shape) < 4)
    place = text.number(0, len(v.shape))
    shape = (*v.shape[:place], text.number(1, 3), *v.shape[place:])
    dims = [k for k in range(len(shape)) if k != place]
    moved(text, f"stablehlo.broadcast_in_dim {v.name}, dims = {dims}", v, shape)


def reshape(text: Text) -> None:
    v = text.one()
    shapes = [(prod(v.shape),), (*v.shape, 1), (1, *v.shape), v.shape[::-1]]
    moved(text, f"stablehlo.reshape {v.name}", v, text.choose(shapes))


def transpose(text: Text) -> None:
    v = text.one(lambda v: len(v.shape) > 1)
    order = [int(k) for k in text.random.permutation(len(v.shape))]
    moved(text, f"stablehlo.transpose {v.name}, dims = {order}", v,
          tuple(v.shape[k] for k in order))  # fmt: skip


def reverse(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape))
    dims = [k for k in range(len(v.shape)) if text.chance(0.6)]
    text.line(f"stablehlo.reverse {v.name}, dims = {dims} : {v.type}", v.shape, v.kind, v.exact,
              v.size)  # fmt: skip


def sliced(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape))
    words, shape = [], []
    for n in v.shape:
        start = text.number(0, n)
        end, step = text.number(start, n), text.number(1, 2)
        words.append(f"{start}:{end}:{step}")
        shape.append(-(-(end - start) // step))
    moved(text, f"stablehlo.slice {v.name} [{', '.join(words)}]", v, tuple(shape))


def joined(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape))
    w = text.like(v)
    dim = text.number(0, len(v.shape) - 1)
    shape = tuple(2 * n if k == dim else n for k, n in enumerate(v.shape))
    if prod(shape) > MOST_ELEMENTS:
        raise Unfit
    text.line(f"stablehlo.concatenate {v.name}, {w.name}, dim = {dim} : ({v.type}, {v.type}) -> "
              f"{tensor(shape, v.kind)}", shape, v.kind, v.exact and w.exact,
              max(v.size, w.size))  # fmt: skip


def pad(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape))
    around = text.line(f"stablehlo.constant {text.dense((), v.kind)}", (), v.kind)
    low, high, inner = ([text.number(a, b) for _ in v.shape] for a, b in ((-1, 2), (-1, 2), (0, 1)))
    shape = tuple(
        n + p + q + max(0, n - 1) * k for n, p, q, k in zip(v.shape, low, high, inner, strict=True)
    )
    if min(shape) < 0 or prod(shape) > MOST_ELEMENTS:
        raise Unfit
    text.line(
        f"stablehlo.pad {v.name}, {around.name}, low = {low}, high = {high}, interior = {inner} : "
        f"({v.type}, {around.type}) -> {tensor(shape, v.kind)}", shape, v.kind, v.exact, v.size,
    )  # fmt: skip


def index(text: Text, kind: str) -> Value:
    """A position, which may be outside."""
    number = text.number(0 if kind in UNSIGNED else -3, 5)
    if text.chance(0.15):  # XLA reads known positions without a sign as if they had one
        number = 2 ** (BITS[kind] - 1) - 1
    return text.line(f"stablehlo.constant dense<{number}> : tensor<{kind}>", (), kind)


def dynamic_slice(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape))
    kind = text.choose(INTEGERS)
    at = [index(text, kind) for _ in v.shape]
    sizes = [text.number(0, n) for n in v.shape]
    text.line(
        f"stablehlo.dynamic_slice {v.name}, {', '.join(a.name for a in at)}, sizes = {sizes} : "
        f"({', '.join([v.type, *(a.type for a in at)])}) -> {tensor(tuple(sizes), v.kind)}",
        tuple(sizes), v.kind, v.exact, v.size,
    )  # fmt: skip


def dynamic_update_slice(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape))
    u = text.one(lambda u: u.kind == v.kind and len(u.shape) == len(v.shape)
                 and all(m <= n for m, n in zip(u.shape, v.shape, strict=True)))  # fmt: skip
    kind = text.choose(INTEGERS)
    at = [index(text, kind) for _ in v.shape]
    text.line(
        f"stablehlo.dynamic_update_slice {v.name}, {u.name}, {', '.join(a.name for a in at)} : "
        f"({', '.join([v.type, u.type, *(a.type for a in at)])}) -> {v.type}", v.shape, v.kind,
        v.exact and u.exact, max(v.size, u.size),
    )  # fmt: skip


def gather(text: Text) -> None:
    """Rows at indices of any type, which are moved inside."""
    v = text.one(lambda v: bool(v.shape) and v.shape[0] > 0)
    at = text.one(lambda a: is_integer(a) and len(a.shape) == 1)
    sizes = [1, *v.shape[1:]]
    shape = (at.shape[0], *v.shape[1:])
    if prod(shape) > MOST_ELEMENTS:
        raise Unfit
    offsets = list(range(1, len(shape)))
    numbers = (f"offset_dims = {offsets}, collapsed_slice_dims = [0], start_index_map = [0], "
               "index_vector_dim = 1")  # fmt: skip
    text.line(
        f'"stablehlo.gather"({v.name}, {at.name}) <{{dimension_numbers = #stablehlo.gather<'
        f"{numbers}>, slice_sizes = array<i64: {', '.join(map(str, sizes))}>, "
        f"indices_are_sorted = false}}> : ({v.type}, {at.type}) -> {tensor(shape, v.kind)}",
        shape, v.kind, v.exact, v.size,
    )  # fmt: skip


def scatter(text: Text) -> None:
    """Rows added, or the greatest, at indices of any type; those outside are left out."""
    v = text.one(lambda v: bool(v.shape) and v.exact and v.kind != "i1")
    at = text.one(lambda a: is_integer(a) and len(a.shape) == 1)
    op = text.choose(["add", "maximum", "minimum"])
    shape = (at.shape[0], *v.shape[1:])
    u = text.line(f"stablehlo.constant {text.dense(shape, v.kind)}", shape, v.kind)
    windows = list(range(1, len(shape)))
    scalar = tensor((), v.kind)
    numbers = (f"update_window_dims = {windows}, inserted_window_dims = [0], "
               "scatter_dims_to_operand_dims = [0], index_vector_dim = 1")  # fmt: skip
    text.line(
        f'"stablehlo.scatter"({v.name}, {at.name}, {u.name}) <{{scatter_dimension_numbers = '
        f"#stablehlo.scatter<{numbers}>, indices_are_sorted = false, unique_indices = false}}> ({{"
        f"\n^bb0(%a: {scalar}, %b: {scalar}):\n%c = stablehlo.{op} %a, %b : {scalar}\n"
        f"stablehlo.return %c : {scalar}\n}}) : ({v.type}, {at.type}, {u.type}) -> {v.type}",
        v.shape, v.kind, True, v.size + 8 * prod(at.shape),
    )  # fmt: skip


# ------------------------------------------------------------------ reductions, products, orders

INFINITY = {"f32": "0x7F800000", "f64": "0x7FF0000000000000"}
BELOW = {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}


def neutral(text: Text, op: str, kind: str) -> Value:
    """What an operation leaves a value with: others may be taken in any number of times."""
    low, high = -(2 ** (BITS[kind] - 1)), 2 ** (BITS[kind] - 1) - 1
    if kind in UNSIGNED:
        low, high = 0, 2 ** BITS[kind] - 1
    is_flag = kind == "i1"
    number = {
        "add": "0.0" if kind in FLOATS else "0", "multiply": "1", "xor": "0", "or": "0",
        "and": "-1" if kind in SIGNED else str(high), "maximum": BELOW.get(kind, str(low)),
        "minimum": INFINITY.get(kind, str(high)),
    }[op]  # fmt: skip
    number = str(op == "and").lower() if is_flag else number
    return text.line(f"stablehlo.constant dense<{number}> : tensor<{kind}>", (), kind)


def reduce(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape) and v.exact)
    if v.kind == "i1":
        op = text.choose(["and", "or", "xor"])
    else:
        op = text.choose(["add", "maximum", "minimum", *(["multiply", "and", "or", "xor"]
                                                         if is_integer(v) else [])])  # fmt: skip
    start = neutral(text, op, v.kind)
    dims = sorted({text.number(0, len(v.shape) - 1) for _ in v.shape})
    shape = tuple(n for k, n in enumerate(v.shape) if k not in dims)
    text.line(
        f"stablehlo.reduce({v.name} init: {start.name}) applies stablehlo.{op} across dimensions = "
        f"{dims} : ({v.type}, {start.type}) -> {tensor(shape, v.kind)}", shape, v.kind, True,
        v.size * max(1, prod(v.shape)) + 8,
    )  # fmt: skip


def arg_reduce(text: Text) -> None:
    """The greatest or least element with its place, of equals the first."""
    v = text.one(lambda v: bool(v.shape) and v.exact and v.kind != "i1" and prod(v.shape) > 0)
    dim = text.number(0, len(v.shape) - 1)
    at = text.line(f"stablehlo.iota dim = {dim} : {tensor(v.shape, 'i32')}", v.shape, "i32")
    word = text.choose(["GT", "GE", "LT", "LE"])
    start = neutral(text, "maximum" if "G" in word else "minimum", v.kind)
    zero = text.line("stablehlo.constant dense<0> : tensor<i32>", (), "i32")
    shape = tuple(n for k, n in enumerate(v.shape) if k != dim)
    one, place = tensor((), v.kind), "tensor<i32>"
    name = text.name()
    text.lines.append(
        f"{name}:2 = stablehlo.reduce({v.name} init: {start.name}), ({at.name} init: {zero.name}) "
        f"across dimensions = [{dim}] : ({v.type}, {at.type}, {one}, {place}) -> "
        f"({tensor(shape, v.kind)}, {tensor(shape, 'i32')})\n"
        f"reducer(%a: {one}, %c: {one}) (%b: {place}, %d: {place}) {{\n"
        f"%e = stablehlo.compare {word}, %a, %c : ({one}, {one}) -> tensor<i1>\n"
        f"%f = stablehlo.select %e, %a, %c : tensor<i1>, {one}\n"
        f"%g = stablehlo.compare EQ, %a, %c : ({one}, {one}) -> tensor<i1>\n"
        f"%h = stablehlo.compare LT, %b, %d : ({place}, {place}) -> tensor<i1>\n"
        f"%i = stablehlo.and %g, %h : tensor<i1>\n"
        f"%k = stablehlo.compare {word[0]}T, %a, %c : ({one}, {one}) -> tensor<i1>\n"
        f"%j = stablehlo.or %k, %i : tensor<i1>\n"
        f"%l = stablehlo.select %j, %b, %d : tensor<i1>, {place}\n"
        f"stablehlo.return %f, %l : {one}, {place}\n}}"
    )
    text.values += [
        Value(f"{name}#0", shape, v.kind, True, v.size),
        Value(f"{name}#1", shape, "i32"),
    ]


def window(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape) and v.exact and v.kind != "i1" and min(v.shape) > 0)
    op = text.choose(["add", "maximum", "minimum"])
    start = neutral(text, op, v.kind)
    sizes, steps, holes = ([text.number(1, 2) for _ in v.shape] for _ in range(3))
    pads = [[text.number(0, 1), text.number(0, 1)] for _ in v.shape]
    shape = tuple(
        (n + sum(p) - ((k - 1) * h + 1)) // s + 1
        for n, p, k, s, h in zip(v.shape, pads, sizes, steps, holes, strict=True)
    )
    if min(shape) < 1:
        raise Unfit
    one = tensor((), v.kind)
    rank = len(v.shape)
    text.line(
        f'"stablehlo.reduce_window"({v.name}, {start.name}) <{{window_dimensions = array<i64: '
        f"{', '.join(map(str, sizes))}>, "
        f"window_strides = array<i64: {', '.join(map(str, steps))}>, "
        f"window_dilations = array<i64: {', '.join(map(str, holes))}>, padding = dense<{pads}> : "
        f"tensor<{rank}x2xi64>}}> ({{\n^bb0(%a: {one}, %b: {one}):\n%c = stablehlo.{op} %a, %b : "
        f"{one}\nstablehlo.return %c : {one}\n}}) : ({v.type}, {one}) -> {tensor(shape, v.kind)}",
        shape, v.kind, True, v.size * 10 + 8,
    )  # fmt: skip


def product(text: Text) -> None:
    v = text.one(lambda v: len(v.shape) in (1, 2) and v.exact and v.kind != "i1")
    w = text.one(lambda w: w.kind == v.kind and w.exact and len(w.shape) == 2
                 and w.shape[0] == v.shape[-1])  # fmt: skip
    shape = (*v.shape[:-1], w.shape[1])
    text.line(
        f"stablehlo.dot_general {v.name}, {w.name}, contracting_dims = [{len(v.shape) - 1}] x [0] "
        f": ({v.type}, {w.type}) -> {tensor(shape, v.kind)}", shape, v.kind, True,
        v.size * w.size * max(1, w.shape[0]),
    )  # fmt: skip


def sort(text: Text) -> None:
    v = text.one(lambda v: bool(v.shape) and v.exact and v.kind != "i1")
    w = text.one(lambda w: w.shape == v.shape)
    dim = text.number(0, len(v.shape) - 1)
    word = text.choose(["LT", "GT"])
    # NaN have no place in an order by value
    kind = ", TOTALORDER" if v.is_float else ""
    one, other = tensor((), v.kind), tensor((), w.kind)
    name = text.name()
    text.lines.append(
        f'{name}:2 = "stablehlo.sort"({v.name}, {w.name}) <{{dimension = {dim} : i64, is_stable = '
        f"true}}> ({{\n^bb0(%a: {one}, %b: {one}, %c: {other}, %d: {other}):\n"
        f"%e = stablehlo.compare {word}, %a, %b{kind} : ({one}, {one}) -> tensor<i1>\n"
        f"stablehlo.return %e : tensor<i1>\n}}) : ({v.type}, {w.type}) -> ({v.type}, {w.type})"
    )
    text.values += [Value(f"{name}#0", v.shape, v.kind, True, v.size),
                    Value(f"{name}#1", w.shape, w.kind, w.exact, w.size)]  # fmt: skip


# ------------------------------------------------------------------ control


def loop(text: Text) -> None:
    """A counted loop, in any type of integers."""
    v = text.one(lambda v: v.is_float or is_integer(v))
    kind = text.choose(INTEGERS)
    count, one = tensor((), kind), "tensor<i1>"
    step = text.number(1, 2)
    last = step * text.number(0, 3)  # XLA leaves out a last step that goes beyond the end
    first = text.line(f"stablehlo.constant dense<0> : {count}", (), kind)
    end = text.line(f"stablehlo.constant dense<{last}> : {count}", (), kind)
    by = text.line(f"stablehlo.constant dense<{step}> : {count}", (), kind)
    name, op = text.name(), text.choose(["add", "subtract", "maximum"])
    text.lines.append(
        f"{name}:2 = stablehlo.while(%i = {first.name}, %h = {v.name}) : {count}, {v.type}\n"
        f"cond {{\n"
        f"%c = stablehlo.compare LT, %i, {end.name} : ({count}, {count}) -> {one}\n"
        f"stablehlo.return %c : {one}\n}} do {{\n%n = stablehlo.add %i, {by.name} : {count}\n"
        f"%k = stablehlo.convert %i : ({count}) -> {tensor((), v.kind)}\n"
        f"%b = stablehlo.broadcast_in_dim %k, dims = [] : ({tensor((), v.kind)}) -> {v.type}\n"
        f"%s = stablehlo.{op} %h, %b : {v.type}\nstablehlo.return %n, %s : {count}, {v.type}\n}}"
    )
    text.values += [Value(f"{name}#0", (), kind), Value(f"{name}#1", v.shape, v.kind, v.exact,
                                                        v.size + 32)]  # fmt: skip


def branch(text: Text) -> None:
    v = text.one()
    w = text.like(v)
    number = text.line(f"stablehlo.constant dense<{text.number(-1, 3)}> : tensor<i32>", (), "i32")
    sides = ", ".join(f"{{\nstablehlo.return {x.name} : {v.type}\n}}" for x in (v, w, v))
    text.line(f'"stablehlo.case"({number.name}) ({sides}) : (tensor<i32>) -> {v.type}', v.shape,
              v.kind, v.exact and w.exact, max(v.size, w.size))  # fmt: skip


ROWS: list[Callable[[Text], Any]] = [
    integer_unary, integer_binary, integer_binary, boolean, float_unary, float_binary, float_binary,
    float_rough, quotient, rest, clamp, compare, select, convert, convert, bits, iota, constant,
    broadcast, reshape, transpose, reverse, sliced, joined, pad, dynamic_slice,
    dynamic_update_slice, gather, scatter, reduce, reduce, arg_reduce, window, product, sort, loop,
    branch,
]  # fmt: skip
# What has no defined value, or no same one, of NaN and infinities.
FINITE = (convert, bits, rest, float_rough, arg_reduce, sort)
