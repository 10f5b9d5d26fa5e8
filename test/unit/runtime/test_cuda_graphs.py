"""Graphs: calls are recorded once and replayed, with the memory they were recorded with."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

import numpy as np
import pytest

from ted.codegen.manifest import Buffer
from ted.errors import ExecutionError
from ted.runtime.cuda.arguments import copy, device_array
from ted.runtime.cuda.graphs import GraphCall, capture
from ted.runtime.cuda.programs import Program
from ted.runtime.cuda.prototypes import CAPTURE_GLOBAL
from ted.runtime.cuda.streams import Event, Stream
from unit.runtime.python_machine import device, picking, program

X = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def gpu():
    with device() as found:
        yield found


def test_calls_are_recorded_and_not_run(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    with capture() as graph:
        (y,) = f(*f(x))
    gpu[0].cuCtxSynchronize()
    assert not np.array_equal(gpu[0].machine.array(y.pointer, 8), 36 * X.ravel())
    graph.replay()
    np.testing.assert_array_equal(y.numpy(), 36 * X)


def test_a_replay_reads_the_inputs_again(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    with capture() as graph:
        (y,) = f(x)
    for factor in (2, 3):
        copy(x, factor * X)
        graph.replay()
        np.testing.assert_array_equal(y.numpy(), 6 * factor * X)


def test_state_goes_round_in_its_own_memory(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    with capture() as graph:
        f(x, out=x)
    for _ in range(3):
        graph.replay()
    np.testing.assert_array_equal(x.numpy(), 6**3 * X)


def test_a_graph_call_copies_inputs_in(gpu) -> None:
    f = Program(program())
    call = GraphCall(lambda x, **options: f(x, **options)[0], (X,), gpu[1])
    np.testing.assert_array_equal(call(5 * X).numpy(), 30 * X)
    np.testing.assert_array_equal(call(device_array(X, context=gpu[1])).numpy(), 6 * X)
    np.testing.assert_array_equal(call(X, stream=Stream()).numpy(), 6 * X)
    with pytest.raises(ExecutionError, match="recorded for 1 arrays, got 2"):
        call(X, X)


def test_memory_of_a_graph_is_not_given_to_others(gpu) -> None:
    f, g, x = Program(program()), Program(program()), device_array(X, context=gpu[1])
    with capture() as graph:
        (y,) = f(*f(x))
    other = [g(device_array(0 * X, context=gpu[1]))[0] for _ in range(4)]
    graph.replay()
    np.testing.assert_array_equal(y.numpy(), 36 * X)
    for z in other:
        np.testing.assert_array_equal(z.numpy(), 0 * X)


def test_memory_of_a_graph_comes_back_with_it(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    with capture() as graph:
        f(x)
    assert gpu[1].memory.usage.used > 512
    del graph
    gc.collect()
    assert gpu[1].memory.usage.used == 512
    asked = len(gpu[0].allocated)
    with capture():
        f(x)
    assert len(gpu[0].allocated) == asked


def test_results_outlive_their_graph(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    with capture() as graph:
        (y,) = f(x)
    graph.replay()
    del graph
    gc.collect()
    z = [f(x)[0] for _ in range(3)]
    np.testing.assert_array_equal(y.numpy(), 6 * X)
    del y, z
    gc.collect()
    assert gpu[1].memory.usage.used == 512


def test_an_index_out_of_range_in_a_replay_is_reported(gpu) -> None:
    f, n = Program(picking()), device_array(np.int64(1), context=gpu[1])
    with capture() as graph:
        (y,) = f(n)
    graph.replay()
    assert y.numpy() == 2.0
    copy(n, np.int64(8))
    graph.replay()
    with pytest.raises(ExecutionError, match="got index 8"):
        y.numpy()


def test_programs_may_be_loaded_and_dropped_while_calls_are_recorded(gpu) -> None:
    dropped, x = Program(picking()), device_array(X, context=gpu[1])
    dropped(1)
    with capture() as graph:
        f, g = Program(program()), Program(picking())  # with constants and an error flag
        (y,) = f(x)
        (z,) = g(2)
        del dropped
        gc.collect()
        assert len(gpu[1].postponed) == 3  # module, constants, error flag
    assert not gpu[1].postponed
    graph.replay()
    np.testing.assert_array_equal(y.numpy(), 6 * X)
    assert z.numpy() == 3.0


def test_an_error_inside_of_a_capture_comes_through(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    with pytest.raises(ExecutionError, match="expected 1 arguments"), capture() as graph:
        f(x, x)
    with pytest.raises(ExecutionError, match="after its block has ended"):
        graph.replay()
    np.testing.assert_array_equal(f(x)[0].numpy(), 6 * X)


def test_what_cannot_be_recorded_is_refused(gpu) -> None:
    with pytest.raises(ExecutionError, match="before a graph is captured"), capture():
        device_array(X, context=gpu[1])
    with pytest.raises(ExecutionError, match="not inside of another"), capture(), capture():
        pass


def test_events_have_times(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    start = Event().record()
    f(x)
    assert start.milliseconds_until(Event().record()) == 1.0


def begun(gpu) -> Stream:
    """A stream that another library records, with the rules that libraries ask for."""
    stream = Stream(gpu[1])
    with gpu[1]:
        gpu[1].driver.cuStreamBeginCapture_v2(stream.handle, CAPTURE_GLOBAL)
    return stream


def recorded(gpu, stream: Stream) -> Callable[[], None]:
    """What launches the calls that another library has recorded."""
    driver = gpu[1].driver
    graph = ctypes.c_void_p()
    with gpu[1]:
        driver.cuStreamEndCapture(stream.handle, ctypes.byref(graph))
        executable = driver.handle("cuGraphInstantiateWithFlags", graph.value, 0)

    def replay() -> None:
        with gpu[1]:
            driver.cuGraphLaunch(executable, stream.handle)

    return replay


def test_calls_go_into_the_capture_of_another_library(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    stream = begun(gpu)
    (y,) = f(*f(x, stream=stream), stream=stream)
    replay = recorded(gpu, stream)
    for factor in (2, 3):
        copy(x, factor * X)
        gpu[0].cuCtxSynchronize()
        replay()
        np.testing.assert_array_equal(y.numpy(), 36 * factor * X)


def test_memory_of_their_capture_is_not_given_to_others(gpu) -> None:
    whole = program(buffers=(Buffer("half", 32, 0),))
    f, g, x = Program(whole), Program(program()), device_array(X, context=gpu[1])
    stream = begun(gpu)
    f(*f(x, stream=stream), stream=stream)
    replay = recorded(gpu, stream)
    other = [g(device_array(0 * X, context=gpu[1]), stream=stream)[0] for _ in range(4)]
    replay()
    for z in other:
        np.testing.assert_array_equal(z.numpy(), 0 * X)


def test_streams_that_join_their_capture_have_memory_of_their_own(gpu) -> None:
    whole = program(buffers=(Buffer("half", 32, 0),))
    f, g, x = Program(whole), Program(program()), device_array(X, context=gpu[1])
    stream, side = begun(gpu), Stream(gpu[1])
    with gpu[1]:
        event = gpu[1].driver.handle("cuEventCreate", 0)
        gpu[1].driver.cuEventRecord(event, stream.handle)
        gpu[1].driver.cuStreamWaitEvent(side.handle, event, 0)
    f(x, stream=stream)
    f(x, stream=side)
    replay = recorded(gpu, stream)
    other = [g(device_array(0 * X, context=gpu[1]), stream=side)[0] for _ in range(4)]
    gpu[0].cuCtxSynchronize()
    replay()
    gpu[0].cuCtxSynchronize()
    for z in other:
        np.testing.assert_array_equal(z.numpy(), 0 * X)


def test_memory_of_their_capture_comes_back_with_the_program(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    stream = begun(gpu)
    f(x, stream=stream)
    recorded(gpu, stream)
    held = gpu[1].memory.usage.held
    del f
    gc.collect()
    with gpu[1]:
        gpu[1].memory.trim()
    assert (gpu[1].memory.usage.used, gpu[1].memory.usage.held) == (512, 512), held
