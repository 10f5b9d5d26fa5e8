"""The names that `import ted` promises exist where its table says."""

from __future__ import annotations

import inspect
import operator
import pickle
import re

import pytest

import ted
from ted.frontend import missing_names
from ted.frontend.torch_words import TORCH


@pytest.mark.parametrize("name", ted.__all__)
def test_a_public_name_resolves(name: str) -> None:
    assert name == "newaxis" or getattr(ted, name) is not None
    assert name in dir(ted)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'ted' has no attribute 'nonsense'"):
        _ = ted.nonsense


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (ted, "softmx", "; is it ted.nn.softmax?"),
        (ted, "solve", "; it is ted.linalg.solve"),
        (ted.nn, "mse_loss", "; write ted.nn.mse"),
        (ted.nn, "hard_swish", ""),  # Python finds it in the module
        (ted.linalg, "logdet", "; write ted.linalg.slogdet"),
        (ted.random, "PRNGKey", "; write ted.random.key(seed)"),
        (ted.special, "dropout", "; it is ted.random.dropout"),
        (ted.testing, "zeros", "; it is ted.zeros"),
        (ted, "unsqueeze", "; write ted.expand_dims, or x[:, None]"),
        (ted, "clamp_", "; nothing is written in place: write ted.clip"),
    ],
)
def test_an_unknown_name_is_explained(module, name: str, advice: str) -> None:
    text = re.escape(f"module '{module.__name__}' has no attribute '{name}'{advice}")
    with pytest.raises(AttributeError, match=f"^{text}$"):
        getattr(module, name)


@pytest.mark.parametrize("name", missing_names.OTHER)
def test_names_of_other_libraries_are_explained_by_names_of_ted(name: str) -> None:
    for word in re.findall(r"ted((?:\.\w+)+)", missing_names.OTHER[name]):
        assert operator.attrgetter(word[1:])(ted) is not None


# Of torch's methods those that are about memory, devices, sparse and quantised tensors, or values.
OF_OTHER_THINGS = re.compile(
    r"sparse|_indices$|coalesce|quant|^q_|qscheme|int_repr|storage|stride|pin|memory|device|_ptr$"
    r"|^is_|shared|mkldnn|padded|^to_dense|hook|^resolve_|^unsafe_|retain_grad|reinforce|record_stream"
    r"|^c(double|float|half)$|^chalf$|xpu|ipu|mtia|smm|sspaddmm|hash|module_load|as_subclass|dense_dim"
    r"|dim_order|element_size|slice_inverse|symeig|orgqr|ormqr|geqrf|^values$|^new$|resize_as|^index$"
)
NOT_YET = {"eig", "istft"}
OF_A_RUN = {"item", "numpy", "tolist"}  # of which an expression says that it has no values


def test_words_of_torch_are_explained() -> None:
    torch = pytest.importorskip("torch")
    x = ted.placeholder((3, 4))
    methods = (n for n in dir(torch.Tensor) if callable(getattr(torch.Tensor, n)))
    unknown = [n for n in methods if not re.search("^_|_$", n) and not hasattr(x, n)]
    silent = [n for n in unknown if n not in ted.__all__ and not missing_names.advice(n)]
    assert {n for n in silent if not OF_OTHER_THINGS.search(n)} <= NOT_YET | OF_A_RUN
    homes = (torch, torch.Tensor, torch.nn, torch.nn.functional)
    assert all(any(hasattr(home, n) for home in homes) for n in TORCH)


@pytest.mark.parametrize("module", [ted, ted.nn, ted.linalg, ted.random, ted.special, ted.nn.init])
def test_functions_can_be_pickled(module) -> None:
    functions = [
        f for f in (getattr(module, name) for name in module.__all__) if inspect.isfunction(f)
    ]
    assert pickle.loads(pickle.dumps(functions)) == functions


@pytest.mark.parametrize("module", [ted.linalg, ted.testing])
def test_a_module_shows_its_public_names_alone(module) -> None:
    assert dir(module) == module.__all__
