"""Files of programs for GPUs: Python runs them without ted and without MLIR."""

from __future__ import annotations

import io
import json
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.codegen.manifest import ArraySpec, Manifest, Pointer, Scalar
from ted.codegen.manifest import Linear as L
from ted.errors import CompileError, ExecutionError, TedError
from ted.runtime.archives import pack_arrays
from ted.runtime.cuda.bundles import pack_bundle
from ted.runtime.cuda.loading import load, loads, main
from unit.runtime.python_machine import device, program

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def saved(folder: Path, expected: np.ndarray = 6 * X, **changes: object) -> Path:
    path = folder / "six.ted"
    path.write_bytes(pack_bundle(program(**changes), [((X,), (expected,))]))
    return path


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_parts(path: Path, changed: dict[str, bytes | None]) -> Path:
    """The file with other parts; without those that are None."""
    whole = {**parts(path), **changed}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in whole.items():
            if data is not None:
                archive.writestr(name, data)
    return path


def run_alone(path: Path, *arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a file where neither ted nor any installed package but numpy is found."""
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
sys.argv = [{str(path)!r}, *{list(arguments)!r}]
runpy.run_path({str(path)!r}, run_name="__main__")
"""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )


def test_python_runs_a_file_by_itself(tmp_path: Path) -> None:
    command = [sys.executable, str(saved(tmp_path)), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("main for sm_90: 1 kernels")


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
    sources = {
        f"ted_bundle/testing/{name}": Path(ted.testing.__file__).with_name(name)
        for name in ("emulated_driver.py", "emulated_streams.py")
    }
    sources["python_machine.py"] = Path(__file__).with_name("python_machine.py")
    added: dict[str, bytes | None] = {
        name: source.read_text().replace("from ted.", "from ted_bundle.").encode()
        for name, source in sources.items()
    }
    path = with_parts(saved(tmp_path), {**added, "ted_bundle/testing/__init__.py": b""})
    before = f"""
sys.path.insert(0, {str(path)!r})
import python_machine
held = python_machine.device()
held.__enter__()
"""
    done = run_alone(path, "--json", "--repeat", "2", before=before)
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


def test_a_tolerance_of_ones_own_holds() -> None:
    loose = pack_bundle(program(), [((X,), (6 * X + 0.1,))], tolerance=0.01)
    with device():
        assert loads(loose).check() == []


def test_bfloat16_goes_by_its_bits() -> None:
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
    with device():
        bundle = loads(pack_bundle(copy, [((x,), (x,))]))
        assert bundle.check() == []
        assert bundle.inputs()[0].numpy().tolist() == x.tolist()


def test_a_pickled_bundle_stays_on_its_device() -> None:
    bundle = loads(pack_bundle(program()), device=1)
    assert pickle.loads(pickle.dumps(bundle)).device == 1


def test_a_bundle_without_samples_is_timed_on_numbers_of_its_own() -> None:
    with device():
        bundle = loads(pack_bundle(program()))
        assert bundle.check() == []
        (y,) = bundle(bundle.asarray(X))
        np.testing.assert_array_equal(y.numpy(), 6 * X)
        assert bundle.time(2).replayed > 0
        assert bundle.least_bytes == 64


def test_the_first_call_is_not_among_those_that_are_timed(monkeypatch) -> None:
    with device():
        bundle = loads(pack_bundle(program()))
        seconds = iter([900.0, 1.0, 3.0, 800.0, 2.0, 6.0])
        monkeypatch.setattr(type(bundle), "_timed", lambda *_: next(seconds))
        times = bundle.time(2)
    assert (times.launched, times.replayed) == (2.0, 4.0)


def test_what_is_no_file_or_no_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=r"load: a file that can be read, got .*nowhere: No "):
        load(tmp_path / "nowhere")
    with pytest.raises(ExecutionError, match="a sample has 1 inputs, got 2"):
        pack_bundle(program(), [((X, X), (X,))])
    with pytest.raises(ExecutionError, match=r"output 'y' has shape \(2, 4\), got \(4,\)"):
        pack_bundle(program(), [((X,), (X[0],))])
    path = saved(tmp_path)
    about = json.loads(parts(path)["program.json"])
    about["manifest"]["version"] = 0
    with pytest.raises(CompileError, match="reads version 1, got 0"):
        load(with_parts(path, {"program.json": json.dumps(about).encode()}))


def test_a_compiled_program_is_saved_with_results_of_the_cpu(tmp_path: Path, capsys) -> None:
    x = ted.placeholder((4, 32), name="x")
    f = ted.compile([x], [ted.exp(x), ted.sum(x, axis=1)], target="cuda:sm_80", name="rows")
    samples = [(np.random.default_rng(k).normal(size=(4, 32)).astype("f4"),) for k in range(2)]
    path = tmp_path / "rows.ted"
    f.save(path, *samples)
    with ted.testing.emulated_gpu("sm_80"):
        again = ted.load(path)
        assert again.check() == []
        again.save(tmp_path / "again.ted")
        array = ted.cuda.asarray(samples[0][0])
        pickled = [pickle.loads(pickle.dumps(g)) for g in (f, again)]
        found = [g(array) for g in (f, again, *pickled)]
        for results in found[1:]:
            for one, other in zip(found[0], results, strict=True):
                np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert (tmp_path / "again.ted").read_bytes() == path.read_bytes()
    done = run_alone(path, "--list")
    assert done.stdout.startswith("rows for sm_80: ")


NONE = "a file of a compiled function as f.save writes it, got "
SAID = b'{"format": 2, "target": "cuda:sm_90", "single": false, '


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("program.json", b'{"manifest": ', NONE),
        ("program.json", b"\xff", NONE),
        ("program.json", b"[" * 100_000, NONE),
        ("program.json", b"[]", NONE),
        ("program.json", b'{"format": 1, "target": ""}', "a file of format 2, got 1"),
        ("program.json", b'{"format": 2, "target": 3}', NONE + "the target 3"),
        ("program.json", b'{"format": 2, "target": "cuda:sm_90"}', "not .*'tolerance'"),
        ("program.json", SAID + b'"manifest": 1, "tolerance": null}', "version 1, got int"),
        ("program.json", SAID + b'"manifest": 1, "tolerance": "x"}', "the tolerance 'x'"),
        ("kernels.ptx", None, NONE),
        ("kernels.ptx", b"\xff", NONE),
        ("samples.npz", None, NONE),
        ("samples.npz", b"", NONE),
        ("samples.npz", b"PK", NONE),
    ],
)
def test_a_damaged_file_is_an_error_of_ours(
    tmp_path: Path, capsys, name: str, content: bytes | None, message: str
) -> None:
    path = with_parts(saved(tmp_path), {name: content})
    with pytest.raises(TedError, match=message):
        load(path)
    assert main(path, ["--list"]) == 2
    assert re.search(message, capsys.readouterr().out)


@pytest.mark.parametrize("sample", [X[0], X.astype("f8"), None])
def test_samples_that_do_not_fit_the_program_are_refused(tmp_path: Path, sample) -> None:
    arrays = {"0_input_0": X, "0_output_0": sample}
    kept = pack_arrays({k: v for k, v in arrays.items() if v is not None})
    path = with_parts(saved(tmp_path), {"samples.npz": kept})
    with pytest.raises(ExecutionError, match=r"sample 0_output_0 of a bundle is float32\[2, 4\]"):
        load(path)


def moved(path: Path, result: int, by: float) -> Path:
    """The file with other expected numbers."""
    with np.load(io.BytesIO(parts(path)["samples.npz"])) as stored:
        arrays = dict(stored)
    arrays[f"0_output_{result}"] = arrays[f"0_output_{result}"] + np.float32(by)
    return with_parts(path, {"samples.npz": pack_arrays(arrays)})


@pytest.mark.parametrize("by", [3e-8, -3e-8, 1e-3])
def test_what_is_left_when_numbers_cancel_is_judged_by_these_numbers(tmp_path, by) -> None:
    """The gradient of a constant is rounding of either sign, another on every CPU."""
    x, head = ted.placeholder((4, 32), name="x"), ted.placeholder((4, 32), name="head")
    (dx,) = ted.differentiate(ted.nn.softmax(x), [x], head)
    f = ted.compile([x, head], [dx], target="cuda:sm_80")
    a = np.linspace(-1, 1, 128, dtype="f4").reshape(4, 32)
    path = tmp_path / "constant.ted"
    f.save(path, [a, np.ones_like(a)])
    with ted.testing.emulated_gpu("sm_80"):
        wrong = ted.load(moved(path, 0, by)).check()
    assert len(wrong) == (abs(by) > 1e-6)
    assert all("of summands of size 0.0" in text for text in wrong)
