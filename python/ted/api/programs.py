"""Programs that are derived and written only where the disk does not know what they compile to.

Before: placeholders and results of a function      After: what is needed to call it

The first key of a compiled function is the program as it was traced, with the transforms that were
asked for and the options; the entry says how to call it, and names the second key, that of its
machine code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

from ted.api.derived import said_override
from ted.codegen import disk_cache
from ted.codegen.requests import (
    Request,
    compile_cached,
    key_of,
    known,
    reports,
    start_worker,
    toolchain,
)
from ted.codegen.watching import Watch
from ted.forking import cached_property
from ted.frontend.functions import Trace
from ted.ir.constant_inputs import large_constants, with_constant_inputs
from ted.ir.equations import System, Tensor, identity_dims, whole
from ted.ir.program_text import NotSaid, name_of, program_text
from ted.ir.saved_values import with_saved_values
from ted.ir.scalar import load
from ted.machine import Gpu
from ted.options import CompileOptions
from ted.records import dataclass
from ted.runtime.buffers import ArgSpec

Made = tuple[System, Mapping[int, int]]  # with the positions of an output and the input it takes


@dataclass(frozen=True)
class Call:
    """What is needed to call a program: its arrays, which results take inputs over, its code."""

    inputs: tuple[ArgSpec, ...]
    outputs: tuple[ArgSpec, ...]
    donated: Mapping[int, int]
    code: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Key:
    """What tells a program from others; `has_places`: names of tensors and lines count.

    `constants` are the inputs that it brings along; of these it tells shapes and types alone.
    """

    parts: tuple[str, ...]
    has_places: bool
    constants: tuple[Tensor, ...] = ()

    def name(self, files: Sequence[str]) -> str:
        """The name of its entry on the disk, where its code is made of some files too."""
        contents = [disk_cache.content_hash(path) for path in files]
        return disk_cache.key("program", *self.parts, *contents, *toolchain())


@dataclass(frozen=True, eq=False)
class Program:
    """A program by its key, None where it has none, and what makes it.

    `in_place` gives for results the inputs that their arrays hold when a call starts; `has_notes`
    says that the last results are notes of the function: what it prints and checks.
    """

    name: str
    make: Callable[[], Made]
    key: Key | None
    in_place: Mapping[int, int] = field(default_factory=dict)
    has_notes: bool = False

    @property
    def symbol(self) -> str:
        """A name that no library has: a function `sin` would be what its own `math.sin` calls."""
        return self.name if self.name == "main" else f"ted.{self.name}"

    @cached_property
    def made(self) -> Made:
        """The system as it is compiled: every output owns its memory."""
        system, donated = self.make()
        system = with_constant_inputs(system, None if self.key is None else self.key.constants)
        own = replace(system, outputs=distinct(system.outputs))
        return with_saved_values(own), donated

    @property
    def constants(self) -> tuple[Any, ...]:
        """The arrays of the last inputs, which the program brings along."""
        found = large_constants(self.made[0].inputs) if self.key is None else self.key.constants
        return tuple(t.constant.array for t in found if t.constant is not None)

    @property
    def system(self) -> System:
        """The equations of the program, which are derived now."""
        return self.made[0]

    @property
    def arrays(self) -> tuple[tuple[ArgSpec, ...], tuple[ArgSpec, ...]]:
        """The arguments and results of a call."""
        system, _ = self.made
        return tuple(map(_spec, system.inputs)), tuple(map(_spec, system.outputs))

    def call(self, request: Callable[[], Request], files: Sequence[str], watch: Watch) -> Call:
        """What is needed to call the program, made of a request where the disk has no entry.

        Raises: TedError of what derives, writes or compiles it.
        """
        key = self.key
        name = "" if key is None else key.name(files)
        if key is not None:
            watch("cache")
            found = _recalled(name)
            if found is not None:
                return found
            start_worker()
        watch("writing")
        inputs, outputs = self.arrays
        asked = request()
        made = Call(inputs, outputs, self.made[1], compile_cached(asked, watch))
        if key is not None and (key.has_places or not reports(asked)):
            _keep(name, made, key_of(asked))
        return made


def key_of_program(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    name: str,
    donated: Sequence[Any],
    options: CompileOptions,
) -> Key | None:
    """The key of a program; None where its text would not say all, or there is no cache."""
    if disk_cache.folder() is None:
        return None
    try:
        said = program_text([*inputs, *outputs], said_override)
    except NotSaid:
        return None
    has_places = said.reads_data or isinstance(options.machine, Gpu)
    names = [name, *map(name_of, (*inputs, *outputs)), *([said.places] if has_places else [])]
    request = str((len(inputs), list(donated), options))
    constants = large_constants(n for n in said.nodes if isinstance(n, Tensor))
    return Key((said.text, request, *names), has_places, constants)


def traced_program(
    traced: Trace, options: CompileOptions, donated: Mapping[int, int] | None = None
) -> Program:
    """The program of a traced function; `donated` gives for outputs the inputs they overwrite."""
    given = dict(donated or {})
    inputs, outputs = ([t.node for t in tensors] for tensors in (traced.inputs, traced.outputs))
    key = key_of_program(inputs, outputs, traced.name, [*given.items()], options)
    notes = traced.has_notes
    return Program(traced.name, lambda: (traced.system(), given), key, has_notes=notes)


def known_program(
    system: System,
    donated: Mapping[int, int] | None = None,
    options: CompileOptions | None = None,
    in_place: Mapping[int, int] | None = None,
) -> Program:
    """A program whose equations are there; with options, the disk may have it."""
    given, starts = donated or {}, in_place or {}
    key = None
    if options is not None:
        pairs = [[*given.items()], [*starts.items()]]
        key = key_of_program(system.inputs, system.outputs, system.name, pairs, options)
    return Program(system.name, lambda: (system, given), key, starts)


def _recalled(name: str) -> Call | None:
    stored = disk_cache.load(name)
    if stored is None:
        return None
    entry = json.loads(stored)
    code = known(entry["code"])
    if code is None:
        return None
    inputs, outputs = (
        tuple(ArgSpec(one["name"], one["dtype"], tuple(one["shape"])) for one in entry[side])
        for side in ("inputs", "outputs")
    )
    return Call(inputs, outputs, dict(entry["donated"]), code)


def _keep(name: str, call: Call, code: str) -> None:
    entry = {
        "code": code, "inputs": [*map(asdict, call.inputs)],
        "outputs": [*map(asdict, call.outputs)], "donated": [*call.donated.items()],
    }  # fmt: skip
    disk_cache.store(name, json.dumps(entry).encode())


def _spec(tensor: Tensor) -> ArgSpec:
    return ArgSpec(tensor.name, tensor.dtype.name, tensor.static_shape)


def distinct(nodes: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Every output owns its memory: an input or a repeated output is copied."""
    taken: set[Tensor] = set()
    result: list[Tensor] = []
    for node in nodes:
        result.append(_copy(node) if node.is_input or node in taken else node)
        taken.add(node)
    return tuple(result)


def _copy(node: Tensor) -> Tensor:
    copy = whole(node.shape, load(node, identity_dims(len(node.shape))), node.location)
    return Tensor(node.name, node.shape, node.dtype, None, (copy,), node.location)
