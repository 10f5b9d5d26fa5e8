"""Inline the guarded producers that one equation reads; those that several read get masks.

Copies of a producer in all its consumers, and theirs in their consumers, would be evaluated, and
differentiated, once for each way that leads to them.  In what the reverse sweep makes of a chain of
choices there are as many ways as pairs of links.  Nor is a producer inlined that has a slope
everywhere, through another consumer: the condition of one keeps nothing from its derivative.
"""

from __future__ import annotations

from ted.ir.equations import System, Tensor, reads
from ted.transforms.ted_inline_pointwise import has_unbounded_slope, inline_pointwise
from ted.transforms.used_elements import usage


def inline_guarded_producers(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Inline all but what `mask_guarded_producers` is for; also old tensor -> new tensor."""
    consumers = system.consumers()
    fixed = {*system.inputs, *system.outputs}
    steep = {t for t in consumers if t not in fixed and has_unbounded_slope(t)}
    readers: dict[Tensor, int] = {}
    for equation in (e for t in consumers for e in t.equations):
        for read in {r.attr for r in reads(equation)}:
            readers[read] = readers.get(read, 0) + 1
    masks = usage(steep, consumers)
    keep = {t for t, mask in masks.items() if mask is None or readers[t] > 1}
    return inline_pointwise(system, keep=keep)
