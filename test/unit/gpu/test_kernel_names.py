"""Names of kernels: the tensor that they compute, and a hash of what they do, of nothing else."""

from __future__ import annotations

import re

import pytest

import ted


def names(*outputs: ted.Tensor, inputs: list[ted.Tensor]) -> list[str]:
    function = ted.compile(inputs, outputs, target="cuda:sm_80")
    return [kernel.name for kernel in function.manifest.kernels]


def named(name: str, length: int = 8) -> str:
    x = ted.placeholder((length,), name="x")
    (found,) = names(ted.compute((length,), lambda i: x[i] * 2.0, name=name), inputs=[x])
    return found


def test_a_name_stays_when_other_kernels_come_and_work_decides_the_hash() -> None:
    x, y = ted.placeholder((8,), name="x"), ted.placeholder((5, 7), name="y")
    r = ted.reduce_axis(5)
    more = ted.compute((7,), lambda j: ted.sum(y[r, j], axis=r), name="more")
    twice = ted.compute((8,), lambda i: x[i] * 2.0, name="twice")
    alone = named("twice")
    found = names(more, twice, inputs=[x, y])
    assert len(found) == 2
    assert alone in found
    assert named("twice", 9) != alone
    assert named("double").removeprefix("double") == alone.removeprefix("twice")


def test_equal_kernels_are_one_named_after_the_first() -> None:
    x, y = ted.placeholder((3, 5), name="x"), ted.placeholder((3, 5), name="y")
    r = ted.reduce_axis(3)
    sums = [ted.compute((5,), lambda j, t=t: ted.sum(t[r, j], axis=r), name=f"s_{t.name}")
            for t in (x, y)]  # fmt: skip
    found = names(*sums, inputs=[x, y])
    assert [name.rsplit("_", 1)[0] for name in found] == ["s_x"]


@pytest.mark.parametrize("name", ["größe", "a b/c", "9lives", "_", "x" * 300, "exit", "%tid"])
def test_any_name_gives_a_symbol(name: str) -> None:
    found = named(name)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,41}_[0-9a-f]{8}", found)
