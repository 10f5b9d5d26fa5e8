"""The texts that these tests run are PTX: the assembler accepts them where it is installed."""

from __future__ import annotations

import pytest

import test_async_copies
import test_bulk_copies
import test_warpgroups
from ptx_kernels import each_thread, entry
from ted.codegen.nvptx import toolkit
from ted.codegen.nvptx.ptxas import assemble

pytestmark = pytest.mark.skipif(toolkit.ptxas() is None, reason="no ptxas on this machine")

SCALARS = [
    ("bfe.s32 %out, %va, %vb, %vc;", "s32 u32 u32", "s32"),
    ("shf.l.clamp.b32 %out, %va, %vb, %vc;", "b32 b32 u32", "b32"),
    ("fma.rn.bf16x2 %out, %va, %vb, %vc;", "b32 b32 b32", "b32"),
    ("cvt.rz.bf16x2.f32 %out, %va, %vb;", "f32 f32", "b32"),
    ("cvt.rna.tf32.f32 %out, %va;", "f32", "b32"),
    ("prmt.b32.f4e %out, %va, %vb, %vc;", "b32 b32 b32", "b32"),
]
TEXTS = {
    "scalars": [each_thread(*case) for case in SCALARS],
    "groups": [entry(test_async_copies.PIPELINE, "x y", test_async_copies.TILE)],
    "barrier objects": [
        entry(test_bulk_copies.RING, "x y", test_bulk_copies.BARS),
        entry(test_bulk_copies.COPIED, "x y", test_bulk_copies.SHARED),
        entry(test_bulk_copies.PLAIN, "x y", test_bulk_copies.SHARED),
    ],
    "tensor copies": [test_bulk_copies.load_text((0,) * rank, 512) for rank in (1, 2, 3)],
    "warpgroups": [
        test_warpgroups.text_of("bf16", 64, (0, 1024), "1, 1, 0, 1"),
        test_warpgroups.text_of("f16", 32, (0, 1024), "1, -1, 1, 0", d="f16"),
        test_warpgroups.text_of("tf32", 24, (0, 1024), "1, 1", registers=True),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_the_assembler_accepts_what_the_tests_run(name: str) -> None:
    for text in TEXTS[name]:
        assert assemble(text, "sm_90a").cubin
