"""Graphs of torch as modules of linalg, and what cannot be one, by its name."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ted.errors import TedError
from ted.mlir import ir, load_foreign_dialects, make_context, torch_programs
from ted.mlir.torch_programs import answer, linalg_module, operators, torch_module

LEFT = """func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %y = torch.aten.tanh %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  %z = torch.operator "own.f"(%y) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  %w = torch.aten.tanh %z : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %w : !torch.vtensor<[2],f32> }"""


def exported() -> Any:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x) + x

    return torch.export.export(Model(), (torch.ones(2, 3),)).graph


def parsed(text: str) -> ir.Module:
    context = make_context()
    load_foreign_dialects(context)
    return ir.Module.parse(text, context)


def test_a_graph_becomes_linalg() -> None:
    module = torch_module(exported())
    assert operators(module) == ["torch.aten.tanh", "torch.aten.add.Tensor"]
    made = linalg_module(answer(str(module)))
    text = str(made)
    assert "linalg.generic" in text
    assert "math.tanh" in text
    assert "torch." not in text


@pytest.mark.parametrize("kind", [NotImplementedError, TypeError, ValueError, KeyError, IndexError])
def test_a_node_that_the_importer_does_not_know_is_an_error_of_ted(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Importer:
        def __init__(self, **_: object) -> None:
            self.FxImporter = Importer

        def import_stateless_graph(self, *_: object, **__: object) -> None:
            raise kind("no such node")

    monkeypatch.setattr(torch_programs, "_part", lambda _: Importer())
    with pytest.raises(TedError, match=r"importer of the binding must know each node, .*no such"):
        torch_module(None)


def test_operators_are_named_once_each() -> None:
    assert operators(parsed(LEFT)) == ["torch.aten.tanh", "own.f"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("first\n  at: error: no lowering of x\nerror: more", "at: error: no lowering of x"),
        ("no line of that kind", "no line of that kind"),
        ("error: failed to legalize 'torch.constant.int'",
         "error: failed to legalize 'torch.constant.int'; what is left: torch.aten.tanh, own.f"),
    ],
)  # fmt: skip
def test_the_reason_is_the_first_line_that_says_what_is_wrong(text: str, reason: str) -> None:
    assert torch_programs._reason(text, parsed(LEFT)) == reason


def test_what_has_no_lowering_is_named() -> None:
    with pytest.raises(TedError, match=r"torch: each operator must have a lowering .*own\.f"):
        answer(LEFT)
