"""Put a fault into modules that are imported already: the code of a function is exchanged.

That saves importing ted for every mutant. It is possible where only bodies of functions differ, and
where no changed function has run yet; else the module has to be imported with the fault in it.
"""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import TypeAlias

from mutation.operators import Mutant

Exchange: TypeAlias = "tuple[FunctionType, CodeType]"


class NotPossible(Exception):
    """Code that has run already differs, or code that only an import runs."""


def exchanges(mutant: Mutant, path: Path, ran: Collection[CodeType]) -> list[Exchange]:
    """The functions of the module that the mutant changes, each with its new code.

    Raises: NotPossible if more changes than functions that are not among those that `ran`.
    """
    source = path.read_bytes()
    old = compile(source, str(path), "exec", dont_inherit=True)
    new = compile(mutant.text(source), str(path), "exec", dont_inherit=True)
    functions: dict[CodeType, list[FunctionType]] = {}
    for found in gc.get_objects():
        if type(found) is FunctionType and found.__module__ == mutant.module:  # no __class__ runs
            functions.setdefault(found.__code__, []).append(found)
    return list(_exchanges(old, new, functions, ran))


def _exchanges(
    old: CodeType,
    new: CodeType,
    functions: dict[CodeType, list[FunctionType]],
    ran: Collection[CodeType],
) -> Iterator[Exchange]:
    if old == new:
        return
    if old in functions:
        if old in ran or new.co_freevars != old.co_freevars:
            raise NotPossible(old.co_qualname)
        yield from ((function, new) for function in functions[old])
        return
    pairs = list(zip(old.co_consts, new.co_consts, strict=False))
    inner = [(a, b) for a, b in pairs if isinstance(a, CodeType) and isinstance(b, CodeType)]
    rest = [(a, b) for a, b in pairs if not (isinstance(a, CodeType) and isinstance(b, CodeType))]
    same = old.co_code == new.co_code and old.co_names == new.co_names
    if not same or len(old.co_consts) != len(new.co_consts) or any(a != b for a, b in rest):
        raise NotPossible(old.co_qualname)
    for a, b in inner:
        yield from _exchanges(a, b, functions, ran)
