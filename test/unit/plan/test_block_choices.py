"""When a tensor is made in blocks: by counted bytes, with both numbers, or else the reason."""

from __future__ import annotations

from typing import Any

import pytest

import ted
from ted.frontend.systems import system_of
from ted.frontend.tensors import wrap
from ted.ir.equations import Tensor
from ted.plan.block_choices import FAR, WHOLE, Bounds, Choice, choices

KIB = 1 << 10


def products(rows: int, columns: int, inner: int = 16) -> tuple[list[Any], Any]:
    x = ted.placeholder((rows, inner), "float32", name="x")
    y = ted.placeholder((inner, columns), "float32", name="y")
    return [x, y], ted.exp(x @ y)


def made(inputs: list[Any], *outputs: Any, cache: int, **options: int) -> list[Choice]:
    return list(choices(system_of(inputs, list(outputs)), Bounds(cache, **options)))


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


def test_blocks_fit_into_the_cache_unless_that_reads_too_much() -> None:
    for inner, size in ((3, 4), (64, 32)):
        inputs, z = products(1024, 4096, inner)
        (choice, *_) = made(inputs, ted.argmax(z, axis=1), cache=128 * KIB)
        assert choice.loop is not None
        # Products and exponentials of a row take 32 KiB; `y` is 48 KiB or 1 MiB.
        assert choice.loop.size == size


def test_bytes_decide_and_those_beyond_far_caches_count_more() -> None:
    inputs, z = products(2048, 256, 512)
    total = ted.matrix_transpose(z) @ ted.sum(z, axis=1, keepdims=True)
    (choice, *_) = made(inputs, total, cache=16 * KIB)
    # In each of 64 blocks the factor of 512 KiB is read, which is beyond 8 times 16 KiB.
    assert choice.loop is None
    # Blocks of 64 KiB are in the far caches, too: two tensors of 2 MiB, each written and read.
    both = 2 * 2 * 2 + 2 * 3
    assert (
        f"MiB of what is whole in place of {FAR * 64 // 2 + both} MiB for 64 blocks"
        in choice.reason
    )
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


@pytest.mark.parametrize(
    ("rows", "size", "rest"),
    [(1024, 32, 0), (1008, 28, 0), (1021, 31, 29), (1031, 31, 8), (31 * 61, 31, 0)],
)
def test_blocks_divide_all_rows_or_leave_a_rest(rows: int, size: int, rest: int) -> None:
    inputs, z = products(rows, 4096, 64)
    (choice, *_) = made(inputs, ted.argmax(z, axis=1), cache=128 * KIB)
    assert choice.loop is not None
    assert (choice.loop.size, len(choice.loop.rest)) == (size, rest)


def test_blocks_that_no_cache_holds_are_no_gain() -> None:
    (x, y), _ = products(128, 16381)
    (choice, *_) = made([x, y], ted.argmax(x @ y, axis=1), cache=32 * KIB)
    # Products of a row take 64 KiB, the far caches hold 256.
    assert "for 32 blocks" in choice.reason
    (choice, *_) = made([x, y], ted.argmax(x @ y, axis=1), cache=28 * KIB)
    assert choice.loop is None
    assert "caches hold 3 of 128 rows, and 4 are a block" in choice.reason


def test_no_block_takes_more_than_it_may() -> None:
    (x, y), _ = products(1024, 4096)
    total = ted.argmax(x @ y, axis=1)
    (fast,) = made([x, y], total, cache=16 * KIB, always=True)
    (small,) = made([x, y], total, cache=16 * KIB, always=True, most=80 * KIB)
    (least,) = made([x, y], total, cache=16 * KIB, always=True, most=KIB)
    sizes = [choice.loop.size for choice in (fast, small, least) if choice.loop is not None]
    # A row takes 16 KiB, and 8 caches hold 8 of them.
    assert sizes == [8, 4, 1]


def test_blocks_are_larger_than_caches_where_that_reads_less_and_there_is_room() -> None:
    (x, y), _ = products(1024, 4096, 64)
    total = ted.argmax(x @ y, axis=1)
    for most, size in ((0, 8), (80 * KIB, 4), (KIB << 10, 64), (8 * KIB << 10, 512)):
        (choice,) = made([x, y], total, cache=16 * KIB, always=True, most=most)
        # A row takes 16 KiB; in each block 1 MiB is read that no cache holds.
        assert choice.loop is not None
        assert choice.loop.size == size
    (x, y), _ = products(1024, 4096, 1)
    (choice,) = made([x, y], ted.argmax(x @ y, axis=1), cache=64 * KIB, always=True, most=KIB << 10)
    assert choice.loop is not None
    assert choice.loop.size == 4  # what is read, 16 KiB, is in the cache


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


def test_where_memory_is_short_the_dim_counts_that_leaves_least_whole() -> None:
    q, k = (ted.placeholder((1024, 64), "float32", name=name) for name in "qk")
    z = ted.tanh(q @ ted.matrix_transpose(k))
    softmax = ted.exp(z - ted.max(z, axis=1, keepdims=True))
    # Products by columns and their maxima are a loop of few blocks, but then `tanh` is whole.
    (choice, *_) = made([q, k], softmax @ q, cache=16 * KIB, always=True, most=16 * KIB)
    assert choice.loop is not None
    assert {t.name: along for t, along in choice.loop.group.rows.items()}["tanh"] == 0


def test_of_steps_that_nobody_else_reads_one_is_in_a_block() -> None:
    x, w = (ted.placeholder(shape, "float32") for shape in ((8192, 16), (16, 16)))

    def carries(length: int) -> Any:
        return ted.scan(lambda h, _: (ted.tanh(h) + x, h), x @ w, None, length=length)

    def rows(output: Any, length: int) -> int:
        found = made([x, w], output, cache=32 * KIB, always=True)
        return max(c.loop.size for c in found if c.loop is not None)

    last, of_all = carries(8)
    # A row takes 64 bytes of each tensor of a step.
    assert rows(ted.sum(last, axis=1), 8) == rows(ted.sum(carries(64)[0], axis=1), 64)
    assert rows(ted.sum(of_all, axis=(0, 2)), 8) > 4 * rows(
        ted.sum(carries(64)[1], axis=(0, 2)), 64
    )


def test_what_is_the_same_everywhere_is_not_made_at_all() -> None:
    x = ted.placeholder((64, 64), "float32", name="x")
    zeros = Tensor("zeros", (64, 64), x.dtype, fill=0.0)
    system = system_of([x], [x + wrap(zeros)])
    assert zeros in system.tensors()
    assert list(choices(system, Bounds(KIB, always=True))) == []
