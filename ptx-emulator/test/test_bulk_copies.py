"""Barrier objects, bulk copies and tensor copies, against formulas item by item."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ptx_emulator import Device, TensorMap, errors, launch
from ptx_kernels import entry

RNG = np.random.default_rng(3)
RACY = (errors.SharedRace, errors.UninitialisedRead, errors.EndlessWait)
WAIT = """
again{n}:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], {parity};
  @!%p2 bra again{n};
"""
SHARED = ".shared .align 16 .b8 bar[16];\n.extern .shared .align 1024 .b8 tile[];"
START = """
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  setp.eq.u32 %p1, %t, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
  fence.proxy.async;
  bar.sync 0;
"""
DUMP = """
  mad.lo.u64 %rd5, %wide, 16, %y;
  mad.lo.u32 %r5, %t, 16, %r2;
  ld.shared.v4.b32 {%r6, %r7, %r8, %r9}, [%r5];
  st.global.v4.b32 [%rd5], {%r6, %r7, %r8, %r9};
"""


def with_map(text: str) -> str:
    """Give the kernel a tensor map as its last parameter, with its address in %map."""
    text = re.sub(r"(\.entry k\([^)]*)\)", r"\1, .param .align 64 .b8 k_map[128])", text)
    return text.replace(
        "  .reg .b32 %t;",
        "  .reg .b64 %map;\n  mov.b64 %map, k_map;\n  cvta.param.u64 %map, %map;\n  .reg .b32 %t;",
    )


def tensor_map(device: Device, x: np.ndarray, box: tuple[int, ...], swizzle: int = 0) -> Any:
    held = device.put(x, "x")
    dims, strides = x.shape[::-1], x.strides[::-1][1:]
    return TensorMap(held.address, x.itemsize, dims, strides, box, (1,) * len(box), swizzle), held


def load_text(coordinates: tuple[int, ...], count: int) -> str:
    at = ", ".join(str(c) for c in coordinates)
    body = (
        START
        + f"""
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], {count};
  @%p1 cp.async.bulk.tensor.{len(coordinates)}d.shared::cluster.global.mbarrier::complete_tx::bytes
    [%r2], [%map, {{{at}}}], [%r1];
"""
        + WAIT.format(n=0, parity=0)
        + DUMP
    )
    return with_map(entry(body, "y", SHARED))


def load_box(
    x: np.ndarray,
    box: tuple[int, ...],
    coordinates: tuple[int, ...],
    swizzle: int = 0,
    **options: Any,
) -> np.ndarray:
    """The bytes of shared memory after a load of a box."""
    device = Device()
    shape, _ = tensor_map(device, x, box, swizzle)
    y = device.allocate(shape.box_bytes, "y")
    text = load_text(coordinates, shape.box_bytes)
    threads = shape.box_bytes // 16
    launch(
        text, (1,), (threads,), [y, shape], device=device, dynamic_shared=shape.box_bytes, **options
    )
    return device.get(y, (shape.box_bytes,), np.uint8)


def padded_box(x: np.ndarray, box: tuple[int, ...], coordinates: tuple[int, ...]) -> np.ndarray:
    """The box of x at coordinates, both innermost first, zero outside."""
    found = np.zeros(box[::-1], x.dtype)
    for index in np.ndindex(found.shape):
        place = tuple(i + c for i, c in zip(index, coordinates[::-1], strict=True))
        if all(0 <= p < n for p, n in zip(place, x.shape, strict=True)):
            found[index] = x[place]
    return found


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize(
    ("shape", "box", "coordinates"),
    [
        ((100,), (64,), (10,)), ((100,), (64,), (-7,)), ((20, 40), (16, 8), (8, 3)),
        ((20, 40), (16, 8), (33, 15)), ((5, 6, 8), (8, 4, 2), (-2, 3, 4)),
    ],
)  # fmt: skip
def test_a_box_is_loaded_with_zeros_outside(
    shape: Any, box: Any, coordinates: Any, late: bool
) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    if x.strides[0] % 16:
        x = np.ascontiguousarray(x)
    found = load_box(x, box, coordinates, late_async=late).view(np.float32)
    assert (found == padded_box(x, box, coordinates).reshape(-1)).all()


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_swizzled_boxes_move_chunks_of_rows(swizzle: int) -> None:
    x = RNG.integers(0, 2**16, (64, 128)).astype(np.uint16)
    box = (swizzle // 2, 32)
    found = load_box(x, box, (swizzle // 2, 5), swizzle).reshape(32, swizzle // 16, 16)
    rows = padded_box(x, box, (swizzle // 2, 5)).view(np.uint8).reshape(32, swizzle // 16, 16)
    for row in range(32):
        # 1024, 512 or 256 bytes repeat: there, chunks of a row change places by its 128-byte line.
        line = {128: row % 8, 64: row // 2 % 4, 32: row // 4 % 2}[swizzle]
        for chunk in range(swizzle // 16):
            assert (found[row, chunk ^ line] == rows[row, chunk]).all()


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("swizzle", [0, 64, 128])
def test_what_a_box_store_writes_lies_inside_the_tensor(swizzle: int, late: bool) -> None:
    inner = swizzle // 4 if swizzle else 16
    x = RNG.standard_normal((16, 48)).astype(np.float32)
    body = (
        START
        + f"""
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], {inner * 8 * 4};
  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
    [%r2], [%map, {{0, 4}}], [%r1];
"""
        + WAIT.format(n=0, parity=0)
        + """
  @%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {40, 12}], [%r2];
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group 0;
"""
    )
    device = Device()
    shape, held = tensor_map(device, x, (inner, 8), swizzle)
    text = with_map(entry(body, "y", SHARED))
    y = device.put(np.zeros(1), "y")
    launch(text, (1,), (32,), [y, shape], device=device, dynamic_shared=4096, late_async=late)
    wanted = x.copy()
    wanted[12:16, 40:48] = x[4:8, 0:8]
    if inner < 8:
        wanted[12:16, 40 + inner :] = x[12:16, 40 + inner :]
    assert (device.get(held, x.shape, x.dtype) == wanted).all()


PLAIN = (
    START
    + """
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 512;
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%x], 512, [%r1];
"""
    + WAIT.format(n=0, parity=0)
    + """
  mad.lo.u32 %r5, %t, 16, %r2;
  ld.shared.u32 %r6, [%r5];
  add.u32 %r6, %r6, 1;
  st.shared.u32 [%r5], %r6;
  fence.proxy.async;
  bar.sync 0;
  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%y], [%r2], 512;
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group.read 0;
"""
)


def go(body: str, late: bool = True, order: str = "lockstep", dynamic: int = 1024) -> np.ndarray:
    device = Device()
    x, y = device.put(np.arange(128, dtype=np.uint32), "x"), device.allocate(512, "y")
    text = entry(body, "x y", SHARED)
    launch(
        text,
        (1,),
        (32,),
        [x, y],
        device=device,
        dynamic_shared=dynamic,
        late_async=late,
        order=order,
    )
    return device.get(y, (128,), np.uint32)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("order", ["lockstep", "random", "reverse"])
def test_bulk_copies_there_and_back(late: bool, order: str) -> None:
    wanted = np.arange(128)
    wanted[::4] += 1
    assert (go(PLAIN, late, order) == wanted).all()


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "expect_tx.shared::cta.b64 _, [%r1], 512",
            "expect_tx.shared::cta.b64 _, [%r1], 528",
            errors.EndlessWait,
        ),
        (WAIT.format(n=0, parity=0), "", RACY),
        (
            "  fence.proxy.async;\n  bar.sync 0;\n  @%p1 cp",
            "  bar.sync 0;\n  @%p1 cp",
            errors.ProxyFault,
        ),
        ("  fence.proxy.async;\n  bar.sync 0;\n  @%p1 cp", "  fence.proxy.async;\n  @%p1 cp", None),
        ("[%r2], [%x], 512", "[%r2+8], [%x], 512", errors.Misaligned),
        ("[%r2], [%x], 512", "[%r2], [%x], 520", errors.Misaligned),
        ("[%r2], [%x], 512", "[%r2], [%x+16], 512", errors.OutOfBounds),
        ("[%r2], [%x], 512", "[%r2+1024], [%x], 512", errors.OutOfBounds),
        ("[%r2], [%x], 512", "[%r1+0], [%x], 16", errors.MbarrierFault),
        ("  @%p1 cp.async.bulk.wait_group.read 0;\n", "", errors.BulkCopyFault),
        ("  @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;\n", "", errors.MbarrierFault),
        ("  fence.proxy.async;\n  bar.sync 0;\n\n", "  bar.sync 0;\n\n", errors.ProxyFault),
        ("b64 [%r1], 1;", "b64 [%r1], 0;", errors.MbarrierFault),
        ("b64 [%r1], 1;", "b64 [%r1], 2;", errors.EndlessWait),
        ("b64 [%r1], 1;", "b64 [%r1+4], 1;", errors.Misaligned),
        ("%p2, [%r1], 0", "%p2, [%r1], 1", RACY),
        ("  mad.lo.u32 %r5", "  st.shared.u32 [%r1], 0;\n  mad.lo.u32 %r5", errors.MbarrierFault),
        ("  @%p1 mbarrier.arrive.expect_tx", "  mbarrier.arrive.expect_tx", errors.MbarrierFault),
    ],
)
def test_bugs_of_bulk_copies_are_found(old: str, new: str, error: Any, late: bool) -> None:
    assert old in PLAIN
    body = PLAIN.replace(old, new, 1)
    if error is None:  # one warp: its lanes are not raced against each other
        go(body, late)
        return
    with pytest.raises(error):
        go(body, late)


def test_a_store_owns_its_source_until_it_was_waited_for() -> None:
    late = "  @%p1 cp.async.bulk.wait_group.read 0;\n"
    with pytest.raises(errors.SharedRace):
        go(PLAIN.replace(late, "  bar.sync 0;\n  st.shared.u32 [%r5], 0;\n" + late))
    go(PLAIN.replace(late, late + "  bar.sync 0;\n  st.shared.u32 [%r5], 0;\n"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"box": (300, 8)}, "box of 1 to 256"), ({"strides": (100,)}, "multiples of 16"),
        ({"box": (3, 8)}, "rows of a multiple of 16 bytes"), ({"address": 8}, "multiple of 16"),
        ({"swizzle": 32}, "no longer than the swizzle"), ({"dims": (1,) * 6}, "1 to 5 dims"),
    ],
)  # fmt: skip
def test_bad_tensor_maps_are_refused(change: dict[str, Any], message: str) -> None:
    good = {
        "address": 1024, "item_bytes": 4, "dims": (64, 64), "strides": (256,), "box": (16, 8),
        "element_strides": (1, 1), "swizzle": 0,
    }  # fmt: skip
    TensorMap(**good).encoded()
    with pytest.raises(errors.BulkCopyFault, match=message):
        TensorMap(**(good | change)).encoded()


def test_a_swizzled_box_starts_where_its_pattern_does() -> None:
    x = np.zeros((64, 64), np.float32)
    device = Device()
    shape, _ = tensor_map(device, x, (32, 8), 128)
    y = device.allocate(1024, "y")
    text = load_text((0, 0), 1024).replace("[%r2], [%map", "[%r2+128], [%map")
    with pytest.raises(errors.Misaligned, match="multiple of 1024"):
        launch(text, (1,), (64,), [y, shape], device=device, dynamic_shared=4096)


def test_memory_that_is_no_tensor_map_is_refused() -> None:
    device = Device()
    y = device.allocate(1024, "y")
    with pytest.raises(errors.BulkCopyFault, match="tensor map"):
        launch(
            load_text((0, 0), 1024),
            (1,),
            (64,),
            [y, bytes(128)],
            device=device,
            dynamic_shared=4096,
        )


# One warp fills a ring of two slots, another one empties it.
RING = """
  mov.u32 %r1, bars;
  mov.u32 %r2, ring;
  mov.u32 %r20, 0;
  setp.eq.u32 %p1, %t, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
  @%p1 mbarrier.init.shared::cta.b64 [%r1+8], 1;
  @%p1 mbarrier.init.shared::cta.b64 [%r1+16], 32;
  @%p1 mbarrier.init.shared::cta.b64 [%r1+24], 32;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  setp.ge.u32 %p3, %t, 32;
  @%p3 bra consumer;
  setp.ne.u32 %p3, %t, 0;
  @%p3 ret;
produce:
  and.b32 %r3, %r20, 1;
  shr.u32 %r4, %r20, 1;
  and.b32 %r4, %r4, 1;
  xor.b32 %r4, %r4, 1;
  mad.lo.u32 %r5, %r3, 8, %r1;
  mad.lo.u32 %r6, %r3, 128, %r2;
empty:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+16], %r4;
  @!%p2 bra empty;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 128;
  mul.wide.u32 %rd1, %r20, 128;
  add.u64 %rd1, %rd1, %x;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd1], 128, [%r5];
  add.u32 %r20, %r20, 1;
  setp.lt.u32 %p2, %r20, 7;
  @%p2 bra produce;
  ret;
consumer:
  sub.u32 %r9, %t, 32;
consume:
  and.b32 %r3, %r20, 1;
  shr.u32 %r4, %r20, 1;
  and.b32 %r4, %r4, 1;
  mad.lo.u32 %r5, %r3, 8, %r1;
  mad.lo.u32 %r6, %r3, 128, %r2;
  mad.lo.u32 %r6, %r9, 4, %r6;
full:
  mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r5], %r4;
  @!%p2 bra full;
  ld.shared.u32 %r7, [%r6];
  mbarrier.arrive.shared::cta.b64 _, [%r5+16];
  mad.lo.u32 %r8, %r20, 32, %r9;
  mul.wide.u32 %rd1, %r8, 4;
  add.u64 %rd1, %rd1, %y;
  st.global.u32 [%rd1], %r7;
  add.u32 %r20, %r20, 1;
  setp.lt.u32 %p2, %r20, 7;
  @%p2 bra consume;
"""
BARS = ".shared .align 8 .b8 bars[32];\n.shared .align 128 .b8 ring[256];"


def go_ring(body: str, late: bool, order: str) -> np.ndarray:
    device = Device()
    x, y = device.put(np.arange(224, dtype=np.uint32), "x"), device.allocate(896, "y")
    launch(
        entry(body, "x y", BARS), (1,), (64,), [x, y], device=device, late_async=late, order=order
    )
    return device.get(y, (224,), np.uint32)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("order", ["lockstep", "random", "reverse"])
def test_a_producer_and_a_consumer_hand_over_slots(late: bool, order: str) -> None:
    assert (go_ring(RING, late, order) == np.arange(224)).all()


LOAD = "  ld.shared.u32 %r7, [%r6];\n"
RELEASE = "  mbarrier.arrive.shared::cta.b64 _, [%r5+16];\n"


@pytest.mark.parametrize("order", ["lockstep", "random", "reverse"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  @!%p2 bra empty;\n", ""), (LOAD + RELEASE, RELEASE + LOAD),
        ("  @!%p2 bra full;\n", ""), (RELEASE, ""), ("xor.b32 %r4, %r4, 1", "xor.b32 %r4, %r4, 0"),
    ],
    ids=["refilled too early", "released too early", "read too early", "never released", "parity"],
)  # fmt: skip
def test_bugs_of_a_ring_are_found(old: str, new: str, order: str) -> None:
    assert old in RING
    with pytest.raises((*RACY, errors.MbarrierFault)):
        go_ring(RING.replace(old, new), True, order)


# Each thread copies 16 bytes; all wait for all on a barrier object.
COPIED = """
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  setp.eq.u32 %p1, %t, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 64;
  bar.sync 0;
  mad.lo.u32 %r3, %t, 16, %r2;
  mad.lo.u64 %rd1, %wide, 16, %x;
  cp.async.cg.shared.global [%r3], [%rd1], 16;
  cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;
  @!%p2 bra again;
  xor.b32 %r3, %r3, 512;
  ld.shared.u32 %r4, [%r3];
  mad.lo.u64 %rd2, %wide, 4, %y;
  st.global.u32 [%rd2], %r4;
"""


def go_copied(body: str, late: bool, order: str) -> np.ndarray:
    device = Device()
    x, y = device.put(np.arange(256, dtype=np.uint32), "x"), device.allocate(256, "y")
    text = entry(body, "x y", SHARED)
    launch(
        text, (1,), (64,), [x, y], device=device, dynamic_shared=1024, late_async=late, order=order
    )
    return device.get(y, (64,), np.uint32)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("order", ["lockstep", "random", "reverse"])
def test_copies_of_threads_may_arrive_at_a_barrier_object(late: bool, order: str) -> None:
    wanted = (np.arange(64) * 4 + 128) % 256
    assert (go_copied(COPIED, late, order) == wanted).all()
    counted = COPIED.replace(".noinc", "") + "\n"
    counted = counted.replace("again:", "  mbarrier.arrive.shared::cta.b64 _, [%r1];\nagain:")
    assert (go_copied(counted, late, order) == wanted).all()
    with pytest.raises(errors.MbarrierFault, match="further arrivals"):
        go_copied(COPIED.replace("[%r1], 64", "[%r1], 16"), late, order)
    with pytest.raises(errors.EndlessWait):
        go_copied(COPIED.replace("[%r1], 64", "[%r1], 65"), late, order)
    plain = "mbarrier.arrive.shared::cta.b64 _, [%r1]"
    if late:  # the arrival does not wait for the copies
        with pytest.raises((errors.UninitialisedRead, errors.SharedRace)):
            go_copied(
                COPIED.replace("cp.async.mbarrier.arrive.noinc.shared.b64 [%r1]", plain),
                late, order,
            )  # fmt: skip
