"""`wgmma`: operands by descriptor and in registers, against the manual's layouts restated.

A layout is given as shapes and strides of nested coordinates, as the manual's table of canonical
layouts gives it; the swizzle Swizzle<b, 4, 3> is applied to the byte address.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptx_emulator import Device, errors, launch
from ptx_kernels import entry

RNG = np.random.default_rng(11)
TYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32}
DEPTH = {"f16": 16, "bf16": 16, "tf32": 8}
CODE = {0: 0, 128: 1, 64: 2, 32: 3}
SHARED = ".extern .shared .align 1024 .b8 tile[];"
AREA = 32768
B_START = 16384


def place(row: int, k: int, item: int, k_major: bool, swizzle: int, lbo: int, sbo: int) -> int:
    """The byte offset of an item, from the table of canonical layouts (offsets in bytes)."""
    t, c = 16 // item, swizzle // 16
    if k_major and swizzle:  # ((8,m),(T,2k)):((cT,SBO),(1,T))
        offset = (row % 8) * c * 16 + (row // 8) * sbo + (k % t) * item + (k // t) * 16
    elif k_major:  # ((8,m),(T,2k)):((1T,SBO),(1,LBO))
        offset = (row % 8) * 16 + (row // 8) * sbo + (k % t) * item + (k // t) * lbo
    elif swizzle:  # ((T,c,m),(8,k)):((1,T,LBO),(cT,SBO))
        offset = (row % t) * item + (row // t % c) * 16 + (row // (t * c)) * lbo
        offset += (k % 8) * c * 16 + (k // 8) * sbo
    else:  # ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
        offset = (row % t) * item + (row // t) * sbo + (k % 8) * 16 + (k // 8) * lbo
    bits = {0: 0, 32: 1, 64: 2, 128: 3}[swizzle]
    return offset ^ ((offset >> 7) & ((1 << bits) - 1)) << 4


def offsets_for(rows: int, item: int, k_major: bool, swizzle: int) -> tuple[int, int]:
    """Leading and stride byte offsets that keep parts apart, not always densely."""
    if k_major:
        return (0, 8 * swizzle + (1024 if rows <= 64 else 0)) if swizzle else (rows * 16 + 128, 128)
    if swizzle:
        return 4096 if item == 2 else 2048, 8 * swizzle
    return rows * item * 8 + 256, 128


def descriptor(start: int, lbo: int, sbo: int, swizzle: int) -> int:
    return start >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | CODE[swizzle] << 62


def image(matrix: np.ndarray, k_major: bool, swizzle: int) -> tuple[np.ndarray, int, int]:
    """The bytes of shared memory that hold a matrix (rows x depth), and its offsets."""
    rows, depth = matrix.shape
    item = matrix.itemsize
    lbo, sbo = offsets_for(rows, item, k_major, swizzle)
    area = np.zeros(B_START // item, matrix.dtype)
    for row in range(rows):
        for k in range(depth):
            area[place(row, k, item, k_major, swizzle, lbo, sbo) // item] = matrix[row, k]
    return area.view(np.uint8), lbo, sbo


def place_of_d(thread: int, i: int) -> tuple[int, int]:
    """Row and column of accumulator d_i, as the manual's figure says."""
    warp, lane = divmod(thread, 32)
    return 16 * warp + lane // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (lane % 4) + i % 2


FILL = """
  mov.u32 %r1, tile;
  mad.lo.u32 %r2, %t, 256, %r1;
  mad.lo.u64 %rd1, %wide, 256, %x;
  mov.u32 %r3, 0;
fill:
  ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1];
  st.shared.v4.b32 [%r2], {%r4, %r5, %r6, %r7};
  add.u32 %r2, %r2, 16;
  add.u64 %rd1, %rd1, 16;
  add.u32 %r3, %r3, 16;
  setp.lt.u32 %p1, %r3, 256;
  @%p1 bra fill;
  fence.proxy.async;
  bar.sync 0;
"""
PRODUCT = """
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{kind}.{kind} {accumulators}, {a}, %rd6, %p2, {ends};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
"""


def text_of(
    kind: str, columns: int, descriptors: tuple[int, int], ends: str, d: str = "f32",
    registers: bool = False, keep: int = 0, product: str = PRODUCT,
) -> str:  # fmt: skip
    count = columns // (4 if d == "f16" else 2)
    names = "{" + ", ".join(f"%c{j}" for j in range(count)) + "}"
    body = (
        FILL
        + f"""
  .reg .b32 %c<{count}>;
  cvt.u64.u32 %rd4, %r1;
  shr.u64 %rd4, %rd4, 4;
  add.u64 %rd5, %rd4, {descriptors[0]};
  add.u64 %rd6, %rd4, {descriptors[1]};
  setp.ne.u32 %p2, {keep}, 0;
  mad.lo.u64 %rd1, %wide, {4 * count}, %y;
"""
    )
    body += "".join(f"  ld.global.b32 %c{j}, [%rd1+{4 * j}];\n" for j in range(count))
    if registers:
        body += "  mad.lo.u64 %rd2, %wide, 16, %z;\n"
        body += "  ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2];\n"
    body += product.format(
        n=columns, k=DEPTH[kind], d=d, kind=kind, accumulators=names, ends=ends,
        a="{%r10, %r11, %r12, %r13}" if registers else "%rd5",
    )  # fmt: skip
    body += "".join(f"  st.global.b32 [%rd1+{4 * j}], %c{j};\n" for j in range(count))
    return entry(body, "x y z", SHARED)


def run(
    text: str, shared: np.ndarray, c: np.ndarray, z: np.ndarray | None = None, **options: Any
) -> np.ndarray:
    device = Device()
    x, y = device.put(shared, "x"), device.put(c, "y")
    held = device.put(np.zeros(1) if z is None else z, "z")
    launch(text, (1,), (128,), [x, y, held], device=device, dynamic_shared=AREA, **options)
    return device.get(y, c.shape, c.dtype)


def spread_out(matrix: np.ndarray) -> np.ndarray:
    """Accumulators of all threads, a row a thread."""
    items = matrix.shape[1] // 2
    return np.array([[matrix[place_of_d(t, i)] for i in range(items)] for t in range(128)])


def numbers(kind: str, *shape: int) -> np.ndarray:
    return RNG.integers(-6, 7, shape).astype(TYPES[kind])


def case(
    kind: str, columns: int, major_a: bool, swizzle_a: int, major_b: bool, swizzle_b: int
) -> Any:
    a, b = numbers(kind, 64, DEPTH[kind]), numbers(kind, columns, DEPTH[kind])
    area_a, *offsets_a = image(a, major_a, swizzle_a)
    area_b, *offsets_b = image(b, major_b, swizzle_b)
    words = descriptor(0, *offsets_a, swizzle_a), descriptor(B_START, *offsets_b, swizzle_b)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    return words, np.concatenate([area_a, area_b]), wanted


MAJORS = [("tf32", True, True)] + [
    (kind, *majors)
    for kind in ("f16", "bf16")
    for majors in ((True, True), (True, False), (False, True))
]


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize(("kind", "major_a", "major_b"), MAJORS)
def test_descriptors_find_the_operands(
    kind: str, major_a: bool, major_b: bool, swizzle: int
) -> None:
    other = {0: 32, 32: 64, 64: 128, 128: 0}[swizzle]
    words, shared, wanted = case(kind, 64, major_a, swizzle, major_b, other)
    ends = "1, 1" if kind == "tf32" else f"1, 1, {int(not major_a)}, {int(not major_b)}"
    c = spread_out(RNG.integers(-9, 9, (64, 64)).astype(np.float32))
    text = text_of(kind, 64, words, ends)
    assert (run(text, shared, c) == spread_out(wanted)).all()
    text = text_of(kind, 64, words, ends, keep=1).replace(", 1, 1", ", -1, 1")
    assert (run(text, shared, c) == c - spread_out(wanted)).all()


@pytest.mark.parametrize("columns", [8, 24, 128, 256])
def test_products_have_any_number_of_columns(columns: int) -> None:
    words, shared, wanted = case("bf16", columns, True, 128, True, 32)
    c = np.zeros((128, columns // 2), np.float32)
    assert (
        run(text_of("bf16", columns, words, "1, 1, 0, 0"), shared, c) == spread_out(wanted)
    ).all()


def test_half_precision_accumulators_come_in_pairs() -> None:
    words, shared, wanted = case("f16", 32, True, 64, False, 64)
    c = np.zeros((128, 16), np.float16)
    text = text_of("f16", 32, words, "1, 1, 0, 1", d="f16")
    assert (run(text, shared, c) == spread_out(wanted).astype(np.float16)).all()


@pytest.mark.parametrize("kind", ["bf16", "tf32"])
def test_the_first_operand_may_be_in_registers(kind: str) -> None:
    words, shared, _ = case(kind, 16, True, 0, True, 128)
    a, b = numbers(kind, 64, DEPTH[kind]), numbers(kind, 16, DEPTH[kind])
    area, *offsets = image(b, True, 128)
    shared[B_START:] = area
    words = (0, descriptor(B_START, *offsets, 128))
    held = np.zeros((128, 4, 4 // a.itemsize), a.dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for register in range(4):
            for i in range(held.shape[2]):
                row = 16 * warp + lane // 4 + 8 * (register % 2)
                step = held.shape[2]
                held[thread, register, i] = a[
                    row, step * (lane % 4) + i + 4 * step * (register // 2)
                ]
    text = text_of(kind, 16, words, "1, 1, 0" if kind == "bf16" else "1, 1", registers=True)
    found = run(text, shared, np.zeros((128, 8), np.float32), held)
    assert (found == spread_out(a.astype(np.float64) @ b.astype(np.float64).T)).all()


def bug(old: str, new: str, **options: Any) -> np.ndarray:
    words, shared, _ = case("f16", 16, True, 128, True, 128)
    text = text_of("f16", 16, words, "1, 1, 0, 0")
    assert old in text
    return run(text.replace(old, new), shared, np.zeros((128, 8), np.float32), **options)


FENCE = "  wgmma.fence.sync.aligned;\n"
COMMIT = "  wgmma.commit_group.sync.aligned;\n"
WAIT = "  wgmma.wait_group.sync.aligned 0;\n"
PROXY, BARRIER = "  fence.proxy.async;\n", "  bar.sync 0;\n"
START = "shr.u64 %rd4, %rd4, 4;"
SKIP = "  setp.lt.u32 %p5, %t, 96;\n  @!%p5 bra skip;\n"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (FENCE, "", errors.WarpgroupFault),
        (WAIT, "", errors.WarpgroupFault),
        (WAIT, WAIT.replace("0", "1"), errors.WarpgroupFault),
        (COMMIT, "", errors.WarpgroupFault),
        (PROXY + BARRIER, BARRIER, errors.ProxyFault),
        (PROXY + BARRIER, PROXY, errors.SharedRace),
        (PROXY + BARRIER, BARRIER + PROXY, None),
        ("%r3, 256;", "%r3, 16;", errors.UninitialisedRead),
        (START, START + "\n  add.u64 %rd4, %rd4, 1800;", errors.OutOfBounds),
        (START, START + "\n  or.b64 %rd4, %rd4, 562949953421312;", errors.WarpgroupFault),
        (START, "and.b64 %rd4, %wide, 1;", errors.WarpgroupFault),
        (COMMIT, COMMIT + "  st.shared.u32 [%r1], 0;\n", errors.SharedRace),
        (FENCE, SKIP + FENCE, errors.WarpgroupFault),
    ],
)
def test_bugs_of_warpgroup_products_are_found(old: str, new: str, error: Any) -> None:
    if "skip" in new:
        words, shared, _ = case("f16", 16, True, 128, True, 128)
        text = text_of("f16", 16, words, "1, 1, 0, 0").replace(old, new)
        text = text.replace("aligned 0;\n", "aligned 0;\nskip:\n")
        with pytest.raises(error, match="all four warps"):
            run(text, shared, np.zeros((128, 8), np.float32))
    elif error is None:
        bug(old, new)
    else:
        with pytest.raises(error):
            bug(old, new)


def test_accumulators_hold_nothing_until_the_wait_when_products_are_late() -> None:
    wait = "  wgmma.wait_group.sync.aligned 0;\n"
    early = "  mov.b32 %r20, %c0;\n" + wait + "  mov.b32 %c0, %r20;\n"
    assert not np.isnan(bug(wait, early, late_async=False)).any()
    assert np.isnan(bug(wait, early, late_async=True)[:, 0]).all()


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("order", ["lockstep", "random", "reverse"])
def test_products_in_line_add_up(late: bool, order: str) -> None:
    words, shared, wanted = case("f16", 16, True, 128, True, 128)
    twice = PRODUCT.split("\n")
    twice.insert(3, twice[2].replace("%p2", "%p3"))
    product = "  setp.eq.u32 %p3, 0, 0;\n" + "\n".join(twice)
    text = text_of("f16", 16, words, "1, 1, 0, 0", product=product)
    c = np.ones((128, 8), np.float32)
    found = run(text, shared, c, late_async=late, order=order)
    assert (found == 2 * spread_out(wanted)).all()
