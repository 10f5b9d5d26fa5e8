"""Tensors that a transform makes of others, whose equations are made when somebody looks at them.

Before: dA = a tensor of known shape, and the `Derivation` it is the first result of
After:  dA.equations, which the transform has made

A derivation also says what its results are without their equations: which transform of which
tensors.  So a program can be told from others (`ted.ir.program_text`) before it is derived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from ted.domain.sizes import Extent
from ted.forking import Lock
from ted.ir.dtypes import DType
from ted.ir.equations import Tensor, replace_operands, topological
from ted.records import dataclass

_KEY = "origin"  # kept by the node itself, as an override is
_OWN = ("name", "given_name", _KEY)
_LATE = ("fill", "equations", "location", "time", "reverse", "inner", "forgotten")
_lock = Lock()


@dataclass(eq=False)
class Derivation:
    """A transform `what` of lists of tensors: `derive` makes its results, of these alone."""

    what: str
    given: tuple[tuple[Tensor, ...], ...]
    derive: Callable[[], Sequence[Tensor]] | None = None  # until it is done
    waiting: dict[int, Tensor] = field(default_factory=dict)  # results without equations

    def run(self) -> None:
        """Give the results that wait their equations."""
        with _lock:
            if self.derive is None:
                return
            results = self.derive()
            made = {results[k]: tensor for k, tensor in self.waiting.items()}
            known = set(topological([t for tensors in self.given for t in tensors]))
            for tensor in topological(list(made), known):
                if tensor not in known:
                    tensor.equations = tuple(replace_operands(e, made) for e in tensor.equations)
            for tensor, result in made.items():
                vars(result).update((k, v) for k, v in vars(tensor).items() if k not in _OWN)
                result.__class__ = Tensor
            self.derive, self.waiting = None, {}


class Deferred(Tensor):
    """A tensor that becomes an ordinary one when its derivation has run."""

    def __init__(
        self, name: str, shape: tuple[Extent, ...], dtype: DType, given_name: str = ""
    ) -> None:
        self.name, self.shape, self.dtype, self.given_name = name, shape, dtype, given_name


def _late(name: str) -> Any:
    def get(tensor: Deferred) -> Any:
        _run(tensor)
        return getattr(tensor, name)

    def assign(tensor: Deferred, value: Any) -> None:
        _run(tensor)
        setattr(tensor, name, value)

    return property(get, assign)


for _name in _LATE:
    setattr(Deferred, _name, _late(_name))


def _run(tensor: Tensor) -> None:
    origin = origin_of(tensor)
    assert origin is not None, "a deferred tensor comes from somewhere"
    origin[0].run()


def defer(tensor: Deferred, derivation: Derivation, position: int) -> None:
    """Let a tensor be a result of a derivation that has not run."""
    trace_back(tensor, derivation, position)
    derivation.waiting[position] = tensor


def trace_back(tensor: Tensor, derivation: Derivation, position: int) -> None:
    """Say which result of which derivation a tensor is."""
    vars(tensor)[_KEY] = derivation, position


def origin_of(tensor: Tensor) -> tuple[Derivation, int] | None:
    """The derivation that a tensor is a result of, and its position there."""
    return vars(tensor).get(_KEY)
