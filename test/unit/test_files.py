"""Parameters in files: every type comes back, torch reads them, the rest is refused."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import torch

import ted
from ted.errors import ExecutionError
from ted.ir.dtypes import BY_NAME

torch_files = pytest.importorskip("safetensors.torch")


@dataclasses.dataclass
class Layer:
    """A layer with a bias or none."""

    w: Any
    b: Any = None
    act: str = dataclasses.field(default="tanh", metadata={"static": True})


class Pair(NamedTuple):
    """Two of something."""

    first: Any
    second: Any


def every_type() -> dict[str, Any]:
    numbers = np.arange(-3, 3).reshape(2, 3)
    return {name: numbers.astype(dtype.dtype) for name, dtype in BY_NAME.items()}


def assert_same(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.view("u1"), expected.view("u1"))


def test_every_type_comes_back_and_is_what_torch_reads(tmp_path: Path) -> None:
    path, arrays = tmp_path / "p.safetensors", every_type()
    ted.save(path, arrays)
    found, other = ted.load(path), torch_files.load_file(path)
    assert set(found) == set(other) == set(arrays)
    for name, array in arrays.items():
        assert_same(found[name], array)
        assert str(other[name].dtype).removeprefix("torch.") == name
        assert_same(other[name].view(torch.uint8).numpy(), array.view("u1"))
        found[name][...] = 0  # results can be written to


def test_links_and_rights_stay_and_devices_are_refused(tmp_path: Path) -> None:
    path, link = tmp_path / "p.safetensors", tmp_path / "link"
    path.touch()
    path.chmod(0o640)
    link.symlink_to(path)
    ted.save(link, {"a": np.ones(2)})
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    np.testing.assert_array_equal(ted.load(path)["a"], np.ones(2))
    (tmp_path / "new").touch()
    ted.save(tmp_path / "other", {"a": np.ones(2)})
    assert (tmp_path / "other").stat().st_mode == (tmp_path / "new").stat().st_mode
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ExecutionError, match="pipe: it is no file"):
        ted.save(tmp_path / "pipe", {"a": np.ones(2)})


def test_what_torch_writes_is_read_with_its_names_as_dicts_and_lists(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    state = {**model.state_dict(), "half": torch.ones(2, dtype=torch.bfloat16)}
    torch_files.save_file({f"net.{name}": t for name, t in state.items()}, tmp_path / "t")
    found = ted.load(tmp_path / "t")["net"]
    assert {k: sorted(v) for k, v in found.items() if k != "half"} == {
        "0": ["bias", "weight"], "2": ["bias", "weight"],
    }  # fmt: skip
    np.testing.assert_array_equal(found["2"]["weight"], state["2.weight"].numpy())
    assert found["half"].dtype == ml_dtypes.bfloat16


def test_nests_come_back_by_names_or_like_another(tmp_path: Path) -> None:
    path = tmp_path / "p"
    nest = {
        "layers": [Layer(np.ones((2, 3), "f4")), Layer(np.zeros((3, 0)), np.array(2.5))],
        "pair": Pair(np.arange(6).reshape(2, 3).T, 3), "none": None,
        "torch": torch.ones(2, dtype=torch.bfloat16), "a.b": np.float32(1.5),
    }  # fmt: skip
    ted.save(path, nest)
    found = ted.load(path)
    assert found["layers"][1]["b"] == 2.5
    assert found["layers"][1]["w"].shape == (3, 0)
    assert found["a"]["b"].dtype == np.float32
    assert found["pair"]["first"].tolist() == [[0, 3], [1, 4], [2, 5]]
    same = ted.load(path, like=nest)
    assert ted.tree.structure(same) == ted.tree.structure(nest)
    assert same["layers"][0].act == "tanh"
    assert same["pair"].second == 3
    ted.save(path, {})
    assert ted.load(path) == {}


@pytest.mark.parametrize(
    ("nest", "text"),
    [
        (np.ones(3), "save: an array needs a name of its own, got the name ''"),
        ({1: np.ones(3), "1": np.ones(3)}, "got the name '1'"),
        ({"a": {"b": 1.0}, "a.b": 2.0}, "got the name 'a.b'"),
        ({"a": 1.0, "a.b": 2.0}, "save: a name that begins no other one, got 'a.b'"),
        ({"a.b": 1.0, "a": 2.0}, "save: a name that begins no other one, got 'a'"),
        ({"a": np.ones(3, "g")}, "save: a: a type of float64, .* got "),
        ({"a": [np.array([None])]}, "save: a.0: expected an array of numbers"),
        ({"a": "text"}, "save: a: expected an array, got str"),
    ],
)
def test_what_no_file_holds_is_refused(nest: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=text):
        ted.save(tmp_path / "p", nest)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p"
    with pytest.raises(ExecutionError, match=r"load: a file that can be read, got .*: No such fil"):
        ted.load(path)
    with pytest.raises(ExecutionError, match="save: a file that can be written"):
        ted.save(path / "below", {"a": 1.0})
    path.write_bytes(b"no tensors")
    with pytest.raises(ExecutionError, match="load: a file of safetensors, got"):
        ted.load(path)
    torch_files.save_file({"a": torch.zeros(2, dtype=torch.float8_e4m3fn)}, path)
    with pytest.raises(ExecutionError, match=r"load: a of .*: a type of F64, .*, got F8_E4M3"):
        ted.load(path)
    ted.save(path, {"a": np.ones(2, "f4"), "b": 1.0})
    with pytest.raises(ExecutionError, match=r"names of `like`, got none of \['c'\] and also \['b"):
        ted.load(path, {"a": 1.0, "c": 1.0})
    with pytest.raises(ExecutionError, match=r"load: a of .*: must be float64 of shape \(2,\) as"):
        ted.load(path, {"a": np.ones(2), "b": 1.0})
    with pytest.raises(ExecutionError, match=r"load: b of .*: must be int64 of shape \(\) as in"):
        ted.load(path, {"a": np.ones(2, "f4"), "b": 1})


def test_a_missing_package_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    pinned = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    (tmp_path / "p").write_bytes(b"")
    for call in (lambda: ted.save(tmp_path / "p", {}), lambda: ted.load(tmp_path / "p")):
        with pytest.raises(ExecutionError, match="pip install safetensors==") as caught:
            call()
        wanted = str(caught.value).partition("pip install ")[2].partition(" ")[0]
        assert f'files = ["{wanted}"]' in pinned
