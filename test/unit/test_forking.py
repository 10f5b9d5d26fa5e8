"""A process forked while another thread works: the child compiles and calls, whatever is held."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ted.forking import cached_property

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

TESTS = str(Path(__file__).resolve().parents[1])
# A thread stops inside of what `at` names; then children of a fork compile and call.
STOPPED = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")  # of Python: a fork with threads, which is what this is about
import numpy as np
import ted
import {module} as module

x = ted.placeholder((4,), "float64", name="x")
before = ted.compile([x], x + 1.0)
inside, never, real = threading.Event(), threading.Event(), module.{name}

def stop(*arguments, **named):
    if threading.current_thread() is not threading.main_thread():
        inside.set()
        never.wait()
    return real(*arguments, **named)

module.{name} = stop
threading.Thread(target=lambda: ted.compile([x], {held}){use}, daemon=True).start()
inside.wait()
child = os.fork()
if child == 0:
    after = ted.compile([x], ted.exp(x) * 3.0)
    y = np.arange(4.0)
    np.testing.assert_array_equal(before(y), y + 1.0)
    np.testing.assert_allclose(after(y), 3.0 * np.exp(y))
    assert "linalg" in after.ir("linalg") and ted.grad(lambda v: ted.sum(v * v))(y)[1] == 2.0
    os._exit(0)
status = os.waitpid(child, 0)[1]
os._exit(1 if status else 0)
"""


def run(script: str, timeout: float = 100) -> None:
    command = [sys.executable, "-c", script]
    path = {**os.environ, "PYTHONPATH": TESTS}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, env=path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("module", "name", "use"),
    [
        ("ted.api.cpu_lowerings", "to_module", ""),  # holds the session
        ("ted.api.programs", "compile_cached", ""),
        ("ted.codegen.kernels", "_made", ""),
        ("ted.codegen.llvm_worker", "read_message", ""),  # holds a worker
        ("ted.codegen.jit", "_link", ""),  # holds the linker
        ("ted.ir.pass_driver", "_run_step", ".ir('loops')"),
        ("ted.ir.pass_driver", "_run_upstream", ".ir('loops')"),
        ("ted.api.lowerings", "run_stages", ".ir('loops')"),
    ],
)
def test_a_child_compiles_although_a_thread_was_compiling(module: str, name: str, use: str) -> None:
    run(STOPPED.format(module=module, name=name, use=use, held="ted.sin(x)"))


ALLOCATING = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import bind
from unit.runtime.programs import compile_text

engine = compile_text('''
func.func @main(%x: memref<i64>, %y: memref<i8>) {
  %first = arith.constant 0 : index
  %one = arith.constant 1 : index
  %byte = arith.constant 1 : i8
  %n = memref.load %x[] : memref<i64>
  %count = arith.index_cast %n : i64 to index
  scf.for %i = %first to %count step %one {
    %a = memref.alloc(%one) : memref<?xi8>
    memref.store %byte, %a[%first] : memref<?xi8>
    %v = memref.load %a[%first] : memref<?xi8>
    memref.store %v, %y[] : memref<i8>
    memref.dealloc %a : memref<?xi8>
  }
  return
}''')
f = bind(engine, [ArgSpec("x", "int64", ())], [ArgSpec("y", "int8", ())])
threading.Thread(target=f, args=(np.array(10**11),), daemon=True).start()
for _ in range(40):
    child = os.fork()
    if child == 0:
        os._exit(0 if f(np.array(10))[0] == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""


@pytest.mark.slow
def test_a_child_calls_although_a_thread_was_allocating() -> None:
    run(ALLOCATING)


def test_a_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    run(
        """
import os, threading, warnings
warnings.simplefilter("ignore")
from ted.forking import Lock
lock, inside, never = Lock(), threading.Event(), threading.Event()
def hold():
    with lock:
        inside.set()
        never.wait()
threading.Thread(target=hold, daemon=True).start()
inside.wait()
child = os.fork()
if child == 0:
    with lock, lock:
        os._exit(0)
os._exit(1 if os.waitpid(child, 0)[1] else 0)
""",
        timeout=30,
    )


def test_a_lock_that_the_forking_thread_holds_stays_held() -> None:
    run(
        """
import os, threading
from ted.forking import Lock
lock = Lock()
with lock:
    child = os.fork()
    if child == 0:
        entered = threading.Event()
        def enter():
            with lock:
                entered.set()
        threading.Thread(target=enter, daemon=True).start()
        held = not entered.wait(0.1)
if child == 0:
    os._exit(0 if held and entered.wait(10) else 1)
os._exit(1 if os.waitpid(child, 0)[1] else 0)
""",
        timeout=30,
    )


def test_a_cached_property_is_computed_once() -> None:
    class Slow:
        calls = 0

        @cached_property
        def value(self) -> int:
            """The number of calls."""
            self.calls += 1
            return self.calls

    one = Slow()
    assert (one.value, one.value, one.calls) == (1, 1, 1)
    assert Slow.value.__doc__ == "The number of calls."
