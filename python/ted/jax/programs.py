"""A function of tensors as a parameter of JAX's primitive, and what is derived of it.

Equal programs are the same object: JAX compares and hashes parameters of equations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import jax
import numpy as np

from ted.api.cpu_functions import CompiledFunction
from ted.api.flat_functions import (
    Flat,
    axes_text,
    batched_of,
    jvp_of,
    mask_text,
    named,
    vjp_of,
)
from ted.api.functions import Function
from ted.errors import CompileError
from ted.frontend.functions import while_traced
from ted.frontend.notes import recording
from ted.frontend.tensors import placeholder
from ted.options import CompileOptions
from ted.records import dataclass
from ted.runtime.xla import register

Mask = tuple[bool, ...]
Shape = tuple[tuple[int, ...], str]


@dataclass(frozen=True)
class Linear:
    """That a program is linear in its last arguments: the tangents of those of `base` that move.

    Without a base it is so in the arguments of the mask, for another reason.
    """

    arguments: Mask
    base: Program | None = None
    moving: Mask = ()


class Program:
    """A function of tensors called `names`, to which JAX's transformations give others.

    `linear` says of which arguments it is a linear function, if that is known.
    """

    def __init__(
        self,
        fn: Flat,
        name: str,
        names: Sequence[str],
        options: CompileOptions,
        linear: Linear | None = None,
    ) -> None:
        self.name, self.names, self.options = name, tuple(names), options
        self.fn = named(fn, name, self.names)
        self.linear = linear
        self.alone: Callable[..., Any] | None = None  # what runs it on arrays that nobody traces
        self._derived: dict[Any, Program] = {}
        self._shapes: dict[tuple[Shape, ...], tuple[Shape, ...]] = {}
        self._numbers: dict[tuple[Shape, ...], int] = {}

    def __repr__(self) -> str:
        return self.name

    # ---- what JAX asks of it ---------------------------------------------------------------------

    def results(self, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        """Shapes and types of the results; nothing is compiled.

        Raises: TedError where the function does not take such arguments.
        """
        key = tuple(shapes)
        found = self._shapes.get(key)
        if found is None:
            given = [placeholder(*shape, n) for shape, n in zip(key, self.names, strict=True)]
            with recording([]), while_traced():
                traced = self.fn(*given)
            found = self._shapes[key] = tuple((t.node.static_shape, t.dtype.name) for t in traced)
        return found

    def number(self, shapes: Sequence[Shape]) -> int:
        """The number by which XLA's calls find the program for such arguments, compiled now.

        Raises: TedError of what compiles it; CompileError for one that says notes.
        """
        key = tuple(shapes)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self._registered(key)
        return found

    def _registered(self, shapes: Sequence[Shape]) -> int:
        arrays = [np.empty(shape, _numpy(kind)) for shape, kind in shapes]
        function = Function(self.fn, self.options)
        compiled = function.compiled(*arrays)
        assert isinstance(compiled, CompiledFunction), "programs of static shapes, for CPUs"
        entry = compiled.entry
        if len(entry.outputs) != len(self.results(shapes)):  # what notes say are results, too
            raise CompileError(
                f"{self.name}: a program that prints or checks runs in ted alone, got one in JAX; "
                "use jax.debug.print around it"
            )
        digest = hashlib.sha256(
            repr((
                shapes, entry.name, entry.inputs, entry.outputs, entry.accesses, entry.threads,
                entry.subnormals,
            )).encode()
        )  # fmt: skip
        for part in (*compiled.objects, *(a.tobytes() for a in entry.constants)):
            digest.update(len(part).to_bytes(8, "little") + part)
        number = int.from_bytes(digest.digest()[:8], "little", signed=True)
        register(entry, number)
        return number

    # ---- what is derived -------------------------------------------------------------------------

    def jvp(self, moving: Mask, chosen: Mask) -> Program:
        """The program of arguments and tangents that gives the tangents of the chosen results."""

        def make() -> Program:
            count = len(self.names)
            pushed = jvp_of(_selected(self.fn, chosen), count, moving)
            tangents = [f"t{k}" for k in compress(range(count), moving)]
            linear = Linear((False,) * count + (True,) * len(tangents), self, moving)
            return self._with(f"jvp_{mask_text(moving)}", pushed, tangents, linear)

        return self._derive(("jvp", moving, chosen), make)

    def vjp(self, wanted: Mask, heads: Mask) -> Program:
        """The program of arguments and cotangents that gives the wanted gradients."""

        def make() -> Program:
            count = len(self.names)
            pulled = vjp_of(self.fn, count, wanted, heads)
            cotangents = [f"d{k}" for k in compress(range(len(heads)), heads)]
            linear = Linear((False,) * count + (True,) * len(cotangents))
            return self._with(
                f"vjp_{mask_text(wanted)}_{mask_text(heads)}", pulled, cotangents, linear
            )

        return self._derive(("vjp", wanted, heads), make)

    def batched(self, axes: tuple[int | None, ...]) -> Program:
        """The program for all examples, which the first dim of each result counts."""

        def make() -> Program:
            name = f"{self.name}_vmap_{axes_text(axes)}"
            linear = None if self.linear is None else Linear(self.linear.arguments)
            return Program(batched_of(self.fn, axes), name, self.names, self.options, linear)

        return self._derive(("vmap", axes), make)

    def _derive(self, key: Any, make: Callable[[], Program]) -> Program:
        found = self._derived.get(key)
        return self._derived.setdefault(key, make()) if found is None else found

    def _with(self, what: str, fn: Flat, more: Sequence[str], linear: Linear) -> Program:
        names = [*self.names, *(f"{name}_of_{self.name}" for name in more)]
        return Program(fn, f"{self.name}_{what}", names, self.options, linear)


def _selected(fn: Flat, chosen: Mask) -> Flat:
    return lambda *args: tuple(compress(fn(*args), chosen))


def _numpy(kind: str) -> np.dtype[Any]:
    return np.dtype(jax.numpy.dtype(kind))
