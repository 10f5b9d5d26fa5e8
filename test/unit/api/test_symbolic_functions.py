"""Functions of symbolic sizes: sizes from shapes, one compilation for each, errors by name."""

import numpy as np
import pytest

import ted
from ted import dialects
from ted.errors import (
    CompileError,
    DerivativeError,
    DomainError,
    ExecutionError,
    FrontendError,
    PassFailed,
    TedError,
    VerifyError,
)
from ted.ir.pass_driver import run_pipeline as run_passes
from ted.mlir import ir
from ted.testing.interpreter import interpret
from ted.transforms.ted_check_bounds import TedCheckBounds


def _scaled() -> tuple[ted.Tensor, ted.Tensor, ted.Tensor]:
    n, m = ted.size("n", min=2), ted.size("m", multiple_of=2)  # n is no batch: 2 * n + 1
    x = ted.placeholder((n, m), "float64", name="x")
    w = ted.placeholder((2 * n + 1,), "float64", name="w")
    return x, w, ted.sum(x, axis=1) * w[:n] + m


def test_sizes_follow_from_shapes_and_each_is_compiled_once() -> None:
    x, w, y = _scaled()
    f = ted.compile([x, w], y)
    assert [s.name for s in f.sizes] == ["n", "m"]
    for n, m in ((2, 4), (3, 2)):
        a, b = np.ones((n, m)), np.arange(2.0 * n + 1)
        np.testing.assert_array_equal(f(a, b), m * b[:n] + m)
    assert f.specialise(n=3, m=2) is f.specialise(m=2, n=3)
    assert f.specialise(n=3, m=2).ir("ted").count("tensor<3x2xf64>") >= 1
    assert f.peak_bytes == 3 * 8


def test_a_size_may_follow_from_an_expression_alone() -> None:
    n = ted.size("n")
    w = ted.placeholder((2 * n + 1,), name="w")
    f = ted.compile([w], ted.sum(w[:n]))
    assert f(np.ones(7, "f4")) == 3
    with pytest.raises(ExecutionError, match=r"an extent 2\*n \+ 1, got 6, which is that of no n"):
        f(np.ones(6, "f4"))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            ((2, 4), (7,)),
            r"argument w: dim 0 must have extent 2\*n \+ 1 = 5 for m = 4, n = 2, got 7",
        ),
        (((1, 4), (3,)), "size n: must be at least 2, got 1"),
        (((2, 3), (5,)), "size m: must be a multiple of 2, got 3"),
        (((2,), (5,)), r"argument x: must be an array of x\[n, m\], got shape \(2,\)"),
        (((2, 4),), "takes 2 arrays, got 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(shapes: tuple, message: str) -> None:
    x, w, y = _scaled()
    with pytest.raises(ExecutionError, match=message):
        ted.compile([x, w], y)(*map(np.ones, shapes))


def test_specialise_wants_every_size_and_no_other() -> None:
    x, w, y = _scaled()
    f = ted.compile([x, w], y)
    for sizes in ({"n": 3}, {"n": 3, "m": 2, "k": 1}):
        with pytest.raises(ExecutionError, match=r"one value for each of the sizes \['n', 'm'\]"):
            f.specialise(**sizes)


def test_the_program_of_all_sizes_is_shown_and_runs_in_the_interpreter() -> None:
    x, w, y = _scaled()
    text = ted.compile([x, w], y).ir()
    assert 'name = "n"' in text
    (found,) = interpret(text, [np.ones((3, 2)), np.arange(7.0)])
    np.testing.assert_array_equal(found, 2 * np.arange(3.0) + 2)
    with pytest.raises(CompileError, match=r"take that of .specialise\(n=..., m=...\)"):
        ted.compile([x, w], y).ir("linalg")


def test_lowering_asks_for_numbers_first() -> None:
    from ted.cpu.pipeline import CPU_STAGES
    from ted.ir.pipelines import run_stages

    x, w, y = _scaled()
    text = ted.compile([x, w], y).ir()
    with dialects.session(), pytest.raises((CompileError, PassFailed), match="specialise-sizes"):
        run_stages(ir.Module.parse(text), CPU_STAGES)


def test_reports_count_for_given_sizes() -> None:
    n = ted.size("n")
    a, b = (ted.placeholder((n, n), "float64", name=name) for name in "ab")
    c = a @ b
    found = ted.differentiate(c, [a, b], head=ted.placeholder((n, n), "float64", name="dc"))
    assert found.report(n=8).ratio == pytest.approx(2.0)
    assert found.report(n=3).primal == 2 * 27
    with pytest.raises(DerivativeError, match=r"one value for each of the sizes \['n'\]"):
        found.report()


def test_donated_arrays_of_symbolic_sizes_are_taken_over() -> None:
    n = ted.size("n")
    x = ted.placeholder((n,), "float64", name="x")
    f = ted.compile([x], [x + 1], donate=[x])
    array = np.arange(4.0)
    (out,) = f(array)
    assert out is array
    np.testing.assert_array_equal(array, [1, 2, 3, 4])


def test_a_window_that_may_not_fit_names_the_missing_promise() -> None:
    x = ted.placeholder((1, ted.size("n"), 8, 2))
    w = ted.placeholder((3, 3, 2, 4))
    with pytest.raises(DomainError, match=r"promise more by ted.size\(..., min=\)"):
        ted.nn.conv2d(x, w)


def test_a_read_that_leaves_a_symbolic_extent_is_found_with_a_size() -> None:
    n = ted.size("n", min=2)
    x = ted.placeholder((n,), "float64", name="x")
    message = r"index i \+ 1, tensor x has extent n in dim 0, first at i=1 for n = 2; .*min="
    with pytest.raises(FrontendError, match=message):
        ted.compute((n,), lambda i: x[i + 1] + x[i], name="y")
    text = ted.compile([x], ted.compute((n,), lambda i: x[n - 1 - i] + x[i])).ir()
    beyond = text.replace("-d0 + s0 - 1", "d0 + 1")
    message = r"index d0 \+ 1.* extent n in dim 0, first at d0=1 for n = 2"
    with dialects.session(), pytest.raises(VerifyError, match=message):
        TedCheckBounds().run(ir.Module.parse(beyond))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2.5, "size n: must be an integer, got 2.5"), ("a", "must be an integer, got 'a'"),
        (True, "must be an integer, got True"), (2**70, r"size n: must be below 2\*\*63"),
        (2**40, r"an extent must be below 2\*\*63, got n\*n = \d+ for n = 1099511627776"),
    ],
)  # fmt: skip
def test_specialise_refuses_what_is_no_size(value: object, message: str) -> None:
    n = ted.size("n")
    x = ted.placeholder((n, 1), "float64", name="x")
    f = ted.compile([x], ted.sum(ted.tile(x, (n, 1))) * n)
    with pytest.raises((ExecutionError, DomainError), match=message):
        f.specialise(n=value)
    assert f.specialise(n=np.int64(3))(np.ones((3, 1))) == 27


@pytest.mark.parametrize("least", [1, 3])  # of one name, but another size
def test_the_size_at_which_a_read_leaves_is_that_of_the_user(least: int) -> None:
    n = ted.size("n", min=least, multiple_of=4)
    x = ted.placeholder((n,), "float64", name="x")
    with pytest.raises(FrontendError, match="first at i=3 for n = 4"):
        ted.compute((n,), lambda i: x[i + 1])
    text = ted.compile([x], ted.compute((n,), lambda i: x[n - 1 - i])).ir()
    beyond = text.replace("-d0 + (s0 floordiv 4) * 4 - 1", "d0 + 1")
    with dialects.session(), pytest.raises(VerifyError, match="first at d0=3 for n = 4"):
        TedCheckBounds().run(ir.Module.parse(beyond))


def test_a_size_that_no_shape_says_is_asked_for() -> None:
    n, m = ted.size("n"), ted.size("m")
    x = ted.placeholder((n * m,), "float64", name="x")
    f = ted.compile([x], ted.sum(x))
    with pytest.raises(ExecutionError, match=r"name all sizes by .specialise\(m=..., n=...\)"):
        f(np.ones(6))
    assert f.specialise(n=2, m=3)(np.ones(6)) == 6
    with pytest.raises(AttributeError, match=r"no 'save'; look for it on what .specialise gives"):
        f.save  # noqa: B018


def test_forward_and_backward_take_arrays_of_every_size() -> None:
    n, m = ted.size("n"), ted.size("m")
    x, w = ted.placeholder((n, m), "float64", name="x"), ted.placeholder((m,), "float64", name="w")
    pair = ted.forward_backward(ted.tanh(x @ w), [x, w])
    for rows in (1, 3):
        a, b, seed = np.full((rows, 2), 0.3), np.array([0.5, -1.0]), np.ones(rows)
        (y,), saved = pair.forward(a, b)
        np.testing.assert_allclose(y, np.tanh(a @ b))
        da, db = pair.backward(saved, seed)
        np.testing.assert_allclose(da, np.outer(1 - y**2, b))
        np.testing.assert_allclose(db, a.T @ (1 - y**2))


def test_a_report_of_unknown_sizes_is_refused() -> None:
    n = ted.size("n")
    x = ted.placeholder((n,), "float64", name="x")
    text = ted.compile([x], x[0] * 2).ir()
    with dialects.session(), pytest.raises(TedError, match="specialise"):
        run_passes(ir.Module.parse(text), "ted-report-gradient")
