"""When a tensor is made in blocks: by counted bytes, with both numbers, or else the reason."""

from __future__ import annotations

from typing import Any

import pytest

import ted
from ted.frontend.systems import system_of
from ted.plan.block_choices import FAR, WHOLE, Choice, choices

KIB = 1 << 10


def products(rows: int, columns: int, inner: int = 16) -> tuple[list[Any], Any]:
    x = ted.placeholder((rows, inner), "float32", name="x")
    y = ted.placeholder((inner, columns), "float32", name="y")
    return [x, y], ted.exp(x @ y)


def made(inputs: list[Any], *outputs: Any, cache: int, **options: bool) -> list[Choice]:
    return list(choices(system_of(inputs, list(outputs)), cache, **options))


def test_rows_that_a_cache_holds_are_a_block() -> None:
    inputs, z = products(8192, 256)
    (choice,) = made(inputs, ted.sum(z, axis=1), cache=64 * KIB)
    assert choice.loop is not None
    # Products and exponentials of a row take 2 KiB.
    assert (choice.loop.size, choice.loop.steps) == (32, 256)
    assert str(choice) == (
        "matmul[8192, 256] is made in blocks of 32 rows, 0 MiB for 256 blocks in place of "
        f"{FAR * 4 * 8} MiB of what is whole"
    )


def test_products_want_some_rows_even_where_fewer_fit() -> None:
    inputs, z = products(1024, 256)
    (choice,) = made(inputs, ted.sum(z, axis=1), cache=8 * KIB)
    assert choice.loop is not None
    assert choice.loop.size == 32


def test_bytes_decide_and_those_beyond_far_caches_count_more() -> None:
    inputs, z = products(2048, 256, 512)
    total = ted.matrix_transpose(z) @ ted.sum(z, axis=1, keepdims=True)
    (choice, *_) = made(inputs, total, cache=16 * KIB)
    # In each of 64 blocks the factor of 512 KiB is read, which is beyond 8 times 16 KiB.
    assert choice.loop is None
    assert f"MiB of what is whole in place of {FAR * 64 // 2} MiB for 64 blocks" in choice.reason
    (choice, *_) = made(inputs, total, cache=16 * KIB, always=True)
    assert choice.loop is not None


def test_what_is_not_very_large_is_stored_unless_memory_is_short() -> None:
    inputs, z = products(256, 64)
    cache = 256 * 64 * 4 // WHOLE
    assert made(inputs, ted.sum(z, axis=1), cache=cache) == []
    assert len(made(inputs, ted.sum(z, axis=1), cache=cache - 1)) == 1
    assert len(made(inputs, ted.sum(z, axis=1), cache=cache, always=True)) == 1


def test_maps_and_reductions_alone_are_fused_by_rows_instead() -> None:
    x = ted.placeholder((1024, 256), "float32", name="x")
    outputs = ted.nn.softmax(ted.tanh(x))
    (choice, *_) = made([x], outputs, cache=8 * KIB)
    assert "along dim 0, nothing is a product of matrices" in choice.reason
    (choice, *_) = made([x], outputs, cache=8 * KIB, always=True)
    assert choice.loop is not None


@pytest.mark.parametrize("rows", [1021, 14])
def test_rows_that_no_size_divides_are_stored(rows: int) -> None:
    inputs, z = products(rows, 251)
    (choice, *_) = made(inputs, ted.sum(z, axis=1), cache=KIB, always=True)
    assert choice.loop is None
    assert f"{rows} rows are no equal blocks of 8 rows or more" in choice.reason


def test_blocks_that_no_cache_holds_are_no_gain() -> None:
    inputs, z = products(64, 16381)
    (choice, *_) = made(inputs, ted.sum(z, axis=1), cache=64 * KIB, always=True)
    # Products and exponentials of a row take 128 KiB, the far caches hold 512.
    assert "64 rows are no equal blocks of 8 rows or more, of which caches hold 4" in choice.reason


def test_a_limit_of_memory_makes_loops_that_cost_more() -> None:
    """What takes 4 MiB would be stored."""
    x = ted.placeholder((512, 1024), "float32", name="x")
    w = ted.placeholder((1024, 2048), "float32", name="w")
    total = ted.sum(ted.exp(x @ w), axis=1)
    free = ted.compile([x, w], total, target="cpu:avx2")
    assert "blocks of" not in free.explain()
    held = free.memory().peak_bytes
    tight = ted.compile([x, w], total, target=f"cpu:avx2,memory_limit={held // 4}")
    assert tight.memory().peak_bytes <= held // 4
    assert "is made in blocks of" in tight.explain()
