"""Loops over blocks compute what stored tensors do, at every order, and never hold a tensor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted import dialects
from ted.errors import ScheduleError
from ted.frontend.systems import system_of
from ted.ir.pipelines import run_text
from ted.mlir import ir
from ted.plan import block_choices, ted_loop_over_blocks
from ted.plan.block_groups import Graph, grown
from ted.plan.block_loops import CARRIES, BlockLoop, in_loops

RNG = np.random.default_rng(11)
LARGE = 64  # bytes of the smallest tensor that is made in blocks


def attention(q: Any, k: Any, v: Any) -> Any:
    return ted.nn.softmax(q @ ted.matrix_transpose(k)) @ v


def cross_entropy(x: Any, w: Any, labels: Any) -> Any:
    z = x @ w
    picked = ted.take_along_axis(z, labels[:, None], axis=1)
    return ted.sum(ted.logsumexp(z, axis=1)) - ted.sum(picked)


def distances(x: Any, c: Any) -> Any:
    apart = x[:, None, :] - c[None, :, :]
    return ted.sum(ted.min(ted.sum(apart * apart, axis=2), axis=1))


def columns(x: Any, y: Any) -> Any:
    z = x @ y
    return ted.sum(ted.nn.softmax(z, axis=0) ** 2, axis=0)


def diagonal(x: Any, y: Any) -> Any:
    z = x @ ted.matrix_transpose(y)
    return ted.logsumexp(z, axis=1) - ted.linalg.diagonal(z)


def extremes(x: Any, y: Any) -> Any:
    z = ted.exp(x @ y / 4)
    return ted.max(z, axis=0) + ted.min(z, axis=0) * ted.prod(z, axis=0)


def from_a_start(x: Any, b: Any) -> Any:
    """A total that begins with what has no rows."""
    k = ted.reduce_axis(x.shape[0])
    j = ted.reduce_axis(x.shape[1])
    e = ted.exp(x)
    return ted.compute((6,), lambda c: b[c] + ted.sum(e[k, j] * (1 + c), (k, j)))


def tied(x: Any, w: Any) -> Any:
    """Slopes of `w` begin with what has no rows, in the first of many steps of one loop."""
    z = x @ w
    scores = ted.nn.softmax(3 * ted.tanh(z) + ted.sin(z), axis=1)
    return ted.sum(scores**2) + ted.sum(w[1:3] ** 3)


def kept_rows(x: Any, y: Any) -> Any:
    """Rows that are results as well, along the second dim of one of them."""
    z = ted.tanh(x @ y)
    return z[:, :3] * 2, ted.matrix_transpose(z) + 1, ted.sum(z @ ted.matrix_transpose(z))


def both_ways(x: Any, y: Any) -> Any:
    """Along either dim, maxima or sums are there when the loop is over."""
    z = x @ ted.matrix_transpose(y)
    return ted.sum(ted.logsumexp(z, axis=1)) + ted.sum(ted.logsumexp(z, axis=0) ** 2)


def balanced(x: Any, y: Any) -> Any:
    """Sinkhorn's steps: rows and columns are scaled in turn."""
    plan = ted.exp(x @ ted.matrix_transpose(y))
    columns = 1 / ted.sum(plan, axis=0)
    for _ in range(2):
        rows = 1 / (plan @ columns)
        columns = 1 / (rows @ plan)
    return ted.sum(plan * plan * rows[:, None] * columns[None, :])


def standard(x: Any, y: Any) -> Any:
    """Centred and scaled by all elements, then twice more."""
    z = x @ y
    for _ in range(2):
        z = ted.tanh(2 * z - ted.mean(z)) / (1 + ted.sum(z**2))
    return z @ ted.matrix_transpose(y)


def running_sums(x: Any, y: Any) -> Any:
    """Each row has a recurrence of its own, read backwards by another one."""
    z = ted.cumulative_sum(ted.tanh(x @ y), axis=1)
    return ted.sum(ted.cumulative_sum(z[:, ::-1], axis=1) * z, axis=1)


def steps_of_rows(x: Any, y: Any) -> Any:
    """Two carries, of which a step exchanges parts; all of their rows are read, too."""

    def step(carry: Any, column: Any) -> Any:
        a, b = carry
        return (ted.tanh(b + column), a * 0.5 + 1), a * column

    start = ted.zeros((12,), "float64"), ted.ones((12,), "float64")
    (a, _), rows = ted.scan(step, start, ted.matrix_transpose(x @ y))
    return a, ted.sum(rows**2, axis=1), ted.max(rows, axis=0)


def in_order(x: Any, y: Any) -> Any:
    """Networks, and rows that insert: recurrences of each row, some of which read at data."""
    z = x @ y
    first, places = ted.topk(z, 2)
    return first, ted.sort(z, axis=1)[:, 3], ted.take_along_axis(ted.sin(z), places, axis=1)


def flat_rows(x: Any, y: Any) -> Any:
    """Each row writes elements of its own of what has no rows."""
    z = ted.exp(x @ y)
    k = ted.reduce_axis(9)
    return ted.compute((24,), lambda a: ted.sum(z[a // 2, k] * (a % 2 + k), k)) * 2


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    return [RNG.normal(size=shape) for shape in shapes]


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "attention": (attention, arrays((12, 4), (10, 4), (10, 5))),
    "cross_entropy": (
        lambda x, w: cross_entropy(x, w, ted.asarray(np.arange(12) % 7)), arrays((12, 4), (4, 9))
    ),
    "distances": (distances, arrays((12, 3), (9, 3))),
    "columns": (columns, arrays((12, 3), (3, 8))),
    "diagonal": (diagonal, arrays((12, 3), (12, 3))),
    "extremes": (extremes, arrays((12, 3), (3, 8))),
    "from_a_start": (from_a_start, arrays((12, 9), (6,))),
    "tied": (tied, arrays((12, 4), (4, 9))),
    "kept_rows": (kept_rows, arrays((12, 3), (3, 8))),
    "both_ways": (both_ways, arrays((12, 3), (9, 3))),
    "balanced": (balanced, arrays((12, 3), (9, 3))),
    "standard": (standard, arrays((12, 3), (3, 9))),
    "in_order": (in_order, arrays((12, 3), (3, 9))),
    "flat_rows": (flat_rows, arrays((12, 3), (3, 9))),
    "running_sums": (running_sums, arrays((12, 3), (3, 9))),
    "steps_of_rows": (steps_of_rows, arrays((12, 3), (3, 9))),
}  # fmt: skip


def total(function: Callable[..., Any], *given: Any) -> Any:
    """A number that depends on every element in another way."""
    results = ted.tree.leaves(function(*given))
    return sum(
        ted.sum(r * ted.cos(ted.reshape(ted.arange(r.size, dtype="float64"), r.shape)))
        for r in results
    )


def derivatives(function: Callable[..., Any], order: int, count: int) -> Callable[..., Any]:
    f = partial(total, function)
    everything = tuple(range(count))
    for _ in range(order):
        slopes = ted.grad(f, argnums=everything)
        f = partial(total, slopes)
    return f


@pytest.mark.fast(3)
@pytest.mark.parametrize("has_rest", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes_are_those_of_stored_tensors(
    name: str, has_rest: bool, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    function, given = CASES[name]
    if has_rest:
        monkeypatch.setattr(block_choices, "_size", lambda extent, _: (extent - 1) // 2)
    numbers = range(len(given))

    def results(*x: Any) -> Any:
        second = derivatives(function, 1, len(given))
        return function(*x), ted.grad(partial(total, function), tuple(numbers))(*x), second(*x)

    with monkeypatch.context() as patch:
        compile_here(patch)
        patch.setattr(ted_loop_over_blocks, "choices", lambda *_, **__: [])
        stored = ted.tree.leaves(ted.function(results)(*given))
    made = request.getfixturevalue("loops")
    found = ted.tree.leaves(ted.function(lambda *x: results(*x))(*given))
    found_loops = [choice.loop for choice in made if choice.loop is not None]
    assert found_loops, [str(c) for c in made]
    assert any(loop.rest for loop in found_loops) == has_rest
    for one, other in zip(found, stored, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_attention_is_that_of_numpy(loops: list[block_choices.Choice]) -> None:
    q, k, v = CASES["attention"][1]
    e = np.exp(q @ k.T)
    np.testing.assert_allclose(
        ted.function(attention)(q, k, v), e / e.sum(1, keepdims=True) @ v, rtol=1e-13
    )
    (loop,) = (choice.loop for choice in loops if choice.loop is not None)
    assert {t.name: rows for t, rows in loop.group.rows.items()}["exp"] == 0
    assert loop.size == 3
    assert loop.steps == 4


@pytest.mark.parametrize(("rows", "size", "count"), [(2080, 32, 65), (2083, 31, 67)])
def test_a_tensor_that_outgrows_the_cache_is_never_whole(rows: int, size: int, count: int) -> None:
    """Scores of 2080 x 2080 take 16.5 MiB; a machine of this row has 256 KiB for a block.

    Of 2083 rows the last 6 are no block; those before lie in the memory of results all the same.
    """
    q, k, v = (ted.placeholder((rows, 32), "float32", name=name) for name in "qkv")
    result = attention(q, k, v)
    outputs = [result, *ted.differentiate(ted.sum(result**2), [q, k, v])]
    compiled = ted.compile([q, k, v], outputs, target="cpu:avx2")
    results = 4 * rows * 32 * 4
    assert compiled.memory().peak_bytes <= results + 5 * size * rows * 4 + (64 << 10)
    assert f"{rows}x{rows}xf32" not in compiled.ir("loops")
    said = compiled.explain().splitlines()[0]
    assert f"[{rows}, {rows}] is made in blocks of {size} rows" in said
    assert f"MiB for {count} blocks in place of" in said


def test_totals_are_added_to_where_they_are_results() -> None:
    """Neither a copy in each block, nor one at the end."""
    x, g = (ted.placeholder((4160, n), "float32", name=name) for n, name in ((1024, "x"), (8, "g")))
    total = ted.matrix_transpose(ted.exp(x) * ted.tanh(ted.exp(x))) @ g
    compiled = ted.compile([x, g], total, target="cpu:avx2")
    assert "ted.carries" in compiled.ir("ted")
    assert "memref.copy" not in compiled.ir("buffers")


def test_totals_go_on_from_strip_to_strip_of_a_size_that_calls_have(
    loops: list[block_choices.Choice],
) -> None:
    """A strip starts from the totals of the one before, in whose memory its own are."""
    del loops
    x, w = ted.placeholder((ted.size("n"), 4), "float64"), ted.placeholder((4, 9), "float64")
    f = ted.compile([x, w], ted.differentiate(tied(x, w), [x, w]))
    given = CASES["tied"][1]
    for one, other in zip(f(*given), ted.function(ted.grad(tied, (0, 1)))(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


SUM = """
func.func @f(%x: tensor<5xf64>, %init: tensor<5xf64>) -> tensor<f64> {
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %c0) ({
    ^bb0(%before: f64):
      BODY
    }) {
      extents = array<i64: 5>, iterators = ["parallel"], ted.carries,
      domain = affine_set<(d0) : (d0 - 1 >= 0)>, reads = [affine_map<(d0) -> (d0 - AGO)>],
      guards = [affine_set<(d0) : (0 == 0)>], write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    %c2 = "ted.compute"(%x, %c1) ({
    ^bb0(%now: f64):
      "ted.yield"(%now) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "add"
    } : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c2) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  %e = tensor.empty() : tensor<f64>
  %r = "ted.compute"(%c, %e) ({
  ^bb0(%last: f64):
    "ted.yield"(%last) : (f64) -> ()
  }) {
    extents = array<i64>, iterators = [], domain = affine_set<() : (0 == 0)>,
    reads = [affine_map<() -> (4)>], guards = [affine_set<() : (0 == 0)>],
    write = affine_map<() -> ()>, combiner = "set"
  } : (tensor<5xf64>, tensor<f64>) -> tensor<f64>
  func.return %r : tensor<f64>
}"""
COPY = '"ted.yield"(%before) : (f64) -> ()'
NEGATED = '%n = arith.negf %before : f64 "ted.yield"(%n) : (f64) -> ()'


def lowered(body: str, ago: str) -> str:
    with dialects.session():
        module = ir.Module.parse(SUM.replace("BODY", body).replace("AGO", ago))
        return str(run_text(module, "builtin.module(convert-ted-to-linalg)"))


def test_a_total_that_goes_on_is_the_slice_of_one_step() -> None:
    assert "tensor<1xf64>" in lowered(COPY, "1")


@pytest.mark.parametrize(("body", "ago"), [(NEGATED, "1"), (COPY, "0")])
def test_what_is_no_copy_of_the_step_before_cannot_ask_to_go_on(body: str, ago: str) -> None:
    with pytest.raises(ScheduleError, match=r"ted.carries: .* as it was in the step before, got"):
        lowered(body, ago)


def test_a_loop_is_tensors_with_a_time_and_what_others_read_of_them() -> None:
    x, g = (ted.placeholder((12, n), "float64", name=name) for n, name in ((5, "x"), (3, "g")))
    z, i = ted.exp(x), ted.reduce_axis(12)
    product = ted.compute((5, 3), lambda j, c: ted.sum(z[i, j] * g[i, c], i), name="matmul")
    system = system_of([x, g], [z * 2, product])
    (seed,) = (t for t in system.tensors() if t.name == "exp")
    group = grown(Graph(system, (), {seed}), seed, 0)
    found = in_loops(system, [BlockLoop(group, 4)])
    (loop,) = found.together
    assert {t.name: (t.shape, t.time) for t in loop} == {
        "exp": ((3, 4, 5), 0), "mul": ((3, 4, 5), 0), "matmul": ((3, 5, 3), 0)
    }  # fmt: skip
    (total,) = (t for t in loop if t.name == "matmul")
    carried, added = total.equations
    assert carried.wishes == ((CARRIES, "unit"),)
    assert (carried.extents, added.extents) == ((3, 5, 3), (3, 5, 3, 4))
    assert [str(w) for t in found.outputs for w in t.equations[0].write] == [
        "d0*4 + d1", "d2", "d0", "d1"
    ]  # fmt: skip
    assert in_loops(system, []).together == ()
