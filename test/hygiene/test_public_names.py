"""The names that `import ted` promises exist where its table says."""

from __future__ import annotations

import inspect
import operator
import pickle
import re

import pytest

import ted
from ted.frontend import missing_names


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


@pytest.mark.parametrize("module", [ted, ted.nn, ted.linalg, ted.random, ted.special, ted.nn.init])
def test_functions_can_be_pickled(module) -> None:
    functions = [
        f for f in (getattr(module, name) for name in module.__all__) if inspect.isfunction(f)
    ]
    assert pickle.loads(pickle.dumps(functions)) == functions


@pytest.mark.parametrize("module", [ted.linalg, ted.testing])
def test_a_module_shows_its_public_names_alone(module) -> None:
    assert dir(module) == module.__all__
