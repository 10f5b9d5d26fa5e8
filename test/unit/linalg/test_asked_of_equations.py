"""What equations ask for goes to the operations that they become, is obeyed there or refused."""

from __future__ import annotations

import re

import pytest

import ted
from ted.dialects import make_context
from ted.errors import CompileError, ScheduleError
from ted.ir.pass_driver import run_pipeline
from ted.mlir import ir

CPU, GPU = "ted-cpu-pipeline", "ted-cuda-pipeline"
WISH = '{name = "loops"}'


def softmax() -> tuple[list[ted.Tensor], list[ted.Tensor]]:
    x, w = ted.placeholder((64, 96), name="x"), ted.placeholder((96, 80), name="w")
    return [x, w], [ted.nn.softmax(x @ w, axis=1)]


def asking(program: str, combiner: str, number: int, attribute: str, wish: str) -> str:
    """A program whose equation of this combiner and number asks for something."""
    heads = list(re.finditer(rf'\}}\) \{{(?=combiner = "{combiner}")', program))
    end = heads[number].end()
    return f"{program[:end]}{attribute} = {wish}, {program[end:]}"


def ran(program: str, *passes: str) -> str:
    with make_context():
        module = ir.Module.parse(program)
        run_pipeline(module, f"builtin.module({','.join(passes)})")
        return str(module)


def text(stage: str | None = None) -> str:
    inputs, outputs = softmax()
    return ted.compile(inputs, outputs).ir(*([stage] if stage else []))


@pytest.mark.parametrize("stage", [None, "ted"])
def test_a_contraction_has_the_tiles_that_its_equation_asks_for(stage: str | None) -> None:
    wish = '{name = "register_tiles", tile_rows = 3, tile_vectors = 2}'
    program = asking(text(stage), "add", 0, "ted.strategy", wish)
    after = "" if stage is None else f"after={stage} "
    found = ran(program, f"{CPU}{{{after}until=buffers cpu=avx2}}", "ted-choose-loops{cpu=avx2}")
    assert "tile_rows = 3 : i64, tile_vectors = 2 : i64" in found
    ran(program, f"{CPU}{{{after}cpu=avx2}}")


@pytest.mark.parametrize("target", [CPU, GPU])
def test_an_equation_leaves_its_group(target: str) -> None:
    stage, loop, end = {
        CPU: ("linalg", "scf.for ", "{ted.parallel}"),
        GPU: ("linalg", "scf.forall ", "\n    }"),
    }[target]
    for program in (text(), asking(text(), "set", 1, "ted.group", '{name = "alone"}')):
        found = ran(program, f"{target}{{until={stage}}}")
        body = found[found.index(loop) : found.index(end)]
        assert ("arith.divf" in body) == ("alone" not in program)
    ran(program, target)


def test_a_reduction_has_the_teams_that_its_equation_asks_for() -> None:
    wish = '{name = "reduction_by_teams", team = 128}'
    x = ted.placeholder((64, 4096), name="x")
    program = ted.compile([x], [ted.sum(x, axis=1)]).ir()
    found = [
        ran(p, f"{GPU}{{until=work}}", "ted-choose-kernels")
        for p in (program, asking(program, "add", 0, "ted.strategy", wish))
    ]
    assert ["team = 128" in f for f in found] == [False, True]


@pytest.mark.parametrize(
    ("program", "wish", "stages", "count"),
    [
        ("pieces", WISH, "until=linalg", 2),
        ("loops", WISH, "until=linalg", 1),
        ("argmax", WISH, "until=linalg", 2),
        ("scan", WISH, "until=linalg", 2),
    ],
)
def test_all_parts_of_an_equation_carry_it(
    program: str, wish: str, stages: str, count: int
) -> None:
    inputs, output = PROGRAMS[program]()
    source = ted.compile(inputs, [output]).ir()
    combiner = {"argmax": "argmax", "loops": "add"}.get(program, "set")
    asked = asking(source, combiner, -1, "ted.strategy", wish)
    found = ran(asked, f"{CPU}{{{stages}}}")
    lines = [line for line in found.splitlines() if "ted.strategy" in line]
    assert len(lines) == count, found
    assert not any("linalg.fill" in line or "tensor.pad" in line for line in lines)


def pieces() -> tuple[list[ted.Tensor], ted.Tensor]:
    x = ted.placeholder((64,), name="x")
    return [x], ted.compute((64,), lambda i: ted.where(i < 20, x[i], x[63 - i] * 2.0), name="y")


def triangle() -> tuple[list[ted.Tensor], ted.Tensor]:
    x = ted.placeholder((9, 9), name="x")
    j = ted.reduce_axis(9, name="j")
    return [x], ted.compute((9,), lambda i: ted.sum(x[i, j], axis=j, where=j <= i), name="y")


def greatest() -> tuple[list[ted.Tensor], ted.Tensor]:
    x = ted.placeholder((9, 90), name="x")
    return [x], ted.argmax(x, axis=1)


def running() -> tuple[list[ted.Tensor], ted.Tensor]:
    x = ted.placeholder((9, 90), name="x")
    return [x], ted.cumsum(x, axis=0)


PROGRAMS = {"pieces": pieces, "loops": triangle, "argmax": greatest, "scan": running}

DEAD = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %t = math.exp %a : f32
    "ted.yield"(%t) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>, reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>], write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %x : tensor<8xf32>
}"""


@pytest.mark.parametrize("attribute", ["ted.strategy", "ted.group", "ted.form"])
@pytest.mark.parametrize("step", ["ted-simplify", "canonicalize"])
def test_an_equation_that_nobody_needs_cannot_ask(attribute: str, step: str) -> None:
    ran(DEAD, step)
    program = DEAD.replace('"set"', f'"set", {attribute} = {WISH}')
    with pytest.raises(ScheduleError) as caught:
        ran(program, step)
    rule = f"got {attribute} = {WISH}, which {step} would lose; take the attribute away"
    assert rule in str(caught.value)


def test_groups_are_of_sizes_that_are_numbers() -> None:
    n = ted.size("n")
    text = str(ted.module([ted.placeholder((n, 3), "float32", name="x") * 2]))
    with pytest.raises(CompileError, match="extents are numbers by now, got"):
        ran(text, "ted-choose-groups")
