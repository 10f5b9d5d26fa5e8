"""The documents name what there is: public names, passes, attributes, files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ted
from docs.blocks import ROOT, documents
from ted.dialects.ted import COMBINERS, ELEMENT_TYPES, LOAD_MODES
from ted.ir.passes import PASSES

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
FILE = re.compile(r"`((?:test|benchmarks|examples|docs|runtime)/[\w./-]+)`")


def read(name: str) -> str:
    return (ROOT / name).read_text()


def names_in_tables(module: str) -> list[str]:
    rows = [line for line in read("docs/language.md").splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(rf"`{module}\.(\w+)`", row.split(" | ")[0])]


def test_the_reference_has_every_public_name_once() -> None:
    assert sorted(names_in_tables("ted")) == sorted(ted.__all__)


def test_the_reference_has_every_operator_of_neural_networks_once() -> None:
    assert sorted(names_in_tables("nn")) == sorted(ted.nn.__all__)


def test_the_reference_has_every_initial_value_once() -> None:
    assert sorted(names_in_tables("init")) == sorted(ted.nn.init.__all__)


def test_the_reference_has_every_special_function_once() -> None:
    assert sorted(names_in_tables("special")) == sorted(ted.special.__all__)


def test_the_reference_has_every_name_of_linear_algebra_once() -> None:
    assert sorted(names_in_tables("linalg")) == sorted(ted.linalg.__all__)


def test_the_reference_has_every_fourier_transform_once() -> None:
    assert sorted(names_in_tables("fft")) == sorted(ted.fft.__all__)


def test_the_reference_has_every_name_of_random_numbers_once() -> None:
    assert sorted(names_in_tables("random")) == sorted(ted.random.__all__)


def test_the_reference_has_every_name_of_gpus_once() -> None:
    assert sorted(names_in_tables("cuda")) == sorted(ted.cuda.__all__)


def test_the_reference_has_every_name_for_torch_once() -> None:
    assert sorted(names_in_tables("torch")) == sorted(ted.torch.__all__)


def test_the_reference_has_every_name_for_onnx_once() -> None:
    assert sorted(names_in_tables("onnx")) == sorted(ted.onnx.__all__)


def test_the_reference_has_every_name_for_jax_once() -> None:
    pytest.importorskip("jax")
    assert sorted(names_in_tables("jax")) == sorted(ted.jax.__all__)


def test_the_reference_has_every_oracle_once() -> None:
    assert sorted(names_in_tables("testing")) == sorted(ted.testing.__all__)


def test_the_documents_know_what_is_not_available() -> None:
    what = {name: (getattr(ted, name).__doc__ or "").lower() for name in ted.__all__}
    raising = [name for name in what if "not available in this version" in what[name]]
    rows = read("docs/language.md").partition("## Not available")[2]
    assert sorted(re.findall(r"`ted\.(\w+)`", rows)) == sorted(raising)
    missing = read("README.md").partition("Not in this version:")[2].partition("Compiled")[0]
    assert [name for name in raising if f"`{name}`" not in missing] == []


def test_the_design_describes_every_pass() -> None:
    text = read("docs/design.md")
    assert [name for name in PASSES if name not in text] == []


def test_the_design_describes_the_whole_language() -> None:
    text = read("docs/design.md")
    words = [*COMBINERS, *LOAD_MODES, *ELEMENT_TYPES]
    assert [word for word in words if not re.search(rf"\b{word}\b", text)] == []


@pytest.mark.parametrize("path", documents(), ids=lambda p: p.name)
def test_files_that_a_document_names_exist(path: Path) -> None:
    text = path.read_text()
    named = [(path.parent, link) for link in LINK.findall(text)]
    named += [(ROOT, name) for name in FILE.findall(text)]
    assert [name for folder, name in named if not (folder / name).exists()] == []


@pytest.mark.parametrize("path", documents(), ids=lambda p: p.name)
def test_modules_that_a_document_names_exist(path: Path) -> None:
    homes = (ROOT, ROOT / "python/ted", ROOT / "test")
    named = re.findall(r"`(\w+(?:/\w+)*/\w+\.py)`", path.read_text())
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []
