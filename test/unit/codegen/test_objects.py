"""Object files, and what of them goes through JSON."""

from __future__ import annotations

import errno
import json
import os
import tempfile

import pytest

from ted.codegen import objects
from ted.codegen.objects import Object, answer, make, unpacked

PROGRAM = """module attributes {ted.indexed_tensors = ["x"], ted.indexed_places = ["model.py:3"]} {
  llvm.func @f() { llvm.return }
}"""
NOTHING = "builtin.module()"


def test_an_answer_is_the_object_as_json_has_it() -> None:
    steps: list[str] = []
    made = make(PROGRAM, NOTHING, ())
    found = answer(PROGRAM, NOTHING, {"libraries": []}, steps.append)
    assert unpacked(json.loads(json.dumps(found))) == made
    assert made.code.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe"))
    assert made.indexed == (("x", "model.py:3"),)
    assert steps[0] == "parsing"
    assert steps[-1] == "machine code"


def test_what_each_number_of_an_index_error_means_is_kept() -> None:
    object_ = Object(b"code", (("x", "model.py:3"), ("y", "")))
    packed = {"code": "Y29kZQ==", "indexed": [["x", "model.py:3"], ["y", ""]]}
    assert unpacked(packed) == object_


def test_a_full_disk_does_not_matter_where_files_lie_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # LLVM ends its process on it, which may be that of the user.
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    handle = objects._in_memory()
    if handle is None:
        pytest.skip("needs files in memory")
    os.close(handle)
    open_files = len(os.listdir(objects._HANDLES))
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    assert make(PROGRAM, NOTHING, ()).code
    assert len(os.listdir(objects._HANDLES)) == open_files


def test_without_files_in_memory_there_are_those_of_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = make(PROGRAM, NOTHING, ())
    monkeypatch.setattr(objects, "_HANDLES", "/no/such/folder")
    assert make(PROGRAM, NOTHING, ()) == made
    assert os.listdir(tempfile.gettempdir()) == []
