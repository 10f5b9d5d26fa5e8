"""Floats of Python among the arguments of functions: inputs of programs, for all of their values.

Before: f(x, 0.1), f(x, 0.2): a program for each    After: f(x, a), a: weak_float32[]: one for both

The input gives way to types beside it, as the number does.  Where the function asks for its value,
in an `if`, as an argument that must be a number, the number is a part of the program, which is
compiled for each then: what asks raises an error (`frontend/unevaluated.py`), and the function is
traced again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ted.api.derived import derived
from ted.errors import TedError
from ted.frontend.functions import Input, Signature, Trace, trace_signature
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, wrap
from ted.frontend.trees import static_key
from ted.ir.dtypes import is_weak_type
from ted.ir.equations import topological
from ted.ir.expressions import postorder
from ted.records import dataclass
from ted.transforms.overrides import override_of
from ted.transforms.strong_types import stored_input, with_strong_types

_MOST_TRIED = 4  # numbers of a call one by one


@dataclass(frozen=True)
class Constants:
    """The positions of numbers among the inputs of a call whose values are in its program."""

    positions: frozenset[int]

    @staticmethod
    def of(signature: Signature, leaves: frozenset[int]) -> Constants:
        """Those at some leaves of a signature."""
        inputs = [k for k, leaf in enumerate(signature.leaves) if isinstance(leaf, Input)]
        return Constants(frozenset(n for n, k in enumerate(inputs) if k in leaves))

    def left(self, values: Sequence[Any]) -> list[Any]:
        """What is given for the inputs that the program has."""
        return [value for n, value in enumerate(values) if n not in self.positions]

    def key(self, key: Any, values: Sequence[Any]) -> Any:
        """The key of calls with the same constants."""
        return key, *(static_key(values[n]) for n in sorted(self.positions))


def traced_on_numbers(
    fn: Callable[..., Any], signature: Signature
) -> tuple[Trace | None, frozenset[int]]:
    """The function traced on its numbers as inputs, and the leaves whose values it asks for.

    What `fn` raises for the numbers themselves is raised.
    """
    numbers = signature.numbers
    if not numbers:
        return None, frozenset()
    try:
        return trace_signature(fn, signature), frozenset()
    except Exception as error:  # whatever the function makes of what it is given
        is_plain = isinstance(error, TedError) and not hasattr(error, "asked")
        tried = [numbers] if is_plain else [*_suspects(error, signature), numbers]
    for leaves in tried[:-1]:
        try:
            return trace_signature(fn, signature.with_constants(leaves)), frozenset(leaves)
        except Exception:  # noqa: PERF203
            continue
    return trace_signature(fn, signature.with_constants(numbers)), frozenset(numbers)


def _suspects(error: Exception, signature: Signature) -> Iterator[list[int]]:
    """Numbers whose values may be what was asked for."""
    numbers = signature.numbers
    names = _names_below(getattr(error, "asked", None))
    asked = [k for k in numbers if signature.names[k] in names]
    if asked:
        yield asked
    if 1 < len(numbers) <= _MOST_TRIED:
        yield from ([k] for k in numbers if [k] != asked)


def _names_below(asked: Any) -> set[str]:
    """The names of the numbers that an expression depends on."""
    roots = [asked.node] if isinstance(asked, Tensor) else []
    if isinstance(asked, Scalar):
        roots = [node.attr for node in postorder(asked.expr) if node.op == "load"]
    return {t.name for t in topological(roots) if t.is_input and is_weak_type(t.dtype)}


def with_stored_types(traced: Trace) -> Trace:
    """The program that is compiled: with inputs and results of types that arrays have."""
    nodes = [tensor.node for tensor in traced.inputs]
    if not any(is_weak_type(node.dtype) for node in nodes):
        return traced
    stored = [stored_input(node) for node in nodes]
    outputs = [tensor.node for tensor in traced.outputs]
    mapping = dict(zip(nodes, stored, strict=True))
    made = derived(
        "store", (outputs, nodes, stored), outputs,
        lambda: with_strong_types(outputs, mapping), override_of,
    )  # fmt: skip
    return replace(traced, inputs=tuple(map(wrap, stored)), outputs=tuple(map(wrap, made)))
