"""Kernels as `gpu.launch`: 1-D grids and blocks, shared memory, values moved in from the host.

Before: host code      After: the same with a `gpu.launch` whose body uses memory, loop counters
of the host, and nothing else from outside: index arithmetic and views are made again inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from ted.errors import CompileError
from ted.mlir import gpu, ir, scf
from ted.mlir.aliasing import VIEWS
from ted.mlir.queries import copied_with, defining, is_inside
from ted.records import dataclass

MOST_BLOCKS = 2**31 - 1
# What costs nothing and touches no memory: repeated in each kernel that needs it.
_PURE = ("arith.", "affine.", "index.", "math.")


@dataclass(frozen=True)
class Launch:
    """A kernel being built: a one-dimensional grid of one-dimensional blocks."""

    op: ir.Operation
    blocks: int
    threads: int
    # Shared memory in which partial results of warps meet, by the number of the meeting.
    meetings: list[list[ir.Value]] = field(default_factory=list, compare=False)

    @property
    def block(self) -> ir.Value:
        """Number of the block."""
        return self.body.arguments[0]

    @property
    def thread(self) -> ir.Value:
        """Number of the thread in its block."""
        return self.body.arguments[3]

    @property
    def body(self) -> ir.Block:
        """The code of a thread."""
        return self.op.regions[0].blocks[0]

    def attribution(self, kind: ir.MemRefType) -> ir.Value:
        """Shared memory of the block."""
        name = "workgroup_attributions"
        count = ir.IntegerAttr(self.op.attributes[name]).value if name in self.op.attributes else 0
        i64 = ir.IntegerType.get_signless(64)
        self.op.attributes[name] = ir.IntegerAttr.get(i64, count + 1)
        return self.body.add_argument(kind, self.op.location)


@contextmanager
def launch(blocks: int, threads: int) -> Iterator[Launch]:
    """Build a kernel at the insertion point; inside, operations are added to its body.

    Raises: CompileError for more blocks than a GPU launches.
    """
    if blocks > MOST_BLOCKS:
        raise CompileError(f"gpu: a kernel has at most {MOST_BLOCKS} blocks, got {blocks}")
    made = gpu.LaunchOp((blocks, 1, 1), (threads, 1, 1))
    built = Launch(made.operation, blocks, threads)
    with ir.InsertionPoint(built.body):
        yield built
        gpu.TerminatorOp()
    sink_into(built.op)


def sink_into(op: ir.Operation) -> None:
    """Make again inside a kernel what it uses from outside, except memory and loop counters."""
    block = op.regions[0].blocks[0]
    known: dict[ir.Value, ir.Value] = {}
    users: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        users.append(inner)
        return ir.WalkResult.ADVANCE

    with ir.InsertionPoint.at_block_begin(block):
        block_ops = [o.operation for o in block.operations]
        for inner in block_ops:
            inner.walk(visit)
        for user in users:
            for k, operand in enumerate(user.operands):
                owner = defining(operand)
                if owner is not None and _can_sink(owner) and not is_inside(owner, op):
                    user.operands[k] = _sunk(operand, op, known)


def _sunk(value: ir.Value, launch_op: ir.Operation, known: dict[ir.Value, ir.Value]) -> ir.Value:
    owner = defining(value)
    if owner is None or not _can_sink(owner) or is_inside(owner, launch_op):
        return value
    if value not in known:
        known.update({o: _sunk(o, launch_op, known) for o in owner.operands})
        copied_with(owner, known)
    return known[value]


def _can_sink(op: ir.Operation) -> bool:
    if op.name in VIEWS or op.name in ("memref.extract_strided_metadata", "memref.dim"):
        return True
    return op.name.startswith(_PURE) and len(op.regions) == 0


@contextmanager
def only_if(condition: ir.Value | None) -> Iterator[None]:
    """What is built inside runs where the condition holds (None: always)."""
    if condition is None:
        yield
        return
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        yield
        scf.YieldOp([])
