"""The template for ordinary arithmetic, in the interpreter, against numpy."""

from __future__ import annotations

import pytest

from ted.gpu.templates import choices
from ted.gpu.templates.schedule import Tiling
from unit.gpu_templates.programs import Convolution, build, check, forced, matmul, planned

SMALL = choices.SIMT_4_BYTES[-1][0]
CONVOLUTION = Convolution(2, 3, 7, 9, 5, (3, 2))


@pytest.mark.parametrize("layout", ["", "a", "b", "c", "ab", "abc"])
def test_products_of_every_layout(layout: str) -> None:
    found = matmul((36, 40, 20), layout=layout)
    check(planned(found), found, order="random")


@pytest.mark.parametrize("sizes", [(2, 2, 2), (33, 31, 17), (5, 67, 40), (64, 32, 33)])
def test_odd_sizes(sizes: tuple[int, int, int]) -> None:
    found = matmul(sizes)
    check(planned(found), found, order="reverse")


@pytest.mark.parametrize("element", ["f64", "i32", "i64"])
def test_other_types(element: str) -> None:
    found = matmul((35, 18, 21), element, batch=2)
    check(planned(found), found)


def test_results_are_added_to_what_was_there() -> None:
    found = matmul((10, 12, 20), accumulate=True)
    check(planned(found), found)


@pytest.mark.parametrize("accumulate", [False, True])
def test_partial_sums_are_added_in_a_second_kernel(accumulate: bool) -> None:
    found = matmul((10, 12, 150), batch=2, accumulate=accumulate)
    chosen = forced(found, "simt", SMALL, "sm_80", splits=3)
    assert len(build(chosen).launches) == 2
    check(chosen, found, order="random")


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("what", ["forward", "input_gradient", "weight_gradient"])
def test_convolutions_and_their_gradients(what: str, last: bool) -> None:
    found = getattr(Convolution(2, 3, 7, 9, 5, (3, 2), last=last), what)()
    check(planned(found), found)


def test_strided_and_dilated_windows() -> None:
    found = Convolution(2, 4, 11, 13, 6, (3, 2), stride=2, dilation=2).forward()
    check(planned(found), found)


@pytest.mark.fast(1)
@pytest.mark.parametrize("choice", choices.SIMT_4_BYTES[:5], ids=str)
def test_larger_tiles(choice: tuple[Tiling, float]) -> None:
    tiling = choice[0]
    found = matmul((tiling.rows + 3, tiling.columns + 5, 3 * tiling.depth + 4))
    check(forced(found, "simt", tiling, "sm_80"), found)


def test_products_are_fused_and_nothing_is_atomic() -> None:
    text = build(planned(matmul((36, 40, 20)))).text
    assert "fma.rn.f32" in text
    assert "ld.shared.v4.b32" in text
    assert "ld.global.nc.v4" in text
    for forbidden in ("mul.rn.f32", "atom.", "\tred."):
        assert forbidden not in text
