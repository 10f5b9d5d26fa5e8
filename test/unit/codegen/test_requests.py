"""Programs compiled in workers: what is compiled again, and what a worker's end leaves intact."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from ted.codegen import disk_cache, requests, worker
from ted.codegen.children import NotStarted, Pool
from ted.codegen.kernels import objects_of
from ted.codegen.requests import Request
from ted.codegen.watching import Doing
from ted.errors import CompileError, PassFailed, ScheduleError

HOME = requests.HOME
FUNCTION = "module {{ llvm.func @f{}() {{ llvm.return }} }}"
ROWS = np.arange(6.0, dtype=np.float32).reshape(2, 3)


class Counting:
    """Workers that count their requests."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self._pool = Pool(requests._command, most=2)
        self.prepare = self._pool.prepare

    def request(self, message: dict[str, Any], timeout: float, doing: Doing) -> dict[str, Any]:
        """Count, and ask a worker."""
        self.requests.append(message)
        return self._pool.request(message, timeout, doing)


class Answering:
    """Workers that give one answer, or raise it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.prepared = 0

    def prepare(self) -> None:
        """There is nothing to start."""
        self.prepared += 1

    def request(self, message: dict[str, Any], timeout: float, doing: Doing) -> dict[str, Any]:
        """The answer."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    found = Counting()
    monkeypatch.setattr(requests, "_workers", found)
    yield found
    for child in found._pool._idle:
        child.stop()


def message(name: object) -> dict[str, Any]:
    source = [[str(name), FUNCTION.format(name), 1]]
    return {
        "kind": "objects", "source": source, "pipeline": "builtin.module()",
        "arguments": {"libraries": []}, "ted": HOME,
    }  # fmt: skip


def asked(source: str, unnamed: str, pipeline: str, *files: str, kind: str = "cpu") -> Request:
    return Request(kind, source, unnamed, pipeline, {"libraries": files}, files)


def scaled(factor: float, name: str = "x") -> Any:
    x = ted.placeholder((2, 3), name=name)
    return ted.compile([x], x * factor)


def row(name: str = "table") -> Any:
    """A program that reports indices which are out of range."""
    table, k = ted.placeholder((2, 3), name=name), ted.placeholder((), "int64", name="k")
    return ted.compile([table, k], ted.compute((3,), lambda j: table[k[()], j], name="row"))


def test_a_program_is_compiled_once_whatever_its_tensors_are_called(workers: Counting) -> None:
    for name in ("x", "y"):
        np.testing.assert_array_equal(scaled(2.0, name)(ROWS), 2 * ROWS)
    assert [one["kind"] for one in workers.requests] == ["cpu", "objects"]
    np.testing.assert_array_equal(scaled(3.0)(ROWS), 3 * ROWS)
    assert len(workers.requests) == 4


def test_a_worker_is_started_ahead_of_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    answering = Answering(None)
    monkeypatch.setattr(requests, "_workers", answering)
    requests.start_worker()
    assert answering.prepared == 1


def test_a_program_that_reports_its_accesses_is_compiled_with_their_names(
    workers: Counting,
) -> None:
    for name in ("first", "second", "second"):
        with pytest.raises(ted.errors.ExecutionError, match=rf"tensor {name} .*got index 5"):
            row(name)(ROWS, 5)
    # The code knows numbers only.
    assert [one["kind"] for one in workers.requests] == ["cpu", "objects", "cpu"]


def test_each_part_of_the_key_makes_another_entry() -> None:
    request = asked("named", "unnamed", "pipeline")
    made = {
        requests.key_of(request),
        requests.key_of(asked("named", "changed", "pipeline")),
        requests.key_of(asked("named", "unnamed", "changed")),
        requests.key_of(asked("named", "unnamed", "pipeline", __file__)),
        requests.key_of(asked("named", '"check"', "pipeline")),
        requests.key_of(asked("other", '"check"', "pipeline")),
        requests.key_of(asked("named", "unnamed", "pipeline", kind="cuda")),
        requests.key_of(Request("cpu", "named", "unnamed", "pipeline", {"libraries": ["other"]})),
    }
    assert len(made) == 8
    assert requests.key_of(asked("changed", "unnamed", "pipeline")) in made


def test_the_toolchain_is_a_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked("named", "unnamed", "pipeline")
    before = requests.key_of(request)
    sources, *rest = requests.toolchain()
    for changed in (("other", *rest), (sources, "other", *rest[1:]), (sources, *rest[:-1], "")):
        monkeypatch.setattr(requests, "toolchain", lambda changed=changed: changed)
        assert requests.key_of(request) != before


def test_a_changed_source_of_ted_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "__init__.py").write_text("")
    source = tmp_path / "inner" / "rules.py"
    source.write_text("one")
    monkeypatch.setattr(ted.errors, "__file__", str(tmp_path / "__init__.py"))
    before = requests._sources()
    assert requests._sources() == before
    source.write_text("two")
    (tmp_path / ".#rules.py").symlink_to("user@host")  # an editor's
    assert requests._sources() != before


def test_a_damaged_entry_is_compiled_again(
    workers: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled(2.0)
    entries = [path for path, _ in disk_cache._entries()]
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-1])
        np.testing.assert_array_equal(scaled(2.0)(ROWS), 2 * ROWS)
    kinds = [one["kind"] for one in workers.requests]
    assert (len(entries), kinds[:2], sorted(kinds[2:])) == (
        3,
        ["cpu", "objects"],
        ["cpu", "objects"],
    )
    monkeypatch.setenv("TED_CACHE_DIR", "")
    np.testing.assert_array_equal(scaled(2.0)(ROWS), 2 * ROWS)
    assert len(workers.requests) == 6


def test_errors_of_passes_come_back_as_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"refused": ["ScheduleError", "tile: one, got two", ["model.py", 7, 3]]}
    monkeypatch.setattr(requests, "_workers", Answering(answer))
    with pytest.raises(ScheduleError, match=r"^tile: one, got two \(model\.py:7\)$"):
        scaled(2.0)


def test_a_worker_names_the_pass_that_refuses_a_module() -> None:
    request = asked("module {}", "", "builtin.module(no-such-pass)")
    with pytest.raises(PassFailed, match=r"no-such-pass"):
        requests.compile_cached(request)


def test_a_module_that_ends_the_worker_is_an_error_with_a_reproducer(tmp_path: Path) -> None:
    # What the engine cannot translate ends its process.
    source = "func.func @main() { %c = arith.constant 0 : index\n return }"
    request = asked(source, source, "builtin.module()")
    made = requests.compile_cached(request)
    with pytest.raises(CompileError, match=r"must not end its process, got .*ted-opt"):
        objects_of(made, lambda: request, "builtin.module()", ())
    kept = [path for path in tmp_path.rglob("*.mlir") if source.split()[0] in path.read_text()]
    assert len(kept) == 1
    np.testing.assert_array_equal(scaled(2.0)(ROWS), 2 * ROWS)


def test_without_processes_this_one_compiles_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests._warn.cache_clear()
    monkeypatch.setattr(requests, "_workers", Answering(NotStarted("not allowed")))
    with pytest.warns(RuntimeWarning, match=r"compiles in this process, .*: not allowed"):
        found = scaled(2.0)(ROWS)
    np.testing.assert_array_equal(found, 2 * ROWS)
    np.testing.assert_array_equal(scaled(3.0)(ROWS), 3 * ROWS)  # once is enough


def test_a_worker_with_another_ted_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker.answer({"ted": "elsewhere"}) == {"stranger": HOME}
    requests._warn.cache_clear()
    monkeypatch.setattr(requests, "_workers", Answering({"stranger": "elsewhere"}))
    with pytest.warns(RuntimeWarning, match=r"found ted in elsewhere, not in "):
        found = scaled(2.0)(ROWS)
    np.testing.assert_array_equal(found, 2 * ROWS)


@pytest.mark.parametrize("executable", ["", "no such interpreter"])
def test_an_interpreter_that_cannot_be_started_is_no_error(
    executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests._warn.cache_clear()
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(requests, "_workers", Pool(requests._command, most=1))
    with pytest.warns(RuntimeWarning, match=r"interpreter"):
        found = scaled(2.0)(ROWS)
    np.testing.assert_array_equal(found, 2 * ROWS)


def test_threads_have_workers_of_their_own() -> None:
    pool = Pool(requests._command, most=1)
    results: list[str] = []

    def ask(number: int) -> None:
        results.append(pool.request(message(number), 60.0)["made"][0])

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 3
    assert len(pool._idle) == 1
    pool._idle[0].stop()


def test_a_worker_with_much_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_MOST_BYTES", 0)
    request = message("f")
    assert worker.answer(request)["worn"]
    monkeypatch.setattr(worker, "_MOST_BYTES", 1 << 50)
    assert not worker.answer(request)["worn"]


def test_memory_that_was_given_back_does_not_wear(monkeypatch: pytest.MonkeyPatch) -> None:
    # What a process held at most says nothing: it begins with what its parent held.
    def worn(most: int) -> bool:
        monkeypatch.setattr(worker, "_MOST_BYTES", most)
        return worker._is_worn()

    held = np.ones(300 << 17)  # 300 MB
    most = next(n for n in range(0, 1 << 40, 50 << 20) if not worn(n))
    del held
    assert not worn(most - (150 << 20))


def test_a_worn_worker_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(requests._command, most=1)
    pool.request(message("f"), 60.0)
    (child,) = pool._idle
    monkeypatch.setattr(child, "request", lambda *_: {"worn": True})
    assert child.pid is not None
    pool.request(message("f"), 60.0)
    assert child.pid is None
    assert pool._idle == []


def test_a_worker_imports_nothing_from_the_folder_of_the_script(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the json of the user')")
    (tmp_path / "script.py").write_text(
        "import sys\n"
        "folder = sys.path.pop(0)\n"
        "import numpy as np, ted, ted.codegen.requests\n"
        "sys.path.insert(0, folder)\n"
        "x = ted.placeholder((3,), name='x')\n"
        "print(ted.compile([x], x + 1.0)(np.zeros(3, 'float32')))\n"
    )
    environment = {**os.environ, "TED_CACHE_DIR": "", "PYTHONWARNINGS": "error::RuntimeWarning"}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True,
        timeout=100, check=False, env=environment,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("[1. 1. 1.]\n", 0), done.stderr
