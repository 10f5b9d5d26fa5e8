"""`ted.onnx` by ONNX's own models and runner, and by ONNX's cases of nodes."""

from __future__ import annotations

import unittest
import warnings
from pathlib import Path

import numpy as np
import onnx.backend.test
import pytest
from onnx import helper, numpy_helper
from onnx.backend.test.runner import Runner

import ted.onnx
from unit.onnx import node_cases

DATA = Path(onnx.backend.test.__file__).parent / "data"
MODELS = (
    "pytorch-converted/test_Conv2d_groups_thnn", "pytorch-converted/test_GLU_dim",
    "pytorch-converted/test_PReLU_2d_multiparam", "pytorch-operator/test_operator_permute2",
    "pytorch-operator/test_operator_repeat_dim_overflow", "simple/test_sequence_model4",
)  # fmt: skip


def _arrays(folder: Path, kind: str) -> list[np.ndarray]:
    files = sorted(folder.glob(f"{kind}_*.pb"))
    return [numpy_helper.to_array(onnx.load_tensor(file)) for file in files]


@pytest.mark.parametrize("name", MODELS)
def test_models_that_come_with_onnx_give_their_results(name: str) -> None:
    prepared = ted.onnx.prepare(onnx.load(DATA / name / "model.onnx"))
    folder = DATA / name / "test_data_set_0"
    results = list(prepared.run(_arrays(folder, "input")))
    Runner.assert_similar_outputs(_arrays(folder, "output"), results, 1e-3, 1e-7)


def test_a_node_runs_by_itself() -> None:
    node = helper.make_node("Add", ["a", "b"], ["c"])
    (c,) = ted.onnx.run_node(node, [np.ones(2, "f4"), np.full(2, 3, "f4")])
    np.testing.assert_array_equal(c, [4, 4])


def test_the_device_is_the_cpu() -> None:
    assert ted.onnx.supports_device("CPU:0")
    assert not ted.onnx.supports_device("CUDA")


@pytest.mark.slow
def test_the_runner_of_onnx_takes_the_backend() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, in what the cases compute
        runner = onnx.backend.test.BackendTest(ted.onnx.Backend, __name__)
    for pattern in ("test_gemm_all_attributes_cpu", "test_scatternd_add_cpu", "test_tril_neg_cpu"):
        runner.include(pattern)
    found = unittest.TestResult()
    runner.test_suite.run(found)
    assert (found.errors, found.failures) == ([], [])
    assert found.testsRun - len(found.skipped) == 3


@pytest.mark.slow
def test_some_of_all_cases_of_nodes_are_right_or_refused_by_name() -> None:
    found = {c.name: node_cases.outcome(c, gradients=True) for c in node_cases.cases()[::90]}
    assert {name: why for name, why in found.items() if why[0] in ("wrong", "error")} == {}
    assert sum(kind == "pass" for kind, _ in found.values()) > 8
