"""Modules of ted's operators: state, training, copies, exported programs, several processes."""

from __future__ import annotations

import copy
import io
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import ted
import ted.torch
from ted.errors import FrontendError
from unit.torch.programs import assert_equal

SHAPES = {"w": (4, 4), "b": (4,)}


def network(params: Any, x: Any) -> Any:
    for layer in params["layers"]:
        x = ted.tanh(x @ layer["w"] + layer["b"])
    return x * params["scale"]


@ted.torch.op
def named_network(params: Any, x: Any) -> Any:
    return network(params, x)


def torch_network(params: Any, x: torch.Tensor) -> torch.Tensor:
    for layer in params["layers"]:
        x = torch.tanh(x @ layer["w"] + layer["b"])
    return x * params["scale"]


def parameters() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    layers = [{k: rng.normal(size=s) for k, s in SHAPES.items()} for _ in range(2)]
    return {"layers": layers, "scale": np.array([3])}


X = torch.arange(12, dtype=torch.float64).reshape(3, 4) / 12


def test_state_has_the_names_of_the_nest() -> None:
    given = parameters()
    module = ted.torch.Module(network, given)
    names = ["scale", "layers.0.w", "layers.0.b", "layers.1.w", "layers.1.b"]
    assert list(module.state_dict()) == names
    assert [name for name, _ in module.named_parameters()] == names[1:]
    assert "ted.torch.op network" in repr(module)
    with torch.no_grad():
        module.get_parameter("layers.0.w").zero_()
    assert given["layers"][0]["w"].any()  # a copy
    state = {k: torch.ones_like(v) for k, v in module.state_dict().items()}
    module.load_state_dict(state)
    assert_equal(module(X), torch_network(module.params, X))


def test_tensors_are_copied_into_parameters() -> None:
    given = torch.ones(2, requires_grad=True)
    module = ted.torch.Module(lambda params, x: params["w"] * x, {"w": given})
    with torch.no_grad():
        module.get_parameter("w").zero_()
    assert given.tolist() == [1, 1]
    assert module(torch.ones(2)).tolist() == [0, 0]


def test_an_optimiser_of_torch_trains_it() -> None:
    module = ted.torch.Module(named_network, parameters())
    other = {k: v.detach().clone().requires_grad_() for k, v in module.named_parameters()}
    layers = [{k: other[f"layers.{n}.{k}"] for k in SHAPES} for n in range(2)]
    params = {"layers": layers, "scale": 3}
    optimisers = [torch.optim.Adam(p, 1e-2) for p in (module.parameters(), other.values())]
    for _ in range(3):
        losses = [(f(X) ** 2).mean() for f in (module, lambda x: torch_network(params, x))]
        assert_equal(*losses)
        for optimiser, loss in zip(optimisers, losses, strict=True):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    assert_equal(dict(module.named_parameters()), other)


def test_parameters_may_be_functions_of_others() -> None:
    module = ted.torch.Module(named_network, parameters())
    layer = module.get_submodule("layers.0")
    torch.nn.utils.parametrizations.weight_norm(layer, "w")
    assert "layers.0.w" not in dict(module.named_parameters())
    assert_equal(module(X), torch_network(module.params, X))
    module(X).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


def test_parameters_of_bfloat16_come_from_numpy() -> None:
    given = np.ones(2, ml_dtypes.bfloat16)
    module = ted.torch.Module(lambda params, x: params["w"] * x, {"w": given})
    assert module.get_parameter("w").dtype is torch.bfloat16


def test_copies_and_pickles_compute_the_same() -> None:
    module = ted.torch.Module(named_network, parameters())
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert_equal(other(X), module(X))
        with torch.no_grad():
            other.get_parameter("layers.1.b").add_(1)
        assert not torch.equal(other(X), module(X))
    plain = pickle.loads(pickle.dumps(ted.torch.op(network, name="plain")))
    assert_equal(plain(module.params, X), module(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_an_exported_module_has_any_number_of_rows_and_trains() -> None:
    module = ted.torch.Module(network, parameters(), name="exported")
    rows = torch.export.Dim("rows")
    program = torch.export.export(module, (X,), dynamic_shapes={"args": ({0: rows},)})
    assert "torch.ops.ted.exported.default" in program.graph_module.code
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded: Any = torch.export.load(file).module()
    part = X[:2]
    assert_equal(loaded(part), module(part))
    loaded(X).sum().backward()
    module(X).sum().backward()
    for (_, one), (_, other) in zip(
        sorted(loaded.named_parameters()), sorted(module.named_parameters()), strict=True
    ):
        assert_equal(one.grad, other.grad)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (np.ones(3), "Module: params is a nest of arrays, got ndarray"),
        ({"a.b": np.ones(3)}, "Module: a key in params has no dot, got 'a.b'"),
        (
            {"training": np.ones(3)},
            "Module: a key in params is no name that modules of torch need, got 'training'",
        ),
        ({"a": ["text"]}, "Module: params.a.0 is an array of a type that torch has, got <U4"),
    ],
)
def test_what_is_no_nest_of_arrays_is_refused(params: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=re.escape(message)):
        ted.torch.Module(network, params)


@pytest.mark.slow
def test_two_processes_train_the_same_parameters(tmp_path: Path) -> None:
    script = Path(__file__).with_name("two_ranks.py")
    store = tmp_path / "store"
    command = [sys.executable, str(script), str(store)]
    ranks = [
        subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    found = [rank.communicate(timeout=300)[0].split() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    alone, parallel, sharded = found[0]
    assert found[1] == found[0]
    assert alone == parallel == sharded
