"""Pipeline text becomes a tree, and a tree becomes the same text again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ted.errors import PassFailed
from ted.ir.pipeline_text import Element, parse_options, parse_pipeline


def module(*children: Element) -> Element:
    return Element("builtin.module", children=children)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", module()),
        ("cse", module(Element("cse"))),
        ("builtin.module(cse)", module(Element("cse"))),
        ("any(cse)", module(Element("cse"))),
        ("cse , canonicalize{a=1}", module(Element("cse"), Element("canonicalize", "a=1"))),
        ("func.func(cse)", module(Element("func.func", children=(Element("cse"),)))),
        ("a{x={y=1,z} w=2},b", module(Element("a", "x={y=1,z} w=2"), Element("b"))),
        ("f(),g", module(Element("f", children=()), Element("g"))),
    ],
)
def test_text_becomes_a_tree(text: str, tree: Element) -> None:
    assert parse_pipeline(text) == tree


@pytest.mark.parametrize(
    ("text", "rule", "column"),
    [
        ("cse,", "expected the name of a pass", 5),
        ("f(cse", "expected ')'", 6),
        ("f)", "expected ',' or the end", 2),
        ("f{a", "expected '}'", 2),
        ("1f", "expected the name of a pass", 1),
        ("f g", "expected ',' or the end", 3),
    ],
)
def test_broken_text_is_refused_with_its_column(text: str, rule: str, column: int) -> None:
    with pytest.raises(PassFailed, match="pipeline:") as caught:
        parse_pipeline(text)
    assert f"{rule} at column {column} of '{text}'" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("a=1 b", {"a": "1", "b": ""}),
        ("a={x y} b='c d'", {"a": "x y", "b": "c d"}),
        ("  a=1,2,3  ", {"a": "1,2,3"}),
    ],
)
def test_options_are_split_at_blanks_outside_brackets(text: str, options: dict[str, str]) -> None:
    assert parse_options(text) == options


names = st.from_regex(r"[a-z][a-z0-9.\-]{0,8}", fullmatch=True)
leaves = st.builds(Element, names, st.sampled_from(["", "a=1", "a={b c=2} d"]))
trees = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda name, children: Element(name, children=tuple(children)), names, st.lists(inner)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.lists(trees))
def test_printing_and_parsing_give_the_tree_back(children: list[Element]) -> None:
    tree = module(*children)
    assert parse_pipeline(str(tree)) == tree


@given(st.text(alphabet="ab(){},= '\"", max_size=12))
def test_any_text_is_a_tree_or_a_clear_error(text: str) -> None:
    try:
        tree = parse_pipeline(text)
    except PassFailed:
        return
    assert parse_pipeline(str(tree)) == tree
