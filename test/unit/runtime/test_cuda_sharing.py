"""Which results may lie where their inputs are, and what happens when they may not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ted.codegen.manifest import ArraySpec, Copy, Loop, Manifest, Pointer
from ted.errors import ExecutionError
from ted.runtime.cuda.arguments import device_array
from ted.runtime.cuda.arrays import DeviceArray
from ted.runtime.cuda.programs import Program, shareable
from unit.runtime.python_machine import device, program, scale

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


def test_one_launch_may_write_where_it_reads_only_when_it_is_made_for_that() -> None:
    once = steps(scale(X, Y, 8, 2.0))
    assert shareable(once) == {(0, 1)}  # nobody writes the second result
    given = (ArraySpec("x", (2, 4), "float32", donated_to=0),)
    assert shareable(replace(once, inputs=given)) == {(0, 0), (0, 1)}


def test_a_loop_counts_as_one_step() -> None:
    loop = Loop("t", 0, 2, 1, (scale(X, Z, 8, 2.0), scale(Z, Y, 8, 3.0)))
    assert shareable(steps(loop)) == set()


def test_sizes_and_donation_are_respected() -> None:
    small = (ArraySpec("y", (4,), "float32"), TWO[1])
    assert shareable(replace(steps(scale(X, Z, 8, 1.0)), outputs=small)) == set()
    given = (ArraySpec("x", (2, 4), "float32", donated_to=1),)
    assert (0, 1) in shareable(replace(steps(scale(X, Z, 8, 1.0)), inputs=given))


@pytest.mark.parametrize("donated", [None, 0])
def test_an_update_in_place_is_right_with_and_without_a_copy(donated: int | None) -> None:
    given = (ArraySpec("x", (2, 4), "float32", donated_to=donated),)
    manifest = program(buffers=(), inputs=given, steps=(scale(X, Y, 8, 2.0),))
    with device() as (library, context):
        x = device_array(ARRAY, context=context)
        Program(manifest)(x, out=x)
        copies = [entry for entry in library.log if entry[0] == "DtoD"]
        np.testing.assert_array_equal(x.numpy(), 2 * ARRAY)
        assert len(copies) == (1 if donated is None else 0)


@pytest.mark.parametrize("donated", [None, 0])
def test_a_result_over_a_part_of_an_input_is_computed_elsewhere(donated: int | None) -> None:
    given = (ArraySpec("x", (2, 4), "float32", donated_to=donated),)
    manifest = program(buffers=(), inputs=given, steps=(scale(X, Y, 8, 2.0),))
    with device() as (library, context):
        memory = device_array(np.arange(16, dtype=np.float32), context=context)
        x, y = (
            DeviceArray(context, memory.pointer + offset, (2, 4), "float32", memory, 0)
            for offset in (0, 16)
        )
        Program(manifest)(x, out=y)
        copies = [entry for entry in library.log if entry[0] == "DtoD"]
        np.testing.assert_array_equal(y.numpy(), 2 * ARRAY)
        np.testing.assert_array_equal(memory.numpy()[:4], np.arange(4))
        assert len(copies) == 1


def test_a_donated_input_beside_another_is_taken_over_unless_both_overlap() -> None:
    given = (ArraySpec("x", (2, 4), "float32", 0), ArraySpec("w", (2, 4), "float32"))
    manifest = program(buffers=(), inputs=given, steps=(scale(X, Y, 8, 2.0),))
    with device() as (_, context):
        x, w = (device_array(ARRAY, context=context) for _ in range(2))
        (y,) = Program(manifest)(x, w)
        assert y.pointer == x.pointer
        np.testing.assert_array_equal(y.numpy(), 2 * ARRAY)
        with pytest.raises(ExecutionError, match="argument 'x' and argument 'w' overlap"):
            Program(manifest)(x, x)
