"""Orders of graphs: operands first, circles together."""

from ted.ir.graphs import circles, finished

EDGES = {"a": "bc", "b": "d", "c": "d", "d": "", "e": "f", "f": "eb", "g": "g"}


def test_what_a_node_leads_to_comes_first() -> None:
    assert finished("a", EDGES.__getitem__) == ["d", "b", "c", "a"]


def test_every_node_comes_once_whatever_leads_to_it() -> None:
    assert finished("ba", EDGES.__getitem__) == ["d", "b", "c", "a"]


def test_a_circle_ends() -> None:
    assert finished("e", EDGES.__getitem__) == ["d", "b", "f", "e"]


def test_nodes_that_lead_to_each_other_are_a_group() -> None:
    assert circles("eag", EDGES.__getitem__) == [["d"], ["b"], ["f", "e"], ["c"], ["a"], ["g"]]


def test_depth_is_free() -> None:
    assert finished([0], lambda n: [n + 1] if n < 50_000 else [])[-1] == 0
