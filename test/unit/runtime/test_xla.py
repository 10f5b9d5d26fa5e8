"""Tables for XLA are laid out as the header of the runtime says."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from ted.codegen.exported import entries
from ted.runtime import xla
from ted.runtime.library import headers_path
from ted.runtime.xla import Entry, register

STRUCTS = {
    "ted_parameter": xla._Parameter, "ted_access": xla._Access, "ted_version": xla._Version,
    "ted_function": xla._Function,
}  # fmt: skip


def test_structures_and_their_version_are_those_of_the_header(tmp_path: Path) -> None:
    prints = [
        f'printf("%zu ", offsetof(struct {name}, {field}));'
        for name, kind in STRUCTS.items() for field, _ in kind._fields_
    ] + [f'printf("%zu ", sizeof(struct {name}));' for name in STRUCTS]  # fmt: skip
    source = tmp_path / "layout.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <ted/exported.h>\nint main(void) {"
        + "".join(prints) + 'printf("%d", TED_EXPORTED_VERSION); }'
    )  # fmt: skip
    program, include = tmp_path / "layout", Path(headers_path()).parent
    subprocess.run(["cc", f"-I{include}", str(source), "-o", str(program)], check=True)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    fields = [getattr(kind, f).offset for kind in STRUCTS.values() for f, _ in kind._fields_]
    sizes = [ctypes.sizeof(kind) for kind in STRUCTS.values()]
    assert [*map(int, printed.split())] == [*fields, *sizes, xla.FORMAT]
    assert xla.FORMAT == entries._VERSION


def test_a_number_keeps_its_first_function(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[int, object] = {}
    monkeypatch.setattr(xla, "_kept", kept)
    for address in (1, 2):
        register(Entry("f", address, None, (), (), (), (), 0, 0), -77)
    assert kept[-77][0].address == 1
