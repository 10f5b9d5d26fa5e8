"""The benchmark against peers: its numbers, its tables, how it goes on, and one tiny run of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import peers
import pytest
from comparison import catalogue, figures, kits, machine, memory, modes, runs, tables
from comparison.arguments import as_list
from comparison.once import Contender, rounds
from comparison.workload import Input, Workload, both, normal
from comparison.workloads import odd

ADD = Workload("add", lambda k, x, y: x + y, (normal(3, 4), normal(3, 4)), "rows", table=True)


def row(ours: list[float], torch: list[float], jax: list[float] | None = None, **more: Any) -> Any:
    """A row with these times of one call, in seconds."""
    peers = {"ted": ours, "torch": torch, **({"jax": jax} if jax else {})}
    timed = {who: {"cpus": t, "walls": [10 * x for x in t]} for who, t in peers.items()}
    return {**runs.described(ADD), "threads": 1, "bytes": 1 << 20, "peers": timed, **more}


# ------------------------------------------------------------------ numbers


def test_the_lower_quartile_is_one_of_the_values() -> None:
    assert figures.lower_quartile([5, 1, 4, 2, 3]) == 2
    assert figures.lower_quartile([7]) == 7


def test_the_geometric_mean_of_a_ratio_and_its_inverse_is_one() -> None:
    assert figures.geometric_mean([4.0, 0.25]) == pytest.approx(1.0)
    assert np.isnan(figures.geometric_mean([]))


def test_the_ratio_is_taken_within_rounds_to_the_peer_that_is_fastest_overall() -> None:
    found = figures.entry(row([2.0, 4.0, 6.0], [1.0, 4.0, 2.0], [9.0, 9.0, 0.1]))
    assert found is not None
    assert (found.best, list(found.ratios), found.ratio) == ("torch", [2.0, 1.0, 3.0], 2.0)


def test_one_thread_is_timed_by_the_cpu_and_two_by_the_wall_clock() -> None:
    assert figures.times_of(row([1.0], [2.0]))["ted"] == [1.0]
    assert figures.times_of(row([1.0], [2.0], threads=2))["ted"] == [10.0]


def test_a_miss_has_its_lower_quartile_above_the_bound_in_enough_rounds() -> None:
    def missed(ratios: list[float], **more: Any) -> bool:
        found = figures.entry(row(ratios, [1.0] * len(ratios), **more))
        return found is not None and found.missed

    assert missed([1.2, 1.2, 1.2, 1.0, 1.2])
    assert not missed([1.2, 1.0, 1.2, 1.0, 1.2])
    assert not missed([1.2] * 4)
    assert not missed([1.2] * 5, table=False, group="odd")
    assert missed([1.6] * 5, table=False, group="odd")
    assert not missed([1.15] * 5, table=False, group="half")


def test_rows_count_for_gradients_or_for_what_bounds_them() -> None:
    forward, gradient = both(ADD)
    heavy = replace(ADD, bound="compute")
    assert [w.family for w in (forward, gradient, heavy)] == [
        "memory forward", "gradients", "compute forward",
    ]  # fmt: skip
    rows = [row([1.0], [2.0]), row([8.0], [1.0]), row([1.0], [2.0], family="gradients")]
    means = figures.means(figures.entries(rows, 1))
    assert means["memory forward"] == (pytest.approx(2.0), 2)
    assert means["gradients"] == (pytest.approx(0.5), 1)
    assert means["compute forward"][1] == 0


def test_a_share_is_of_the_peak_or_of_a_copy_of_about_as_many_bytes() -> None:
    peaks = {"1": {"flops": {"float32": 100.0}, "copy": {str(1 << 20): 4.0e6, str(1 << 28): 1.0}}}
    moved = figures.entry(row([1.0], [0.5]))
    heavy = figures.entry(row([1.0], [0.5], bound="compute", flops=25.0))
    assert moved is not None
    assert heavy is not None
    assert figures.share(moved, "ted", peaks) == pytest.approx((1 << 20) / 4e6)
    assert figures.share(heavy, "torch", peaks) == pytest.approx(0.5)


def test_a_gain_is_that_of_the_threads_beside_a_plain_loops() -> None:
    one = row([1.0, 1.0], [1.0, 1.0], threads=2)
    for who, time in (("ted on one", 1.5), ("plain on one", 4.0), ("plain", 2.0)):
        one["peers"][who] = {"walls": [10 * time] * 2, "cpus": []}
    assert figures.gains([one]) == [figures.Gain("add forward", 1.5, 2.0)]
    assert figures.gains([row([1.0], [1.0])]) == []


def test_small_work_is_that_of_20_us_and_less() -> None:
    found = figures.entries([row([3e-5], [1e-5]), row([3e-5], [3e-5])], 1)
    assert [e.ratio for e in figures.small(found)] == [pytest.approx(3.0)]


# ------------------------------------------------------------------ tables


def run_of(*rows: Any) -> dict[str, Any]:
    """A run with these rows."""
    peak = {"flops": {"float32": 1e9, "float64": 1e9}, "copy": {"1048576": 1e9}}
    return {"environment": "a machine", "peaks": {"1": peak}, "rows": list(rows)}


def test_the_report_names_misses_faults_and_wrong_results() -> None:
    wrong = row([1.0], [1.0], label="one")
    wrong["peers"]["jax"] = {"wrong": "result 0 is off by 1"}
    lost = {**row([1.0], [1.0], label="two"), "error": "compile jax: more than 150 s"}
    text = "\n".join(tables.summary(run_of(row([2.0] * 5, [1.0] * 5), wrong, lost)))
    assert "1 of 1 table entries above 1.1; 1 of fewer than 5 rounds are not judged" in text
    assert "0 of 0 odd entries above 1.5\n" in text
    assert "| add forward | 2.00 | 1e+03 ms | torch |" in text
    assert "one, 1 threads: jax is WRONG: result 0 is off by 1" in text
    assert "two, 1 threads: compile jax: more than 150 s" in text


def test_a_row_that_failed_is_a_line_with_its_error() -> None:
    assert "ERROR imports: killed" in tables.line({**row([1.0], [1.0]), "error": "imports: killed"})
    assert tables.line(row([2e-3], [1e-3])).endswith("ted / torch 2.00 [2.00]")


def test_the_section_takes_the_place_of_the_one_before() -> None:
    old = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter"
    new = tables.written(old, tables.section(run_of(row([2.0], [1.0]))))
    assert new.startswith(f"before\n{tables.BEGIN}")
    assert new.endswith(f"{tables.END}\nafter")
    assert "| add forward | 2e+03 ms | 1e+03 ms | torch | 2.00 (2.00) |" in new
    assert "old" not in new
    assert tables.written("without one\n", "new") == "without one\n\nnew\n"


# ------------------------------------------------------------------ going on


def test_a_run_goes_on_with_the_rows_that_are_missing_or_failed(tmp_path, monkeypatch) -> None:
    asked = runs.Asked(["ted"])
    path, made = tmp_path / "run.json", []

    def measured(workload: Workload, threads: int, _: Any) -> Any:
        made.append((workload.label, threads))
        failed = {"error": "no"} if (workload.mode, threads) == ("vjp", 2) else {}
        return {**row([1.0], [1.0], label=workload.label, threads=threads), **failed}

    monkeypatch.setattr(runs, "row_of", measured)

    def whole_run(again: bool = False) -> None:
        results = runs.Results(path, {"environment": "it", "peaks": {"1": {}}}, resume=True)
        assert len(list(runs.run(list(both(ADD)), (1, 2), asked, results, again))) == len(made)

    whole_run()
    assert made == [(f"add {mode}", n) for mode in ("forward", "vjp") for n in (1, 2)]
    made.clear()
    whole_run()
    assert made == [("add vjp", 2)]
    made.clear()
    whole_run(again=True)
    assert len(made) == 4
    assert len(json.loads(path.read_text())["rows"]) == 4


def test_a_peer_that_ends_its_process_is_left_out_of_the_next_one(monkeypatch) -> None:
    requests = []

    class Process:
        def __init__(self, request: dict[str, Any], _: Any) -> None:
            requests.append(request["peers"])

        def row(self) -> dict[str, Any]:
            if "jax" in requests[-1]:
                return {"error": "compile jax: more than 150 s", "peer": "jax"}
            return {"bytes": 1, "peers": {"ted": {}}}

    monkeypatch.setattr(runs, "Process", Process)
    found = runs.row_of(ADD, 1, runs.Asked(["ted", "jax"]))
    assert requests == [["ted", "jax"], ["ted"]]
    assert found["peers"] == {"ted": {}, "jax": {"error": "compile jax: more than 150 s"}}
    assert "error" not in found


def test_a_phase_that_takes_too_long_ends_the_process() -> None:
    limits = dict.fromkeys(runs.LIMITS, 0.01)
    found = runs.row_of(ADD, 1, runs.Asked(["ted"], limits=limits))
    assert found["error"] == "imports: more than 0.01 s"


def test_a_phase_has_its_own_limit_or_that_of_its_kind() -> None:
    assert runs.phase_limit("compile inductor", {"compile": 1.0, "compile inductor": 2.0}) == 2.0
    assert runs.phase_limit("compile jax", {"compile": 1.0, "compile inductor": 2.0}) == 1.0


def test_the_last_words_of_a_process_are_its_fault_and_its_place() -> None:
    errors = ["warning\n", "Fatal Python error: Segmentation fault\n", "Current thread:\n",
              '  File "a.py", line 1 in f\n', "Extension modules: many\n"]  # fmt: skip
    assert runs.last_words(errors) == (
        'Fatal Python error: Segmentation fault File "a.py", line 1 in f'
    )
    assert runs.last_words(["one\n", "ValueError: two\n", "\n"]) == "ValueError: two"
    assert runs.last_words([]) == ""


@pytest.mark.parametrize(
    ("seconds", "once", "turns"),
    [
        (60.0, [0.1, 0.1], [9, 9]), (1.0, [0.1, 0.1], [5, 5]), (1.5, [0.1, 0.1], [7, 7]),
        (60.0, [0.001, 0.25], [9, 2]), (60.0, [0.001, 0.1], [9, 9]), (60.0, [0.3, 1.0], [9, 9]),
    ],
)  # fmt: skip
def test_rounds_are_fewer_where_they_take_long_or_for_who_is_far_behind(
    seconds: float, once: list[float], turns: list[int]
) -> None:
    class Fake(Contender):
        def warm(self) -> float:
            return self.call()  # type: ignore[return-value]

        def turn(self) -> None:
            self.walls.append(0.0)

    contenders = [Fake(lambda s=s: s) for s in once]
    rounds(contenders, 9, seconds)
    assert [len(one.walls) for one in contenders] == turns


@pytest.mark.parametrize("seconds", [[3e-4, 1e-6], [1e-5, 1e-6, 1e-7], [0.3], [3e-3, 3e-3]])
def test_a_reading_is_long_enough_for_calls_that_are_warm(seconds: list[float]) -> None:
    class Fake(Contender):
        def read(self, count: int) -> tuple[float, float]:
            took = left.pop(0) if len(left) > 1 else left[0]
            return (took + waiting.pop() if waiting else took), took

    left, waiting = list(seconds), [8e-3]  # another process has the core at first
    one = Fake(lambda: None)
    assert one.warm() == seconds[-1]
    assert 2e-3 <= one.repeats * seconds[-1] <= max(4e-3, seconds[-1])


# ------------------------------------------------------------------ workloads


def test_every_label_is_there_once_and_the_table_has_31_workloads() -> None:
    rows = list(catalogue.workloads(seed=3))
    labels = [w.label for w in rows]
    assert len(set(labels)) == len(labels)
    assert len({w.name for w in rows if w.table}) == 31
    assert all(w.flops > 0 for w in rows if w.bound == "compute")


@pytest.mark.parametrize("flags", [["--group", "none"], ["--only", "no such label"]])
def test_what_names_no_workload_is_refused(flags: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"groups are table, .*stencils"):
        peers.chosen(peers.parser().parse_args(flags))


def test_the_table_is_a_group() -> None:
    found = peers.chosen(peers.parser().parse_args(["--group", "table"]))
    assert found
    assert all(w.table for w in found)


def test_a_seed_draws_the_same_odd_cases_and_another_one_others() -> None:
    def labels(seed: int) -> list[str]:
        return [w.label for w in odd.drawn(seed, 24)]

    assert labels(1) == labels(1)
    shapes = [{x.partition(" #")[0] for x in labels(seed)} for seed in (1, 2)]
    assert len(shapes[0] & shapes[1]) < 6
    assert catalogue.found(labels(1)[5], 1).label == labels(1)[5]
    with pytest.raises(KeyError, match="no workload is called 'nothing'"):
        catalogue.found("nothing")


def test_inputs_are_the_same_in_every_process_and_of_the_types_that_are_asked() -> None:
    made = replace(ADD, inputs=(normal(5), Input((4,), "sorted", 0, 9, dtype="int32")))
    half = replace(made, dtype="bfloat16")
    floats, places = half.arrays()
    assert (floats.dtype, places.dtype) == (ml_dtypes.bfloat16, np.int32)
    assert list(places) == sorted(places)
    np.testing.assert_array_equal(made.arrays()[0], made.arrays()[0])
    assert half.differentiated == (0,)


def test_a_result_that_is_off_is_wrong() -> None:
    right = [np.array([1.0, 2.0])]
    assert modes.difference([np.array([1.0, 2.0], "f4")], right, 1e-6) == ""
    assert "off by 0.5" in modes.difference([np.array([1.0, 2.5])], right, 1e-1)
    assert "off by nan" in modes.difference([np.array([1.0, np.nan])], right, 1e-1)
    assert "has shape (1,)" in modes.difference([np.array([1.0])], right, 1.0)
    assert "0 results" in modes.difference([], right, 1.0)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("mode", ["vjp", "grad", "jvp", "hvp"])
def test_peers_are_asked_for_the_same_derivative(mode: str) -> None:
    scalar = mode in ("grad", "hvp")
    program = lambda k, x, y: k.sum(x * x * y) if scalar else x * x * y  # noqa: E731
    made = replace(ADD, program=program, mode=mode, dtype="float64")
    arrays = made.arrays()
    (x, y), rng = arrays, np.random.default_rng(1)
    head = rng.standard_normal(x.shape)
    extra = {"vjp": [head], "jvp": [head, y], "hvp": [head, y], "grad": []}[mode]
    wanted = {
        "vjp": [2 * x * y * head, x * x * head], "grad": [2 * x * y, x * x],
        "jvp": [2 * x * y * head + x * x * y],
        "hvp": [2 * y * head + 2 * x * y, 2 * x * head],
    }[mode]  # fmt: skip
    for peer in ("ted", "torch"):
        kit = kits.KITS[peer]()
        call = modes.call_of(kit, made, peer)
        found = as_list(call(*[kit.array(a) for a in (*arrays, *extra)]))
        assert modes.difference([kit.numpy(f) for f in found], wanted, 1e-12) == "", peer


def test_a_tiny_run_compares_checks_and_times(tmp_path) -> None:
    labels = ("tanh 4096 float32 forward", "softmax 7x13 forward")
    asked = runs.Asked(["ted", "numpy"], rounds=3, seconds=0.2, oracles=["numpy"])
    results = runs.Results(tmp_path / "run.json", {"environment": "", "peaks": {}}, resume=False)
    found = list(runs.run([catalogue.found(x) for x in labels], [1], asked, results))
    for one in found:
        assert "error" not in one
        assert set(one["peers"]) == {"ted", "numpy"}
        assert one["peers"]["ted"]["wrong"] == ""
        assert len(one["peers"]["ted"]["cpus"]) == 3
        assert figures.entry(one) is not None


@pytest.mark.slow
def test_a_tiny_run_on_two_threads_tells_the_gain() -> None:
    asked = runs.Asked(["ted"], rounds=3, seconds=0.2, oracles=["numpy"])
    found = runs.row_of(catalogue.found("softmax 1000x1021 forward"), 2, asked)
    assert set(found["peers"]) == {"ted", "ted on one", "plain on one", "plain"}
    assert found["peers"]["ted"]["wrong"] == ""
    assert [g.label for g in figures.gains([found])] == ["softmax 1000x1021 forward"]


def test_the_plain_loops_compute_and_copy() -> None:
    to, start = np.zeros(99, "i1"), np.arange(99, dtype="i1")
    machine.loops().copy(to.ctypes.data, start.ctypes.data, 99)
    np.testing.assert_array_equal(to, start)
    # Each chain goes towards factor / (1 - factor).
    assert machine.loops().multiply_add_f64(20_000) == pytest.approx(16 * 0.999 / 0.001)
    assert machine.loops().multiply_add_f32(20_000) == pytest.approx(16 * 999, rel=1e-2)
    assert np.float32(1e-40) * np.float32(0.5) > 0  # loading them changed no mode of this thread


def test_a_peak_is_that_of_a_whole_process() -> None:
    assert 20 < memory.peak(memory.NOTHING, "ted") < 2000
    assert np.isnan(memory.peak("nothing", "ted"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('File "/a/b-c/site.d/api.py", line 7', 'File "api.py", line 7'),
        ("result 1 is off by 2.9 of 1/2, in 3 m/s", "result 1 is off by 2.9 of 1/2, in 3 m/s"),
        ("no such file: /a", "no such file: /a"),
    ],
)
def test_what_was_not_timed_names_no_folder(text: str, shown: str) -> None:
    assert tables.without_folders(text) == shown
