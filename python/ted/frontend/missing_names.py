"""What is said of a name that a module, or an expression, does not have: where it is, what is near.

Before: ted.softmax, ted.nn.mse_loss    After: an error that says ted.nn.softmax, ted.nn.mse

What is near in the module itself Python says, by the module's `dir`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection
from functools import cache, lru_cache

from ted.frontend.numpy_words import INSTEAD, RENAMED
from ted.frontend.torch_words import TORCH

_HOMES = ("ted", "ted.nn", "ted.linalg", "ted.random", "ted.special", "ted.nn.init")

# Names of JAX and others whose meaning ted has by another word; numpy's are in `numpy_words`.
OTHER = {
    **TORCH, "array": "ted.asarray", "PRNGKey": "ted.random.key(seed)", "jit": "ted.function",
    "segment_max": 'ted.scatter(shape, segments, values, "max")', "jacrev": "ted.jacobian",
    "jacfwd": "ted.jacobian", "tree_map": "ted.tree.map", "tree_util": "ted.tree",
    "select_n": "ted.where", "switch": "ted.cond in ted.cond", "lax": "ted itself",
    "cho_solve": TORCH["cholesky_solve"], "logspace": "10 ** ted.linspace",
    "trapz": "ted.trapezoid",
}  # fmt: skip


def missing(module: str, name: str, own: Collection[str] = ()) -> AttributeError:
    """The error of a name that a module, whose public names are its `own`, does not have."""
    text = f"module {module!r} has no attribute {name!r}"
    return AttributeError(text if name.startswith("_") else text + advice(name, own))


def advice(name: str, own: Collection[str] = ()) -> str:
    """What to write for a name that is not among some, from a semicolon on; "" for anything."""
    word = RENAMED.get(name)
    instead = OTHER.get(name) or (word and f"ted.{word}") or INSTEAD.get(name)
    if instead:
        return f"; write {instead}"
    homes = _homes()
    plain = name.removesuffix("_")
    if plain != name and (plain in homes or plain in OTHER):
        return f"; nothing is written in place: write {OTHER.get(plain) or homes[plain]}"
    if name in homes:
        return f"; it is {homes[name]}"
    found = _closest(name)
    return f"; is it {homes[found]}?" if found and found not in own else ""


@cache
def _homes() -> dict[str, str]:
    """Public names -> where they are."""
    return {
        each: f"{home}.{each}"
        for home in reversed(_HOMES)
        for each in importlib.import_module(home).__all__
    }


@lru_cache
def _closest(name: str) -> str:
    """The public name that is most like another one; "" for none. Tools ask again and again."""
    found = difflib.get_close_matches(name, [*_homes()], 1, 0.8)
    return found[0] if found else ""
