"""Small damages to text and bytes: what typing errors, merges and full disks do to files.

A mutation of text works on the tokens of MLIR, JSON or Python, so that most of what it makes is
still a program; one of bytes works on anything. Each is a function `(random, given, others)`, where
`others` are tokens of the whole corpus, and gives the damaged text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[%@#!^]?[A-Za-z_$][\w.$-]*|[%^]?\d[\w.]*|\s+|.', re.S
)
_DIGITS = re.compile(r"\d+")
NUMBERS = [
    "0", "1", "2", "3", "7", "-1", "-3", "64", "1000", "2147483648", "4294967296", "1048576",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999999999999999999",
]  # fmt: skip
# Words that are taken for one another: what one may write where the other stands.
FAMILIES = [
    ["f64", "f32", "f16", "bf16", "i64", "i32", "i8", "i1", "index", "i7", "complex<f32>"],
    ["tensor", "memref", "vector"],
    ['"set"', '"add"', '"mul"', '"max"', '"min"', '"argmax"', '"argmin"', '"none"'],
    ['"parallel"', '"reduction"'],
    ['"check"', '"clip"', '"drop"', '"unchecked"'],
    ["floordiv", "mod", "ceildiv", "*", "+"],
    [">=", "==", "<="],
    ["affine_map", "affine_set"],
    ["arith.addf", "arith.mulf", "arith.subf", "arith.divf", "arith.maximumf", "arith.remf"],
    ["arith.addi", "arith.muli", "arith.divsi", "arith.remsi", "arith.shli", "arith.floordivsi"],
    ["true", "false", "null"],
    ["tensor<4xf32>", "tensor<?xf32>", "tensor<*xf32>", "tensor<0xf32>", "memref<4xf32>", "f32"],
]
_FAMILY = {word: family for family in FAMILIES for word in family}

Random = random.Random
Tokens = list[str]


def tokens(text: str) -> Tokens:
    """The tokens of a text, blanks and comments included; joined they are the text."""
    return _TOKEN.findall(text)


def _places(
    found: Tokens, wanted: Callable[[str], Any] = lambda token: not token.isspace()
) -> list[int]:
    return [
        k for k, token in enumerate(found) if token and not token.startswith("//") and wanted(token)
    ]


def _number(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    """Another number, alone or in a type such as 4x5xf32."""
    if places := _places(found, _DIGITS.search):
        place = rng.choice(places)
        spans = list(_DIGITS.finditer(found[place]))
        span = rng.choice(spans)
        new = rng.choice(NUMBERS)
        found[place] = found[place][: span.start()] + new + found[place][span.end() :]


def _family(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    """A word of the same family."""
    if places := _places(found, _FAMILY.get):
        place = rng.choice(places)
        found[place] = rng.choice(_FAMILY[found[place]])


def _everywhere(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    """A number, also one inside of types, or a word of a family replaced wherever it stands."""
    text = "".join(found)
    if rng.random() < 0.5:
        old = rng.choice(_DIGITS.findall(text) or ["1"])
        new = str(int(old) + rng.choice((-1, 1, 1, 2, 3))) if rng.random() < 0.8 else "0"
        found[:] = tokens(re.sub(rf"(?<![\w%]){old}(?!\d)|(?<=x){old}(?=x)", new, text))
    elif places := _places(found, _FAMILY.get):
        old = found[rng.choice(places)]
        new = rng.choice(_FAMILY[old])
        found[:] = tokens(re.sub(rf"(?<![\w\"]){re.escape(old)}(?![\w])|(?<=x){old}\b", new, text))


def _nearby(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    """A number in an index expression, by little more or less."""
    if places := _places(found, str.isdecimal):
        place = rng.choice(places)
        found[place] = str(max(0, int(found[place]) + rng.choice((-1, 1, 2))))


def _dim(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    """Another dim in an index expression, or a sign or a division of one."""
    if places := _places(found, re.compile(r"d\d+$").match):
        place = rng.choice(places)
        same = sorted({found[k] for k in places})
        changes = [rng.choice(same), f"-{found[place]}", f"{found[place]} * 2"]
        changes += [f"{found[place]} floordiv 2", f"{found[place]} mod 3", f"{found[place]} + 1"]
        found[place] = rng.choice(changes)


def _name(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    """A value, symbol or alias in place of another."""
    if places := _places(found, lambda token: token[1:] and token[0] in "%@#^!"):
        place = rng.choice(places)
        same = [found[k] for k in places if found[k][0] == found[place][0]]
        found[place] = rng.choice(same)


def _swap(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    if len(places := _places(found)) > 1:
        one, other = rng.sample(places, 2)
        found[one], found[other] = found[other], found[one]


def _drop(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    if places := _places(found):
        found[rng.choice(places)] = ""


def _double(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    if places := _places(found):
        place = rng.choice(places)
        found[place] = f"{found[place]} {found[place]}"


def _insert(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    found.insert(rng.randrange(len(found) + 1), rng.choice(others))


def _replace(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    if places := _places(found):
        found[rng.choice(places)] = rng.choice(others)


def _drop_element(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    """One of several things between commas less."""
    if commas := _places(found, lambda token: token == ","):
        start = rng.choice(commas)
        end = next((k for k in range(start + 1, len(found)) if found[k] in ",)]}>"), len(found))
        found[start:end] = []


def _line(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    """A line less, twice, or elsewhere."""
    lines = "".join(found).splitlines(keepends=True)
    if not lines:
        return
    place = rng.randrange(len(lines))
    taken = lines.pop(place) if rng.random() < 0.6 else lines[place]
    if rng.random() < 0.6:
        lines.insert(rng.randrange(len(lines) + 1), taken)
    found[:] = tokens("".join(lines))


def _cut(rng: Random, found: Tokens, others: Sequence[str]) -> None:
    del found[rng.randrange(len(found) + 1) :]


# How often each is taken; half of all inputs get only what leaves most programs programs.
ROUGH = {
    _number: 6, _family: 6, _name: 4, _drop_element: 3, _line: 3, _swap: 2, _drop: 2, _double: 1,
    _insert: 2, _replace: 2, _cut: 1,
}  # fmt: skip
MILD = {_everywhere: 3, _nearby: 4, _dim: 4, _family: 3, _name: 2}


def damaged_text(rng: Random, text: str, others: Sequence[str]) -> str:
    """The text after one to three mutations."""
    found = tokens(text)
    kinds = rng.choice((ROUGH, MILD))
    for mutation in rng.choices([*kinds], [*kinds.values()], k=rng.choice((1, 1, 1, 2, 2, 3))):
        mutation(rng, found, others)
    return "".join(found)


def damaged_bytes(rng: Random, data: bytes) -> bytes:
    """The bytes after one to three mutations."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(found)) if found else 0
        early = rng.randrange(min(len(found), 128)) if found else 0  # where headers are
        kind = rng.randrange(7)
        if not found or kind == 0:
            found[place:place] = rng.randbytes(rng.choice((1, 4, 100)))
        elif kind == 1:
            del found[place : place + rng.choice((1, 4, 100))]
        elif kind == 2:
            del found[place:]
        elif kind == 3:
            found[early] ^= 1 << rng.randrange(8)
        elif kind == 4:
            found[early : early + 4] = rng.choice((b"\xff", b"\0", b"9")) * 4
        elif kind == 5:
            found[place] = rng.randrange(256)
        else:
            found[place:] = rng.randbytes(len(found) - place)
    return bytes(found)
