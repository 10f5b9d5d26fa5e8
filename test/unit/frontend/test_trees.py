"""Nests: every kind comes back as it was, and what is nested otherwise is refused by its place."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ted
from ted.errors import FrontendError
from ted.frontend.trees import NestsDiffer, flatten, nester, spread, unflatten

Pair = namedtuple("Pair", "left right")


@dataclasses.dataclass
class Layer:
    """Refuses what is no number, as classes with checks of their own do."""

    w: Any
    b: Any = None
    kind: str = dataclasses.field(default="tanh", metadata={"static": True})

    def __post_init__(self) -> None:
        assert not isinstance(self.w, str)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    """One field that `__init__` does not take."""

    inside: Any
    outside: Any = dataclasses.field(init=False, default=0.0)


leaf = st.integers()
nests = st.recursive(
    leaf | st.none(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
        st.tuples(inner, inner).map(lambda v: Pair(*v)),
        st.tuples(inner, inner).map(lambda v: OrderedDict(b=v[0], a=v[1])),
        st.tuples(inner, inner).map(lambda v: Layer(*v, kind="relu")),
        inner.map(Frozen),
    ),
    max_leaves=8,
)


def kinds(nest: Any) -> Any:
    """The types of a nest, which equality does not see (OrderedDict and dict)."""
    return str(ted.tree.structure(nest))


@given(nests)
def test_nests_come_back_as_they_were(nest: Any) -> None:
    found, tree = flatten(nest)
    assert tree.size == len(found)
    for made in (unflatten(tree, (v for _, v in found)), nester(tree)([v for _, v in found])):
        assert made == nest
        assert kinds(made) == kinds(nest)
    assert spread(nest, nest, ()) == [v for _, v in found]


def test_paths_are_what_a_user_would_type() -> None:
    nest = {"net": [Layer(1, Pair(2, 3)), Frozen({"k": 4})], "none": None}
    paths = [path for path, _ in flatten(nest)[0]]
    assert paths == [
        "net.0.w", "net.0.b.left", "net.0.b.right", "net.1.inside.k", "net.1.outside",
    ]  # fmt: skip


def test_static_fields_are_part_of_the_structure() -> None:
    first, second = Layer(1, 2, "tanh"), Layer(1, 2, "relu")
    assert ted.tree.leaves(first) == [1, 2]
    assert ted.tree.structure(first) != ted.tree.structure(second)
    assert ted.tree.map(lambda a: a + 1, second) == Layer(2, 3, "relu")
    with pytest.raises(NestsDiffer):
        spread(first, second)


@pytest.mark.parametrize(
    ("first", "second"), [(2, 2.0), (1, True), ((1,), (1.0,)), (0.0, -0.0)], ids=str
)
def test_static_fields_differ_where_only_their_types_or_signs_do(first: Any, second: Any) -> None:
    assert ted.tree.structure(Layer(1, 2, first)) == ted.tree.structure(Layer(3, 4, first))
    assert ted.tree.structure(Layer(1, 2, first)) != ted.tree.structure(Layer(1, 2, second))


def test_static_fields_that_differ_are_shown() -> None:
    with pytest.raises(FrontendError, match=r"got Layer\{.*kind='relu'\} .* for .*kind='tanh'\}"):
        ted.tree.map(lambda *v: v, Layer(1, 2), Layer(1, 2, "relu"))


def test_a_field_without_a_value_is_refused_by_name() -> None:
    @dataclasses.dataclass
    class Late:
        w: Any
        cached: Any = dataclasses.field(init=False)

    with pytest.raises(FrontendError, match=r"Late\.cached: each field .* has a value, got none"):
        flatten(Late(1))


def test_a_dataclass_that_says_how_it_is_an_array_is_one() -> None:
    @dataclasses.dataclass
    class Wrapped:
        value: Any

        def __array__(self) -> Any:
            return self.value

    wrapped = Wrapped(1)
    assert ted.tree.leaves([wrapped]) == [wrapped]


def test_a_static_field_without_a_hash_is_refused_by_name() -> None:
    with pytest.raises(FrontendError, match=r"Layer\.kind: a static field .* got list"):
        flatten(Layer(1, 2, ["tanh"]))  # type: ignore[arg-type]


def test_one_entry_stands_for_all_below_it_where_that_is_said() -> None:
    nest = {"a": [1, 2], "b": Layer(3, 4)}
    assert spread({"b": None, "a": 7}, nest, (int, type(None))) == [7, 7, None, None]
    assert spread(None, nest) == [None] * 4
    for wrong in ({"a": 7}, {"a": 7, "b": 8}, [1, 2], {"a": [1], "b": None}, 7):
        with pytest.raises(NestsDiffer):
            spread(wrong, nest)


def test_leaves_of_several_nests_meet_by_key() -> None:
    first, second = {"a": 1, "b": (2, 3)}, {"b": [20, 30], "a": 10}
    assert ted.tree.map(lambda x, y: x + y, first, second) == {"a": 11, "b": (22, 33)}


def test_nests_that_differ_are_shown() -> None:
    with pytest.raises(FrontendError, match=r"got \{a: \*, c: None\} as number 2 for \{a: \*\}"):
        ted.tree.map(lambda *v: v, {"a": 1}, {"a": 2}, {"a": 3, "c": None})
    with pytest.raises(FrontendError, match=r"got 3 for 2"):
        ted.tree.unflatten(ted.tree.structure(Pair(1, 2)), range(3))
    with pytest.raises(FrontendError, match=r"got 1 for dict"):
        ted.tree.unflatten({"a": 1}, [1])  # type: ignore[arg-type]
    assert str(ted.tree.structure([Layer(1), (2, OrderedDict(k=3))])) == (
        "[Layer{w: *, b: None, kind='tanh'}, (*, OrderedDict{k: *})]"
    )


def test_flatten_and_unflatten_are_inverse() -> None:
    found, structure = ted.tree.flatten({"x": (1, None), "y": 2})
    assert found == [1, 2]
    assert ted.tree.unflatten(structure, "ab") == {"x": ("a", None), "y": "b"}
