"""Object files, and what of them goes through JSON."""

from __future__ import annotations

import json

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
