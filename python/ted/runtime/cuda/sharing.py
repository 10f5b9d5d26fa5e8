"""Which results may lie in the memory of which inputs: donation without a copy.

A result may overwrite an input when nothing reads the input once the result is being written: its
last mention comes before the result's first. In one launch both may be mentioned when the kernel
says so (`Kernel.in_place`): then each element is read before, and by the thread that, writes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.codegen.manifest import Copy, Launch, Loop, Manifest, Memory, Pointer, Step, TensorMap


def shareable(manifest: Manifest) -> frozenset[tuple[int, int]]:
    """Pairs (input, output) of equal size for which one address can stand for both."""
    mentions: dict[Memory, list[int]] = {}
    for position, step in enumerate(manifest.steps):
        for memory in set(_memories(step)):
            mentions.setdefault(memory, []).append(position)
    return frozenset(
        (i, k)
        for i, source in enumerate(manifest.inputs)
        for k, target in enumerate(manifest.outputs)
        if source.nbytes == target.nbytes
        and (source.donated_to == k or _in_order(manifest, mentions, i, k))
    )


def _in_order(manifest: Manifest, mentions: dict[Memory, list[int]], i: int, k: int) -> bool:
    reads, writes = mentions.get(("input", i), []), mentions.get(("output", k), [])
    if not reads or not writes or reads[-1] < writes[0]:
        return True
    if reads[-1] > writes[0]:
        return False
    step = manifest.steps[writes[0]]
    return isinstance(step, Launch) and _in_place(manifest, step, i, k)


def _in_place(manifest: Manifest, step: Launch, i: int, k: int) -> bool:
    source = _places(step, Pointer(("input", i)))
    target = _places(step, Pointer(("output", k)))
    whole = source is not None and target is not None
    return whole and (source, target) in manifest.kernel(step.kernel).in_place


def _places(step: Launch, pointer: Pointer) -> int | None:
    """The argument that is a piece of memory from its start, when no other argument mentions it."""
    found = [p for p, argument in enumerate(step.args) if pointer.memory in _of(argument)]
    return found[0] if len(found) == 1 and step.args[found[0]] == pointer else None


def _of(argument: object) -> tuple[Memory, ...]:
    pointer = argument.pointer if isinstance(argument, TensorMap) else argument
    return (pointer.memory,) if isinstance(pointer, Pointer) else ()


def _memories(step: Step) -> Iterator[Memory]:
    if isinstance(step, Loop):
        for inner in step.steps:
            yield from _memories(inner)
    elif isinstance(step, Copy):
        yield from (step.dst.memory, step.src.memory)
    else:
        for argument in step.args:
            yield from _of(argument)
