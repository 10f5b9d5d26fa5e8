"""Whether tensors that outgrow a cache are made in a loop over blocks, by counted bytes.

Stored, a tensor is written, and read by each equation that reads it. In a loop it stays in the
cache; but in each block the loop reads all of what has no rows, and reads and writes its totals,
as far as those outgrow the cache. So blocks have as many rows as the cache holds, or more, which
then lie in the far caches. What is larger than those counts `FAR` times. The fewer bytes win; with
a limit of memory the loop does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from ted.domain.sizes import estimate
from ted.ir.equations import System, Tensor, is_contraction
from ted.ir.scalar import dim, is_const
from ted.plan.block_groups import Apart, Graph, Group, grown
from ted.plan.block_loops import BlockLoop
from ted.records import dataclass

NAME = "ted-loop-over-blocks"
LEAST, PRODUCTS = 4, 32  # rows of a block: fewer make poor products, more than a cache holds none
# The far caches hold some 8 times what the second one does for each core. On a Zen 5, loops
# that read and write 16 to 24 MiB in each block were slower than by the bytes of nearer ones.
FAR_CACHE, FAR = 8, 4
# What is not larger than so many second caches is stored. Threads share one block after the other:
# two of them gained from 38 MiB on; many have little to share in a block, which was not measured.
WHOLE = 64
SEEDS = 32  # tensors that are looked at, the largest of a program: a hundredth of a second for each


@dataclass(frozen=True)
class Choice:
    """The loop that a tensor is made in, or the reason why it is stored."""

    tensor: Tensor
    loop: BlockLoop | None
    reason: str

    def __str__(self) -> str:
        return f"{self.tensor} {self.reason}"


@dataclass(frozen=True)
class Bounds:
    """What the second cache holds, in bytes, and what stored tensors and blocks may take.

    With `always` loops are made where they can be, of what outgrows the cache itself. With `most`
    no block of several rows takes more than so many bytes, and what does is made in a loop.
    """

    cache: int
    always: bool = False
    most: int = 0

    @property
    def stored(self) -> int:
        """The bytes of the largest tensor that is stored whatever it costs."""
        least = self.cache if self.always else WHOLE * self.cache
        return min(self.most, least) if self.most else least

    def rows(self, extent: int, row: int) -> set[int]:
        """How many rows a block may have at most, if one takes `row` bytes: what the second cache
        holds, what the far ones do, and where it is said what there is, so much."""
        held = {self.cache // row, min(PRODUCTS, FAR_CACHE * self.cache // row)}
        if self.most:
            held = {min(n, self.most // row) for n in held} | {self.most // row}
        return {max(1, min(n, extent // 2)) for n in held}


def seeds_of(system: System, bounds: Bounds) -> list[Tensor]:
    """What is not to be whole, the largest first, and of a tensor and copies what is read first."""
    made = (t for t in system.tensors() if t.equations and t not in system.outputs)
    found = [t for t in made if t.nbytes > bounds.stored]
    return sorted(found, key=lambda t: (-t.nbytes, t.equations[0].recomputed))[:SEEDS]


def graph_of(system: System, bounds: Bounds, taken: Sequence[Group] = ()) -> Graph:
    """The graph of a system with what is large enough to be worth a loop."""
    least = min(bounds.stored, bounds.cache)
    large = {t for t in system.tensors() if not t.is_input and t.nbytes > least}
    return Graph(system, taken, large)


def choices(system: System, bounds: Bounds) -> Iterator[Choice]:
    """What becomes of each large tensor, the largest first."""
    seeds = seeds_of(system, bounds)
    if not seeds:
        return
    taken: list[Group] = []
    graph = graph_of(system, bounds)
    for seed in seeds:
        if any(seed in group.rows for group in taken):
            continue
        choice = _choice(graph, seed, bounds)
        if choice.loop is not None:
            taken.append(choice.loop.group)
            graph = graph_of(system, bounds, taken)
        yield choice


def _choice(graph: Graph, seed: Tensor, bounds: Bounds) -> Choice:
    reasons: list[str] = []
    found: list[_Cost] = []
    for along in range(len(seed.shape)):
        cost = _cost(graph, seed, along, bounds)
        if isinstance(cost, Apart):
            reasons.append(f"along dim {along}, {cost}")
        else:
            found.append(cost)
    best = max(found, key=lambda cost: cost.gain(bounds.always), default=None)
    if best is None:
        return Choice(seed, None, f"is stored, since {'; '.join(reasons)}")
    loop, whole = best.loop, f"{best.stored >> 20} MiB of what is whole"
    counted = f"{best.again >> 20} MiB for {loop.steps} blocks"
    if best.again < best.stored or bounds.always:
        reason = f"is made in blocks of {loop.size} rows, {counted} in place of {whole}"
        return Choice(seed, loop, reason)
    return Choice(seed, None, f"is stored, {whole} in place of {counted}")


def _cost(graph: Graph, seed: Tensor, along: int, bounds: Bounds) -> _Cost | Apart:
    try:
        group = grown(graph, seed, along)
    except Apart as reason:
        return reason
    if not bounds.always and not any(map(is_contraction, group.loops)):
        return Apart("nothing is a product of matrices, and rows of the others are fused anyhow")
    cost = _Cost(graph, group, bounds)
    if cost.loop.size < LEAST and not bounds.always:
        held = FAR_CACHE * bounds.cache // cost.row
        return Apart(f"caches hold {held} of {group.extent} rows, and {LEAST} are a block")
    return cost


class _Cost:
    """A loop over blocks, and the bytes that go through memory with it, and without."""

    def __init__(self, graph: Graph, group: Group, bounds: Bounds) -> None:
        self.cache = bounds.cache
        held = held_of(graph, group)
        self.never_whole = sum(held.values())
        self.row = max(1, self.never_whole // group.extent)
        times = {t: 1 + len(graph.readers[t]) for t in held}  # written, and read by each
        self.uses = sum(t.nbytes * n for t, n in times.items())
        self.stored = sum(
            t.nbytes // max(1, size) * _moved(size, self.cache) * times[t]
            for t, size in held.items()
        )
        totals = [t for t, along in group.rows.items() if along is None]
        added = sum(t.nbytes for t in totals if t.equations[-1].combiner != "set")
        self.passed = _passed(graph, group) + 2 * added
        sizes = {_size(group.extent, n) for n in bounds.rows(group.extent, self.row)}
        fast = [n for n in sizes if n >= LEAST] or [max(sizes)]
        self.loop = min((BlockLoop(group, n) for n in sorted(fast, reverse=True)), key=self.moved)
        self.again = self.moved(self.loop)

    def moved(self, loop: BlockLoop) -> int:
        """What a loop moves: what it reads in each block, and blocks that no cache holds."""
        spilled = self.uses * _distance(loop.size * self.row, self.cache)
        return loop.steps * _moved(self.passed, self.cache) + spilled

    def gain(self, in_memory: bool) -> tuple[int, int]:
        """The bytes that it saves: of what is held, if that counts most, and of what is moved."""
        saved = self.never_whole - self.loop.size * self.row
        return in_memory * saved, self.stored - self.again


def held_of(graph: Graph, group: Group) -> dict[Tensor, int]:
    """The tensors of a loop of which nobody else reads rows, and the bytes of all that are held."""
    inside = (t for t in group.rows if graph.is_inside(t, group))
    return {t: t.nbytes // _steps(graph, t) for t in inside}


def _size(extent: int, most: int) -> int:
    """The rows of a block: half of the most or more, without a rest if that can be."""
    sizes = range(most, most // 2, -1)
    return next((n for n in sizes if extent % n == 0), extent // -(-extent // most))


def _moved(size: int, cache: int) -> int:
    """What bytes count that are read or written once, by where they lie."""
    return size * _distance(size, cache)


def _distance(size: int, cache: int) -> int:
    """What a byte counts of so many that lie together: in the second cache, a far one, or none."""
    return 0 if size <= cache else 1 if size <= FAR_CACHE * cache else FAR


def _steps(graph: Graph, tensor: Tensor) -> int:
    """In how many steps a tensor is made, of which one is held: what else reads it reads one."""
    if tensor not in graph.recurrent or tensor.time is None:
        return 1
    read = (
        r for reader in graph.readers[tensor] if reader not in graph.unit[tensor]
        for e in reader.equations for r in e.reads if r.attr is tensor
    )  # fmt: skip
    return _times(tensor) if all(is_const(r.args[tensor.time]) for r in read) else 1


def _times(tensor: Tensor) -> int:
    return estimate(prod(tensor.shape[d] for d in tensor.time_dims))


def _passed(graph: Graph, group: Group) -> int:
    """The bytes that the loop reads in every block of what is whole; in steps, in each of them."""
    found: dict[Tensor, int] = {}
    for tensor in group.rows:
        steps = _times(tensor) if tensor in graph.recurrent else 1
        for equation in tensor.equations:
            loop = group.loops[equation]
            for read in equation.reads:
                if read.attr not in group.rows and (loop is None or dim(loop) not in read.args):
                    found[read.attr] = max(found.get(read.attr, 0), steps)
    return sum(t.nbytes * steps for t, steps in found.items())
