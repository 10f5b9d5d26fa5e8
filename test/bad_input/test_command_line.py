"""ted-opt on input that is no program: one line of error and exit code 1, never a signal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEPTH = 20_000
TEXTS = {
    "nested_operations": ("module {" * DEPTH + "}" * DEPTH, "at most 500 deep, got more in line 1"),
    "nested_types": ("func.func @f(%a: " + "tuple<" * DEPTH, "at most 500 deep"),
    "nested_attributes": ("module attributes {a=" + "[" * DEPTH, "at most 500 deep"),
    "nested_affine": ("#m = affine_map<(d0) -> (" + "(" * DEPTH, "at most 500 deep"),
    "many_signs": ("#m = affine_map<(d0) -> (" + "-" * DEPTH + "d0)>", "at most 500 deep"),
    "cut_off": ('func.func @f(%a: tensor<4xf32>) {\n  "ted.compute"(%a', "cut_off.mlir:2:"),
    "words": ("hello world", "words.mlir:1:1: error: "),
}
FLAGS = {
    "elided_overflow": (["--mlir-elide-elementsattrs-if-larger=" + "9" * 30], "number of elements"),
    "elided_text": (["--mlir-elide-elementsattrs-if-larger=abc"], "must be a number of elements"),
    "reproducer_unwritable": (["--cse", "--mlir-generate-reproducer=/no/such/file"], "writable"),
    "pipeline_nested": (["--pass-pipeline=" + "any(" * 3000], "expected at most 100 pipelines"),
    "output_full": (["-o", "/dev/full"], "output: must be a writable file, got '/dev/full'"),
}


def ted_opt(*arguments: str, given: bytes = b"") -> tuple[int, str]:
    command = [sys.executable, "-m", "ted.tools.ted_opt", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, timeout=100, check=False)
    return done.returncode, done.stderr.decode()


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", TEXTS)
def test_text_that_is_no_program_is_refused(case: str, tmp_path: Path) -> None:
    text, message = TEXTS[case]
    path = tmp_path / f"{case}.mlir"
    path.write_text(text, encoding="utf-8")
    code, errors = ted_opt(str(path))
    assert code == 1
    assert message in errors


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", FLAGS)
def test_flags_that_cannot_be_obeyed_are_refused(case: str, tmp_path: Path) -> None:
    flags, message = FLAGS[case]
    path = tmp_path / "ok.mlir"
    path.write_text("module {}\n", encoding="utf-8")
    code, errors = ted_opt(str(path), *flags)
    assert code == 1
    assert message in errors
    assert "Traceback" not in errors


def test_bytes_on_stdin_are_refused() -> None:
    assert ted_opt("-", given=b"\xff\xfe\x00") == (
        1,
        "ted-opt: error: input: must be a readable text file, got '-': "
        "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte\n",
    )


def test_brackets_in_comments_and_strings_do_not_count() -> None:
    text = "// ((((\n" * 600 + 'module attributes {ted.a = "' + "[" * 600 + '"} {}\n'
    assert ted_opt("-", given=text.encode()) == (0, "")


def test_a_reader_that_leaves_is_no_traceback() -> None:
    command = [sys.executable, "-m", "ted.tools.ted_opt", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"module {}\n")
        process.stdin.close()
        errors = process.stderr.read().decode()
    assert process.returncode == 1
    assert errors == "ted-opt: error: output: must be a writable file, got '-': Broken pipe\n"
