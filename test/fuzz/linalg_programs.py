"""Random programs of linalg, arith, math, tensor and scf, whose every operation is defined."""

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

INTEGERS = ("i8", "i16", "i32", "i64")
FLAGS = ("overflow<nsw, nuw>", "overflow<none>")
UNARY = {
    "int": ["math.absi", "math.ctlz", "math.cttz", "math.ctpop"],
    "float": ["arith.negf", "math.absf", "math.floor", "math.ceil", "math.trunc", "math.round",
              "math.roundeven"],
    "rough": ["math.sin", "math.cos", "math.tanh", "math.atan"],
}  # fmt: skip
BINARY = {
    "int": ["arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori",
            "arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"],
    "float": ["arith.addf", "arith.subf", "arith.mulf", "arith.minimumf", "arith.maximumf",
              "arith.minnumf", "arith.maxnumf"],
    "i1": ["arith.andi", "arith.ori", "arith.xori", "arith.addi", "arith.muli"],
}  # fmt: skip
DIVISIONS = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi")
SHIFTS = ("shli", "shrsi", "shrui")
ORDERED = ("oeq", "ogt", "oge", "olt", "ole", "one", "ueq", "ugt", "uge", "ult", "ule", "une",
           "ord", "uno")  # fmt: skip
WHOLE = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def program(seed: int) -> Text:
    """The program of a seed."""
    text = Text(np.random.default_rng([seed, 11]))
    shape = tuple(text.number(1, 4) for _ in range(text.number(1, 3)))
    kinds = [text.choose(INTEGERS), text.choose(FLOATS)]
    for kind in (*kinds, *kinds, text.choose((*INTEGERS, *FLOATS))):
        text.argument(shape if text.chance(0.7) else shape[::-1], kind, False)
    return drawn(text, ROWS, text.number(1, 6))


def family(kind: str) -> str:
    return "i1" if kind == "i1" else "float" if kind in FLOATS else "int"


def bits(kind: str) -> int:
    return int(kind[1:])


# ------------------------------------------------------------------ one operation on one type


def operation(
    text: Text, kind: str, values: list[str], exact: bool, suffix: str
) -> tuple[list[str], str, bool, float]:
    """Lines that end in a value of the same type: its name, whether it is exact, and its growth."""
    name, first = text.name(), text.choose(values)
    last = text.choose(values)
    part = family(kind)
    roll = text.number(0, 5)
    if part == "int" and roll == 0:
        divisor = text.choose([-3, 2, 5, 7, 2 ** (bits(kind) - 1) - 1])
        op = text.choose(DIVISIONS)
        lines = [f"{name}c = arith.constant {literal(divisor, kind, suffix)}",
                 f"{name} = arith.{op} {first}, {name}c : {suffix}"]  # fmt: skip
        return lines, name, True, LARGEST
    if part == "int" and roll == 1:
        count = text.number(0, bits(kind) - 1)
        lines = [f"{name}c = arith.constant {literal(count, kind, suffix)}",
                 f"{name} = arith.{text.choose(SHIFTS)} {first}, {name}c : {suffix}"]  # fmt: skip
        return lines, name, True, LARGEST
    if part != "i1" and roll == 2:
        rough = part == "float" and text.chance(0.3)
        op = text.choose(UNARY["rough" if rough else part])
        if not rough and part == "float" and not exact:
            op = "arith.negf"
        return [f"{name} = {op} {first} : {suffix}"], name, exact and not rough, 1.0
    op = text.choose(BINARY[part])
    if not exact:
        op = text.choose(["arith.addf", "arith.subf", "arith.maximumf"])
    return (
        [f"{name} = {op} {first}, {last} : {suffix}"],
        name,
        exact,
        2.0 if "mul" not in op else 64.0,
    )


def literal(number: int, kind: str, suffix: str) -> str:
    """A constant of a scalar type or of a tensor."""
    word = f"{number}.0" if kind in FLOATS else str(number)
    return f"dense<{word}> : {suffix}" if suffix.startswith("tensor") else f"{word} : {suffix}"


def on_tensors(text: Text) -> None:
    v = text.one(lambda v: v.size <= 2.0**12)
    w = text.like(v)
    exact = v.exact and w.exact
    lines, name, exact, growth = operation(text, v.kind, [v.name, w.name], exact, v.type)
    text.lines += lines
    text.values.append(Value(name, v.shape, v.kind, exact, max(v.size, w.size) * growth))


def compare(text: Text) -> None:
    v = text.one(lambda v: v.exact)
    w = text.like(v)
    if not w.exact or v.kind == "i1":
        raise Unfit
    op, names = ("cmpf", ORDERED) if v.is_float else ("cmpi", WHOLE)
    text.line(f"arith.{op} {text.choose(names)}, {v.name}, {w.name} : {v.type}", v.shape, "i1")


def select(text: Text) -> None:
    c = text.one(lambda v: v.kind == "i1")
    v = text.one(lambda v: v.shape == c.shape and v.kind != "i1")
    w = text.like(v)
    text.line(f"arith.select {c.name}, {v.name}, {w.name} : {c.type}, {v.type}", v.shape, v.kind,
              v.exact and w.exact, max(v.size, w.size))  # fmt: skip


def convert(text: Text) -> None:
    v = text.one(lambda v: v.exact and v.kind in (*INTEGERS, "i1"))
    kind = text.choose([k for k in (*INTEGERS, *FLOATS) if k != v.kind])
    if kind in FLOATS:
        op = text.choose(["sitofp", "uitofp"])
        exact = bits(v.kind) <= 16
    else:
        exact = True
        op = text.choose(["extsi", "extui"]) if bits(kind) > bits(v.kind) else "trunci"
    text.line(f"arith.{op} {v.name} : {v.type} to {tensor(v.shape, kind)}", v.shape, kind, exact,
              2.0**16 if kind in FLOATS else LARGEST)  # fmt: skip


# ------------------------------------------------------------------ loops


def generic(text: Text) -> None:
    """Random maps and bodies: sums, choices, totals of any operation, dims that stay or go."""
    rank = text.number(1, 3)
    extents = [text.number(1, 4) for _ in range(rank)]
    kind = text.choose((*INTEGERS, *FLOATS))
    sources = [operand(text, extents, kind) for _ in range(text.number(1, 2))]
    kept = [k for k in range(rank) if text.chance(0.6)]
    order = [int(k) for k in text.random.permutation(kept)] if kept else []
    results = text.number(1, 2)
    shape = tuple(extents[k] for k in order)
    alone = {word for _, access in sources for word in access.split(", ")}
    if not all(k in kept or f"d{k}" in alone for k in range(rank)):
        raise Unfit  # MLIR finds the extent of each loop at a subscript
    if prod(extents) > MOST_ELEMENTS or any(v.size > 2.0**10 for v, _ in sources):
        raise Unfit
    starts = [
        text.line(f"arith.constant {text.dense(shape, kind)}", shape, kind) for _ in range(results)
    ]
    iterators = ["parallel" if k in kept and text.chance(0.9) else "reduction" for k in range(rank)]
    exact = all(v.exact for v, _ in sources)
    names, lines = body(text, kind, len(sources), results, exact)
    dims = ", ".join(f"d{k}" for k in range(rank))
    maps = [f"affine_map<({dims}) -> ({access})>" for _, access in sources]
    maps += [f"affine_map<({dims}) -> ({', '.join(f'd{k}' for k in order)})>"] * results
    ins = ", ".join(v.name for v, _ in sources), ", ".join(v.type for v, _ in sources)
    outs = ", ".join(v.name for v in starts), ", ".join(v.type for v in starts)
    arguments = ", ".join(f"%b{k}: {kind}" for k in range(len(sources) + results))
    made = text.name()
    kinds = ", ".join(f'"{i}"' for i in iterators)
    text.lines.append(
        f"{made}:{results} = linalg.generic {{indexing_maps = [{', '.join(maps)}], "
        f"iterator_types = [{kinds}]}} ins({ins[0]} : {ins[1]}) outs({outs[0]} : {outs[1]}) {{\n"
        f"^bb0({arguments}):\n"
        + "\n".join(lines)
        + f"\nlinalg.yield {', '.join(n for n, _ in names)} : {', '.join([kind] * results)}\n"
        f"}} -> ({outs[1]})"
    )
    for k, (_, is_exact) in enumerate(names):
        whole = kind in INTEGERS
        text.values.append(Value(f"{made}#{k}", shape, kind, whole or is_exact, 2.0**19))


def operand(text: Text, extents: list[int], kind: str) -> tuple[Value, str]:
    """A constant of the shape that a map of some dims asks for: plain ones, sums and diagonals."""
    dims = [k for k in range(len(extents)) if text.chance(0.8)] or [0]
    dims = [int(k) for k in text.random.permutation(dims)]
    shape, access = [extents[k] for k in dims], [f"d{k}" for k in dims]
    if len(dims) > 1 and text.chance(0.3):
        shape[:2], access[:2] = [shape[0] + shape[1] - 1], [f"{access[0]} + {access[1]}"]
    given = [v for v in text.values if v.shape == tuple(shape) and v.kind == kind]
    if given:
        return text.choose(given), ", ".join(access)
    made = text.line(f"arith.constant {text.dense(tuple(shape), kind)}", tuple(shape), kind)
    # Loops whose extent no operand has alone are those of the results.
    return made, ", ".join(access)


def body(
    text: Text, kind: str, sources: int, results: int, exact: bool
) -> tuple[list[tuple[str, bool]], list[str]]:
    """What is yielded for each result: a combiner of its total, or any operation."""
    lines: list[str] = []
    known = [f"%b{k}" for k in range(sources)]
    for _ in range(text.number(0, 2)):
        made, name, exact, _ = operation(text, kind, known, exact, kind)
        lines += made
        known.append(name)
    yielded: list[tuple[str, bool]] = []
    for k in range(results):
        total = f"%b{sources + k}"
        choice = text.number(0, 5)
        if choice < 2:
            made, name = combined(text, kind, total, known[-1])
            lines += made
        elif choice == 2:
            name = known[-1]
        else:
            others = [f"%b{sources + j}" for j in range(k + 1)]
            made, name, exact, _ = (
                operation(text, kind, [*known, *others], False, kind)
                if (family(kind) == "float")
                else operation(text, kind, [*known, *others], True, kind)
            )
            lines += made
        yielded.append((name, (exact and family(kind) == "int") or (exact and choice < 3)))
    return yielded, lines


def combined(text: Text, kind: str, total: str, value: str) -> tuple[list[str], str]:
    """A total and a value in a spelling that is a combiner, or nearly one."""
    name = text.name()
    add, less = ("arith.addf", "arith.subf") if kind in FLOATS else ("arith.addi", "arith.subi")
    compare = "arith.cmpf ogt" if kind in FLOATS else "arith.cmpi sgt"
    spelling = text.choose([
        [f"{name} = {add} {value}, {total} : {kind}"],
        [f"{name} = {less} {total}, {value} : {kind}"],
        [f"{name}a = {add} {total}, {value} : {kind}", f"{name} = {less} {name}a, %b0 : {kind}"],
        [f"{name}a = {compare}, {value}, {total} : {kind}",
         f"{name} = arith.select {name}a, {value}, {total} : {kind}"],
        [f"{name}a = {compare}, {total}, {value} : {kind}",
         f"{name} = arith.select {name}a, {value}, {total} : {kind}"],
        [f"{name}a = {compare}, {value}, %b0 : {kind}",
         f"{name}b = {add} {total}, {value} : {kind}",
         f"{name} = arith.select {name}a, {name}b, {total} : {kind}"],
    ])  # fmt: skip
    return list(spelling), name


# ------------------------------------------------------------------ shapes and control


def sliced(text: Text) -> None:
    v = text.one()
    shape = [text.number(1, n) for n in v.shape]
    at = [text.number(0, n - m) for n, m in zip(v.shape, shape, strict=True)]
    ones = [1] * len(shape)
    text.line(f"tensor.extract_slice {v.name}{at} {shape} {ones} : {v.type} to "
              f"{tensor(tuple(shape), v.kind)}", tuple(shape), v.kind, v.exact, v.size)  # fmt: skip


def inserted(text: Text) -> None:
    v = text.one()
    u = text.one(lambda u: u.kind == v.kind and len(u.shape) == len(v.shape)
                 and all(m <= n for m, n in zip(u.shape, v.shape, strict=True)))  # fmt: skip
    at = [text.number(0, n - m) for n, m in zip(v.shape, u.shape, strict=True)]
    ones = [1] * len(at)
    text.line(f"tensor.insert_slice {u.name} into {v.name}{at} {list(u.shape)} {ones} : {u.type} "
              f"into {v.type}", v.shape, v.kind, v.exact and u.exact,
              max(v.size, u.size))  # fmt: skip


def collapsed(text: Text) -> None:
    v = text.one(lambda v: len(v.shape) > 1)
    groups = [[0, 1], *([k] for k in range(2, len(v.shape)))]
    shape: Shape = (v.shape[0] * v.shape[1], *v.shape[2:])
    text.line(f"tensor.collapse_shape {v.name} {groups} : {v.type} into {tensor(shape, v.kind)}",
              shape, v.kind, v.exact, v.size)  # fmt: skip


def transposed(text: Text) -> None:
    v = text.one(lambda v: len(v.shape) > 1 and v.kind != "i1")
    order = [int(k) for k in text.random.permutation(len(v.shape))]
    shape = tuple(v.shape[k] for k in order)
    empty = text.line(f"arith.constant {text.dense(shape, v.kind)}", shape, v.kind)
    made = text.name()
    text.lines.append(f"{made}:1 = linalg.transpose ins({v.name} : {v.type}) outs({empty.name} : "
                      f"{empty.type}) permutation = {order}")  # fmt: skip
    text.values.append(Value(f"{made}#0", shape, v.kind, v.exact, v.size))


def loop(text: Text) -> None:
    """A counted loop in any type of integers, with a sign or without."""
    v = text.one(lambda v: v.kind in INTEGERS or (v.exact and v.is_float and v.size <= 2.0**10))
    kind = text.choose((*INTEGERS, "index"))
    sign = text.choose(["", "unsigned"])
    first, step = text.number(0, 3), text.number(1, 40)
    end = first + text.number(-1, 3) * step + text.number(0, 2)
    end = max(0, min(end, 127 - step))
    if kind == "i8" and sign:
        end = min(2 * end, 255 - step)
    names = [text.name() for _ in range(3)]
    for name, number in zip(names, (first, end, step), strict=True):
        shown = number - 256 if kind == "i8" and number > 127 else number
        text.lines.append(f"{name} = arith.constant {shown} : {kind}")
    made = text.name()
    op = text.choose(
        ["arith.addf", "arith.maximumf"] if v.is_float else ["arith.addi", "arith.xori"]
    )
    cast = "arith.uitofp" if v.is_float else "arith.index_cast"
    number = (
        [f"%k = arith.index_cast{'ui' * bool(sign)} %i : {kind} to index"]
        if kind != "index"
        else []
    )
    source = "%k" if number else "%i"
    wide = [f"%w = arith.index_cast {source} : index to i64",
            f"%s = {cast} %w : i64 to {v.kind}" if v.is_float else
            f"%s = arith.index_cast {source} : index to {v.kind}"]  # fmt: skip
    text.lines.append(
        f"{made}:1 = scf.for {sign} %i = {names[0]} to {names[1]} step {names[2]} iter_args(%h = "
        f"{v.name}) -> ({v.type}){'' if kind == 'index' else f' : {kind}'} {{\n"
        + "\n".join([*number, *wide])
        + f"\n%t = tensor.splat %s : {v.type}\n%n = {op} %h, %t : {v.type}\n"
        + f"scf.yield %n : {v.type}\n}}"
    )
    text.values.append(Value(f"{made}#0", v.shape, v.kind, v.exact, v.size + 2000))


ROWS: list[Callable[[Text], Any]] = [
    on_tensors, on_tensors, compare, select, convert, generic, generic, generic, generic, sliced,
    inserted, collapsed, transposed, loop,
]  # fmt: skip
