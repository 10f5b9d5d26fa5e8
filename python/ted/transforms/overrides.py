"""Which tensors have a derivative of the user's, and how that follows them through rewriting.

An override belongs to a node as long as the node lives.  When a transformation replaces the node by
another one, the override of that one calls the same user function and rewrites its answer alike.
The API marks the results of `ted.custom_vjp` and `ted.checkpoint`, `ted-differentiate` those of
calls of functions with such an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ted.autodiff.override import Override
from ted.ir.equations import System, Tensor, rewrite_system, topological

Overrides = Callable[[Tensor], "Override | None"]
_KEY = "override"  # kept by the node itself: they may refer to each other and still be freed


def mark(node: Tensor, override: Override) -> None:
    """Give a tensor a derivative of its own."""
    vars(node)[_KEY] = override


def override_of(node: Tensor) -> Override | None:
    """The derivative that a tensor was given, if any."""
    return vars(node).get(_KEY)


def substituted(nodes: Sequence[Tensor], mapping: Mapping[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """The nodes as functions of `mapping[t]` instead of t, with their overrides.

    What stands in `mapping` keeps the override that it has, or none: it may be a variable.
    """
    return substitution(nodes, mapping)[0]


def substitution(
    nodes: Sequence[Tensor], mapping: Mapping[Tensor, Tensor]
) -> tuple[tuple[Tensor, ...], dict[Tensor, Tensor]]:
    """The same, and what every tensor below the nodes became.

    What an override names is below its tensor, too: the value of that need not read it.
    """
    named = named_below(nodes)
    system, became = rewrite_system(
        System((), (*nodes, *named)), lambda t, equations: mapping.get(t, equations)
    )
    carry({old: new for old, new in became.items() if old not in mapping}, mapping)
    return system.outputs[: len(nodes)], became


def named_below(nodes: Sequence[Tensor]) -> list[Tensor]:
    """What the overrides of the tensors below the nodes depend on."""
    return [d for o in overrides_below(nodes).values() for d in o.dependencies]


def overrides_below(
    nodes: Sequence[Tensor], overrides: Overrides = override_of
) -> dict[Tensor, Override]:
    """The overrides of the tensors that the nodes or other overrides depend on."""
    found: dict[Tensor, Override] = {}
    roots = list(nodes)
    while roots:
        known = {t: overrides(t) for t in topological(roots) if t not in found}
        fresh = {t: o for t, o in known.items() if o is not None}
        found.update(fresh)
        roots = [d for o in fresh.values() for d in o.dependencies]
    return found


def carry(became: Mapping[Tensor, Tensor], borders: Mapping[Tensor, Tensor] | None = None) -> None:
    """Give what tensors with an override became an override that does the same.

    `borders` were replaced too, by variables, which have no override.
    """
    every = {**became, **(borders or {})}
    for old, new in became.items():
        override = override_of(old)
        if override is not None and new is not old and override_of(new) is None:
            mark(new, moved(override, every))


def moved(override: Override, became: Mapping[Tensor, Tensor]) -> Override:
    """The override of a tensor that is computed from `became[t]` instead of t."""

    def adjoints(tensor: Tensor, head: Tensor) -> Sequence[Tensor]:
        return substituted(override.adjoints(tensor, head), became)

    def guarded(mask: Tensor, tensor: Tensor, head: Tensor) -> Sequence[Tensor]:
        assert override.guarded is not None, "asked for where there is one"
        return substituted(override.guarded(mask, tensor, head), became)

    dependencies = tuple(became.get(d, d) for d in override.dependencies)
    return Override(dependencies, adjoints, None if override.guarded is None else guarded)
