"""`ted-fuse-rows`: operations over the same rows -> one loop over rows around all of them.

Before: a row maximum, an exponential, a row sum and a division, each over the whole matrix.
After: `scf.forall (%i)` with the four on one row, so that a row stays in the first cache. Results
of inner members that are wanted outside are written in place.

The transform dialect tiles and fuses; which operations belong together is decided by
`row_strategies.py`, or said by `ted.group`. Producers are fused one at a time, nearest consumer
first, with CSE after each: otherwise a producer with several uses is fused once and left outside
as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.linalg.initial_values import split_starts
from ted.linalg.row_groups import rank
from ted.linalg.row_strategies import decide, erase
from ted.machine import DEFAULT, named_cpu
from ted.mlir import interpreter, ir
from ted.mlir.queries import count_inputs, defining, operations, terminator
from ted.mlir.scratch_functions import alone
from ted.records import dataclass

_MARK = "ted.row"
_ANY = "!transform.any_op"


@dataclass(frozen=True)
class TedFuseRows:
    """Fuse every group of two or more operations. `cpu` is a row of `ted.machine.CPUS`."""

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Rewrite the module.

        Raises: ScheduleError for a `ted.group` that does not fit.
        """
        decisions = decide(module, named_cpu(self.cpu))
        erase(decisions)
        for group in decisions.groups:
            depth, root = group.depth, group.members[0]
            _fuse(group.members, [1] * depth + [0] * (rank(root) - depth))
        for loop in operations(module.operation, "scf.forall"):
            _part_starts(loop)
        split_starts(module)  # a producer that stays outside starts where its copy inside does


def _fuse(members: Sequence[ir.Operation], sizes: Sequence[int]) -> None:
    """Fuse members, which are erased: the root first, an iteration has so much of its loops."""
    marks = [f"{_MARK}_{k}" for k in range(len(members))]
    for op, mark in zip(members, marks, strict=True):
        op.attributes[mark] = ir.UnitAttr.get()
    script = ir.Module.parse(_script(marks, sizes))
    sequence = script.body.operations[0].operation
    with alone(members[::-1]) as scratch:
        interpreter.apply_named_sequence(scratch.operation, sequence, script.operation)


def _part_starts(loop: ir.Operation) -> None:
    """Let each result of a loop go on from its own start, where two start from one value.

    The transform dialect lets all members read the start of one, so that others are copied, and
    the memory of a result holds another one for a while.
    """
    count = len(loop.results)
    if not count:  # somebody's loop on memory
        return
    block = loop.regions[0].blocks[0]
    given = dict(zip(list(block.arguments)[-count:], list(loop.operands)[-count:], strict=True))
    for insertion in terminator(block).regions[0].blocks[0].operations:
        source, own = insertion.operation.operands[:2]
        maker = defining(source, "linalg.fill", "linalg.generic")
        if maker is None:
            continue
        position = count_inputs(maker) + ir.OpResult(source).result_number
        row = defining(maker.operands[position], "tensor.extract_slice")
        if row is not None and row.operands[0] != own and given.get(row.operands[0]) == given[own]:
            ours = row.clone(ir.InsertionPoint(row)).operation
            ours.operands[0] = own
            maker.operands[position] = ours.results[0]


def _script(marks: Sequence[str], sizes: Sequence[int]) -> str:
    root, *producers = marks
    lines = [
        _match("functions", 'ops{["func.func"]}'),
        _match("root", f"attributes{{{root}}}"),
        f"%tiled, %loop0 = transform.structured.tile_using_forall %root tile_sizes {[*sizes]}"
        f" : ({_ANY}) -> ({_ANY}, {_ANY})",
        f"transform.apply_cse to %functions : {_ANY}",
    ]
    for k, mark in enumerate(producers):
        lines += [
            _match(f"producer{k}", f"attributes{{{mark}}}"),
            f"%fused{k}, %loop{k + 1} = transform.structured.fuse_into_containing_op %producer{k}"
            f" into %loop{k} : ({_ANY}, {_ANY}) -> ({_ANY}, {_ANY})",
            f"transform.apply_cse to %functions : {_ANY}",
        ]
    body = "\n".join(lines)
    return f"""module attributes {{transform.with_named_sequence}} {{
      transform.named_sequence @fuse(%module: {_ANY}) {{
        {body}
        transform.yield
      }}
    }}"""


def _match(name: str, what: str) -> str:
    return f"%{name} = transform.structured.match {what} in %module : ({_ANY}) -> {_ANY}"
