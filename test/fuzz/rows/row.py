"""One operation as a row: how to draw it, its name in each library, whether it is exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fuzz.pool import Pool
from fuzz.programs import Program


@dataclass(frozen=True)
class Drawn:
    """Operands, the fields of the text, and the function that the operation works on."""

    args: tuple[int, ...]
    fields: Mapping[str, Any]
    body: Program | None = None


Draw = Callable[[Pool], Drawn]


@dataclass(frozen=True)
class Row:
    """An operation.

    `texts` are format strings by library: x, y, z, w are the operands, other names come from the
    draw. `exact`: whole numbers stay whole, and derivatives too. `kink` is torch text for a
    distance that is 0 where the operation jumps or bends.
    """

    name: str
    texts: Mapping[str, str]
    draw: Draw
    exact: bool = False
    kink: str = ""
    weight: float = 1.0


def row(
    name: str, draw: Draw, ted: str, torch: str, exact: bool = False, kink: str = "",
    weight: float = 1.0, jax: str = "",
) -> Row:  # fmt: skip
    """A row; without a text for JAX, programs that have it are not compared with JAX."""
    texts = {"ted": ted, "torch": torch} | ({"jax": jax} if jax else {})
    return Row(name, texts, draw, exact, kink, weight)
