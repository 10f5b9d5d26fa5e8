"""Instructions of a warp and atomic operations, against formulas lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptx_emulator import Device, errors, launch
from ptx_kernels import entry, run

RNG = np.random.default_rng(23)
STORE = "\n  mad.lo.u64 %rd1, %wide, 4, %y;\n  st.global.u32 [%rd1], %r10;\n"
LOAD = "\n  mad.lo.u64 %rd1, %wide, 4, %x;\n  ld.global.u32 %r9, [%rd1];\n"
ALL = "0xffffffff"


def on_lanes(body: str, x: np.ndarray, threads: int = 64, **options: Any) -> np.ndarray:
    """What `body` leaves in %r10, given x in %r9."""
    text = entry(LOAD + body + STORE, "x y")
    return run(text, {"x": x}, {"y": ((threads,), np.uint32)}, threads, **options)[0]


X = RNG.integers(0, 1000, 64).astype(np.uint32)
SOURCES = {
    "up": lambda lane, n, start, end: lane - n if lane - n >= start else None,
    "down": lambda lane, n, start, end: lane + n if lane + n <= end else None,
    "bfly": lambda lane, n, start, end: lane ^ n if (lane ^ n) <= end else None,
    "idx": lambda lane, n, start, end: start + n if start + n <= end else None,
}


@pytest.mark.parametrize("mode", SOURCES)
@pytest.mark.parametrize("width", [4, 8, 32])
@pytest.mark.parametrize("by", [0, 1, 3, 7])
def test_shuffles_move_values_within_segments(mode: str, width: int, by: int) -> None:
    clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
    body = (
        f"shfl.sync.{mode}.b32 %r10|%p1, %r9, {by}, {clamp}, {ALL};\n"
        "selp.u32 %r11, 10000, 0, %p1;\nadd.u32 %r10, %r10, %r11;"
    )
    found = on_lanes(body, X)
    for thread in range(64):
        lane = thread % 32
        start = lane // width * width
        n = by % width if mode == "idx" else by
        source = SOURCES[mode](lane, n, start, start + width - 1)
        value = X[thread] if source is None else X[thread - lane + source] + 10000
        assert found[thread] == value


def test_votes_and_matches() -> None:
    x = RNG.integers(0, 3, 64).astype(np.uint32)
    x[32:] = 1
    odd = (x & 1).reshape(2, 32)
    head = "and.b32 %r8, %r9, 1;\nsetp.ne.u32 %p1, %r8, 0;\n"
    ballots = [sum(int(bit) << lane for lane, bit in enumerate(row)) for row in odd]
    found = on_lanes(f"{head}vote.sync.ballot.b32 %r10, %p1, {ALL};", x)
    assert found.tolist() == np.repeat(ballots, 32).tolist()
    table = {"all": odd.all(1), "any": odd.any(1), "uni": odd.all(1) | ~odd.any(1)}
    for mode, wanted in table.items():
        body = f"{head}vote.sync.{mode}.pred %p2, %p1, {ALL};\nselp.u32 %r10, 1, 0, %p2;"
        assert on_lanes(body, x).tolist() == np.repeat(wanted, 32).astype(int).tolist()
    same = [
        sum(1 << o for o in range(32) if x[w * 32 + o] == x[w * 32 + t])
        for w in (0, 1)
        for t in range(32)
    ]
    assert on_lanes(f"match.any.sync.b32 %r10, %r9, {ALL};", x).tolist() == same
    found = on_lanes(f"match.all.sync.b32 %r10|%p1, %r9, {ALL};", x)
    assert found.tolist() == 32 * [0] + 32 * [0xFFFFFFFF]
    assert (on_lanes("activemask.b32 %r10;", x) == 0xFFFFFFFF).all()


@pytest.mark.parametrize("name", ["add", "min", "max", "and", "or", "xor"])
def test_reductions_of_a_warp_take_the_lanes_of_the_mask(name: str) -> None:
    functions = {
        "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    kind = "u32" if name in ("add", "min", "max") else "b32"
    body = f"""
  and.b32 %r1, %t, 1;
  setp.eq.u32 %p1, %r1, 0;
  mov.u32 %r10, 0;
  @%p1 redux.sync.{name}.{kind} %r10, %r9, 0x55555555;
"""
    found = on_lanes(body, X).reshape(2, 16, 2)
    wanted = functions[name].reduce(X.reshape(2, 16, 2)[:, :, 0], axis=1)
    assert (found[:, :, 0] == wanted[:, None]).all()
    assert (found[:, :, 1] == 0).all()


def test_one_lane_is_elected() -> None:
    found = on_lanes(
        f"elect.sync %r8|%p1, {ALL};\nselp.u32 %r10, 100, 0, %p1;\nadd.u32 %r10, %r10, %r8;", X
    )
    assert found.tolist() == 2 * ([100] + 31 * [0])


def test_lanes_that_come_apart_wait_for_each_other_at_a_shuffle() -> None:
    body = f"""
  and.b32 %r1, %t, 1;
  setp.eq.u32 %p1, %r1, 1;
  mov.u32 %r8, 5;
  @%p1 bra odd;
back:
  shfl.sync.bfly.b32 %r10, %r8, 1, 31, {ALL};
  bra end;
odd:
  mov.u32 %r8, 6;
  bra back;
end:
"""
    for order in ("lockstep", "random", "reverse"):
        assert (on_lanes(body, X, order=order) == np.where(np.arange(64) % 2, 5, 6)).all()


def test_a_block_need_not_fill_its_last_warp() -> None:
    body = f"""
  setp.eq.u32 %p1, 0, 0;
  vote.sync.ballot.b32 %r10, %p1, {ALL};
  bar.sync 0;
"""
    found = on_lanes(body, X[:40], 40)
    assert found.tolist() == 32 * [0xFFFFFFFF] + 8 * [0xFF]
    with pytest.raises(errors.WarpFault, match="source lane"):
        on_lanes(f"shfl.sync.idx.b32 %r10, %r9, 20, 31, {ALL};", X[:40], 40)


ATOMICS = {
    "add": (np.add, 0), "min": (np.minimum, 500), "max": (np.maximum, 500),
    "and": (np.bitwise_and, 0xFFFF), "or": (np.bitwise_or, 0), "xor": (np.bitwise_xor, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ATOMICS)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics_give_the_values_found_one_after_the_other(name: str, space: str) -> None:
    function, start = ATOMICS[name]
    kind = "u32" if name in ("add", "min", "max") else "b32"
    body = f"""
  and.b32 %r1, %t, 3;
  mov.u32 %r2, tile;
  mad.lo.u32 %r2, %r1, 4, %r2;
  mad.wide.u32 %rd2, %r1, 4, %z;
  setp.lt.u32 %p1, %t, 4;
  @%p1 ld.global.u32 %r3, [%rd2];
  @%p1 st.shared.u32 [%r2], %r3;
  bar.sync 0;
  atom.{space}.{name}.{kind} %r10, [{"%rd2" if space == "global" else "%r2"}], %r9;
  red.{space}.{name}.{kind} [{"%rd2" if space == "global" else "%r2"}], %r9;
"""
    z = np.full(4, start, np.uint32)
    text = entry(LOAD + body + STORE, "x z y", ".shared .align 4 .b32 tile[4];")
    (found,) = run(text, {"x": X, "z": z}, {"y": ((64,), np.uint32)}, 64)
    wanted, held = [], [start] * 4
    for thread in range(64):
        wanted.append(held[thread % 4])
        held[thread % 4] = int(function(np.uint32(held[thread % 4]), X[thread]))
    assert found.tolist() == wanted


def test_exchanges_and_floats_are_atomic_too() -> None:
    body = """
  setp.lt.u32 %p1, %t, 0;
  atom.global.cas.b32 %r10, [%y], 0, %t;
  red.global.add.f32 [%y+4], 0f3F800000;
  red.global.add.f64 [%y+8], 0d3FE0000000000000;
  red.global.max.s64 [%y+16], %wide;
  atom.global.exch.b64 %rd3, [%y+24], %wide;
  atom.global.inc.u32 %r11, [%y+32], 40;
"""
    held = np.zeros(40, np.uint8)
    text = entry(body, "y")
    device = Device()
    y = device.put(held, "y")
    launch(text, (1,), (64,), [y], device=device)
    out = device.get(y, (40,), np.uint8).tobytes()
    assert np.frombuffer(out, np.uint32, 1, 0)[0] == 1  # thread 0 stores 0, thread 1 wins
    assert np.frombuffer(out, np.float32, 1, 4)[0] == 64
    assert np.frombuffer(out, np.float64, 1, 8)[0] == 32
    assert np.frombuffer(out, np.int64, 1, 16)[0] == 63
    assert np.frombuffer(out, np.int64, 1, 24)[0] == 63
    assert np.frombuffer(out, np.uint32, 1, 32)[0] == 64 % 41


def test_a_barrier_reduces() -> None:
    head = "and.b32 %r8, %r9, 1;\nsetp.ne.u32 %p1, %r8, 0;\n"
    found = on_lanes(head + "bar.red.popc.u32 %r10, 0, %p1;", X)
    assert (found == (X & 1).sum()).all()
    found = on_lanes(head + "bar.red.or.pred %p2, 0, %p1;\nselp.u32 %r10, 1, 0, %p2;", X)
    assert (found == 1).all()


def test_moves_pack_and_unpack() -> None:
    body = """
  mov.b32 {%h1, %h2}, %r9;
  mov.b32 %r1, {%h2, %h1};
  mov.b64 %rd3, {%r9, %r1};
  mov.b64 {%r2, %r3}, %rd3;
  sub.u32 %r10, %r3, %r2;
"""
    x = RNG.integers(0, 2**32, 64).astype(np.uint32)
    assert (on_lanes(body, x) == ((x >> 16) | (x << 16)) - x).all()


def test_branches_by_index() -> None:
    body = """
  and.b32 %r1, %t, 3;
  mov.u32 %r10, 7;
targets: .branchtargets first, second, first, third;
  brx.idx %r1, targets;
first:
  mov.u32 %r10, 1;
  bra end;
second:
  mov.u32 %r10, 2;
third:
  add.u32 %r10, %r10, 10;
end:
"""
    assert on_lanes(body, X).tolist() == 16 * [1, 12, 1, 17]


def test_generic_addresses_lead_to_their_spaces() -> None:
    body = """
  mov.b64 %rd2, tile;
  cvta.shared.u64 %rd2, %rd2;
  mad.lo.u64 %rd2, %wide, 4, %rd2;
  st.u32 [%rd2], %r9;
  setp.lt.u32 %p1, %t, 10;
  mad.lo.u64 %rd3, %wide, 4, %x;
  cvta.global.u64 %rd3, %rd3;
  selp.b64 %rd4, %rd2, %rd3, %p1;
  ld.u32 %r10, [%rd4];
  isspacep.shared %p2, %rd4;
  @%p2 add.u32 %r10, %r10, 1;
"""
    text = entry(LOAD + body + STORE, "x y", ".shared .align 4 .b32 tile[64];")
    (found,) = run(text, {"x": X}, {"y": ((64,), np.uint32)}, 64)
    assert (found == X + (np.arange(64) < 10)).all()


def test_special_registers_say_who_a_thread_is() -> None:
    body = """
  mov.u32 %r1, %tid.y;
  mov.u32 %r2, %ctaid.z;
  mov.u32 %r3, %nctaid.z;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %laneid;
  mad.lo.u32 %r6, %r1, %r4, %t;
  mad.lo.u32 %r7, %r2, 32, %r6;
  mad.lo.u32 %r8, %r3, 100, %r5;
  mov.u32 %r9, %lanemask_lt;
  popc.b32 %r9, %r9;
  mad.lo.u32 %r8, %r9, 1000, %r8;
  mul.wide.u32 %rd1, %r7, 4;
  add.u64 %rd1, %rd1, %y;
  st.global.u32 [%rd1], %r8;
"""
    (found,) = run(entry(body, "y"), {}, {"y": ((96,), np.uint32)}, (8, 4), (1, 1, 3))
    assert found.tolist() == 3 * [300 + lane + 1000 * lane for lane in range(32)]
