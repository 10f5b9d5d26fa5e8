"""Code for a GPU does not depend on the machine that compiles it."""

from __future__ import annotations

import platform

import pytest

import ted
from numeric.operator_programs import program
from ted import nn
from ted.api import host
from ted.frontend.tensors import Tensor
from ted.machine import CPUS
from ted.testing.tracing import tensors
from unit.gpu.test_cuda_operators import FAST


def transposed_rows() -> tuple[list[Tensor], list[Tensor]]:
    """A read across rows, which is tiled where vectors are short enough."""
    x, w = ted.placeholder((13, 300), name="x"), ted.placeholder((300, 13), name="w")
    return [x, w], [nn.rms_norm(x.T * w)]


def operator(name: str) -> tuple[list[Tensor], list[Tensor]]:
    """An operator with its gradients."""
    p = program(name, "float32")
    made = [t for t in dict.fromkeys([p.output, *p.gradients[0]]) if not t.is_input]
    return tensors([*p.inputs, *p.heads]), tensors(made)


def text_on(cpu: str, monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    """The kernels of a program, and what the host does, compiled on a machine of a row."""
    monkeypatch.setattr(platform, "machine", lambda: "aarch64" if cpu == "neon" else "x86_64")
    monkeypatch.setattr(host, "_x86_flags", lambda: frozenset(CPUS[cpu].features) | {"sse2"})
    monkeypatch.setattr(host, "may_use_matrices", lambda: True)
    for question in (host.host_cpu, host.executable_cpus):
        question.cache_clear()
    assert CPUS[cpu] in host.executable_cpus()
    inputs, outputs = transposed_rows() if name == "transposed_rows" else operator(name)
    function = ted.compile(inputs, outputs, target="cuda:sm_80")
    return function.ir("llvm") + function.ptx


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", ["transposed_rows", *FAST])
def test_the_machine_that_compiles_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv(host.CHOICE, raising=False)
    try:
        texts = {text_on(cpu, monkeypatch, name) for cpu in CPUS}
    finally:
        monkeypatch.undo()
        for question in (host.host_cpu, host.executable_cpus):
            question.cache_clear()
    assert len(texts) == 1
