"""Bounds that interval analysis cannot decide, and the texts of refused programs."""

from __future__ import annotations

import pytest

import ted
from ted.dialects import make_context
from ted.errors import VerifyError
from ted.mlir import ir
from ted.transforms.ted_check_bounds import TedCheckBounds, violations
from ted.transforms.ted_differentiate import TedDifferentiate
from ted.transforms.ted_report_gradient import TedReportGradient

YIELD = '^bb0(%a: f32):\n"ted.yield"(%a) : (f32) -> ()'


def copy(
    extents: list[int],
    read: str,
    source: list[int],
    *,
    write: str = "d0",
    target: list[int] | None = None,
    domain: str = "0 == 0",
    guard: str = "0 == 0",
    combiner: str = "set",
) -> str:
    """A module with one equation `C[write] = A[read]`."""
    dims = f"({', '.join(f'd{k}' for k in range(len(extents)))})"
    source_type, target_type = (
        f"tensor<{''.join(f'{n}x' for n in shape)}f32>" for shape in (source, target or extents)
    )
    return f"""
    func.func @main(%A: {source_type} loc("A"("model.py":40:1)), %I: {target_type})
        -> {target_type} {{
      %C = "ted.compute"(%A, %I) ({{
        {YIELD}
      }}) {{
        extents = array<i64: {", ".join(map(str, extents))}>,
        iterators = [{", ".join(['"parallel"'] * len(extents))}],
        domain = affine_set<{dims} : ({domain})>, reads = [affine_map<{dims} -> ({read})>],
        guards = [affine_set<{dims} : ({guard})>],
        write = affine_map<{dims} -> ({write})>, combiner = "{combiner}"
      }} : ({source_type}, {target_type}) -> {target_type} loc("C"("model.py":41:3))
      func.return %C : {target_type}
    }}"""


def found(text: str) -> list[str]:
    with make_context():
        return [message for _, message in violations(ir.Module.parse(text))]


def test_skewed_read_of_a_triangle_is_accepted():
    triangle = {"write": "d0, d1", "domain": "d0 - d1 >= 0"}
    assert found(copy([5, 5], "d0 - d1", [5], **triangle)) == []


def test_skewed_read_of_the_whole_square_is_refused():
    (text,) = found(copy([5, 5], "d0 - d1", [5], write="d0, d1"))
    assert text == (
        "ted.compute: read 0 uses index d0 - d1 in [-4, 4], tensor A has extent 5 in dim 0, "
        "first at d0=0, d1=1"
    )


@pytest.mark.parametrize("extent", [9, 10])
def test_quotient_and_remainder_are_read_as_one_index(extent):
    text = found(copy([10], "4 * (d0 floordiv 4) + d0 mod 4", [extent]))
    if extent == 10:
        assert text == []
    else:
        assert text == [
            "ted.compute: read 0 uses index d0 in [0, 9], tensor A has extent 9 in dim 0, "
            "first at d0=9"
        ]


def test_guard_makes_a_read_legal():
    assert found(copy([10], "d0 - 3", [4], guard="d0 - 3 >= 0, -d0 + 6 >= 0")) == []
    (text,) = found(copy([10], "d0 - 3", [4], guard="d0 - 3 >= 0"))
    assert "read 0 uses index d0 - 3 in [0, 6], tensor A has extent 4" in text
    assert text.endswith("first at d0=7")


def test_write_outside_is_refused():
    (text,) = found(copy([4], "d0", [4], write="d0 * 2", target=[6]))
    assert "write uses index 2*d0 in [0, 6], tensor C has extent 6 in dim 0" in text


def test_second_set_of_an_element_is_refused_with_two_points():
    (text,) = found(copy([4], "d0", [4], write="d0 floordiv 2", target=[2]))
    assert "set writes an element once, got [(d0 // 2)] equal at points" in text
    assert found(copy([4], "d0", [4], write="d0 floordiv 2", target=[2], combiner="add")) == []


def test_write_that_only_integers_show_injective_is_accepted():
    skew = {"write": "d0 * 3 + d1", "target": [9]}
    assert found(copy([3, 3], "d0", [3], **skew)) == []
    assert found(copy([3, 4], "d0", [3], write="d0 * 3 + d1", target=[10])) != []


def test_empty_box_reads_nothing():
    assert found(copy([0], "d0 + 7", [3])) == []


def test_sizes_beyond_64_bits_are_refused():
    texts = found(copy([2**40, 2**40], "d0, d1", [2**40, 2**40], write="d0, d1"))
    assert "at most 2**63 - 1 iteration points" in texts[0]
    assert "tensors of less than 2**63 bytes" in texts[1]


def test_pass_raises_with_the_line_of_the_user():
    with make_context():
        module = ir.Module.parse(copy([10], "d0", [9]))
        with pytest.raises(VerifyError, match=r"tensor A has extent 9 .*\(model.py:41\)"):
            TedCheckBounds().run(module)


def test_dims_have_the_names_of_the_user():
    b, k = ted.placeholder((4, 6), name="b"), ted.reduce_axis(6, name="k")
    total = ted.compute((4,), lambda row: ted.sum(b[row, k], axis=k), name="total")
    text = ted.module(total).operation.get_asm(enable_debug_info=True)
    bad = r"uses index k in .* first at row=0, k=5 \(test_ted_check_bounds.py:\d+\)$"
    with make_context():
        module = ir.Module.parse(text.replace("4x6xf32", "4x5xf32"))
        with pytest.raises(VerifyError, match=bad):
            TedCheckBounds().run(module)


@pytest.mark.parametrize("kind", [TedDifferentiate, TedReportGradient])
def test_derivatives_and_reports_refuse_what_lowering_refuses(kind):
    types = "(tensor<9xf32>, tensor<10xf32>, tensor<10xf32>)"
    request = f"""
    func.func private @main_vjp{types} -> (tensor<10xf32>, tensor<9xf32>)
        attributes {{ted.vjp_of = @main, ted.wrt = array<i64: 0>}}"""
    with make_context():
        module = ir.Module.parse(copy([10], "d0", [9]) + request)
        with module.context, pytest.raises(VerifyError, match=r"tensor A has extent 9 .*:41\)"):
            kind().run(module)
