"""What a command starts may be anything: it is a code generator once it has said so."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import ted
from ted.codegen import children, requests
from ted.codegen.children import INSIDE, Child, NotStarted
from ted.codegen.llvm import child as llvm
from ted.codegen.watching import Watch

SCRIPTS = {
    "ends": ("raise ImportError('no module named ted')", "no module named ted .ended with status"),
    "prints": ("print('a text of a few words'); raise SystemExit", "ended with status 0"),
    "prints_for_ever": ("while True: print('a text of a few words')", "its replies are none"),
    "sends_another_message": (
        "import sys; sys.stdout.buffer.write(bytes(7) + b'\\2{}')", "ended with status 0"
    ),
    "sends_no_json": ("import sys; sys.stdout.buffer.write(bytes(7) + b'\\2{{')", "Expecting"),
    "waits": ("import sys; sys.stdin.read()", "no result within"),
}  # fmt: skip


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_DYING", 0.5)
    monkeypatch.setattr(children, "START_TIMEOUT", 1.0)


def python(text: str) -> Sequence[str]:
    return sys.executable, "-I", "-S", "-c", text


@pytest.mark.parametrize("case", SCRIPTS)
def test_a_process_that_is_no_code_generator_counts_as_not_started(
    case: str, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, reason = SCRIPTS[case]
    if case != "waits":
        monkeypatch.setattr(children, "START_TIMEOUT", 60.0)
    child = Child(lambda: python(text))
    with pytest.raises(NotStarted, match=f"is no code generator: .*{reason}"):
        child.request({})
    assert child.pid is None


def test_a_process_that_was_ready_is_not_asked_again() -> None:
    answers = "from ted.codegen.llvm_worker import serve; serve(lambda *_: {'made': 1}, int)"
    child = Child(lambda: (sys.executable, "-c", answers))
    for _ in range(2):
        assert child.request({}) == {"made": 1}
    child.stop()
    assert child.request({}) == {"made": 1}
    child.stop()


def test_what_is_stopped_does_not_see_the_end_of_its_input_first() -> None:
    child = Child(lambda: python("import time; time.sleep(20)"))
    child.start()
    process = child._process
    assert process is not None
    child.stop()
    assert process.returncode == -signal.SIGKILL
    assert child.pid is None


def test_where_the_interpreter_ends_no_process_can_be_started() -> None:
    def command() -> Sequence[str]:
        raise RuntimeError("can't fork at interpreter shutdown")

    with pytest.raises(NotStarted, match="can't fork"):
        Child(command).request({})


def test_a_program_is_compiled_although_no_thread_may_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    x = ted.placeholder((3,), name="x")
    assert "worker" in ted.compile([x], x * 2.5).compile_times


def test_an_interrupt_while_a_thread_starts_leaves_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One that waits for an hour would keep the interpreter from its end, or go on to warn.
    before = set(threading.enumerate())
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    child = Child(lambda: python("import sys; sys.stdin.read()"))
    with pytest.raises(KeyboardInterrupt):
        child.request({})
    with pytest.raises(KeyboardInterrupt), Watch("f", {}):
        pytest.fail("it was interrupted before")
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
    assert child.pid is None


# ------------------------------------------------------------------ the command of a worker


def folders() -> list[str]:
    command = requests._command()
    return command[command.index(requests._START) + 1 :]


@pytest.mark.parametrize("command", [requests._command, llvm.command], ids=["worker", "llvm"])
def test_a_program_that_embeds_python_is_no_interpreter(
    command: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as frozen:
        frozen.setattr(sys, "frozen", True, raising=False)
        with pytest.raises(OSError, match="a Python interpreter"):
            command()
    # Else one that runs its script whatever its arguments are would start itself for ever.
    monkeypatch.setenv(INSIDE, "1")
    with pytest.raises(OSError, match="a Python interpreter"):
        command()


def test_a_child_knows_that_it_is_one() -> None:
    answers = (
        "import os; from ted.codegen.llvm_worker import serve; "
        f"serve(lambda *_: {{'made': os.environ[{INSIDE!r}]}}, int)"
    )
    child = Child(lambda: (sys.executable, "-c", answers))
    assert child.request({}) == {"made": "1"}
    child.stop()


def test_a_worker_searches_where_this_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path, tmp_path / "path", b"bytes"])
    found = folders()
    assert found[-1] == os.getcwd()
    assert found[0] == str(tmp_path)
    assert str(tmp_path / "path") not in found  # nor does `import` search it


def test_a_process_may_have_no_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "__main__")
    assert folders()


def test_a_process_may_be_in_a_folder_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert folders()
