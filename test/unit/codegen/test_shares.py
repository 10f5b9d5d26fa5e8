"""Parts made by a process and forks of it: the same as by one, whatever becomes of the forks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ted.codegen import requests, shares, worker
from ted.codegen.children import Child, ChildFailed
from ted.codegen.shares import LEAST, made_by, split
from ted.codegen.watching import Doing, ignored
from ted.errors import ScheduleError

SOURCE = [[name, f"text of {name}", LEAST] for name in "abcd"]
MESSAGE = {"kind": "objects", "source": SOURCE}
# A fork of a process of several threads warns: what the fork does here needs none of them.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
    pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux"),
]


def names_and_processes(message: Mapping[str, Any], doing: Doing) -> list[str]:
    """The name of each part, and the process that made it."""
    for name, *_ in message["source"]:
        doing(name)
    return [f"{name} {os.getpid()}" for name, *_ in message["source"]]


def in_this_process(only: int, message: Mapping[str, Any], doing: Doing) -> list[str]:
    """The same, but no other process lives to tell."""
    if os.getpid() != only:
        os._exit(3)
    return names_and_processes(message, doing)


def refused(message: Mapping[str, Any], doing: Doing) -> list[str]:
    """The same, but no `d`."""
    if "d" in [name for name, *_ in message["source"]]:
        doing("d")
        raise ScheduleError("tile: one, got two")
    return names_and_processes(message, doing)


def test_parts_are_made_by_as_many_processes_as_asked_for_in_order() -> None:
    heard: list[str] = []
    made = [one.split() for one in made_by(2, names_and_processes, MESSAGE, heard.append)]
    assert [name for name, _ in made] == list("abcd")
    assert len({process for _, process in made}) == 2
    assert heard == ["c", "a", "forks"]
    assert len({one.split()[1] for one in made_by(9, names_and_processes, MESSAGE, ignored)}) == 4


def test_one_process_makes_what_is_too_little_to_share() -> None:
    little = {"source": [[name, "", LEAST // 3] for name in "abc"]}
    for processes, message in ((1, MESSAGE), (4, little)):
        heard: list[str] = []
        made = made_by(processes, names_and_processes, message, heard.append)
        assert {one.split()[1] for one in made} == {str(os.getpid())}
        assert heard == [name for name, *_ in message["source"]][::-1]


def test_what_a_fork_does_not_deliver_this_process_makes() -> None:
    heard: list[str] = []
    made = made_by(4, partial(in_this_process, os.getpid()), MESSAGE, heard.append)
    assert made == [f"{name} {os.getpid()}" for name in "abcd"]
    assert [step for step in heard if step != "forks"] == list("abcd")


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_part_that_is_refused_is_refused_here_after_its_name(processes: int) -> None:
    heard: list[str] = []
    with pytest.raises(ScheduleError, match="one, got two"):
        made_by(processes, refused, MESSAGE, heard.append)
    assert heard[-1] == "d"


def test_forks_end_with_the_process_that_made_them() -> None:
    program = f"""
import os, time
from ted.codegen.shares import made_by

def answer(message, doing):
    print(os.getpid(), flush=True)
    time.sleep(100)

made_by(2, answer, {MESSAGE!r}, lambda step: None)"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = [int(process.stdout.readline()) for _ in range(2)]
        process.kill()
        (fork,) = (one for one in found if one != process.pid)
        for _ in range(500):
            if not os.path.exists(f"/proc/{fork}"):
                break
            time.sleep(0.01)
        assert not os.path.exists(f"/proc/{fork}")


def test_where_no_fork_may_be_made_this_process_makes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("multiprocessing.context.ForkProcess.start", refused)
    made = made_by(4, names_and_processes, MESSAGE, ignored)
    assert made == [f"{name} {os.getpid()}" for name in "abcd"]


def test_a_fork_that_hears_nothing_ends_with_its_worker(tmp_path: Path) -> None:
    """Python's lock is held as LLVM holds it, for minutes: by a match that tries all ways."""
    path = tmp_path / "forks"
    program = f"""
import os, re
from ted.codegen.llvm_worker import serve
from ted.codegen.shares import made_by

def answer(message, doing):
    open({str(path)!r}, "a").write(f"{{os.getpid()}}\\n")
    re.match("(a*)*b", "a" * 64)

serve(lambda request, say: {{"made": made_by(2, answer, {MESSAGE!r}, say)}}, lambda: None)"""
    child = Child(lambda: [sys.executable, "-c", program.replace("\\\\n", "\\n")])
    began = time.perf_counter()
    with pytest.raises(ChildFailed, match="no result within 2 s"):
        child.request({}, timeout=2.0)
    assert time.perf_counter() - began < 60
    found = [int(line) for line in path.read_text().split()]
    assert len(found) == 2
    for _ in range(500):
        if not any(os.path.exists(f"/proc/{one}") for one in found):
            break
        time.sleep(0.01)
    assert not any(os.path.exists(f"/proc/{one}") for one in found)


def test_a_worker_and_its_forks_make_the_same_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "LEAST", 1)
    text = "llvm.func @f{}() {{ llvm.return }}"
    request = {
        "kind": "objects",
        "source": [[f"f{k}", text.format(k), 1] for k in range(3)],
        "pipeline": "builtin.module()",
        "arguments": {"libraries": []},
        "ted": requests.HOME,
    }
    heard: list[str] = []
    alone = worker.answer(request)["made"]
    assert worker.answer(request, heard.append, processes=3)["made"] == alone
    assert len(set(alone)) == 3
    assert heard == ["f0", "parsing", "machine code", "forks", "forks"]


def test_shares_weigh_about_the_same() -> None:
    assert split([5 * LEAST, 3 * LEAST, 3 * LEAST, LEAST], 2) == [[3, 0], [2, 1]]
    assert split([LEAST], 3) == [[0]]
    assert split([LEAST, LEAST // 2], 3) == [[1, 0]]
    assert split([LEAST] * 4, 3) == [[3, 0], [1], [2]]
