"""What all tools have in common: streams that are closed or full, Ctrl-C, strange files."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ted.tools import ted_check, ted_opt, ted_run

PROGRAM = """func.func @main(%A: tensor<3xi64>) -> tensor<3xi64> {
  %init = tensor.empty() : tensor<3xi64>
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: i64):
    "ted.yield"(%a) : (i64) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (2 - d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
"""
CLOSED = "output: must be a writable file, got '-': it is closed"
TOOL = f"{sys.executable} -m ted.tools."


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ted_opt {} >&-", f"ted-opt: error: {CLOSED}"),
        ("ted_opt --list-passes >&-", f"ted-opt: error: {CLOSED}"),
        ("ted_opt - <&-", "ted-opt: error: input: must be a readable text file, got '-': it is"),
        ("ted_opt {} -o /dev/full", "ted-opt: error: output: must be a writable file, got '/dev/f"),
        ("ted_opt --list-passes >/dev/full", "got '-': No space left on device"),
        ("ted_run {} >&-", f"ted-run: error: {CLOSED}"),
        ("ted_run {} >/dev/full", "got '-': No space left on device"),
        ("ted_run - <&-", "ted-run: error: input: must be a readable text file, got '-': it is"),
        ("ted_run no.mlir 2>&-", ""),
        ("ted_opt no.mlir 2>/dev/full", ""),
    ],
)
def test_a_stream_that_cannot_be_used_is_an_error(
    program: Path, command: str, message: str
) -> None:
    line = TOOL + command.format(program)
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_a_tool_without_a_traceback(tmp_path: Path) -> None:
    ready, slow = tmp_path / "ready", tmp_path / "slow.py"
    slow.write_text(f"import time\nopen({str(ready)!r}, 'w').close()\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "ted.tools.ted_check", str(slow)]

    def hearing() -> None:  # a shell lets a job in the background ignore interrupts
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(command, stdout=-1, stderr=-1, preexec_fn=hearing) as process:
        while not ready.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT  # a shell says 130
    assert (output, errors) == (b"", b"")


def test_bytecode_is_read_as_text_is(program: Path, tmp_path: Path, capfdbinary) -> None:
    assert ted_opt.main([str(program)]) == 0
    text = capfdbinary.readouterr().out
    binary = tmp_path / "program.mlirbc"
    assert ted_opt.main([str(program), "--emit-bytecode", "-o", str(binary)]) == 0
    assert ted_opt.main([str(binary)]) == 0
    assert capfdbinary.readouterr().out == text
    assert ted_run.main([str(binary)]) == 0


def test_results_go_to_the_file_that_was_named(program: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1, 2, 3]))
    named = tmp_path / "results"
    assert ted_run.main([str(program), str(tmp_path / "x.npy"), "-o", str(named)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.mlir", "results", "x.npy"]
    with np.load(named) as stored:
        assert stored["arr_0"].tolist() == [3, 2, 1]


def test_a_missing_folder_for_results_is_an_error(program: Path, tmp_path: Path, capsys) -> None:
    assert ted_run.main([str(program), "-o", str(tmp_path / "no" / "folder")]) == 1
    assert "ted-run: error: output: must be a writable file, got" in capsys.readouterr().err


def test_a_negative_seed_is_an_error(program: Path, capsys) -> None:
    assert ted_run.main([str(program), "--seed=-1"]) == 1
    assert ted_check.main(["any.py", "--seed=-1"]) == 1
    for line in capsys.readouterr().err.splitlines():
        assert line.endswith("error: argument --seed: must be an integer, 0 or more, got '-1'")


def _huge(path: Path, shape: str = "(99999999999,)") -> None:
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    path.write_bytes(start + header.encode() + b"\0" * 24)


def _no_header(path: Path) -> None:
    path.write_bytes(b"\x93NUMPY\x01\x00\xf0\x00" + b"{[(" * 80)


def _cut_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("arr_0.npy", b"nothing")
    path.write_bytes(path.read_bytes()[:-10])


@pytest.mark.parametrize(
    "damaged",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\x93NUMPY"),
        lambda path: path.write_bytes(b"PK\x03\x04"),
        lambda path: np.savez(path, [1, 2, 3]) or path.with_suffix(".npy.npz").rename(path),
        lambda path: np.save(path, np.array([None, 1, "a"], object)),
        lambda path: path.mkdir(),
        _huge,
        lambda path: _huge(path, "(4294967296, 4294967296)"),
        _no_header,
        _cut_archive,
    ],
)
def test_a_file_that_is_no_array_is_an_error(
    program: Path, tmp_path: Path, capsys, damaged
) -> None:
    damaged(tmp_path / "x.npy")
    assert ted_run.main([str(program), str(tmp_path / "x.npy")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("ted-run: error: arguments: must be .npy files, got '")
    assert "encountered" not in said, "numpy's warnings are not what is wrong with a file"


@pytest.mark.parametrize("array", [np.zeros(()), np.zeros((0, 3)), np.ones((2, 3), order="F")])
def test_arrays_of_every_layout_are_read(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    np.testing.assert_array_equal(ted_run._loaded(str(tmp_path / "x.npy")), array)


def test_damaged_bytecode_is_an_error(program: Path, tmp_path: Path, capsys) -> None:
    damaged = tmp_path / "damaged.mlirbc"
    assert ted_opt.main([str(program), "--emit-bytecode", "-o", str(damaged)]) == 0
    damaged.write_bytes(damaged.read_bytes().replace(b"func", b"\xff\xfe\xfd\xfc"))
    assert ted_opt.main([str(damaged)]) == 1
    assert capsys.readouterr().err.endswith("damaged.mlirbc: error: bytes that are no text\n")
    assert ted_run.main([str(damaged)]) == 1
    assert "ted-run: error: input: must be MLIR that parses" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("import os; os.abort()", "got one that ends it by signal 6"),
        ("import time; time.sleep(100)", "got one that it has not read after 1 s"),
    ],
)
def test_bytecode_that_ends_mlir_s_reader_is_an_error(
    program: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch, end: str, message: str
) -> None:
    binary = tmp_path / "program.mlirbc"
    assert ted_opt.main([str(program), "--emit-bytecode", "-o", str(binary)]) == 0
    monkeypatch.setattr("ted.tools.inputs._PROBE", end)
    monkeypatch.setattr("ted.tools.inputs._PATIENCE", 1 if "sleep" in end else 100)
    for tool in (ted_opt, ted_run):
        assert tool.main([str(binary)]) == 1
        assert f"bytecode that MLIR's reader survives, {message}" in capsys.readouterr().err
