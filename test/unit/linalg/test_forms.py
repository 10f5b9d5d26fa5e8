"""What equations become: every form is chosen, declined, asked for, and gives the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import ted
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.ir.pass_driver import run_pipeline
from ted.linalg.strategies import LARGEST_MOST, TABLE
from ted.linalg.ted_choose_forms import decide
from ted.mlir import ir
from unit.linalg.equation_text import compute, evaluate, fill, module_text, tensor_type

NO_SUM = "it is no sum"
SUM = '"ted.yield"(%a) : (i64) -> ()'
PRODUCT = '%r = arith.muli %a, %b : i64\n"ted.yield"(%r) : (i64) -> ()'
Access = tuple[tuple[int, ...], str]


@dataclass(frozen=True)
class Program:
    """An equation of i64, and the row that it gets with the reason why not the first one."""

    reads: tuple[Access, ...]
    write: Access
    extents: tuple[int, ...]
    iterators: str
    row: str
    reason: str = ""
    boxes: int = 1
    body: str = PRODUCT
    combiner: str = "add"
    domain: str = "0 == 0"
    guards: tuple[str, ...] = ()

    def text(self, extra: str = "") -> str:
        """The equation, with an attribute."""
        kinds = [tensor_type(shape, "i64") for shape, _ in self.reads]
        names = [f"A{k}" for k in range(len(kinds))]
        out = tensor_type(self.write[0], "i64")
        inputs = [(n, t, at) for n, t, (_, at) in zip(names, kinds, self.reads, strict=True)]
        body = fill("z", self.write[0], "0", "i64") + compute(
            "y", inputs, [("z", out)], self.extents, self.iterators, self.write[1], self.body,
            self.combiner, self.domain, self.guards, extra=extra and f", ted.form = {extra}",
        )  # fmt: skip
        return module_text(list(zip(names, kinds, strict=True)), body, [("y", out)])

    def inputs(self) -> list[np.ndarray]:
        """The same ones at each call."""
        draw = np.random.default_rng(3)
        return [draw.integers(-9, 9, shape) for shape, _ in self.reads]

    def result(self, extra: str = "") -> np.ndarray:
        """What compiled code gives."""
        return evaluate(self.text(extra), self.inputs(), [np.zeros(self.write[0], np.int64)])[0]

    def expected(self) -> np.ndarray:
        """The sum, point by point; conditions and subscripts are Python's, too."""
        inputs = self.inputs()
        result = np.zeros(self.write[0], np.int64)
        guards = [*self.guards, *["0 == 0"] * (len(inputs) - len(self.guards))]
        for point in product(*map(range, self.extents)):
            known = dict(zip("ijkl", point, strict=False))
            if _holds(self.domain, known):
                reads = zip(inputs, self.reads, guards, strict=True)
                values = [a[_at(at, known)] if _holds(g, known) else 0 for a, (_, at), g in reads]
                value = np.prod(values) if self.body == PRODUCT else values[0]
                place = _at(self.write[1], known)
                result[place] = result[place] + value if self.combiner == "add" else value
        return result


def _holds(conditions: str, known: dict[str, int]) -> bool:
    return all(_value(c, known) for c in conditions.split(", "))


def _at(subscripts: str, known: dict[str, int]) -> tuple[int, ...]:
    return tuple(_value(e, known) for e in subscripts.split(", "))


def _value(expr: str, known: dict[str, int]) -> int:
    return eval(expr.replace("floordiv", "//").replace("mod", "%"), {}, known)


PROGRAMS = {
    "product": Program(
        (((5, 7), "i, k"), ((7, 6), "k, j")), ((5, 6), "i, j"), (5, 6, 7), "ppr", "contraction"
    ),
    "padded window": Program(
        (((9, 3), "i + k - 1, l"), ((3, 4, 3), "k, j, l")), ((9, 4), "i, j"), (9, 4, 3, 3), "pprr",
        "contraction", domain="i + k - 1 >= 0, 9 - i - k >= 0",
    ),
    "gradient of a strided window": Program(
        (((6, 2), "(i - k) floordiv 2, l"), ((3, 4, 2), "k, j, l")), ((12, 4), "i, j"),
        (12, 4, 3, 2), "pprr", "contraction", boxes=2,
        domain="(i - k) mod 2 == 0, i - k >= 0, 11 - i + k >= 0",
    ),
    "laid out anew": Program(
        (((7, 5), "6 - k, i"), ((7, 6), "k, j")), ((5, 6), "i, j"), (5, 6, 7), "ppr", "contraction"
    ),
    "rows": Program((((5, 7), "i, j"),), ((5,), "i"), (5, 7), "pr", "parts",
                    "what it sums is no product of two reads", body=SUM),
    "pointwise": Program((((5, 7), "i, j"), ((5, 7), "i, j")), ((5, 7), "i, j"), (5, 7), "pp",
                         "parts", NO_SUM, combiner="set"),
    "edges": Program((((9, 7), "i - 2, j"),), ((9, 7), "i, j"), (9, 7), "pp", "parts", NO_SUM,
                     body=SUM, combiner="set", guards=("i - 2 >= 0",)),
    "dot": Program((((5, 7), "i, j"), ((5, 7), "i, j")), ((5,), "i"), (5, 7), "pr", "parts",
                   "a factor has no dim of the result for itself"),
    "sums of each": Program((((5, 3), "i, k"), ((6, 2), "j, l")), ((5, 6), "i, j"), (5, 6, 3, 2),
                            "pprr", "parts", "the factors share no dim that is summed over"),
    "triangle": Program((((6, 7), "i, k"), ((7, 6), "k, j")), ((6, 6), "i, j"), (6, 6, 7), "ppr",
                        "parts", "a condition is about no one factor",
                        domain="i - j - k + 3 >= 0"),
    "diagonal": Program((((5, 7), "i, k"), ((7, 6), "k, j")), ((10,), "i + j"), (5, 6, 7), "ppr",
                        "parts", "it writes no slice of its result"),
    "many copies": Program(
        (((3,), "(i + k) floordiv 6"), ((7, 6), "k, j")), ((9, 6), "i, j"), (9, 6, 7), "ppr",
        "parts", "a factor laid out anew is over 4 times what it is read from",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_form_that_fits_is_taken(name: str) -> None:
    program = PROGRAMS[name]
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(program.text())
        ((op, choice),) = decide(module)
        assert op.name == "ted.compute"
    assert choice.row.name == program.row
    assert choice.declined == ((("contraction", program.reason),) if program.reason else ())
    assert getattr(choice.plan, "boxes", program.boxes) == program.boxes


WISHES = ('{name = "parts"}', '{name = "parts", most = 1}', '{name = "parts", most = 2}',
          '{name = "points"}')  # fmt: skip


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_form_gives_the_same_numbers(name: str) -> None:
    program = PROGRAMS[name]
    wishes = ["", *WISHES, *(['{name = "contraction"}'] if not program.reason else [])]
    expected = program.expected()
    assert expected.any()
    for wish in wishes:
        np.testing.assert_array_equal(program.result(wish), expected, err_msg=wish)


def lowered(program: Program, wish: str = "", *before: str) -> str:
    with make_context():
        module = ir.Module.parse(program.text(wish))
        passes = [*before, "convert-ted-to-linalg", "func.func(canonicalize,cse)"]
        run_pipeline(module, f"builtin.module({','.join(passes)})")
        return str(module)


def test_forms_differ_in_their_code() -> None:
    window, edges = PROGRAMS["padded window"], PROGRAMS["edges"]
    assert "tensor.insert_slice" in lowered(window)  # zeros around it
    assert "tensor<11x3xi64>" in lowered(window)
    assert "tensor<11x3xi64>" not in lowered(window, WISHES[0])
    assert lowered(edges).count("linalg.generic") == 2
    (points,) = (lowered(edges, w) for w in WISHES[3:])
    assert "scf.if" in points
    assert "linalg.generic" not in points
    assert lowered(edges, WISHES[1]) == points


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_written_is_what_would_be_chosen(name: str) -> None:
    program = PROGRAMS[name]
    assert lowered(program, "", "ted-choose-forms") == lowered(program)


REFUSED = [
    ("rows", '{name = "contraction"}', "contraction fits its operation, got: what it sums is no"),
    ("edges", '{name = "tiles"}', "name is one of contraction, parts, points, got tiles"),
    ("product", '{name = "contraction", boxes = 2}', "its boxes follow from the conditions"),
    ("edges", '{name = "parts", most = 0}', f"there are 1 to {LARGEST_MOST} parts, got most = 0"),
    ("edges", f'{{name = "parts", most = {LARGEST_MOST + 1}}}', f"there are 1 to {LARGEST_MOST}"),
    ("edges", '{name = "points", most = 2}', "points takes nothing, got most = 2"),
    ("edges", '"points"', 'is {name = "..."} with numbers, flags or words'),
]


@pytest.mark.parametrize(("name", "wish", "rule"), REFUSED)
@pytest.mark.parametrize("step", [(), ("ted-choose-forms",)])
def test_what_does_not_fit_is_refused(
    name: str, wish: str, rule: str, step: tuple[str, ...]
) -> None:
    with pytest.raises(ScheduleError) as caught:
        lowered(PROGRAMS[name], wish, *step)
    assert rule in str(caught.value)
    assert "ted.form" in str(caught.value)


def test_an_operation_that_is_no_equation_has_no_form() -> None:
    text = PROGRAMS["rows"].text().replace("return %y", "return {ted.form = 1} %y")
    with make_context(), pytest.raises(ScheduleError) as caught:
        run_pipeline(ir.Module.parse(text), "builtin.module(convert-ted-to-linalg)")
    assert "nothing is decided about func.return here" in str(caught.value)


def test_an_equation_without_points_has_no_form() -> None:
    program = Program((((5, 0), "i, j"),), ((5,), "i"), (5, 0), "pr", "parts", body=SUM)
    lowered(program)
    with pytest.raises(ScheduleError, match="an equation without points has no form"):
        lowered(program, WISHES[3])


def running(step: Callable[[ted.Tensor, ted.Tensor], ted.Tensor]) -> str:
    """A recurrence, as equations of a step."""
    x, h = ted.placeholder((9, 6), "float64", name="x"), ted.placeholder((6,), "float64", name="h")
    last, _ = ted.scan(lambda c, now: (step(c, now), None), h, x)
    return ted.compile([x, h], [last]).ir("ted")


def test_an_equation_of_a_step_may_ask() -> None:

    def edges(c: ted.Tensor, now: ted.Tensor) -> ted.Tensor:
        y = ted.compute((6,), lambda k: ted.where(k > 2, c[k - 3], now[k]), name="y")
        return np.tri(6) @ y

    text = running(edges)
    found = {}
    for wish in ("", WISHES[3]):
        heads = text.replace('combiner = "set",', f'combiner = "set", ted.form = {wish},')
        with make_context():
            module = ir.Module.parse(heads if wish else text)
            run_pipeline(module, "builtin.module(convert-ted-to-linalg)")
            found[wish] = str(module)
    tests = {wish: text.count("scf.if") for wish, text in found.items()}
    assert tests[WISHES[3]] > tests[""] <= 1  # what a step starts from


def test_an_equation_of_several_times_has_no_form() -> None:
    x = ted.placeholder((20, 5), "float64", name="x")
    y = ted.recurrence(
        (20, 5), lambda h, t, k: ted.where(t > k, h[t - 1 - k, k] + x[t, k], x[t, k]), "float64"
    )
    text = ted.compile([x], [y]).ir("ted")
    asked = text.replace('combiner = "set",', f'combiner = "set", ted.form = {WISHES[3]},')
    with make_context():
        run_pipeline(ir.Module.parse(text), "builtin.module(convert-ted-to-linalg)")
        with pytest.raises(ScheduleError, match="at several times of a step becomes loops, got"):
            run_pipeline(ir.Module.parse(asked), "builtin.module(convert-ted-to-linalg)")


def test_every_row_has_a_test() -> None:
    asked = {wish.split('"')[1] for wish in (*WISHES, '{name = "contraction"}')}
    assert {row.name for row in TABLE} == asked
