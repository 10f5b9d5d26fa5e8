"""Verifier rules of `ted.scan`: first of the op alone, then of its body.

Later rules rely on earlier ones, as in `verify_compute`. That no step reads what a later one
writes needs integer sets, and is proved by the pass `ted-check-bounds`.
"""

from __future__ import annotations

from typing import Any

from ted.dialects.ted.operand_types import MAX_RUNS, type_runs
from ted.dialects.ted.scan_fields import states_of
from ted.dialects.ted.verify_body import body_ends_in_yield, body_is_one_block
from ted.dialects.ted.verify_compute import (
    inits_have_the_types_of_the_results,
    types_are_tensors_of_known_sizes,
)
from ted.mlir import ir

_KINDS = {
    "times": (ir.DenseI64ArrayAttr, "array<i64: ...>"),
    "steps": ((ir.IntegerAttr, ir.AffineMapAttr), "an integer or an affine_map"),
    "reverse": (ir.BoolAttr, "a bool"),
}
_BODY_OPS = ("ted.compute", "ted.scan", "arith.constant", "ted.yield")


def attributes_are_present(op: Any) -> str | None:
    """Every attribute is there and of its kind."""
    for name, (kind, text) in _KINDS.items():
        if name not in op.attributes:
            return f"attribute '{name}' must be present as {text}, got none"
        if not isinstance(op.attributes[name], kind):
            return f"attribute '{name}' must be {text}, got {op.attributes[name]}"
    return None


def histories_pair_up(op: Any) -> str | None:
    """One init, one time dim and one result per history, and at least one history."""
    inits, times, results = len(op.operands), len(op.time_dims), len(op.results)
    if not inits or not inits == times == results:
        return (
            "one init, one time dim and one result per history, "
            f"got {inits} inits, {times} times and {results} results"
        )
    return None


def time_dims_have_one_extent_per_step(op: Any) -> str | None:
    """The time dim of every history exists and is as long as there are steps."""
    for position, (time, value) in enumerate(zip(op.time_dims, op.results, strict=True)):
        rank = value.type.rank
        if not 0 <= time < rank:
            return f"time {position} must be a dim of {value.type}, got {time}"
        if not _has_extent(value.type, time, op):
            return (
                f"history {position} must have one extent per step in its time dim {time}, "
                f"got {value.type} and {op.symbolic_steps or op.step_count} steps"
            )
    return None


def _has_extent(kind: Any, time: int, op: Any) -> bool:
    steps = op.symbolic_steps
    if steps is None:
        return kind.shape[time] == op.step_count
    if kind.has_static_shape or steps.n_dims or len(steps.results) != 1:
        return False
    return ir.AffineMapAttr(kind.encoding).value.results[time] == steps.results[0]


def operands_fit_irdl(op: Any) -> str | None:
    """There are not too many runs of histories of equal type."""
    runs = len(type_runs(op.operands))
    if runs > MAX_RUNS:
        return f"at most {MAX_RUNS} runs of histories of equal type, got {runs}; sort them by type"
    return None


RULES = (
    attributes_are_present,
    histories_pair_up,
    types_are_tensors_of_known_sizes,
    inits_have_the_types_of_the_results,
    time_dims_have_one_extent_per_step,
    operands_fit_irdl,
)


# ---- the body ------------------------------------------------------------------------------------


def body_has_one_argument_per_history(op: Any) -> str | None:
    """Argument k has the type of result k."""
    arguments = [argument.type for argument in op.body_block.arguments]
    wanted = [value.type for value in op.results]
    if arguments != wanted:
        return (
            f"the body must have one argument per history {_text(wanted)}, got {_text(arguments)}"
        )
    return None


def body_holds_equations(op: Any) -> str | None:
    """Only equations, scans and constants stand in the body."""
    for inner in op.body_block.operations:
        if inner.operation.name not in _BODY_OPS:
            return f"the body may use {', '.join(_BODY_OPS)}, got {inner.operation.name}"
    return None


def equations_write_histories(op: Any) -> str | None:
    """The init of every equation is a block argument or what an earlier equation made of it."""
    histories = op.history_of()
    for position, inner in enumerate(op.parts):
        if any(result not in histories for _, result in states_of(inner)):
            return f"equation {position} must start from a block argument of the body, got another"
    return None


def states_are_written_once(op: Any) -> str | None:
    """The states of a history form one chain, so that it can be written in place."""
    histories = op.history_of()
    last = dict(enumerate(op.body_block.arguments))
    for position, inner in enumerate(op.parts):
        for start, result in states_of(inner):
            history = histories[result]
            if start != last[history]:
                return f"equation {position} must start from the last state of history {history}"
            last[history] = result
    return None


def yields_the_last_states(op: Any) -> str | None:
    """What is yielded are the histories, after all equations of the step."""
    histories = op.history_of()
    last = dict(enumerate(op.body_block.arguments))
    last.update((histories[result], result) for i in op.parts for _, result in states_of(i))
    if len(op.yielded) != len(op.results):
        return f"ted.yield must give one value per history, got {len(op.yielded)}"
    for position, value in enumerate(op.yielded):
        if value != last[position]:
            return f"ted.yield must give the last state of history {position}, got another value"
    return None


def inner_times_are_other_dims(op: Any) -> str | None:
    """A scan inside of a step runs along other dims than this one."""
    histories = op.history_of()
    for inner in op.parts:
        if inner.operation.name != "ted.scan":
            continue
        for init, time in zip(inner.inits, inner.time_dims, strict=True):
            if time == op.time_dims[histories[init]]:
                return (
                    f"a scan in the body must run along other dims than this one, got dim {time} "
                    f"of history {histories[init]} for both"
                )
    return None


def times_written_are_not_data(op: Any) -> str | None:
    """The step at which a point is performed follows from its position."""
    for position, (inner, history) in enumerate(op.writers()):
        written = inner.write_map.results[op.time_dims[history]]
        if _uses_data(written, inner.size_count):
            return (
                f"equation {position} must write the time dim {op.time_dims[history]} of history "
                f"{history} at an affine index, got data"
            )
    return None


def _uses_data(expr: Any, sizes: int) -> bool:
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineBinaryExpr):
        return _uses_data(expr.lhs, sizes) or _uses_data(expr.rhs, sizes)
    return isinstance(expr, ir.AffineSymbolExpr) and expr.position >= sizes


def _text(types: list[ir.Type]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


BODY_RULES = (
    body_is_one_block,
    body_has_one_argument_per_history,
    body_ends_in_yield,
    body_holds_equations,
    equations_write_histories,
    states_are_written_once,
    yields_the_last_states,
    inner_times_are_other_dims,
    times_written_are_not_data,
)
