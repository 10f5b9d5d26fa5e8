"""Bundles: a folder that checks and times a program without ted and without MLIR."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.codegen.manifest import ArraySpec, Manifest, Pointer, Scalar
from ted.codegen.manifest import Linear as L
from ted.errors import CompileError, ExecutionError, TedError
from ted.runtime.cuda.bundles import save_bundle
from ted.runtime.cuda.loading import load, main
from unit.runtime.python_machine import device, program

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def saved(folder: Path, expected: np.ndarray = 6 * X, **changes: object) -> Path:
    return save_bundle(program(**changes), folder / "six", [((X,), (expected,))])


def run_alone(folder: Path, *arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a bundle's run.py where neither ted nor any installed package but numpy is found."""
    numpy_home = Path(np.__file__).parents[1]
    code = f"""
import importlib.abc, runpy, sys
class Nothing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("ted", "torch_mlir", "mlir", "islpy", "llvmlite", "ml_dtypes"):
            raise ImportError(f"{{name}} is not on this machine")
sys.meta_path.insert(0, Nothing())
sys.path.append({str(numpy_home)!r})
{before}
sys.argv = ["run.py", *{list(arguments)!r}]
runpy.run_path({str(folder / "run.py")!r}, run_name="__main__")
"""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )


def test_a_bundle_lists_itself_where_there_is_only_numpy(tmp_path: Path) -> None:
    done = run_alone(saved(tmp_path), "--list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "main for sm_90: 1 kernels, 2 steps, 320 bytes",
        "  input  x: float32[2, 4]",
        "  output y: float32[2, 4]",
        "  kernel scale (2, 1, 1) x (32, 1, 1), 0 bytes shared",
    ]


def test_a_bundle_without_a_driver_says_so(tmp_path: Path) -> None:
    if ted.cuda.is_available():
        pytest.skip("there is a driver here")
    done = run_alone(saved(tmp_path))
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("error: no CUDA driver: tried ")


def test_a_bundle_runs_on_a_driver_where_there_is_only_numpy(tmp_path: Path) -> None:
    """The emulated driver is copied beside it, as tests have nothing else."""
    folder = saved(tmp_path)
    testing = folder / "ted_bundle" / "testing"
    testing.mkdir()
    (testing / "__init__.py").write_text("")
    sources = {
        testing / name: Path(ted.testing.__file__).with_name(name)
        for name in ("emulated_driver.py", "emulated_streams.py")
    }
    sources[folder / "python_machine.py"] = Path(__file__).with_name("python_machine.py")
    for target, source in sources.items():
        target.write_text(source.read_text().replace("from ted.", "from ted_bundle."))
    before = f"""
sys.path.insert(0, {str(folder)!r})
import python_machine
held = python_machine.device()
held.__enter__()
"""
    done = run_alone(folder, "--json", "--repeat", "2", before=before)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["name"], found["wrong"], found["samples"]) == ("main", [], 1)
    assert found["device"] == "emulated device"


def test_a_right_bundle_is_checked_and_timed(tmp_path: Path, capsys) -> None:
    with device():
        assert main(saved(tmp_path), ["--repeat", "2"]) == 0
    text = capsys.readouterr().out
    assert "main for sm_90: 1 kernels, 2 steps, 320 bytes on emulated device" in text
    assert "1 samples, all right" in text
    assert "us a call" in text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (6 * X + 0.1, r"error 0.1, allowed 0.0001 of the largest number 42.1"),
        (np.where(X == 3, np.nan, 6 * X), "not finite at other places"),
        (np.where(X == 3, np.inf, 6 * X), "not finite at other places"),
    ],
)
def test_a_wrong_bundle_is_reported(tmp_path: Path, capsys, wrong, message: str) -> None:
    with device():
        assert main(saved(tmp_path, wrong), ["--repeat", "1"]) == 1
    text = capsys.readouterr().out
    assert f"wrong: sample 0, result 'y': {message}" in text
    assert "not all right" in text


def test_a_tolerance_of_ones_own_holds(tmp_path: Path) -> None:
    loose = save_bundle(program(), tmp_path / "a", [((X,), (6 * X + 0.1,))], tolerance=0.01)
    with device():
        assert load(loose).check() == []


def test_bfloat16_goes_by_its_bits(tmp_path: Path) -> None:
    step = program().steps[0]
    copy = Manifest(
        "copy", "sm_90", program().ptx,
        inputs=(ArraySpec("x", (4,), "bfloat16"),),
        outputs=(ArraySpec("y", (4,), "bfloat16"),),
        kernels=program().kernels,
        steps=(
            type(step)(
                "scale",
                (Pointer(("input", 0)), Pointer(("output", 0)), Scalar("i64", L(2)),
                 Scalar("f32", 1.0)),
            ),
        ),
    )  # fmt: skip
    x = np.array([1, -2, 0.5, 3], ml_dtypes.bfloat16)
    folder = save_bundle(copy, tmp_path / "half", [((x,), (x,))])
    with device():
        bundle = load(folder)
        assert bundle.check() == []
        assert bundle.inputs()[0].numpy().tolist() == x.tolist()


def test_a_bundle_without_samples_is_timed_on_numbers_of_its_own(tmp_path: Path) -> None:
    folder = save_bundle(program(), tmp_path / "bare")
    with device():
        bundle = load(folder)
        assert bundle.check() == []
        (y,) = bundle.program(bundle.asarray(X))
        np.testing.assert_array_equal(y.numpy(), 6 * X)
        assert bundle.time(2).replayed > 0
        assert bundle.least_bytes == 64


def test_what_is_no_bundle_or_no_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=r"a bundle is a folder with manifest\.json"):
        load(tmp_path / "nowhere")
    (tmp_path / "photo.jpg").write_text("")
    with pytest.raises(ExecutionError, match="exists and is no bundle"):
        save_bundle(program(), tmp_path)
    with pytest.raises(ExecutionError, match="a sample has 1 inputs, got 2"):
        save_bundle(program(), tmp_path / "b", [((X, X), (X,))])
    with pytest.raises(ExecutionError, match=r"output 'y' has shape \(2, 4\), got \(4,\)"):
        save_bundle(program(), tmp_path / "b", [((X,), (X[0],))])
    folder = saved(tmp_path)
    about = json.loads((folder / "manifest.json").read_text())
    about["manifest"]["version"] = 0
    (folder / "manifest.json").write_text(json.dumps(about))
    with pytest.raises(CompileError, match="reads version 1, got 0"):
        load(folder)


def test_a_compiled_program_is_saved_with_results_of_the_cpu(tmp_path: Path, capsys) -> None:
    x = ted.placeholder((4, 32), name="x")
    f = ted.compile([x], [ted.exp(x), ted.sum(x, axis=1)], target="cuda:sm_80", name="rows")
    samples = [(np.random.default_rng(k).normal(size=(4, 32)).astype("f4"),) for k in range(2)]
    folder = f.save(tmp_path / "rows", *samples)
    with ted.testing.emulated_gpu("sm_80"):
        assert ted.cuda.load(folder).check() == []
    done = run_alone(folder, "--list")
    assert done.stdout.startswith("rows for sm_80: ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.json", b'{"manifest": ', "a bundle is a folder with manifest.json"),
        ("manifest.json", b"\xff", "a bundle is a folder with manifest.json"),
        ("manifest.json", b"[" * 100_000, "a bundle is a folder with manifest.json"),
        ("manifest.json", b"[]", "has a manifest and a tolerance, got "),
        ("manifest.json", b'{"manifest": {}, "tolerance": null}', "reads version 1, got None"),
        ("manifest.json", b'{"manifest": 1, "tolerance": "x"}', "the tolerance of a bundle is"),
        ("kernels.ptx", None, "a bundle is a folder with manifest.json, kernels.ptx"),
        ("samples.npz", None, "the samples of a bundle are an .npz"),
        ("samples.npz", b"", "the samples of a bundle are an .npz"),
        ("samples.npz", b"PK", "the samples of a bundle are an .npz"),
    ],
)
def test_a_damaged_bundle_is_an_error_of_ours(
    tmp_path: Path, capsys, name: str, content: bytes | None, message: str
) -> None:
    path = saved(tmp_path) / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(TedError, match=message):
        load(path.parent)
    assert main(path.parent, ["--list"]) == 2
    assert message in capsys.readouterr().out


@pytest.mark.parametrize("sample", [X[0], X.astype("f8"), None])
def test_samples_that_do_not_fit_the_program_are_refused(tmp_path: Path, sample) -> None:
    folder = saved(tmp_path)
    arrays = {"0_input_0": X, "0_output_0": sample}
    np.savez(folder / "samples.npz", **{k: v for k, v in arrays.items() if v is not None})
    with pytest.raises(ExecutionError, match=r"sample 0_output_0 of a bundle is float32\[2, 4\]"):
        load(folder)


def test_a_folder_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ExecutionError, match="save: a folder that can be written, got "):
            save_bundle(program(), place)


def moved(folder: Path, result: int, by: float) -> Path:
    """The bundle with other expected numbers."""
    with np.load(folder / "samples.npz") as stored:
        arrays = dict(stored)
    arrays[f"0_output_{result}"] = arrays[f"0_output_{result}"] + np.float32(by)
    np.savez(folder / "samples.npz", **arrays)
    return folder


@pytest.mark.parametrize("by", [3e-8, -3e-8, 1e-3])
def test_what_is_left_when_numbers_cancel_is_judged_by_these_numbers(tmp_path, by) -> None:
    """The gradient of a constant is rounding of either sign, another on every CPU."""
    x, head = ted.placeholder((4, 32), name="x"), ted.placeholder((4, 32), name="head")
    (dx,) = ted.differentiate(ted.nn.softmax(x), [x], head)
    f = ted.compile([x, head], [dx], target="cuda:sm_80")
    a = np.linspace(-1, 1, 128, dtype="f4").reshape(4, 32)
    folder = moved(f.save(tmp_path / "constant", [a, np.ones_like(a)]), 0, by)
    with ted.testing.emulated_gpu("sm_80"):
        wrong = ted.cuda.load(folder).check()
    assert len(wrong) == (abs(by) > 1e-6)
    assert all("of summands of size 0.0" in text for text in wrong)
