"""Random contractions: any roles, layouts, windows, strides, against their definition."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unit.cpu.contraction_programs import NAMES, Program, check

SMALL = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 16, 17])


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Dims with roles; each operand is indexed by those of its roles, in any order.

    One row or column dim and one summed dim of an operand may be joined into a window `s*i + d*k`,
    when the other operand still has the summed dim for itself.
    """
    roles = draw(st.lists(st.sampled_from("rrccbss"), min_size=3, max_size=6))
    assume("s" in roles)
    parallel = [role for role in roles if role != "s"]
    roles = [*parallel, *["s"] * (len(roles) - len(parallel))]
    extents = [draw(SMALL) for _ in roles]
    operands = []
    for own in ("rbs", "cbs", "rcb"):
        dims = draw(st.permutations([k for k, role in enumerate(roles) if role in own]))
        operands.append([(NAMES[k], extents[k]) for k in dims])
    which = draw(st.sampled_from([None, 0, 1]))
    if which is not None:
        operands[which] = _with_window(draw, operands[which], roles)
    a, b, c = (
        (tuple(size for _, size in operand), ", ".join(name for name, _ in operand))
        for operand in operands
    )
    kinds = "".join("r" if role == "s" else "p" for role in roles)
    return Program(kinds, a, b, c, draw(st.sampled_from(["f32", "f64"])))


def _with_window(
    draw: st.DrawFn, operand: list[tuple[str, int]], roles: list[str]
) -> list[tuple[str, int]]:
    outer = [d for d in operand if roles[NAMES.index(d[0])] in "rc"]
    summed = [d for d in operand if roles[NAMES.index(d[0])] == "s"]
    if not outer or not summed:
        return operand
    (i, n), (k, r) = draw(st.sampled_from(outer)), draw(st.sampled_from(summed))
    stride, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    backwards = draw(st.booleans())
    shift = f"- {dilation}*{k} + {dilation * (r - 1)}" if backwards else f"+ {dilation}*{k}"
    window = (f"{stride}*{i} {shift}", stride * (n - 1) + dilation * (r - 1) + 1)
    rest = [d for d in operand if d[0] not in (i, k)]
    rest.insert(draw(st.integers(0, len(rest))), window)
    return rest


@settings(max_examples=30)
@given(programs())
def test_any_contraction(program: Program) -> None:
    assume(all(shape for shape, _ in (program.a, program.b, program.c)))
    check(program)
