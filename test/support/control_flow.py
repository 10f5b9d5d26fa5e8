"""Control flow of machine code: basic blocks, and the natural loops that hold no other loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Instruction:
    """One line of a disassembly; `target` is the address a jump goes to."""

    address: int
    text: str
    target: int | None = None
    falls_through: bool = True


Graph = Mapping[int, Sequence[int]]  # block -> successors; a block is named by its address


def basic_blocks(code: Sequence[Instruction]) -> dict[int, list[Instruction]]:
    """Runs of instructions that are entered at their first and left at their last only."""
    leaders = {code[0].address} if code else set()
    for k, instruction in enumerate(code):
        if instruction.target is not None or not instruction.falls_through:
            leaders |= {instruction.target} if instruction.target is not None else set()
            leaders |= {code[k + 1].address} if k + 1 < len(code) else set()
    blocks: dict[int, list[Instruction]] = {}
    current = 0
    for instruction in code:
        if instruction.address in leaders:
            current = instruction.address
        blocks.setdefault(current, []).append(instruction)
    return blocks


def successors(blocks: Mapping[int, Sequence[Instruction]]) -> dict[int, list[int]]:
    """Edges between the blocks of one function."""
    names = sorted(blocks)
    following = dict(pairwise(names))
    edges: dict[int, list[int]] = {}
    for name in names:
        last = blocks[name][-1]
        found = [last.target] if last.target in blocks else []
        if last.falls_through and name in following:
            found.append(following[name])
        edges[name] = [f for f in found if f is not None]
    return edges


def innermost(edges: Graph, entry: int) -> list[set[int]]:
    """The bodies of the natural loops that contain no header of another loop."""
    dominators = _dominators(edges, entry)
    loops: dict[int, set[int]] = {}
    for block in dominators:
        for header in edges[block]:
            if header in dominators[block]:
                body = loops.setdefault(header, {header})
                body |= _reaching(edges, block, header)
    return [
        body for header, body in loops.items()
        if not any(other in body for other in loops if other != header)
    ]  # fmt: skip


def _dominators(edges: Graph, entry: int) -> dict[int, set[int]]:
    order = _reachable(edges, entry)
    before: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for following in edges[block]:
            before[following].append(block)
    dominators = {block: set(order) for block in order}
    dominators[entry] = {entry}
    changed = True
    while changed:
        changed = False
        for block in order:
            if block == entry:
                continue
            common = set.intersection(*(dominators[b] for b in before[block])) | {block}
            changed = changed or common != dominators[block]
            dominators[block] = common
    return dominators


def _reachable(edges: Graph, entry: int) -> list[int]:
    seen, waiting = {entry: None}, [entry]
    while waiting:
        for following in edges[waiting.pop()]:
            if following not in seen:
                seen[following] = None
                waiting.append(following)
    return list(seen)


def _reaching(edges: Graph, block: int, header: int) -> set[int]:
    """Blocks from which `block` is reached without passing the header."""
    before: dict[int, list[int]] = {}
    for name, following in edges.items():
        for f in following:
            before.setdefault(f, []).append(name)
    body, waiting = {header, block}, [block]
    while waiting:
        current = waiting.pop()
        if current == header:
            continue
        for previous in before.get(current, []):
            if previous not in body:
                body.add(previous)
                waiting.append(previous)
    return body
