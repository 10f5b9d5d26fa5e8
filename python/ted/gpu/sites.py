"""Operations of a block with what their kernels depend on: what rows of strategies see.

Before: a block of work on memrefs      After: a `Site` for each operation, in their order
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from ted.forking import cached_property
from ted.gpu.bodies import Work, work_of
from ted.gpu.collapsing import collapsed
from ted.gpu.contractions import Contractions, claimed_readers
from ted.gpu.dead_fills import STRUCTURED, Starts, structured
from ted.gpu.disjoint_stores import Pieces, pieces_from
from ted.gpu.loop_nests import Nest, has_steps
from ted.mlir import ir
from ted.mlir.aliasing import VIEWS
from ted.mlir.dependences import Dependences
from ted.mlir.queries import computed_from, constant_of, defining, operations, users_in
from ted.mlir.strategies import asked_for, refused
from ted.records import dataclass

_HOST = ("memref.alloc", "memref.dealloc", "memref.get_global", "gpu.launch")


@dataclass(frozen=True, eq=False)
class Site:
    """An operation of a block; `taken` are operations that have another kernel, or ask for one.

    `templates` are the contractions where kernels of templates may be used.
    """

    op: ir.Operation
    later: Sequence[ir.Operation]
    dependences: Dependences
    starts: Starts
    taken: Set[ir.Operation]
    contractions: Contractions
    templates: Contractions | None
    deterministic: bool = True
    is_conditional: bool = False

    @property
    def start(self) -> tuple[ir.Value | None, ...]:
        """What the results hold before, where that is known and was not written."""
        return self.starts.of.get(self.op, ())

    @cached_property
    def raw_work(self) -> Work | None:
        """The operation as a box of points; None if it is none."""
        work = work_of(self.op) if structured(self.op) else None
        return None if work is None else replace(work, starts=self.start)

    def work(self) -> Work:
        """The box with as few dims as possible; views are made at the insertion point."""
        assert self.raw_work is not None, "the row is one of boxes"
        return collapsed(self.raw_work)

    @cached_property
    def pieces(self) -> Pieces | None:
        """Operations that write pieces of the same memory, this one first."""
        others = self.taken | self.starts.folded

        def is_other(op: ir.Operation) -> bool:
            known = self.templates
            return op in others or (known is not None and known.claims(op))

        group = pieces_from(self.op, self.later, self.dependences, self.starts.of, is_other)
        if group is not None and self.templates is not None:
            others = others | claimed_readers([self.op, *self.later], self.dependences)
            group = pieces_from(self.op, self.later, self.dependences, self.starts.of, is_other)
        return group

    @cached_property
    def span(self) -> list[ir.Operation]:
        """The operation and all up to the last one that needs a scalar from one of them."""
        return _group(self.op, self.later)

    @cached_property
    def group(self) -> list[ir.Operation]:
        """Those of the span that compute, and have no kernel yet.

        Raises: ScheduleError when another than the first asks for a strategy.
        """
        for op in self.span[1:]:
            if asked_for(op) is not None and not is_of_the_host(op):
                rule = f"stands at the first operation of a kernel, {self.op.name}, got {op.name}"
                raise refused(op, rule)
        return [o for o in self.span if o not in self.taken and not is_of_the_host(o)]

    @cached_property
    def nest(self) -> Nest:
        """The group as points of loops."""
        return Nest(self.group)


def hoist_buffers(block: ir.Block) -> None:
    """Move buffers out of loops and conditions that become one kernel: the host makes them."""
    for op in [o.operation for o in block.operations]:
        if op.name in ("scf.for", "scf.if") and not is_around_kernels(op):
            for buffer in operations(op, "memref.alloc"):
                buffer.move_before(op)


def is_around_kernels(op: ir.Operation) -> bool:
    """Whether a loop stays on the host, or a condition is only around kernels."""
    if op.name not in ("scf.for", "scf.if"):
        return False
    if op.name == "scf.if" and not is_of_the_host(defining(op.operands[0])):
        return False
    if operations(op, *STRUCTURED, "scf.forall"):
        return True
    is_loop = op.name == "scf.for" and None not in map(constant_of, list(op.operands)[:3])
    return is_loop and has_steps(op)


def is_of_the_host(op: ir.Operation | None) -> bool:
    """Whether the host keeps an operation: views, memory, numbers of loops and conditions."""
    if op is None:
        return True
    if op.name in VIEWS or op.name in _HOST:
        return True
    if not op.name.startswith(("arith.", "affine.")):
        return False
    # Conditions and numbers of loops; arithmetic on elements belongs to its loads and stores.
    return all(isinstance(o.owner, ir.Block) or _is_pure(o.owner.operation) for o in op.operands)


def _is_pure(op: ir.Operation) -> bool:
    makers = [op, *(defining(v) for v in computed_from(op.operands))]
    return all(o is None or o.name.startswith(("arith.", "affine.")) for o in makers)


def _group(op: ir.Operation, later: Sequence[ir.Operation]) -> list[ir.Operation]:
    group = [op]
    end, k = _last_use([op], later), 0
    while k < end:
        group.append(later[k])
        k += 1
        end = max(end, _last_use([later[k - 1]], later))
    return group


def _last_use(ops: Sequence[ir.Operation], later: Sequence[ir.Operation]) -> int:
    """How many of the later operations there are up to the last that uses a scalar of these."""
    users: set[ir.Operation] = set()
    for op in ops:
        if op.name in VIEWS or op.name in _HOST:
            continue
        users |= users_in(op, op.block)
    return max((k + 1 for k, o in enumerate(later) if o in users), default=0)
