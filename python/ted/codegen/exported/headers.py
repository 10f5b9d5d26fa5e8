"""Interfaces as declarations: the header of a library, and how CMake and pkg-config find it.

Before: an `Interface` of x: float32[4, 5] and y      After: `struct f_arguments`, `int f(...)`
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.codegen.exported.interface import C_TYPES, Interface, Parameter

_HEADER = """\
/* Functions of ted {version} as functions of C and C++; ted/exported.h says how calls end. */
#ifndef {guard}
#define {guard}

#include "ted/exported.h"

#ifdef __cplusplus
extern "C" {{
#endif

{functions}

#ifdef __cplusplus
}}
#endif

#endif
"""
_SUBNORMALS = {
    None: "kept", "keep": "kept", "flush": "taken for zero",
    "caller": "as the caller's thread does",
}  # fmt: skip
_CMAKE = """\
# find_package({name}) gives the target {name}::{name}, with its headers and what it needs.
if(NOT TARGET {name}::{name})
  find_package(Threads REQUIRED)
  add_library({name}::{name} {kind} IMPORTED)
  set_target_properties({name}::{name} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/{file}"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"
    INTERFACE_LINK_LIBRARIES "{needs}")
endif()
"""
_PKG_CONFIG = """\
folder=${{pcfiledir}}

Name: {name}
Description: functions of ted
Version: {version}
Cflags: -I${{folder}}
Libs: {libraries}
"""


def header(name: str, interfaces: Sequence[Interface], version: str) -> str:
    """The header of a library of functions."""
    functions = "\n\n".join(map(_declared, interfaces))
    return _HEADER.format(version=version, guard=f"TED_{name.upper()}_H", functions=functions)


def _declared(interface: Interface) -> str:
    name, cpu = interface.name, interface.cpu
    threads = f"at most {interface.threads}" if interface.threads else "all of ted_threads_get()"
    counts = [f"  {interface.count_name(p)} = {p.count}" for p in interface.given]
    one = len(interface.versions) == 1
    fields = "\n".join(_field(p, interface, k) for k, p in enumerate(interface.given))
    about = [
        f"/* {interface.about or name}",
        f" * For {cpu.architecture} with {', '.join(cpu.features)}; threads: {threads}; "
        f"subnormals: {_SUBNORMALS[interface.subnormals]}. */",
    ]
    parts = [
        "\n".join(about),
        *([",\n".join(["enum {\n" + counts[0], *counts[1:]]) + "\n};"] if one and counts else []),
        f"struct {name}_arguments {{\n{fields}\n}};",
        f"int {name}(const struct {name}_arguments *arguments, struct ted_report *report);",
    ]
    return "\n".join(parts)


def _field(parameter: Parameter, interface: Interface, position: int) -> str:
    shapes = " or ".join(str([*v.given[position].shape]) for v in interface.versions)
    what = f"{'result: ' if parameter.is_result else ''}{parameter.element_type}{shapes}"
    const = "" if parameter.is_result else "const "
    kind = C_TYPES[parameter.element_type]
    fields = f"    {const}{kind} *data;\n    int64_t count;\n"
    return f"  struct {{\n{fields}  }} {parameter.name}; /* {what} */"


def cmake_package(name: str, file: str, runtime: str, is_shared: bool) -> str:
    """The file `NAMEConfig.cmake` beside a library and its runtime, if that is not in it."""
    needs = [f"${{CMAKE_CURRENT_LIST_DIR}}/{runtime}"] if runtime else []
    needs += [] if is_shared else ["Threads::Threads", "m"]
    kind = "SHARED" if is_shared else "STATIC"
    return _CMAKE.format(name=name, file=file, kind=kind, needs=";".join(needs))


def pkg_config(name: str, version: str, runtime: str, is_shared: bool) -> str:
    """The file `NAME.pc`."""
    libraries = f"-L${{folder}} -l{name}"
    if runtime:
        libraries += " -lted_runtime" if is_shared else f" ${{folder}}/{runtime}"
    libraries += " -Wl,-rpath,${folder}" if is_shared else " -lm -pthread"
    return _PKG_CONFIG.format(name=name, version=version, libraries=libraries)
