"""Results of a transform without equations, where the disk knows that it succeeded before.

Before: gradients = [tensors with equations]      After: gradients = [tensors to be derived]

The first process derives at once, and leaves on the disk what the results are called and which of
them are new.  Later ones derive when somebody looks at the equations.  What fails leaves nothing,
so that it fails at the same place each time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ted.codegen import disk_cache
from ted.codegen.requests import start_worker, toolchain
from ted.ir.derivations import Deferred, Derivation, defer, origin_of, trace_back
from ted.ir.dtypes import WHILE_WRITTEN
from ted.ir.equations import Tensor
from ted.ir.program_text import Marks, NotSaid, ProgramText, name_of, program_text
from ted.transforms.overrides import Overrides, override_of, substituted, substitution

Given = Sequence[Sequence[Tensor]]


def derived(
    what: str,
    given: Given,
    named: Sequence[Tensor],
    derive: Callable[[], Sequence[Tensor]],
    overrides: Overrides,
) -> Sequence[Tensor]:
    """What `derive` gives, of the tensors in `given` alone; results are called after `named`."""
    if disk_cache.folder() is None:
        return derive()
    derivation = Derivation(what, tuple(map(tuple, given)), derive)
    try:
        said = program_text([t for tensors in given for t in tensors], _strict(overrides))
    except NotSaid:
        return derive()
    sizes = str([len(tensors) for tensors in given])
    names = [name_of(tensor) for tensor in named]
    name = disk_cache.key("derivation", what, said.text, sizes, *names, *toolchain())
    known = disk_cache.load(name)
    if known is not None:
        return _recalled(json.loads(known), derivation, said)
    start_worker()  # what it will compile is new, too
    found = derive()
    rows = _rows(found, said)
    disk_cache.store(name, json.dumps(rows).encode())
    derivation.derive = None
    for position, (kind, *_) in enumerate(rows):
        if kind == "new":
            trace_back(found[position], derivation, position)
    return found


def lowered(nodes: Sequence[Tensor], mapping: Mapping[Tensor, Tensor]) -> Sequence[Tensor]:
    """The nodes as functions of `mapping[t]` instead of t; what waits to be derived still waits."""
    late = [n for n in dict.fromkeys(nodes) if origin_of(n) is not None]
    plain = [n for n in dict.fromkeys(nodes) if origin_of(n) is None]
    waits = any(isinstance(n, Deferred) for n in late)
    order = plain if waits else [*plain, *late]
    found, became = substitution(order, mapping)
    new = dict(zip(order, found, strict=True))
    given = tuple(late), tuple(mapping), tuple(mapping.values()), found[: len(plain)]
    derivation = Derivation("lower", given)
    if waits:
        derivation.derive = lambda: substituted(late, {**became, **mapping})
    for position, node in enumerate(late):
        if waits:
            new[node] = Deferred(node.name, node.shape, node.dtype, node.given_name)
            derivation.waiting[position] = new[node]
        elif new[node] is node:  # it depends on no argument, and stays what it was derived from
            new[node] = replace(node)
        trace_back(new[node], derivation, position)
    return [new[n] for n in nodes]


def said_override(tensor: Tensor) -> tuple[str, Sequence[Tensor]] | None:
    """The derivative of a tensor's own, where that can be said."""
    found = override_of(tensor)
    return None if found is None else found.said


def _strict(overrides: Overrides) -> Marks:
    def marks(tensor: Tensor) -> tuple[str, Sequence[Tensor]] | None:
        found = overrides(tensor)
        if found is not None and found.said is None:
            raise NotSaid("a derivative of the user's")
        return None if found is None else found.said

    return marks


# ------------------------------------------------------------------ what a process leaves


def _rows(found: Sequence[Tensor], said: ProgramText) -> list[list[Any]]:
    """For each result: a tensor that was given, one of the results before, or a new one."""
    places = {node: k for k, node in enumerate(said.nodes)}
    first: dict[Tensor, int] = {}
    rows: list[list[Any]] = []
    for position, tensor in enumerate(found):
        if tensor in places:
            rows.append(["given", places[tensor]])
        elif first.setdefault(tensor, position) < position:
            rows.append(["same", first[tensor]])
        else:
            form = tensor.name, tensor.static_shape, tensor.dtype.name, tensor.given_name
            rows.append(["new", *form])
    return rows


def _recalled(
    rows: Sequence[Sequence[Any]], derivation: Derivation, said: ProgramText
) -> list[Tensor]:
    results: list[Tensor] = []
    for position, (kind, *form) in enumerate(rows):
        if kind == "given":
            results.append(cast(Tensor, said.nodes[form[0]]))
        elif kind == "same":
            results.append(results[form[0]])
        else:
            name, shape, dtype, given_name = form
            late = Deferred(name, tuple(shape), WHILE_WRITTEN[dtype], given_name)
            defer(late, derivation, position)
            results.append(late)
    return results
