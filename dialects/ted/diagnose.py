"""Run a table of verifier rules on an op and report the first one that it breaks.

A rule is a function from the op to a text, or to None when the op obeys. An exception inside a rule
would cross the C++ verifier, so it is caught here and becomes a diagnostic like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ted.mlir import ir

    Rule = Callable[[ir.OpView], str | None]


def attributes_can_be_read(op: ir.OpView) -> str | None:
    """Every attribute is of a kind that the binding has a class for."""
    for name in op.attributes:
        try:
            op.attributes[name]
        except TypeError:  # noqa: PERF203 (of an attribute such as array<i7: 1>)
            return f"attribute '{name}' must be of a known kind, got an array of unusual integers"
    return None


def first_violation(op: ir.OpView, rules: Sequence[Rule]) -> bool:
    """Return True if every rule holds; else emit `<op>: <rule>, got <values>` at the op."""
    for rule in (attributes_can_be_read, *rules):
        try:
            message = rule(op)
        except Exception as error:  # anything, see above
            message = f"{rule.__name__.replace('_', ' ')} could not be checked, got {error!r}"
        if message is not None:
            op.location.emit_error(f"{op.operation.name}: {message}")
            return False
    return True
