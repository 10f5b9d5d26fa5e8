"""Which row of CPUs code is for: the best one of the host, or what the environment names."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import numpy as np
import pytest

import ted
from ted.api import host
from ted.api.host import executable_cpus, host_cpu
from ted.errors import ScheduleError
from ted.machine import CPUS

SSE2 = {"sse2"}
HASWELL = SSE2 | {"avx", "avx2", "fma", "f16c", "bmi1"}
KNIGHTS_LANDING = HASWELL | {"avx512f", "avx512cd"}  # without what shorter vectors need
SKYLAKE = HASWELL | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
COOPER_LAKE = SKYLAKE | {"avx512_bf16"}
SAPPHIRE_RAPIDS = COOPER_LAKE | {"amx_tile", "amx_bf16", "amx_int8"}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """The rows are asked for again, now and by the tests that follow."""
    asked_again()
    yield
    asked_again()


def asked_again() -> None:
    for question in (host_cpu, executable_cpus):
        question.cache_clear()


def on(
    monkeypatch: pytest.MonkeyPatch, flags: set[str], chosen: str = "", vendor: str = "GenuineIntel"
) -> None:
    said = {"flags": " ".join(sorted(flags)), "vendor_id": vendor}
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(host, "_of_processor", said.__getitem__)
    monkeypatch.setattr(host, "may_use_matrices", lambda: True)
    monkeypatch.setenv(host.CHOICE, chosen)


@pytest.mark.parametrize(
    ("flags", "rows"),
    [
        (SSE2, ["sse2"]),
        (HASWELL, ["avx2", "sse2"]),
        (KNIGHTS_LANDING, ["avx2", "sse2"]),
        (SKYLAKE, ["avx512", "avx2", "sse2"]),
        (COOPER_LAKE, ["avx512", "avx512_bf16", "avx2", "sse2"]),
        (SAPPHIRE_RAPIDS, ["avx512_amx", "avx512", "avx512_bf16", "avx2", "sse2"]),
    ],
    ids=["sse2", "haswell", "knights landing", "skylake", "cooper lake", "sapphire rapids"],
)
def test_a_cpu_executes_its_row_and_those_below(monkeypatch, flags, rows) -> None:
    on(monkeypatch, flags)
    assert [row.name for row in executable_cpus()] == rows
    assert host_cpu().name == rows[0]


def test_registers_for_matrices_are_for_processes_that_the_kernel_gives_them(monkeypatch) -> None:
    on(monkeypatch, SAPPHIRE_RAPIDS)
    monkeypatch.setattr(host, "may_use_matrices", lambda: False)
    assert host_cpu().name == "avx512"


def test_no_kernel_is_asked_for_what_the_cpu_lacks(monkeypatch) -> None:
    on(monkeypatch, COOPER_LAKE)
    monkeypatch.setattr(host, "may_use_matrices", lambda: pytest.fail("asked"))
    assert host_cpu().name == "avx512"


def test_the_row_of_bf16_is_amds_and_for_who_asks_for_it(monkeypatch) -> None:
    on(monkeypatch, COOPER_LAKE)
    assert host_cpu() == CPUS["avx512"].native()
    asked_again()
    on(monkeypatch, COOPER_LAKE, vendor="AuthenticAMD")
    assert [row.name for row in executable_cpus()] == ["avx512_bf16", "avx512", "avx2", "sse2"]
    assert host_cpu() == CPUS["avx512_bf16"].native()
    asked_again()
    on(monkeypatch, SKYLAKE, vendor="AuthenticAMD")
    assert host_cpu() == CPUS["avx512"].native()
    asked_again()
    on(monkeypatch, COOPER_LAKE, "avx512_bf16")
    assert host_cpu() is CPUS["avx512_bf16"]


def test_the_hosts_own_row_takes_all_instructions_of_the_host(monkeypatch) -> None:
    on(monkeypatch, COOPER_LAKE)
    row = CPUS["avx512"]
    assert host_cpu() == row.native() != row
    assert host_cpu().is_native
    assert host_cpu().features == row.features


@pytest.mark.parametrize("name", ["avx512_bf16", "avx512", "avx2", "sse2"])
def test_a_row_of_the_environment_takes_the_instructions_of_the_row(monkeypatch, name) -> None:
    on(monkeypatch, COOPER_LAKE, name)
    assert host_cpu() is CPUS[name]


@pytest.mark.parametrize("name", ["avx512_bf16", "avx512", "neon", "pentium"])
def test_a_row_that_the_host_cannot_execute_is_refused(monkeypatch, name) -> None:
    on(monkeypatch, HASWELL, name)
    text = rf"TED_CPU: must be a row that this machine can run \(avx2, sse2\), got '{name}'"
    with pytest.raises(ScheduleError, match=text):
        host_cpu()


def test_an_arm_machine_has_one_row(monkeypatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert [row.name for row in executable_cpus()] == ["neon"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="rows of x86")
def test_a_chosen_row_is_in_the_compiled_functions(monkeypatch) -> None:
    monkeypatch.setenv(host.CHOICE, "sse2")
    x = ted.placeholder((40,), name="x")
    f = ted.compile([x], ted.exp(x))
    assert '"+sse2"]>' in f.ir("llvm")
    assert "%ymm" not in f.ir("asm")
    np.testing.assert_allclose(f(np.zeros(40, "f4")), np.ones(40))
