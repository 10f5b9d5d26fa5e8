"""What the assembler says of the templates: no spills, on every chip that they are for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ted.codegen.nvptx import toolkit
from ted.codegen.nvptx.ptxas import assemble
from ted.gpu.templates import choices
from ted.gpu.templates.schedule import Plan, Tiling
from unit.gpu_templates.programs import Convolution, build, forced, matmul, planned

pytestmark = pytest.mark.skipif(toolkit.ptxas() is None, reason="no ptxas on this machine")
LARGE = (1024, 1024, 1024)
ODD = (1023, 1021, 1019)
SMALLEST = choices.WGMMA[-1][0]
IMAGES = Convolution(8, 32, 14, 14, 64, (3, 3))
IMAGES_LAST = Convolution(8, 32, 14, 14, 64, (3, 3), last=True)
PADDED, PADDED_LAST = (replace(images, padding=1) for images in (IMAGES, IMAGES_LAST))


def assert_no_spills(chosen: Plan) -> None:
    assembled = assemble(build(chosen).text, chosen.chip)
    assert assembled.warnings == ()
    for name, resources in assembled.kernels.items():
        assert (resources.spill_stores, resources.spill_loads, resources.stack) == (0, 0, 0), name


@pytest.mark.fast(2)
@pytest.mark.parametrize(
    "chosen",
    [
        planned(matmul(LARGE), "sm_80"),
        planned(matmul(ODD), "sm_90a"),
        planned(matmul(ODD, "f64"), "sm_80"),
        planned(IMAGES.forward(), "sm_80"),
        planned(matmul(LARGE, "bf16"), "sm_80"),
        planned(matmul(ODD, "bf16"), "sm_80"),
        planned(IMAGES.forward("bf16"), "sm_90a"),
        planned(matmul(LARGE, "bf16"), "sm_90a", tensor_maps=True),
        planned(IMAGES_LAST.weight_gradient("bf16"), "sm_90a"),
        planned(matmul(LARGE), "sm_80", tf32=True),
        planned(PADDED.weight_gradient(), "sm_80"),
        planned(PADDED_LAST.weight_gradient("bf16"), "sm_80"),
        planned(PADDED_LAST.forward("bf16"), "sm_90a"),
    ],
    ids=lambda plan: f"{plan.template}-{plan.gemm.a.element}-{plan.chip}-{plan.gemm.k}",
)
def test_planned_kernels_do_not_spill(chosen: Plan) -> None:
    assert_no_spills(chosen)


@pytest.mark.parametrize("template", ["wgmma", "wgmma_gather"])
def test_conditions_may_turn_out_to_be_constants(template: str) -> None:
    assert_no_spills(forced(matmul((128, 64, 64), "bf16"), template, SMALLEST, "sm_90a"))


WHATS = ["", "ab", "odd", "images", "images last", "padded last"]
# Tilings meet the chips in turn, and with them the numbers of splits: code of the same instructions
# is assembled by the same rules.
CASES = [
    ("simt", choices.SIMT_4_BYTES, "f32", ("sm_80", "sm_90a"), {}),
    ("simt", choices.SIMT_8_BYTES, "f64", ("sm_80", "sm_90a"), {}),
    ("mma_sync", choices.MMA_2_BYTES, "bf16", ("sm_80", "sm_90a"), {}),
    ("mma_sync", choices.MMA_2_BYTES_BY_REGISTERS, "f16", ("sm_80", "sm_90a"), {}),
    ("mma_sync", choices.MMA_4_BYTES, "f32", ("sm_80", "sm_90a"), {"tf32": True}),
    ("mma_sync", choices.MMA_8_BYTES, "f64", ("sm_80", "sm_90a"), {}),
    ("wgmma", choices.WGMMA, "bf16", ("sm_90a",), {}),
    ("wgmma_gather", choices.WGMMA, "bf16", ("sm_90a",), {}),
]


@pytest.mark.slow
@pytest.mark.parametrize("what", WHATS)
@pytest.mark.parametrize(
    ("place", "template", "tiling", "element", "chip", "options"),
    [
        (k, template, tiling, element, chip, options)
        for template, tilings, element, chips, options in CASES
        for k, (tiling, _) in enumerate(tilings)
        for chip in [chips[k % len(chips)]]
    ],
    ids=str,
)
def test_no_tile_spills(
    place: int, template: str, tiling: Tiling, element: str, chip: str, options: dict, what: str
) -> None:
    if template == "wgmma" and what not in ("", "ab"):
        pytest.skip("the tensor memory accelerator wants aligned rows")
    if template == "wgmma_gather" and what in ("images", "odd"):
        pytest.skip("gathered in runs of 16 bytes only")
    if "images" in what or "padded" in what:
        shapes = {"images": IMAGES, "images last": IMAGES_LAST, "padded last": PADDED_LAST}
        found = shapes[what].forward(element)
    else:
        found = matmul(ODD if what == "odd" else LARGE, element, "" if what == "odd" else what)
    needs_runs = template == "mma_sync" and tiling not in dict(choices.MMA_2_BYTES_BY_REGISTERS)
    if needs_runs and what in ("odd", "images") and element == "bf16":
        pytest.skip("never planned: too many short runs for these tiles")
    splits = 1 + (place + WHATS.index(what)) % 2
    assert_no_spills(forced(found, template, tiling, chip, splits=splits, **options))
