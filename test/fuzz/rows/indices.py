"""Rows of index lambdas: quasi-affine reads with `//`, `%`, clamps and guards, sums over boxes.

One small expression is drawn and written for each library: as it stands in a lambda of ted, and on
tensors of indices for others, where a read outside its guard is moved inside and masked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fuzz.pool import Pool, Unsuitable
from fuzz.rows.row import Drawn, Row, row

CLIP = {"ted": "ted.clip", "torch": "torch.clamp", "jax": "jnp.clip"}
WHERE = {"ted": "ted.where", "torch": "torch.where", "jax": "jnp.where"}
READ = {"ted": "{0}[{1}]", "torch": "at({0}, {1})", "jax": "{0}[{1}]"}
EXTENTS = (1, 2, 3, 4, 5, 6, 8, 9)


@dataclass(frozen=True)
class Subscript:
    """Text of an index, and how it is brought inside an extent: by nothing, `%` or a clamp."""

    text: str
    extent: int
    inside: str = ""

    def written(self, library: str) -> str:
        """The text for a library."""
        if self.inside == "%":
            return f"({self.text}) % {self.extent}"
        if self.inside == "clip":
            return f"{CLIP[library]}({self.text}, 0, {self.extent - 1})"
        return self.text


@dataclass(frozen=True)
class Read:
    """A read of an operand, where a guard holds; else the value is another number."""

    operand: int
    index: tuple[Subscript, ...]
    guards: tuple[str, ...]
    other: int

    def written(self, library: str) -> str:
        """The text for a library, with the operand's name in braces."""
        index = ", ".join(s.written(library) for s in self.index)
        value = READ[library].format(f"{{{'xyz'[self.operand]}}}", index)
        if not self.guards:
            return value
        return f"{WHERE[library]}({' & '.join(self.guards)}, {value}, {self.other}.0)"

    def simpler(self, letters: list[str]) -> Iterator[Read]:
        """With a guard less, or a plain subscript."""
        plain = ["0", *letters]
        for k in range(len(self.guards)):
            yield replace(self, guards=self.guards[:k] + self.guards[k + 1 :])
        for k, s in enumerate(self.index):
            for text in plain[: plain.index(s.text)] if s.text in plain else plain:
                made = replace(s, text=text)
                yield replace(self, index=(*self.index[:k], made, *self.index[k + 1 :]))
            if s.inside:
                made = replace(s, inside="")
                yield replace(self, index=(*self.index[:k], made, *self.index[k + 1 :]))


@dataclass(frozen=True)
class Lambda:
    """A sum or product of reads over a box of named indices; `r` is summed over."""

    extents: tuple[tuple[str, int], ...]
    reads: tuple[Read, ...]
    signs: tuple[str, ...]
    guard: str

    def written(self, library: str) -> str:
        """The text for a library."""
        return self._in_ted() if library == "ted" else self._on_grid(library)

    def simpler(self) -> Iterator[Lambda]:
        """With less in it; not all of these are legal."""
        if self.guard:
            yield replace(self, guard="")
        for k in range(len(self.reads)):
            if len(self.reads) > 1:
                less = {"reads": self.reads[:k] + self.reads[k + 1 :]}
                yield replace(self, **less, signs=self.signs[: len(self.reads) - 2])
            for made in self.reads[k].simpler([x for x, _ in self.extents]):
                yield replace(self, reads=(*self.reads[:k], made, *self.reads[k + 1 :]))
        for k, (letter, extent) in enumerate(self.extents):
            for n in dict.fromkeys((1, 2, extent // 2, extent - 1)):
                if 0 < n < extent:
                    made = (*self.extents[:k], (letter, n), *self.extents[k + 1 :])
                    yield replace(self, extents=made)

    def _body(self, library: str) -> str:
        texts = [read.written(library) for read in self.reads]
        signs = ["", *(f" {s} " for s in self.signs)]
        return "".join(s + t for s, t in zip(signs, texts, strict=True))

    def _in_ted(self) -> str:
        text, outer = self._body("ted"), [x for x, _ in self.extents if x != "r"]
        shape = tuple(n for x, n in self.extents if x != "r")
        head = f"ted.compute({shape}, lambda {', '.join(outer)}:"
        if len(outer) == len(self.extents):
            return f"{head} {f'ted.where({self.guard}, {text}, 0.0)' if self.guard else text})"
        where = f", where={self.guard}" if self.guard else ""
        summed = f"{head} ted.sum({text}, axis=r{where}))"
        return f"(lambda r: {summed})(ted.reduce_axis({self.extents[-1][1]}))"

    def _on_grid(self, library: str) -> str:
        text = self._body(library)
        text = f"{WHERE[library]}({self.guard}, {text}, 0.0)" if self.guard else text
        letters = [x for x, _ in self.extents]
        kept = len(letters) - ("r" in letters)
        shape = tuple(n for _, n in self.extents)
        return f"total({shape}, {kept}, lambda {', '.join(letters)}: {text})"


def subscript(pool: Pool, box: dict[str, int]) -> tuple[str, int, int]:
    """A sum of one or two indices with steps and a shift, maybe divided or wrapped; its bounds."""
    text, lower, upper = "", 0, 0
    for _ in range(pool.choose((1, 1, 2))):
        letter, step = pool.choose(list(box)), pool.choose((1, 1, 1, 2, 3, -1, -2))
        text += f" + {step} * {letter}" if step != 1 else f" + {letter}"
        ends = sorted((0, step * (box[letter] - 1)))
        lower, upper = lower + ends[0], upper + ends[1]
    shift = pool.choose((0, 0, 1, -1, 2))
    if shift:
        text, lower, upper = f"{text} + {shift}", lower + shift, upper + shift
    text = text.removeprefix(" + ")
    kind, n = pool.integer(0, 7), pool.integer(2, 4)
    if kind == 0:
        return f"({text}) // {n}", lower // n, upper // n
    if kind == 1:
        return f"({text}) % {n}", 0, n - 1
    if kind == 2:
        return f"({text}) // {n} + ({text}) % {n}", lower // n, upper // n + n - 1
    return text, lower, upper


def read(pool: Pool, operand: int, shape: tuple[int, ...], box: dict[str, int]) -> Read:
    """A read at indices that are inside by themselves, by `%`, a clamp or a guard."""
    index: list[Subscript] = []
    guards: list[str] = []
    for extent in shape:
        text, lower, upper = subscript(pool, box)
        fits = lower >= 0 and upper < extent
        inside = "" if fits else pool.choose(("%", "clip", "", ""))
        index.append(Subscript(text, extent, inside))
        if not fits and not inside:
            guards.append(f"({text} >= 0) & ({text} < {extent})")
    if pool.chance(0.2):
        guards.append(f"({pool.choose(list(box))} > {pool.integer(0, 2)})")
    return Read(operand, tuple(index), tuple(guards), pool.choose((0, 0, 1)))


def condition(pool: Pool, letters: list[str]) -> str:
    """A condition that couples two indices, or takes every other point."""
    first, second = pool.choose(letters), pool.choose(letters)
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
    letters = list("ijk"[: pool.integer(1, 3)] + pool.choose(("", "r")))
    box = {letter: pool.choose(EXTENTS) for letter in letters}
    reads = tuple(read(pool, k, pool.shape(a), box) for k, a in enumerate(args))
    signs = tuple(pool.choose("**+-") for _ in reads[1:])
    guard = condition(pool, letters) if pool.chance(0.3) else ""
    if "r" in letters and not any("r" in s.text for r in reads for s in r.index):
        raise Unsuitable
    return Drawn(tuple(args), {"code": Lambda(tuple(box.items()), reads, signs, guard)})


ROWS: tuple[Row, ...] = (
    row("lambda", of_indices, "{code}", "{code}", True, weight=22, jax="{code}"),
)
