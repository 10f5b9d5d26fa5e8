"""`cp.async`: what groups and waits promise, and bugs that only late delivery shows."""

from __future__ import annotations

import numpy as np
import pytest

from ptx_emulator import errors
from ptx_kernels import entry, run

X = np.arange(256, dtype=np.float32)
TILE = ".shared .align 16 .b8 tile[1024];"
# Two groups of copies; thread t reads what thread 31 - t copied in the first, then in the second.
PIPELINE = """
  mov.u32 %r1, tile;
  mad.lo.u32 %r2, %t, 16, %r1;
  mad.lo.u64 %rd1, %wide, 16, %x;
  cp.async.cg.shared.global [%r2], [%rd1], 16;
  cp.async.commit_group;
  cp.async.cg.shared.global [%r2+512], [%rd1+512], 16;
  cp.async.commit_group;
  sub.u32 %r3, 31, %t;
  mad.lo.u32 %r3, %r3, 16, %r1;
  cp.async.wait_group 1;
  bar.sync 0;
  ld.shared.f32 %f1, [%r3];
  cp.async.wait_group 0;
  bar.sync 0;
  ld.shared.f32 %f2, [%r3+512];
  add.f32 %f1, %f1, %f2;
  mad.lo.u64 %rd1, %wide, 4, %y;
  st.global.f32 [%rd1], %f1;
"""


def go(old: str = "", new: str = "", late: bool = True, count: int = 1) -> np.ndarray:
    assert old in PIPELINE
    body = PIPELINE.replace(old, new, count) if old else PIPELINE
    return run(entry(body, "x y", TILE), {"x": X}, {"y": ((32,), np.float32)}, late_async=late)[0]


@pytest.mark.parametrize("late", [True, False])
def test_waits_deliver_the_groups_that_they_name(late: bool) -> None:
    first = X[0:128:4][::-1]
    assert (go(late=late) == first + first + 128).all()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wait_group 1", "wait_group 2"),
        ("  cp.async.wait_group 0;\n", ""),
        ("wait_group 0", "wait_group 1"),
        ("  cp.async.wait_group 1;\n", ""),
    ],
)
def test_a_loose_wait_is_found_by_late_delivery_alone(old: str, new: str) -> None:
    go(old, new, late=False)
    with pytest.raises(errors.UninitialisedRead):
        go(old, new, late=True)


def test_copies_that_nobody_committed_are_not_waited_for() -> None:
    old = "[%rd1+512], 16;\n  cp.async.commit_group;"
    new = "[%rd1+512], 16;"
    with pytest.raises(errors.UninitialisedRead):
        go(old, new)
    body = PIPELINE.replace(old, new).replace("wait_group 0", "wait_all")
    body = body.replace("wait_group 1", "wait_group 0")
    (found,) = run(entry(body, "x y", TILE), {"x": X}, {"y": ((32,), np.float32)})
    first = X[0:128:4][::-1]
    assert (found == first + first + 128).all()


@pytest.mark.parametrize("late", [True, False])
def test_a_barrier_is_needed_between_a_wait_and_reads_of_other_warps(late: bool) -> None:
    body = PIPELINE.replace("sub.u32 %r3, 31, %t", "xor.b32 %r3, %t, 32")
    body = body.replace("+512]", "+1024]")
    tile = TILE.replace("1024", "2048")
    x, result = np.arange(512, dtype=np.float32), {"y": ((64,), np.float32)}
    run(entry(body, "x y", tile), {"x": x}, result, 64, late_async=late)
    for old in ("wait_group 0;\n  bar.sync 0;", "wait_group 1;\n  bar.sync 0;"):
        broken = body.replace(old, old.split("\n")[0])
        with pytest.raises((errors.SharedRace, errors.UninitialisedRead)):
            run(entry(broken, "x y", tile), {"x": x}, result, 64, late_async=late)


@pytest.mark.parametrize("late", [True, False])
def test_a_stage_is_not_refilled_while_others_read_it(late: bool) -> None:
    refill = (
        "  ld.shared.f32 %f1, [%r3];\n  BARRIER\n  cp.async.cg.shared.global [%r2], [%rd1], 16;"
    )
    body = PIPELINE.replace("  ld.shared.f32 %f1, [%r3];", refill)
    body = body.replace("sub.u32 %r3, 31, %t", "xor.b32 %r3, %t, 32").replace("+512]", "+1024]")
    tile, x = TILE.replace("1024", "2048"), np.arange(512, dtype=np.float32)
    result = {"y": ((64,), np.float32)}
    text = entry(body.replace("BARRIER", "bar.sync 0;"), "x y", tile)
    run(text, {"x": x}, result, 64, late_async=late)
    with pytest.raises(errors.SharedRace):
        run(entry(body.replace("BARRIER", ""), "x y", tile), {"x": x}, result, 64, late_async=late)


@pytest.mark.parametrize("late", [True, False])
def test_a_short_source_is_filled_with_zeros_and_not_read_past(late: bool) -> None:
    body = """
  mov.u32 %r1, tile;
  mov.u32 %r4, 6;
  cp.async.ca.shared.global [%r1], [%x], 8, 4;
  cp.async.cg.shared.global [%r1+16], [%x], 16, 0;
  cp.async.ca.shared.global [%r1+32], [%x], 8, %r4;
  cp.async.wait_all;
  ld.shared.v2.b32 {%r2, %r3}, [%r1];
  st.global.v2.b32 [%y], {%r2, %r3};
  ld.shared.v2.b32 {%r2, %r3}, [%r1+24];
  st.global.v2.b32 [%y+8], {%r2, %r3};
  ld.shared.v2.b32 {%r2, %r3}, [%r1+32];
  st.global.v2.b32 [%y+16], {%r2, %r3};
"""
    x = np.arange(1, 7, dtype=np.uint8)  # six bytes: no more may be read
    (found,) = run(entry(body, "x y", TILE), {"x": x}, {"y": ((24,), np.uint8)}, 1, late_async=late)
    assert found.tolist() == [1, 2, 3, 4] + 12 * [0] + [1, 2, 3, 4, 5, 6, 0, 0]


def test_a_cg_copy_has_16_bytes() -> None:
    with pytest.raises(errors.UnknownInstruction, match="16 bytes"):
        go("[%rd1], 16", "[%rd1], 8")
