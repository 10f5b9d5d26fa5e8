"""Rows of index lambdas: quasi-affine reads with `//`, `%`, clamps and guards, sums over boxes.

One small expression is drawn and written twice: as it stands in a lambda of ted, and on tensors of
indices for torch, where a read outside its guard is moved inside and masked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzz.pool import Pool, Unsuitable
from fuzz.rows.row import Drawn, Row, row

CLIP = {"ted": "ted.clip", "torch": "torch.clamp", "jax": "jnp.clip"}
WHERE = {"ted": "ted.where", "torch": "torch.where", "jax": "jnp.where"}
READ = {"ted": "{0}[{1}]", "torch": "at({0}, {1})", "jax": "{0}[{1}]"}
EXTENTS = (1, 2, 3, 4, 5, 6, 8, 9)
Text = Callable[[str], str]  # of a library


@dataclass(frozen=True)
class Subscript:
    """Text of an index, the bounds of its value."""

    text: str
    lower: int
    upper: int

    def fits(self, extent: int) -> bool:
        """Whether it is inside an extent by itself."""
        return self.lower >= 0 and self.upper < extent


@dataclass(frozen=True)
class Box:
    """Names and extents of the indices of a lambda; `r` is summed over."""

    extents: dict[str, int]

    @property
    def outer(self) -> list[str]:
        """The indices of the result."""
        return [letter for letter in self.extents if letter != "r"]

    @property
    def shape(self) -> tuple[int, ...]:
        """All extents, that of `r` last."""
        return tuple(self.extents.values())


def subscript(pool: Pool, box: Box) -> Subscript:
    """A sum of one or two indices with steps and a shift, maybe divided or wrapped."""
    text, lower, upper = "", 0, 0
    for _ in range(pool.choose((1, 1, 2))):
        letter, step = pool.choose(list(box.extents)), pool.choose((1, 1, 1, 2, 3, -1, -2))
        text += f" + {step} * {letter}" if step != 1 else f" + {letter}"
        ends = sorted((0, step * (box.extents[letter] - 1)))
        lower, upper = lower + ends[0], upper + ends[1]
    shift = pool.choose((0, 0, 1, -1, 2))
    if shift:
        text, lower, upper = f"{text} + {shift}", lower + shift, upper + shift
    text = text.removeprefix(" + ")
    kind, n = pool.integer(0, 7), pool.integer(2, 4)
    if kind == 0:
        return Subscript(f"({text}) // {n}", lower // n, upper // n)
    if kind == 1:
        return Subscript(f"({text}) % {n}", 0, n - 1)
    if kind == 2:
        return Subscript(f"({text}) // {n} + ({text}) % {n}", lower // n, upper // n + n - 1)
    return Subscript(text, lower, upper)


def read(pool: Pool, number: int, name: str, box: Box) -> Text:
    """A read of a value at indices that are inside by themselves, by `%`, a clamp or a guard."""
    index: list[Text] = []
    guards: list[str] = []
    for extent in pool.shape(number):
        s = subscript(pool, box)
        kind = pool.integer(0, 3)
        if s.fits(extent) or kind > 1:
            index.append(lambda _, s=s: s.text)
            if not s.fits(extent):
                guards.append(f"({s.text} >= 0) & ({s.text} < {extent})")
        elif kind == 0:
            index.append(lambda _, s=s, n=extent: f"({s.text}) % {n}")
        else:
            index.append(lambda lib, s=s, n=extent: f"{CLIP[lib]}({s.text}, 0, {n - 1})")
    if pool.chance(0.2):
        guards.append(f"({pool.choose(list(box.extents))} > {pool.integer(0, 2)})")
    other, guard = pool.choose((0, 0, 1)), " & ".join(guards)

    def text(library: str) -> str:
        value = READ[library].format(f"{{{name}}}", ", ".join(i(library) for i in index))
        return f"{WHERE[library]}({guard}, {value}, {other}.0)" if guard else value

    return text


def condition(pool: Pool, box: Box) -> str:
    """A condition that couples two indices, or takes every other point."""
    first, second = pool.choose(list(box.extents)), pool.choose(list(box.extents))
    if first == second:
        return f"{first} % 2 == {pool.integer(0, 1)}"
    return pool.choose((f"{first} <= {second}", f"{first} + {second} < 5", f"{first} > {second}"))


def of_indices(pool: Pool) -> Drawn:
    """Products and sums of one to three reads over a box, of which the last dim may be summed."""
    suits = lambda v: v.is_floating_point() and 1 <= v.ndim <= 3 and 0 not in v.shape  # noqa: E731
    x = pool.pick(suits)
    kind = pool.values[x].dtype
    others = range(pool.integer(0, 2))
    args = [x, *(pool.pick(lambda v: suits(v) and v.dtype == kind) for _ in others)]
    letters = "ijk"[: pool.integer(1, 3)] + pool.choose(("", "r"))
    box = Box({letter: pool.choose(EXTENTS) for letter in letters})
    reads = [read(pool, a, "xyz"[k], box) for k, a in enumerate(args)]
    signs = ["", *(f" {pool.choose('**+-')} " for _ in reads[1:])]
    guard = condition(pool, box) if pool.chance(0.3) else ""

    def joined(library: str) -> str:
        return "".join(s + r(library) for s, r in zip(signs, reads, strict=True))

    if "r" in letters and " r" not in f" {joined('torch')}".replace("(", " "):
        raise Unsuitable
    code = {"ted": _ted(box, joined, guard)}
    code |= {library: _on_grid(box, joined, guard, library) for library in ("torch", "jax")}
    return Drawn(tuple(args), {"code": code})


def _ted(box: Box, body: Text, guard: str) -> str:
    text, outer = body("ted"), box.outer
    head = f"ted.compute({box.shape[: len(outer)]}, lambda {', '.join(outer)}:"
    if "r" not in box.extents:
        return f"{head} {f'ted.where({guard}, {text}, 0.0)' if guard else text})"
    where = f", where={guard}" if guard else ""
    summed = f"{head} ted.sum({text}, axis=r{where}))"
    return f"(lambda r: {summed})(ted.reduce_axis({box.shape[-1]}))"


def _on_grid(box: Box, body: Text, guard: str, library: str) -> str:
    text = body(library)
    text = f"{WHERE[library]}({guard}, {text}, 0.0)" if guard else text
    return f"total({box.shape}, {len(box.outer)}, lambda {', '.join(box.extents)}: {text})"


ROWS: tuple[Row, ...] = (
    row("lambda", of_indices, "{code}", "{code}", True, weight=22, jax="{code}"),
)
