"""Which results may lie where their inputs are, and what happens when they may not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ted.codegen.manifest import ArraySpec, Copy, Launch, Linear, Loop, Manifest, Pointer
from ted.runtime.cuda.arguments import device_array
from ted.runtime.cuda.programs import Program
from ted.runtime.cuda.sharing import shareable
from unit.runtime.python_machine import device, kernel, program, scale

X, Y, Z = (Pointer((kind, k)) for kind, k in (("input", 0), ("output", 0), ("output", 1)))
TWO = (ArraySpec("y", (2, 4), "float32"), ArraySpec("z", (2, 4), "float32"))
ARRAY = np.arange(8, dtype=np.float32).reshape(2, 4)


def steps(*given: object, **changes: object) -> Manifest:
    return program(buffers=(), outputs=TWO, steps=given, **changes)


def test_a_result_written_after_the_last_read_may_lie_in_the_input() -> None:
    through = scale(X, Z, 8, 2.0), scale(Z, Y, 8, 3.0)
    assert shareable(steps(*through)) == {(0, 0)}
    assert shareable(steps(*reversed(through))) == set()
    assert shareable(steps(*through, Copy(Z, X, 32))) == set()


def test_one_launch_may_write_where_it_reads_only_when_the_kernel_says_so() -> None:
    once = steps(scale(X, Y, 8, 2.0))
    assert shareable(once) == {(0, 1)}  # nobody writes the second result
    says = replace(kernel("scale"), in_place=((0, 1),))
    assert shareable(replace(once, kernels=(says,))) == {(0, 0), (0, 1)}
    shifted = scale(Pointer(X.memory, Linear(4)), Y, 4, 2.0)
    assert (0, 0) not in shareable(steps(shifted, kernels=(says,)))
    twice = Launch("scale", (X, Y, *scale(X, Y, 8, 1.0).args[2:]))
    assert (0, 0) not in shareable(steps(twice, scale(X, Z, 8, 1.0), kernels=(says,)))


def test_a_loop_counts_as_one_step() -> None:
    loop = Loop("t", 0, 2, 1, (scale(X, Z, 8, 2.0), scale(Z, Y, 8, 3.0)))
    assert shareable(steps(loop)) == set()


def test_sizes_and_donation_are_respected() -> None:
    small = (ArraySpec("y", (4,), "float32"), TWO[1])
    assert shareable(replace(steps(scale(X, Z, 8, 1.0)), outputs=small)) == set()
    given = (ArraySpec("x", (2, 4), "float32", donated_to=1),)
    assert (0, 1) in shareable(replace(steps(scale(X, Z, 8, 1.0)), inputs=given))


@pytest.mark.parametrize("in_place", [(), ((0, 1),)])
def test_an_update_in_place_is_right_with_and_without_a_copy(in_place) -> None:
    update = replace(kernel("scale"), in_place=in_place)
    manifest = program(buffers=(), kernels=(update,), steps=(scale(X, Y, 8, 2.0),))
    with device() as (library, context):
        x = device_array(ARRAY, context=context)
        Program(manifest)(x, out=x)
        copies = [entry for entry in library.log if entry[0] == "DtoD"]
        np.testing.assert_array_equal(x.numpy(), 2 * ARRAY)
        assert len(copies) == (0 if in_place else 1)
