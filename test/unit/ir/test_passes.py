"""Options of passes, plans of pipelines, and what a failing pass leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ted import dialects
from ted.errors import PassFailed, SourceLocation, VerifyError
from ted.ir import pass_driver, passes
from ted.ir.pass_driver import plan, run_pipeline
from ted.ir.pipeline_text import parse_pipeline
from ted.ir.reproducer import reproducer_text, split_reproducer, write_reproducer
from ted.mlir import func, ir


@dataclass(frozen=True)
class TedProbe:
    """A pass that records its options."""

    depth: int = 1
    only_once: bool = False
    scale: float = 1.0
    name: str = "none"
    sizes: tuple[int, ...] = ()
    seen: list[object] = field(default_factory=list, compare=False)

    def run(self, module: ir.Module) -> None:
        """Do what the name says."""
        if self.name == "raise":
            raise VerifyError("probe: refused, got 1", SourceLocation("model.py", 4))
        if self.name == "bug":
            raise KeyError("oops")
        if self.name == "break":
            with ir.InsertionPoint(module.body), ir.Location.unknown():
                ir.Operation.create("func.func")
        if self.name == "leave":
            two = ir.ArrayAttr.get([ir.UnitAttr.get()] * 2)
            module.body.operations[0].operation.attributes["arg_attrs"] = two
        if self.name == "add":
            with ir.InsertionPoint(module.body), ir.Location.unknown():
                func.FuncOp("added", ([], []), visibility="private")


@pytest.fixture(autouse=True)
def probe(monkeypatch: pytest.MonkeyPatch) -> None:
    real = passes.pass_class
    monkeypatch.setitem(passes.PASSES, "ted-probe", passes.Row("ted.transforms", "a probe"))
    monkeypatch.setattr(passes, "pass_class", lambda n: TedProbe if n == "ted-probe" else real(n))


@pytest.fixture
def module() -> ir.Module:
    return ir.Module.parse("func.func @f() { return }", dialects.make_context())


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ({}, TedProbe()),
        ({"depth": "3", "only-once": "true"}, TedProbe(depth=3, only_once=True)),
        ({"only_once": ""}, TedProbe(only_once=True)),
        ({"scale": "0.5", "name": "x"}, TedProbe(scale=0.5, name="x")),
        ({"sizes": "8,4"}, TedProbe(sizes=(8, 4))),
    ],
)
def test_options_are_read_by_the_types_of_the_fields(
    options: dict[str, str], made: TedProbe
) -> None:
    assert passes.make_pass("ted-probe", options) == made


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": "x"}, "ted-probe: option depth must be an integer from 0 on, got 'x'"),
        ({"only-once": "maybe"}, "ted-probe: option only-once must be true or false, got 'maybe'"),
        ({"size": "1"}, "ted-probe: options are depth, only-once, scale, name, sizes, seen"),
    ],
)
def test_a_bad_option_is_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(PassFailed, match="ted-probe") as caught:
        passes.make_pass("ted-probe", options)
    assert message in str(caught.value)


def test_an_unknown_pass_names_the_known_ones() -> None:
    with pytest.raises(PassFailed, match=r"one of .*ted-check-bounds, .* got 'ted-nothing'"):
        passes.make_pass("ted-nothing")


def test_neighbouring_passes_of_mlir_share_a_step(module: ir.Module) -> None:
    text = "cse,canonicalize,func.func(cse,ted-probe,canonicalize),ted-probe{depth=2},symbol-dce"
    steps = plan(parse_pipeline(text), module.context)
    assert [step.name for step in steps] == [
        "cse,canonicalize", "cse", "ted-probe", "canonicalize", "ted-probe", "symbol-dce",
    ]  # fmt: skip
    assert [step.work for step in steps if isinstance(step.work, TedProbe)] == [
        TedProbe(),
        TedProbe(depth=2),
    ]


def test_observers_see_every_pass_alone(module: ir.Module) -> None:
    seen: list[str] = []

    class Watch:
        def before(self, name: str, module: ir.Module) -> None:
            seen.append(f"before {name}")

        def after(self, name: str, module: ir.Module) -> None:
            seen.append(f"after {name}")

        def failed(self, name: str, module: ir.Module) -> None:
            seen.append(f"failed {name}")

    with pytest.raises(VerifyError):
        run_pipeline(module, "cse,canonicalize,ted-probe{name=raise}", observers=[Watch()])
    assert seen == [
        "before cse", "after cse", "before canonicalize", "after canonicalize",
        "before ted-probe", "failed ted-probe",
    ]  # fmt: skip


def test_nothing_runs_when_a_later_pass_is_unknown(module: ir.Module) -> None:
    with pytest.raises(PassFailed, match="ted-nothing"):
        run_pipeline(module, "ted-probe{name=add},ted-nothing")
    assert "added" not in str(module)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("bug", r"ted-probe: internal error, got KeyError\('oops'\)"),
        ("break", "ted-probe: (left invalid IR|made IR that MLIR refuses)"),
    ],
)
def test_a_bug_in_a_pass_is_an_error_of_ours(module: ir.Module, what: str, message: str) -> None:
    with pytest.raises(PassFailed, match=message):
        run_pipeline(module, f"ted-probe{{name={what}}}")


@pytest.mark.parametrize("after", ["", ",cse", ",ted-probe", ",ted-check-sizes,cse"])
@pytest.mark.parametrize("verify_each", [False, True])
def test_what_our_passes_leave_is_verified_before_mlir_and_at_the_end(
    module: ir.Module, verify_each: bool, after: str
) -> None:
    with pytest.raises(PassFailed, match=r"^ted-probe(,ted-probe)?: left invalid IR: .*arg_attrs"):
        run_pipeline(module, f"ted-probe{{name=leave}}{after}", verify_each=verify_each)


def test_a_pass_of_mlir_that_fails_says_why(module: ir.Module) -> None:
    with pytest.raises(PassFailed, match=r"transform-interpreter: failed: .*nowhere"):
        run_pipeline(module, "transform-interpreter{entry-point=nowhere}")


def test_every_flag_of_the_pipeline_survives_a_reproducer(tmp_path: Path) -> None:
    pipeline = 'builtin.module(ted-probe{name="a b"},cse)'
    path = tmp_path / "r.mlir"
    command = write_reproducer(path, "module {\n}\n", pipeline)
    assert command == f"ted-opt {path} --run-reproducer"
    text, found = split_reproducer(path.read_text())
    assert found == pipeline
    assert text.count("\n") == path.read_text().count("\n")
    assert split_reproducer("module {}") == ("module {}", None)
    assert ir.Module.parse(text, dialects.make_context())
    assert pass_driver.parse_pipeline(found)
    assert "mlir_reproducer" in reproducer_text("", "cse")
