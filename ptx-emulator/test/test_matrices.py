"""Fragments of `mma`, `ldmatrix` and `stmatrix`, against the manual's formulas item by item."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ptx_emulator import errors
from ptx_kernels import entry, run

RNG = np.random.default_rng(7)
TYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8,
    "f64": np.float64, "f32": np.float32, "s32": np.int32,
}  # fmt: skip


def place_of_a(kind: str, depth: int, lane: int, i: int) -> tuple[int, int]:
    """Row and column of item a_i, as the tables of the manual say."""
    group, quad = lane >> 2, lane % 4
    if kind in ("f16", "bf16"):
        row = group if (i < 2 or 4 <= i < 6) else group + 8
        return row, quad * 2 + (i & 1) + (8 if i >= 4 else 0)
    if kind == "tf32":
        return (group if i in (0, 2) else group + 8), (quad if i in (0, 1) else quad + 4)
    if kind == "s8":
        row = group if (i < 4 or 8 <= i < 12) else group + 8
        return row, quad * 4 + (i & 3) + (16 if i >= 8 else 0)
    return group, quad


def place_of_b(kind: str, lane: int, i: int) -> tuple[int, int]:
    group, quad = lane >> 2, lane % 4
    if kind in ("f16", "bf16"):
        return quad * 2 + (i & 1) + (8 if i >= 2 else 0), group
    if kind == "tf32":
        return (quad if i == 0 else quad + 4), group
    if kind == "s8":
        return quad * 4 + (i & 3) + (16 if i >= 4 else 0), group
    return quad, group


def place_of_c(rows: int, lane: int, i: int) -> tuple[int, int]:
    group, quad = lane >> 2, lane % 4
    return (group if i < 2 or rows == 8 else group + 8), quad * 2 + (i & 1)


def fragments(matrix: np.ndarray, place, items: int) -> np.ndarray:
    """The registers of all lanes as 32-bit words (64-bit for f64), a row a lane."""
    held = np.array([[matrix[place(lane, i)] for i in range(items)] for lane in range(32)])
    word = np.uint64 if matrix.dtype == np.float64 else np.uint32
    return np.ascontiguousarray(held.astype(matrix.dtype)).view(word)


@pytest.mark.parametrize(
    ("kind", "accumulator", "shape"),
    [
        ("f16", "f32", (16, 8, 16)), ("f16", "f32", (16, 8, 8)), ("f16", "f16", (16, 8, 16)),
        ("bf16", "f32", (16, 8, 16)), ("bf16", "f32", (16, 8, 8)), ("tf32", "f32", (16, 8, 8)),
        ("tf32", "f32", (16, 8, 4)), ("s8", "s32", (16, 8, 32)), ("s8", "s32", (16, 8, 16)),
        ("f64", "f64", (8, 8, 4)),
    ],
)  # fmt: skip
def test_mma_multiplies_the_matrices_that_its_fragments_hold(
    kind: str, accumulator: str, shape: tuple[int, int, int]
) -> None:
    rows, columns, depth = shape
    dtype, result = TYPES[kind], TYPES[accumulator]
    a, b = (RNG.integers(-8, 8, n).astype(dtype) for n in ((rows, depth), (depth, columns)))
    c = RNG.integers(-50, 50, (rows, columns)).astype(result)
    in_a = fragments(a, lambda lane, i: place_of_a(kind, depth, lane, i), rows * depth // 32)
    in_b = fragments(b, lambda lane, i: place_of_b(kind, lane, i), depth * columns // 32)
    in_c = fragments(c, lambda lane, i: place_of_c(rows, lane, i), rows * columns // 32)
    size, bits = in_a.itemsize, f"b{8 * in_a.itemsize}"
    body, names = "", {}
    for name, held in (("a", in_a), ("b", in_b), ("c", in_c)):
        count = held.shape[1]
        names[name] = "{" + ", ".join(f"%{name}{j}" for j in range(count)) + "}"
        body += (
            f".reg .{bits} %{name}<{count}>;\nmad.lo.u64 %rd1, %wide, {size * count}, %{name};\n"
        )
        body += "".join(f"ld.global.{bits} %{name}{j}, [%rd1+{size * j}];\n" for j in range(count))
    body += (
        f"mma.sync.aligned.m{rows}n{columns}k{depth}.row.col.{accumulator}.{kind}.{kind}."
        f"{accumulator} {names['c']}, {names['a']}, {names['b']}, {names['c']};\n"
        f"mad.lo.u64 %rd1, %wide, {size * in_c.shape[1]}, %y;\n"
    )
    body += "".join(f"st.global.{bits} [%rd1+{size * j}], %c{j};\n" for j in range(in_c.shape[1]))
    inputs = {"a": in_a, "b": in_b, "c": in_c}
    (found,) = run(entry(body, "a b c y"), inputs, {"y": (in_c.shape, in_c.dtype)})
    wanted = (a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)).astype(result)
    assert (
        found == fragments(wanted, lambda lane, i: place_of_c(rows, lane, i), rows * columns // 32)
    ).all()


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix_and_stmatrix_hand_out_rows(count: int, transposed: bool) -> None:
    x = RNG.integers(0, 2**16, (count, 8, 8)).astype(np.uint16)
    trans = ".trans" if transposed else ""
    registers = "{" + ", ".join(f"%r{j}" for j in range(10, 10 + count)) + "}"
    body = f"""
  mov.u32 %r1, tile;
  and.b32 %r2, %t, {8 * count - 1};
  mad.lo.u32 %r2, %r2, 16, %r1;
  mad.lo.u32 %r3, %t, 16, %r1;
  mad.lo.u64 %rd1, %wide, 16, %x;
  setp.lt.u32 %p1, %t, {8 * count};
  @%p1 ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd1];
  @%p1 st.shared.v4.b32 [%r3], {{%r4, %r5, %r6, %r7}};
  bar.warp.sync 0xffffffff;
  ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {registers}, [%r2];
  mad.lo.u64 %rd1, %wide, {4 * count}, %y;
"""
    body += "".join(f"  st.global.b32 [%rd1+{4 * j}], %r{10 + j};\n" for j in range(count))
    body += f"""
  add.u32 %r2, %r2, 512;
  stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r2], {registers};
  bar.warp.sync 0xffffffff;
  mad.lo.u64 %rd1, %wide, 16, %z;
  @%p1 ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r2];
  @%p1 st.global.v4.b32 [%rd1], {{%r4, %r5, %r6, %r7}};
"""
    text = entry(body, "x y z", ".shared .align 16 .b8 tile[1024];")
    y, z = run(text, {"x": x}, {"y": ((32, count, 2), np.uint16), "z": (x.shape, np.uint16)})
    for lane in range(32):
        for j in range(count):
            row, column = lane // 4, 2 * (lane % 4)
            pair = (
                (x[j, column, row], x[j, column + 1, row])
                if transposed
                else x[j, row, column : column + 2]
            )
            assert tuple(y[lane, j]) == tuple(pair)
    assert (z == x).all()


def test_part_of_a_warp_cannot_multiply_matrices() -> None:
    body = """
  setp.lt.u32 %p1, %t, 16;
  @%p1 bra skip;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
    {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4};
skip:
"""
    with pytest.raises(errors.WarpFault):
        run(entry(body, "y"), {"y": np.zeros(1)})


def test_a_row_of_ldmatrix_is_aligned_and_inside() -> None:
    body = "mov.u32 %r1, tile;\n ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1+OFF];"
    tile = ".shared .align 16 .b8 tile[128];"
    for offset, error in (
        ("8", errors.Misaligned),
        ("128", errors.OutOfBounds),
        ("0", errors.UninitialisedRead),
    ):
        with pytest.raises(error):
            run(entry(body.replace("OFF", offset), "y", tile), {"y": np.zeros(1)})
