"""Every registered pass is where its name says, is documented, and has its lit test."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import pytest

from ted.ir.passes import PASSES, make_pass, pass_class, target

TESTS = Path(__file__).resolve().parents[1]


NEEDED = {"bytes": ("64", 64), "values": ("5,8", (5, 8))}  # options without a default


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_a_frozen_dataclass_where_its_name_says(name: str) -> None:
    assert name.startswith(("ted-", "convert-ted-to-"))
    cls = pass_class(name)
    assert cls.__module__ == target(name)[0]
    assert dataclasses.is_dataclass(cls)
    needed = {f.name: NEEDED[f.name] for f in dataclasses.fields(cls) if f.name in NEEDED}
    made = make_pass(name, {key: text for key, (text, _) in needed.items()})
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.run = None
    assert made == cls(**{key: value for key, (_, value) in needed.items()})


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_shows_ir_before_and_after(name: str) -> None:
    cls = pass_class(name)
    text = f"{importlib.import_module(cls.__module__).__doc__}\n{cls.__doc__}"
    assert "Before:" in text
    assert "After:" in text


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_has_a_lit_test_of_its_own_name(name: str) -> None:
    folder = PASSES[name].package.rpartition(".")[2]
    path = TESTS / folder / f"{name}.mlir"
    assert path.exists(), f"write test/{folder}/{name}.mlir"
    assert f"{name}" in path.read_text()


def test_every_pass_file_is_registered() -> None:
    packages = {row.package for row in PASSES.values()}
    source = TESTS.parent / "python"
    files = [p for package in packages for p in source.joinpath(*package.split(".")).glob("*.py")]
    defining = {p.stem for p in files if "def run(self, module" in p.read_text()}
    registered = {name.replace("-", "_") for name in PASSES}
    assert defining <= registered | {"pipelines"}
