"""Which results may lie in the memory of which inputs: donation without a copy.

A result may overwrite an input that the program was compiled to give it (`ArraySpec.donated_to`),
and any input that nothing reads once the result is being written: whose last mention comes before
the result's first.
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.codegen.manifest import Copy, Loop, Manifest, Memory, Pointer, Step, TensorMap


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
        if source.nbytes == target.nbytes and (source.donated_to == k or _in_order(mentions, i, k))
    )


def _in_order(mentions: dict[Memory, list[int]], i: int, k: int) -> bool:
    reads, writes = mentions.get(("input", i), []), mentions.get(("output", k), [])
    return not reads or not writes or reads[-1] < writes[0]


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
