"""The function that C calls, as LLVM's text: a table about its program, and a call of the runtime.

Before: an `Interface`      After: `define i32 @f(ptr %arguments, ptr %report)`, with tables as
`runtime/include/ted/exported.h` declares them
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ted.codegen.emission import Called, shared_object
from ted.codegen.exported.interface import Interface, Parameter, Version
from ted.errors import CompileError
from ted.machine import Cpu
from ted.options import subnormals_code

_VERSION = 3  # TED_EXPORTED_VERSION
_LARGEST = 1 << 28  # bytes of the constants of a function, which are text on their way
_DECLARED = re.compile(r'^declare .*@"?([\w.$]+)"?\(', re.MULTILINE)


def object_file(interface: Interface) -> bytes:
    """An object file that defines the function, which is all that it shows.

    Raises: CompileError for a name that the code itself calls, too many bytes of constants, and
    when LLVM does not compile it.
    """
    texts = [text for version in interface.versions for text in version.texts]
    if any(interface.name in _DECLARED.findall(text) for text in texts):
        raise CompileError(
            f"export: a function must not have the name of one that it calls, got "
            f"{interface.name!r}; export it under another name"
        )
    size = sum(len(p.constant or b"") for v in interface.versions for p in v.parameters)
    if size > _LARGEST:
        raise CompileError(
            f"export: {interface.name} may hold constants of {_LARGEST} bytes, got {size}; pass "
            "large arrays as arguments"
        )
    called = [Called(_code(k), v.symbol, v.texts) for k, v in enumerate(interface.versions)]
    return shared_object(entry_text(interface), called, interface.cpu, interface.name)


def packed_object_file(name: str, symbol: str, texts: Sequence[str], count: int, cpu: Cpu) -> bytes:
    """An object file of a program that finds a pointer to the data at each of its pointers.

    Raises: CompileError when LLVM does not compile it.
    """
    text = "\n".join([*_unpacked(f"define void @{name}", 0, count), ""])
    return shared_object(text, [Called(_code(0), symbol, tuple(texts))], cpu, name)


def _code(version: int) -> str:
    """The name of a program in the module of the function."""
    return f"code.{version}"


def entry_text(interface: Interface) -> str:
    """The module of the function itself."""
    lines = ["declare i32 @ted_function_call(ptr, ptr, ptr)"]
    rows = [_version(lines, number, one) for number, one in enumerate(interface.versions)]
    lines.append(_array("@versions", "{ ptr, i64, ptr, ptr }", rows))
    names = "".join(f"{name}\0" for name in interface.cpu.features)
    lines.append(_bytes("@instructions", names.encode() + b"\0"))
    lines += [
        _bytes("@name", _text(interface.name)),
        "@function = private constant { ptr, i32, i32, i32, i64, ptr, ptr } "
        f"{{ ptr @name, i32 {_VERSION}, i32 {interface.threads}, "
        f"i32 {subnormals_code(interface.subnormals)}, i64 {len(rows)}, "
        "ptr @versions, ptr @instructions }",
        f"define i32 @{interface.name}(ptr %arguments, ptr %report) {{",
        "  %status = call i32 @ted_function_call(ptr @function, ptr %arguments, ptr %report)",
        "  ret i32 %status",
        "}",
    ]
    return "\n".join([*lines, ""])


def _version(lines: list[str], number: int, version: Version) -> str:
    """A row about a version, whose tables and call are written to `lines`."""
    lines += _unpacked(f"define internal void @call.{number}", number, len(version.parameters))
    rows = [_parameter(lines, f"{number}.{k}", p) for k, p in enumerate(version.parameters)]
    lines.append(_array(f"@parameters.{number}", "{ ptr, ptr, i64, i32, i32 }", rows))
    accesses = [_access(lines, f"{number}.{k}", *a) for k, a in enumerate(version.accesses)]
    lines.append(_array(f"@accesses.{number}", "{ ptr, ptr }", accesses))
    count = len(version.parameters)
    tables = f"ptr @parameters.{number}, ptr @accesses.{number}"
    return f"{{ ptr @call.{number}, i64 {count}, {tables} }}"


def _unpacked(head: str, number: int, count: int) -> list[str]:
    """A function that calls a program with the data that its pointers point to."""
    loads = [
        line
        for k in range(count)
        for line in (
            f"  %place{k} = getelementptr ptr, ptr %arrays, i64 {k}",
            f"  %array{k} = load ptr, ptr %place{k}",
            f"  %data{k} = load ptr, ptr %array{k}",
        )
    ]
    given = ", ".join(f"ptr %data{k}" for k in range(count))
    return [
        f"declare void @{_code(number)}({', '.join(['ptr'] * count)})",
        f"{head}(ptr %arrays) {{",
        *loads,
        f"  call void @{_code(number)}({given})",
        "  ret void",
        "}",
    ]


def _parameter(lines: list[str], place: str, parameter: Parameter) -> str:
    lines.append(_bytes(f"@name.{place}", _text(parameter.name)))
    constant = "null"
    if parameter.constant is not None:
        constant = f"@constant.{place}"
        lines.append(_bytes(constant, parameter.constant or b"\0") + ", align 64")
    sizes = f"i64 {parameter.count}, i32 {parameter.element_bytes}, i32 {int(parameter.is_result)}"
    return f"{{ ptr @name.{place}, ptr {constant}, {sizes} }}"


def _access(lines: list[str], place: str, tensor: str, line: str) -> str:
    lines.append(_bytes(f"@tensor.{place}", _text(tensor)))
    lines.append(_bytes(f"@line.{place}", _text(line)))
    return f"{{ ptr @tensor.{place}, ptr @line.{place} }}"


def _text(text: str) -> bytes:
    return text.encode().replace(b"\0", b"") + b"\0"


def _bytes(name: str, data: bytes) -> str:
    return f'{name} = private constant [{len(data)} x i8] c"{_escaped(data)}"'


def _escaped(data: bytes) -> str:
    return "".join(f"\\{one:02X}" for one in data)


def _array(name: str, kind: str, rows: Sequence[str]) -> str:
    body = ", ".join(f"{kind} {row}" for row in rows)
    return f"{name} = private constant [{len(rows)} x {kind}] [{body}]"
