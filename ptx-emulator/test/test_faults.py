"""Planted bugs: each kind of wrong that the interpreter looks for is found, and named well."""

from __future__ import annotations

import numpy as np
import pytest

from ptx_emulator import errors
from ptx_kernels import entry, run

ORDERS = ("lockstep", "random", "reverse")
X = np.arange(128, dtype=np.float32)
OUT = {"y": ((128,), np.float32)}
TILE = ".shared .align 4 .f32 tile[128];"
REVERSE = """
  shl.b32 %r1, %t, 2;
  mov.u32 %r2, tile;
  add.u32 %r3, %r2, %r1;
  shl.b64 %rd1, %wide, 2;
  add.u64 %rd2, %x, %rd1;
  ld.global.f32 %f1, [%rd2];
  st.shared.f32 [%r3], %f1;
  bar.sync 0;
  sub.u32 %r4, 127, %t;
  shl.b32 %r4, %r4, 2;
  add.u32 %r4, %r4, %r2;
  ld.shared.f32 %f2, [%r4];
  add.u64 %rd3, %y, %rd1;
  st.global.f32 [%rd3], %f2;
"""


def reverse(old: str = "", new: str = "") -> str:
    assert old in REVERSE
    return entry(REVERSE.replace(old, new) if old else REVERSE, "x y", TILE)


def go(text: str, threads: int = 128, **options: object) -> np.ndarray:
    return run(text, {"x": X}, OUT, threads, **options)[0]


@pytest.mark.parametrize("order", ORDERS)
def test_a_right_program_passes_in_every_order(order: str) -> None:
    assert (go(reverse(), order=order) == X[::-1]).all()


@pytest.mark.parametrize("order", ORDERS)
def test_a_missing_barrier_is_a_race_or_an_uninitialised_read(order: str) -> None:
    with pytest.raises((errors.SharedRace, errors.UninitialisedRead)) as caught:
        go(reverse("bar.sync 0;", ""), order=order)
    assert "ptx k:" in str(caught.value)
    assert "of block (0, 0, 0) at line" in str(caught.value)
    assert "of tile of 512 bytes" in str(caught.value)


def test_reading_before_a_later_write_is_a_race() -> None:
    again = REVERSE + "  st.shared.f32 [%r3], %f2;\n"
    with pytest.raises(errors.SharedRace, match=r"write 4 bytes of shared memory.*st\.shared"):
        go(entry(again, "x y", TILE))
    assert (
        go(entry(again.replace("add.u64 %rd3", "bar.sync 0;\n  add.u64 %rd3"), "x y", TILE))
        == X[::-1]
    ).all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[%rd2];", "[%rd2+4];", r"byte 512 of x of 512 bytes"),
        ("[%rd2];", "[%rd2+-4];", r"byte -4 of x"),
        ("[%r3], %f1", "[%r3+512], %f1", r"byte \d+ of tile of 512 bytes"),
        ("[%r4];", "[%r4+-4];", r"shared memory.*inside one allocation"),
        ("[%rd3], %f2", "[%rd3+1099511627776], %f2", r"in no allocation"),
        ("sub.u32 %r4, 127", "sub.u32 %r4, 126", r"read 4 bytes of shared memory"),
    ],
)
def test_a_wrong_offset_is_out_of_bounds(old: str, new: str, message: str) -> None:
    with pytest.raises(errors.OutOfBounds, match=message):
        go(reverse(old, new))


def test_a_wrong_offset_does_not_reach_another_allocation() -> None:
    text = entry("ld.global.f32 %f1, [%x+256];\n st.global.f32 [%y], %f1;")
    with pytest.raises(errors.OutOfBounds, match="of x of 256 bytes"):
        run(text, {"x": np.zeros(64, np.float32), "y": np.zeros(64, np.float32)}, threads=1)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ld.global.b64 %rd1, [%x+4];", "multiple of 8"),
        ("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%x+8];", "multiple of 16"),
        ("mov.u32 %r1, tile;\n st.shared.f32 [%r1+2], 0f00000000;", "multiple of 4"),
        ("mov.u32 %r1, tile;\n st.shared.v2.f32 [%r1], {%f1, %f1};", "multiple of 8"),
        ("mov.u32 %r1, tile;\n cp.async.cg.shared.global [%r1], [%x], 16;", "multiple of 16"),
    ],
)
def test_a_misaligned_access_is_found_even_if_memory_happens_to_be_aligned(
    body: str, message: str
) -> None:
    with pytest.raises(errors.Misaligned, match=message):
        go(entry(body, "x y", TILE), threads=1)


def test_uninitialised_memory_is_not_read() -> None:
    with pytest.raises(errors.UninitialisedRead, match="shared"):
        go(entry("mov.u32 %r1, tile;\n ld.shared.f32 %f1, [%r1];", "x y", TILE))
    with pytest.raises(errors.UninitialisedRead, match=r"read 4 bytes of global memory.*of y"):
        go(entry("ld.global.f32 %f1, [%y];\n add.f32 %f1, %f1, %f1;"))
    with pytest.raises(errors.UninitialisedRead, match="local"):
        go(
            entry(
                ".local .align 4 .b8 depot[8];\n mov.b64 %rd1, depot;\n ld.local.f32 %f1, [%rd1+4];"
            )
        )


def test_local_memory_has_bounds() -> None:
    body = ".local .align 4 .b8 depot[8];\n mov.b64 %rd1, depot;\n st.local.f32 [%rd1+8], %f1;"
    with pytest.raises(errors.OutOfBounds, match="local"):
        go(entry(body))


def test_parameters_are_read_only_and_have_bounds() -> None:
    with pytest.raises(errors.OutOfBounds, match="param"):
        go(entry("ld.param.u64 %rd1, [k_y+8];"))


@pytest.mark.parametrize("order", ORDERS)
def test_threads_that_skip_a_barrier_are_found(order: str) -> None:
    skip = reverse("bar.sync 0;", "setp.lt.u32 %p1, %t, 64;\n @%p1 bar.sync 0;\n bar.sync 0;")
    with pytest.raises(errors.BarrierFault):
        go(skip, order=order)
    odd = reverse(
        "bar.sync 0;", "and.b32 %r9, %t, 1;\n setp.eq.u32 %p1, %r9, 0;\n @%p1 bar.sync 0;"
    )
    with pytest.raises((errors.BarrierFault, errors.UninitialisedRead, errors.SharedRace)):
        go(odd, order=order)


@pytest.mark.parametrize("condition", ["setp.ge.u32 %p1, %t, 100", "setp.ge.u32 %p1, %t, 64"])
def test_threads_that_end_before_a_barrier_are_found(condition: str) -> None:
    body = f"{condition};\n @%p1 ret;\n bar.sync 0;"
    with pytest.raises(
        errors.BarrierFault, match=r"(28|64) that have ended \(first: thread \((100|64), 0, 0\)"
    ):
        go(entry(body))


def test_warps_that_meet_at_two_barriers_of_a_block_are_found() -> None:
    body = """
  setp.ge.u32 %p1, %t, 64;
  @%p1 bra other;
  bar.sync 0;
  ret;
other:
  bar.sync 0;
"""
    with pytest.raises(errors.BarrierFault, match="threads that wait for the same barrier at line"):
        go(entry(body))


def test_named_barriers_count_their_threads() -> None:
    body = """
  mov.u32 %r2, tile;
  setp.ge.u32 %p1, %t, 64;
  @%p1 bra consumer;
  shl.b32 %r1, %t, 2;
  add.u32 %r3, %r2, %r1;
  cvt.rn.f32.u32 %f1, %t;
  st.shared.f32 [%r3], %f1;
  bar.arrive 1, 128;
  ret;
consumer:
  bar.sync 1, 128;
  sub.u32 %r1, %t, 64;
  shl.b32 %r1, %r1, 2;
  add.u32 %r3, %r2, %r1;
  ld.shared.f32 %f1, [%r3];
  cvt.u64.u32 %rd1, %r1;
  add.u64 %rd1, %rd1, %y;
  st.global.f32 [%rd1], %f1;
"""
    text = entry(body, "y", TILE)
    for order in ORDERS:
        (found,) = run(text, {}, {"y": ((64,), np.float32)}, 128, order=order)
        assert (found == np.arange(64)).all()
    with pytest.raises(errors.BarrierFault, match="wait"):
        run(text.replace("bar.sync 1, 128", "bar.sync 2, 128"), {}, {"y": ((64,), np.float32)}, 128)
    with pytest.raises(errors.BarrierFault, match="one count"):
        run(text.replace("bar.sync 1, 128", "bar.sync 1, 64"), {}, {"y": ((64,), np.float32)}, 128)
    late = text.replace("  bar.arrive 1, 128;\n", "").replace(
        "  shl.b32 %r1, %t, 2;", "  bar.arrive 1, 128;\n  shl.b32 %r1, %t, 2;", 1
    )
    for order in ORDERS:
        with pytest.raises((errors.SharedRace, errors.UninitialisedRead)):
            run(late, {}, {"y": ((64,), np.float32)}, 128, order=order)


SAME_PLACE = "st.global.f32 [%y], 0f3F800000;"


def test_two_blocks_may_not_write_one_place_not_even_the_same_value() -> None:
    with pytest.raises(errors.BlockRace, match=r"another block.*byte 0 of y"):
        run(entry(SAME_PLACE, "y"), {"y": X}, threads=1, blocks=2)


def test_two_threads_may_not_write_one_place() -> None:
    with pytest.raises(errors.GlobalRace, match="another thread of its block"):
        run(entry(SAME_PLACE, "y"), {"y": X}, threads=2)
    ordered = entry(
        "setp.eq.u32 %p1, %t, 0;\n @%p1 st.global.f32 [%y], 0f00000000;\n bar.sync 0;\n"
        "setp.eq.u32 %p1, %t, 33;\n @%p1 st.global.f32 [%y], 0f3F800000;",
        "y",
    )
    run(ordered, {"y": X}, threads=64)
    with pytest.raises(errors.GlobalRace):
        run(ordered.replace("bar.sync 0;", ""), {"y": X}, threads=64)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("lanes", [None, 1])
def test_a_block_may_not_read_what_another_writes(
    order: str, lanes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lanes:  # blocks run one after the other
        monkeypatch.setattr("ptx_emulator.launching.LANES", lanes)
    body = """
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd1, %r1, 4;
  add.u64 %rd2, %y, %rd1;
  st.global.u32 [%rd2], %r1;
  xor.b64 %rd1, %rd1, 4;
  add.u64 %rd2, %y, %rd1;
  ld.global.u32 %r2, [%rd2];
"""
    with pytest.raises(errors.BlockRace):
        run(entry(body, "y"), {"y": X}, threads=1, blocks=2, order=order)


def test_many_readers_and_a_later_writer_are_a_race() -> None:
    body = """
  ld.global.f32 %f1, [%y];
  BARRIER
  setp.eq.u32 %p1, %t, 5;
  @%p1 st.global.f32 [%y], 0f00000000;
"""
    with pytest.raises(errors.GlobalRace):
        run(entry(body.replace("BARRIER", ""), "y"), {"y": X}, threads=128)
    run(entry(body.replace("BARRIER", "bar.sync 0;"), "y"), {"y": X}, threads=128)
    with pytest.raises(errors.BlockRace):
        run(entry(body.replace("BARRIER", "bar.sync 0;"), "y"), {"y": X}, threads=128, blocks=3)


def test_atomics_of_many_blocks_do_not_race_but_plain_accesses_with_them_do() -> None:
    body = "red.global.add.u32 [%y], 1;\n"
    y = {"y": np.zeros(1, np.uint32)}
    run(entry(body, "y"), y, threads=64, blocks=3)
    with pytest.raises(errors.BlockRace):
        run(entry(body + "ld.global.u32 %r1, [%y];", "y"), y, threads=64, blocks=3)


def test_a_non_coherent_load_of_what_the_launch_writes_is_found() -> None:
    body = "ld.global.nc.u32 %r1, [%y];\n add.u32 %r1, %r1, 1;\n st.global.u32 [%y], %r1;"
    with pytest.raises(errors.GlobalRace, match="non-coherent"):
        run(entry(body, "y"), {"y": X}, threads=1)


def test_a_shuffle_that_lacks_a_lane_is_found() -> None:
    body = """
  setp.lt.u32 %p1, %t, 16;
  @%p1 shfl.sync.bfly.b32 %r1, %t, 1, 31, MASK;
"""
    with pytest.raises(errors.WarpFault):
        go(entry(body.replace("MASK", "0xffffffff")), threads=32)
    run(entry(body.replace("MASK", "0xffff")), {"x": X, "y": X}, threads=32)
    with pytest.raises(errors.WarpFault, match="source lane"):
        go(
            entry(
                body.replace("MASK", "0xffff").replace(
                    "bfly.b32 %r1, %t, 1", "bfly.b32 %r1, %t, 16"
                )
            ),
            threads=32,
        )
    with pytest.raises(errors.WarpFault, match="member mask"):
        go(entry("shfl.sync.idx.b32 %r1, %t, 0, 31, 1;"), threads=32)


def test_an_endless_loop_is_over_budget() -> None:
    with pytest.raises(errors.RunawayLoop, match="at most 1000 instructions"):
        go(entry("again: add.u32 %r1, %r1, 1;\n bra again;"), budget=1000)


def test_a_trap_is_an_error() -> None:
    with pytest.raises(errors.Trapped, match=r"thread \(7, 0, 0\)"):
        go(entry("setp.eq.u32 %p1, %t, 7;\n @%p1 trap;"))


def test_parted_threads_meet_again() -> None:
    body = """
  and.b32 %r1, %t, 3;
  mov.u32 %r2, 0;
loop:
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra done;
  add.u32 %r2, %r2, 1;
  bra loop;
done:
  shfl.sync.down.b32 %r3, %r2, 1, 31, 0xffffffff;
  mad.lo.u64 %rd1, %wide, 4, %y;
  st.global.u32 [%rd1], %r3;
"""
    (found,) = run(entry(body, "y"), {}, {"y": ((64,), np.uint32)}, 64)
    assert (found.reshape(2, 32)[:, :31] == (np.arange(1, 32) & 3)).all()


def test_threads_meet_again_even_where_the_join_comes_first_in_the_text() -> None:
    body = """
  and.b32 %r1, %t, 1;
  setp.eq.u32 %p1, %r1, 1;
  mov.u32 %r2, 10;
  @%p1 bra far;
join:
  shfl.sync.bfly.b32 %r3, %r2, 1, 31, 0xffffffff;
  mad.lo.u64 %rd1, %wide, 4, %y;
  st.global.u32 [%rd1], %r3;
  ret;
far:
  mov.u32 %r2, 20;
  bra join;
"""
    (found,) = run(entry(body, "y"), {}, {"y": ((64,), np.uint32)}, 64)
    assert (found == np.where(np.arange(64) % 2, 10, 20)).all()
