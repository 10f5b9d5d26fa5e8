"""The code generator's process: it may be refused, die, hang or be forked; the parent goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from ted.codegen.children import Child, ChildFailed
from ted.codegen.llvm.child import child, command
from ted.codegen.llvm.request import Request

EMPTY = "define ptx_kernel void @k() { ret void }"
UNSELECTABLE = """declare float @llvm.tanh.f32(float)
define ptx_kernel void @k(ptr %p) {
  %x = load float, ptr %p
  %y = call float @llvm.tanh.f32(float %x)
  store float %y, ptr %p
  ret void
}"""


def message(text: str) -> dict[str, object]:
    return asdict(Request((text,), "nvptx64-nvidia-cuda", "sm_80", keep=("k",)))


@pytest.fixture
def generator() -> Iterator[Child]:
    one = Child(command)
    one.request(message(EMPTY))
    yield one
    one.stop()


def works(generator: Child) -> bool:
    return ".entry k(" in generator.request(message(EMPTY))["assembly"]


def pid_of(generator: Child) -> int:
    assert generator.pid is not None
    return generator.pid


def test_one_process_serves_many_requests(generator: Child) -> None:
    first = generator.pid
    assert works(generator)
    assert generator.pid == first


def test_a_process_can_be_started_ahead() -> None:
    one = Child(command)
    one.start()
    ahead = pid_of(one)
    one.start()
    assert works(one)
    assert one.pid == ahead
    one.stop()


def test_a_process_that_cannot_be_started_is_the_next_request_s_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "no such interpreter")
    one = Child(command)
    one.start()
    with pytest.raises(ChildFailed, match=r"no running code generator: .*no such interpreter"):
        one.request(message(EMPTY))


def test_text_that_llvm_refuses_leaves_the_process_running(generator: Child) -> None:
    first = generator.pid
    with pytest.raises(ChildFailed, match="expected instruction opcode"):
        generator.request(message(EMPTY.replace("ret", "rex")))
    assert generator.pid == first
    assert works(generator)


def test_an_abort_of_llvm_is_reported_with_its_words(generator: Child) -> None:
    first = generator.pid
    with pytest.raises(ChildFailed, match=r"Cannot select: .*ftanh.* In function: k \(ended by"):
        generator.request(message(UNSELECTABLE))
    assert works(generator)
    assert generator.pid != first


def test_messages_of_an_earlier_request_are_not_repeated(generator: Child) -> None:
    generator.request(message(EMPTY) | {"chip": "sm_13"})  # LLVM warns, and goes on
    with pytest.raises(ChildFailed) as caught:
        generator.request(message(UNSELECTABLE))
    assert "sm_13" not in str(caught.value)


def test_a_process_that_was_killed_while_idle_is_replaced(generator: Child) -> None:
    pid = pid_of(generator)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert works(generator)


def test_a_process_that_is_killed_at_work_is_reported_and_replaced(generator: Child) -> None:
    stopped = pid_of(generator)
    os.kill(stopped, signal.SIGSTOP)
    killer = threading.Timer(0.1, os.kill, (stopped, signal.SIGKILL))
    killer.start()
    with pytest.raises(ChildFailed, match="ended by signal 9"):
        generator.request(message(EMPTY))
    killer.join()
    assert works(generator)


def test_a_process_that_hangs_is_ended_after_the_timeout(generator: Child) -> None:
    os.kill(pid_of(generator), signal.SIGSTOP)
    with pytest.raises(ChildFailed, match=r"no result within 0\.1 s"):
        generator.request(message(EMPTY), timeout=0.1)
    assert works(generator)


def test_a_request_larger_than_a_pipe_gets_through(generator: Child) -> None:
    padding = "; no code\n" * 200_000
    assert ".entry k(" in generator.request(message(padding + EMPTY))["assembly"]


def test_an_interrupt_does_not_leave_a_late_reply(
    generator: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ted.codegen.llvm_worker.read_message", interrupted)
        with pytest.raises(KeyboardInterrupt):
            generator.request(message(EMPTY.replace("@k", "@other")))
    assert works(generator)


def interrupted(stream: object) -> None:
    raise KeyboardInterrupt


def test_threads_get_their_own_replies(generator: Child) -> None:
    wrong: list[str] = []

    def ask(name: str) -> None:
        for _ in range(10):
            request = message(EMPTY.replace("@k", f"@{name}")) | {"keep": [name]}
            if f".entry {name}(" not in generator.request(request)["assembly"]:
                wrong.append(name)

    threads = [threading.Thread(target=ask, args=(f"k{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_options_hold_for_the_process_that_has_them() -> None:
    assert child(("-nvptx-prec-sqrtf32=0",)) is child(("-nvptx-prec-sqrtf32=0",))
    assert child(("-nvptx-prec-sqrtf32=0",)) is not child()


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


PROGRAM = f"""
import os, sys
from ted.codegen.llvm.child import child
from ted.codegen.llvm.request import Request
from dataclasses import asdict
request = asdict(Request(({EMPTY!r},), "nvptx64-nvidia-cuda", "sm_80", keep=("k",)))
def works():
    return ".entry k(" in child().request(request)["assembly"]
assert works()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_process_ends_with_a_parent_that_is_killed() -> None:
    program = PROGRAM + "print(child().pid, flush=True); sys.stdin.read()"
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    deadline = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(pid)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_gets_a_child_of_its_own() -> None:
    program = (
        PROGRAM
        + """
before = child().pid
forked = os.fork()
if forked == 0:
    assert child().pid is None and works() and child().pid != before
    sys.exit(0)
assert os.waitpid(forked, 0)[1] == 0
assert works() and child().pid == before
"""
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
