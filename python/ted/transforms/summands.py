"""What the adjoint of a tensor is the sum of, one tensor for each tensor that reads it.

    y = x * x; z = sin(x) + y        dx = dx_from_y + dx_from_z

A reader that a stage of preparation made (a level of a product tree) counts as the tensor of the
program that it is for, and one that was moved into its own reader as that one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ted.autodiff.vjp import Adjoints, finish_adjoint
from ted.ir.equations import Equation, System, Tensor, operands, topological
from ted.records import dataclass
from ted.transforms.overrides import carry, override_of, substituted
from ted.transforms.preparation import Prepared
from ted.transforms.ted_scatter_to_gather import scatter_to_gather
from ted.transforms.ted_simplify import simplify

Summands = dict[Tensor, dict[Tensor, Tensor]]


@dataclass(frozen=True)
class Sweep:
    """A reverse sweep over a prepared program, and the adjoints that it found, in scatter form."""

    prepared: Prepared
    found: Adjoints
    adjoints: dict[Tensor, Tensor]

    def gathered(self, adjoints: Mapping[Tensor, Tensor], keep: Collection[Tensor]) -> Summands:
        """The summands of each adjoint, in gather form, as functions of the adjoints given."""
        parts = self._parts()
        pairs = [(t, reader) for t, readers in parts.items() for reader in readers]
        if not pairs:
            return {}
        origin = self.prepared.origin
        known = {
            swept: adjoints[origin[t]]
            for t, swept in self.found.adjoints.items()
            if t in origin and origin[t] in adjoints
        }
        scattered = substituted([parts[t][reader] for t, reader in pairs], known)
        system = System((), self.prepared.restored(scattered))
        marked = [t for t in topological(system.outputs) if override_of(t) is not None]
        kept = {*keep, *marked, *topological(list(known.values()))}
        inverted, gathered = scatter_to_gather(system, keep=kept)
        carry(gathered)
        clean, cleaned = simplify(inverted, keep={*kept, *(gathered.get(t, t) for t in marked)})
        carry(cleaned)
        found: Summands = {}
        for (tensor, reader), summand in zip(pairs, clean.outputs, strict=True):
            found.setdefault(tensor, {})[reader] = summand
        return found

    def _parts(self) -> Summands:
        """A tensor for each tensor of the program and reader of it, in scatter form."""
        origin, owner = self.prepared.origin, self._owners()
        grouped: dict[Tensor, dict[Tensor, list[Equation]]] = {}
        for tensor, readers in self.found.summands.items():
            for reader, equations in readers.items() if tensor in origin else ():
                mine = grouped.setdefault(tensor, {})
                mine.setdefault(owner.get(reader, reader), []).extend(equations)
        return {
            origin[tensor]: {
                reader: _sum(tensor, reader, equations) for reader, equations in readers.items()
            }
            for tensor, readers in grouped.items()
        }

    def _owners(self) -> dict[Tensor, Tensor]:
        """The tensor of the program that each tensor of the prepared one is, or is for."""
        origin = self.prepared.origin
        owner: dict[Tensor, Tensor] = {}
        for tensor in reversed(topological(self.prepared.system.outputs)):
            owner.setdefault(tensor, origin.get(tensor, tensor))
            for operand in operands(tensor):
                if operand not in origin:
                    owner.setdefault(operand, owner[tensor])
        return owner


def _sum(tensor: Tensor, reader: Tensor, equations: list[Equation]) -> Tensor:
    name = f"d{tensor.name}_from_{reader.name}"
    total = replace(tensor, name=name, fill=None, equations=(), time=None, reverse=False)
    finish_adjoint(total, tensor, equations)
    return total
