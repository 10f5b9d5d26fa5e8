"""What a compilation says of itself: its times, the log, a warning when it is long."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time

import pytest

import ted
from ted.codegen import watching
from ted.codegen.watching import Watch

PROGRAM = """
import ted
x = ted.placeholder((4,), name="x")
f = ted.compile([x], ted.exp(x))
"""


def test_steps_of_one_name_are_added() -> None:
    times: dict[str, float] = {}
    began = time.perf_counter()
    with Watch("f", times) as watch:
        watch("first")
        time.sleep(0.02)
        watch("second")
        watch("first")
        time.sleep(0.02)
    assert list(times) == ["first", "second"]
    assert 0.04 <= times["first"] <= time.perf_counter() - began
    assert times["second"] >= 0


def test_a_program_knows_its_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TED_CACHE_DIR", "")
    x = ted.placeholder((3, 4), name="x")
    began = time.perf_counter()
    times = ted.compile([x], ted.sum(ted.exp(x), axis=1)).compile_times
    assert sum(times.values()) <= time.perf_counter() - began
    steps = list(times)
    assert steps[:4] == ["writing", "cache", "worker", "parsing"]
    assert steps[-2:] == ["machine code", "linking"]
    passes = "ted-check-bounds", "ted-emit-kernels", "ted-outline-kernels"
    assert [steps.index(name) for name in passes] == sorted(steps.index(name) for name in passes)


def test_what_comes_from_the_cache_was_not_lowered() -> None:
    x = ted.placeholder((3, 4), name="x")
    ted.compile([x], ted.tanh(x) + 0.25)
    times = ted.compile([x], ted.tanh(x) + 0.25).compile_times
    assert list(times) == ["cache", "linking"]


def test_a_long_compilation_says_what_it_is_doing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watching, "LONG", 0.05)
    with Watch("model", {}) as watch:
        watch("ted-simplify")
        time.sleep(0.3)
    said = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert said[0].name == "ted.compile"
    assert "model: compiling for 0 s, now at ted-simplify" in said[0].getMessage()
    caplog.clear()
    time.sleep(0.25)
    assert not caplog.records


def logged(level: str) -> str:
    """The standard error of a program under `TED_LOG`."""
    environ = {**os.environ, "TED_LOG": level}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return done.stderr


@pytest.mark.parametrize("level", ["", *watching.LEVELS])
def test_a_level_is_that_of_the_log(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("ted")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    monkeypatch.setenv("TED_LOG", level)
    watching._show_log.__wrapped__()
    assert len(logger.handlers) == bool(level)
    assert logger.level == (getattr(logging, level.upper()) if level else logging.NOTSET)


def test_what_is_no_level_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TED_LOG", "loud")
    rule = "TED_LOG: is one of debug, info, warning, error, got 'loud'"
    with pytest.warns(UserWarning, match=rule) as caught:
        watching._show_log.__wrapped__()
    assert caught[0].filename == __file__


@pytest.mark.slow
def test_the_log_is_shown_where_the_environment_asks_for_it() -> None:
    assert "ted.compile: main: " in logged("info")
    assert "of which" not in logged("warning") + logged("")
    assert "TED_LOG: is one of debug, info, warning, error, got 'loud'" in logged("loud")
