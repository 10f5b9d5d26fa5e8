"""Which buffers are one, and when each is taken and given back: the pass `ted-plan-memory`.

Before: `memref.alloc` where a tensor is made first, in loops as well, and nothing is given back
After: `memref.alloca` at the start for what is small; of all others `memref.alloc` right before
the first use at the top level of a function, `memref.dealloc` right behind the last one

1. Buffers are taken, and filled, as late as can be.
2. A map writes where it reads: buffer T is R, too, where the last operation that touches T is the
   first one that touches R, each point of it reads T at most at the element of R that it writes,
   and no other point writes that element. R is made in the same block, or a result of the function,
   which then holds T from the start.
3. In an iteration of a loop a buffer that is not used any more is the next one of its type, but for
   those of which one operation is the only user: if it is a loop, each iteration may have its own.
4. The smallest are on the stack, `total` bytes in a function, and none of more than `each`: a stack
   may be small in a thread. The others are of the heap: the peak is what is alive at once.

Functions whose buffers are yielded, chosen, returned or passed to calls, or have sizes known at run
time, as MLIR's bufferization makes them of linalg of other tools, are left to MLIR's own pipeline.
That frees what is in the other functions of the module too, until these are planned.
Loops that run at once get buffers of their own later (`ted-parallelize-kernels`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ted.cpu.kernel_memory import on_stack
from ted.cpu.work import bytes_of
from ted.mlir import func, ir, memref
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.generic import Generic
from ted.mlir.lifetimes import Lifetimes, is_passed_on
from ted.mlir.locations import mlir_location, source_location, user_name
from ted.mlir.pass_managers import pass_manager
from ted.mlir.queries import defining, functions, in_block, operands_inside, operations
from ted.records import dataclass

_TAKES, _GIVES, _FILLS = "memref.alloc", "memref.dealloc", "linalg.fill"
_OF_OTHERS = (
    "func.func(buffer-hoisting,buffer-loop-hoisting),buffer-deallocation-pipeline,inline,"
    "canonicalize,cse,func.func(optimize-allocation-liveness)"
)


@dataclass(frozen=True)
class TedPlanMemory:
    """The pass; `each` and `total` are bytes on the stack."""

    each: int = 16384
    total: int = 65536

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        planned = [f for f in functions(module) if all(map(_is_plain, operations(f, _TAKES)))]
        if len(planned) < len(list(functions(module))):
            names = [f.name.value for f in planned]
            pass_manager(f"builtin.module({_OF_OTHERS})", module.context).run(module.operation)
            planned = [f for f in functions(module) if f.name.value in names]
        for function in planned:
            self._plan(function)

    def _plan(self, function: func.FuncOp) -> None:
        for op in operations(function, _GIVES):
            op.erase()
        for op in reversed(operations(function, *VIEWS)):
            if not list(op.results[0].uses):
                op.erase()
        entry = function.entry_block
        for block in dict.fromkeys(op.block for op in operations(function, _TAKES)):
            _take_late(block)
            _Sharing(block).join_maps()
            if block != entry:
                _Sharing(block).join_types()
        for op in operations(function, _TAKES):
            if op.block != entry:
                op.move_before(in_block(op, entry))
        for op in self._small(function):
            with op.location:
                slot = on_stack(ir.MemRefType(op.results[0].type), op.block)
            op.results[0].replace_all_uses_with(slot)
            op.erase()
        lifetimes = Lifetimes(entry)
        for op in operations(function, _TAKES):
            last = lifetimes.users(op.results[0])[-1]
            with ir.InsertionPoint(last), op.location:
                memref.DeallocOp(op.results[0]).operation.move_after(last)

    def _small(self, function: func.FuncOp) -> Iterator[ir.Operation]:
        """What is on the stack, the smallest first."""
        left = self.total
        found = [(bytes_of(op.results[0].type), op) for op in operations(function, _TAKES)]
        for size, op in sorted(found, key=lambda pair: pair[0]):
            left -= size
            if left < 0 or size > self.each:
                return
            yield op


def _is_plain(op: ir.Operation) -> bool:
    """Whether a buffer has a known size, and no other names than its views."""
    return not len(op.operands) and not is_passed_on(op.results[0])


def _take_late(block: ir.Block) -> None:
    """Move what makes buffers, and views of them, and fills that start them, down to the first use;
    what nothing uses goes."""
    lifetimes = Lifetimes(block)
    for op in reversed(list(lifetimes.order)):
        if op.name == _FILLS and _is_made_in(block, root(op.operands[-1])):
            users = lifetimes.users(root(op.operands[-1]))
            k = users.index(op)
            if len(users) > k + 1 and all(one.name == _FILLS for one in users[:k]):
                op.move_before(users[k + 1])
        elif op.name in (_TAKES, *VIEWS) and _is_made_in(block, root(op.results[0])):
            uses = list(op.results[0].uses)
            if uses:
                op.move_before(_first(uses, block))
            else:
                op.erase()


def _is_made_in(block: ir.Block, buffer: ir.Value) -> bool:
    maker = defining(buffer, _TAKES)
    return maker is not None and maker.block == block


def _first(uses: Iterable[ir.OpOperand], block: ir.Block) -> ir.Operation:
    first, *others = {in_block(use.owner.operation, block) for use in uses}
    for other in others:
        if other.is_before_in_block(first):
            first = other
    return first


class _Sharing:
    """The buffers that are made in a block, as they become one."""

    def __init__(self, block: ir.Block) -> None:
        self._block = block
        self._is_entry = block.owner.operation.name == "func.func"
        self._lifetimes = Lifetimes(block)

    def join_maps(self) -> None:
        """Let maps write where they read, in the order of execution."""
        for op in self._lifetimes.order:
            if op.name != "linalg.generic":
                continue
            for old, new in _pairs(Generic(op)):
                if self._may_join(old, new, op):
                    self._join(old, new)
                    break

    def join_types(self) -> None:
        """Let what is made later be in memory of its type that is not used any more."""
        kept: dict[ir.Type, list[ir.Value]] = {}
        order, users = self._lifetimes.order, self._lifetimes.users
        for op in [view.operation for view in self._block.operations]:
            if op.name != _TAKES:
                continue
            buffer = op.results[0]
            if len(users(buffer)) == 1:
                continue  # of one loop, whose iterations may have it each for themselves
            first, same = order[users(buffer)[0]], kept.setdefault(buffer.type, [])
            free = next((one for one in same if order[users(one)[-1]] < first), None)
            if free is None:
                same.append(buffer)
            else:
                self._join(free, buffer)

    def _may_join(self, old: ir.Value, new: ir.Value, op: ir.Operation) -> bool:
        is_result = self._is_entry and new.owner == self._block
        if not _is_made_in(self._block, old) or not (is_result or _is_made_in(self._block, new)):
            return False
        return self._lifetimes.users(old)[-1] == op == self._lifetimes.users(new)[0]

    def _join(self, old: ir.Value, new: ir.Value) -> None:
        """Let both be the older buffer, or the memory of a result."""
        gone, kept = (new, old) if defining(new) is not None else (old, new)
        maker, other = defining(gone), defining(kept)
        assert maker is not None, "one of both is made here"
        if other is not None:
            other.location = _of_both(other.location, maker.location)
        self._lifetimes.replace(gone, kept)
        maker.erase()


def _of_both(first: ir.Location, second: ir.Location) -> ir.Location:
    """The place of the first tensor, and the names of both."""
    names = [name for name in (user_name(first), user_name(second)) if name is not None]
    return mlir_location(source_location(first), ", ".join(names) or None, first.context)


def _pairs(generic: Generic) -> Iterator[tuple[ir.Value, ir.Value]]:
    """What is read and what is written, element by element at the same places."""
    old_ones = [old for old in generic.inputs if defining(old, _TAKES) is not None]
    if not old_ones or not generic.is_map:
        return
    loaded = _loaded(generic)
    for k, new in enumerate(generic.outputs, generic.count_inputs):
        if root(new) in loaded or not _is_written_once(generic, k):
            continue
        for old in old_ones:
            if old.type == new.type and old not in loaded and _is_read_in_place(generic, old, k):
                yield old, new


def _is_written_once(generic: Generic, k: int) -> bool:
    """Whether each point writes an element of its own, and does not ask what was there."""
    is_unasked = not list(generic.body.arguments[k].uses)
    is_alone = _meets(generic, k) == [k]
    return is_unasked and generic.maps[k].is_permutation and is_alone


def _is_read_in_place(generic: Generic, old: ir.Value, k: int) -> bool:
    """Whether a map reads a buffer at the element that it writes, and writes none of it."""
    readers = [j for j, value in enumerate(generic.operands) if root(value) == old]
    return all(
        j < generic.count_inputs and generic.operands[j] == old
        and generic.maps[j] == generic.maps[k] for j in readers
    )  # fmt: skip


def _meets(generic: Generic, k: int) -> Sequence[int]:
    """The operands in the memory of one."""
    memory = root(generic.operands[k])
    return [j for j, value in enumerate(generic.operands) if root(value) == memory]


def _loaded(generic: Generic) -> set[ir.Value]:
    """The memory that the body reads at places that are no subscripts."""
    inside = [v for op in generic.code for v in operands_inside(op)]
    return {root(v) for v in inside if isinstance(v.type, ir.MemRefType)}
