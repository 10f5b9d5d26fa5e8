"""Modules of the LLVM dialect -> object files, several in one request."""

from __future__ import annotations

import base64
import errno
import os
import platform
import tempfile

import pytest

from ted import dialects
from ted.codegen import objects
from ted.codegen.assembly import disassemble
from ted.codegen.objects import answer, object_of
from ted.errors import CompileError, PassFailed
from ted.mlir import ir

ONE = "llvm.func @f() { llvm.return }"
CALLS = """
llvm.func @kernel() attributes {ted.elsewhere}
llvm.func @f() { llvm.call @kernel() : () -> () llvm.return }"""
NOTHING = "builtin.module()"


def made(text: str) -> bytes:
    with dialects.session():
        return object_of(ir.Module.parse(text))


def test_each_module_becomes_an_object_as_json_has_it() -> None:
    steps: list[str] = []
    found = answer([("f", ONE, 1), ("g", CALLS, 1)], NOTHING, {"libraries": []}, steps.append)
    assert [base64.b64decode(code) for code in found] == [made(ONE), made(CALLS)]
    assert steps == ["f", "parsing", "machine code", "g", "parsing", "machine code"]


def test_what_another_object_defines_is_left_to_the_linker() -> None:
    code = made(CALLS)
    assert code.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe"))
    assert b"kernel" in code


def selected(begin: int, result: str) -> str:
    """`result[k] = x[k] if m[begin + k] else 0` for eight k, one by one."""
    return "".join(
        f"""
        %p{result}{k} = llvm.getelementptr %m[{begin + k}] : (!llvm.ptr) -> !llvm.ptr, i8
        %m{result}{k} = llvm.load %p{result}{k} : !llvm.ptr -> i8
        %c{result}{k} = llvm.icmp "ne" %m{result}{k}, %none : i8
        %q{result}{k} = llvm.getelementptr %x[{k}] : (!llvm.ptr) -> !llvm.ptr, f64
        %x{result}{k} = llvm.load %q{result}{k} : !llvm.ptr -> f64
        %y{result}{k} = llvm.select %c{result}{k}, %x{result}{k}, %zero : i1, f64
        %r{result}{k} = llvm.getelementptr %{result}[{k}] : (!llvm.ptr) -> !llvm.ptr, f64
        llvm.store %y{result}{k}, %r{result}{k} : f64, !llvm.ptr"""
        for k in range(8)
    )


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="no x86 here")
def test_conditions_of_neighbours_are_not_shifted_into_each_other() -> None:
    """With AVX-512 the last one was true whatever its byte was: LLVM shifted in what is no zero."""
    text = f"""
    llvm.func @f(%a: !llvm.ptr {{llvm.noalias}}, %b: !llvm.ptr {{llvm.noalias}}, %x: !llvm.ptr,
                 %m: !llvm.ptr) attributes {{target_cpu = "skylake-avx512"}} {{
        %zero = llvm.mlir.constant(0.0 : f64) : f64
        %none = llvm.mlir.constant(0 : i8) : i8
        {selected(0, "a")}{selected(1, "b")}
        llvm.return
    }}"""
    assert "kshiftr" not in disassemble(made(text))


def test_a_symbol_that_nothing_defines_is_refused() -> None:
    # LLVM prints it, and writes a file of no bytes.
    undefined = CALLS.replace(" attributes {ted.elsewhere}", "")
    with pytest.raises(CompileError, match=r"every symbol must be defined .* got an empty object"):
        made(undefined)


def test_a_module_that_is_refused_ends_the_request() -> None:
    steps: list[str] = []
    broken = "builtin.module(ted-check-lowered)"
    texts = [("f", ONE, 1), ("g", "func.func @g() { return }", 1), ("h", ONE, 1)]
    with pytest.raises(Exception, match="operations outside the LLVM dialect"):
        answer(texts, broken, {"libraries": []}, steps.append)
    assert "h" not in steps
    with pytest.raises(PassFailed, match="no-such-pass"):
        answer(texts, "builtin.module(no-such-pass)", {"libraries": []}, steps.append)


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
    assert made(ONE)
    assert len(os.listdir(objects._HANDLES)) == open_files


def test_without_files_in_memory_there_are_those_of_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = made(ONE)
    monkeypatch.setattr(objects, "_HANDLES", "/no/such/folder")
    assert made(ONE) == before
    assert os.listdir(tempfile.gettempdir()) == []
