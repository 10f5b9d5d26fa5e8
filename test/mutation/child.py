"""What a child process does with a fault: import ted with it, and run tests until one fails."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import Phase, settings

from mutation import ir_tests
from mutation.operators import Mutant
from mutation.packages import APART, ROOT

Lines = dict[str, list[int]]  # module -> lines that a test executes


class MutatedSource(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Finds one module, and loads it with the fault in its text."""

    def __init__(self, mutant: Mutant, path: Path) -> None:
        self.mutant, self.path = mutant, path

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """The module of the mutant; all others are found by those who come after."""
        del path, target
        if name != self.mutant.module:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_filename(self, fullname: str) -> str:
        """The file that tracebacks name."""
        del fullname
        return str(self.path)

    def get_data(self, path: str) -> bytes:
        """The mutated text; nothing is cached, since there are no statistics of the file."""
        if path != str(self.path):
            raise OSError(path)
        return self.mutant.text(self.path.read_bytes()).encode()


class Chosen:
    """Runs the chosen tests only, in the order given; hypothesis neither shrinks nor remembers."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = {test: at for at, test in enumerate(order)}
        self.failed = ""

    def pytest_configure(self, config: pytest.Config) -> None:
        """After the settings of the checkout have been loaded."""
        del config
        settings.register_profile("mutation", settings.get_profile("ted"), database=None,
                                  phases=[Phase.explicit, Phase.generate])  # fmt: skip
        settings.load_profile("mutation")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort what was collected, and drop what was not chosen."""
        if self.order:
            items[:] = [item for item in items if item.nodeid in self.order]
            items.sort(key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember which test noticed."""
        if report.failed:
            self.failed = report.nodeid


class Server:
    """A run of pytest that collects once, and tries every mutant in a fork of itself."""

    def __init__(self, try_mutants: Callable[[Server], None]) -> None:
        self.try_mutants = try_mutants
        self.items: dict[str, pytest.Item] = {}
        self.failed = ""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Everything is imported: hand over instead of running what was collected."""
        self.items = {item.nodeid: item for item in session.items}
        self.try_mutants(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember which test noticed."""
        if report.failed:
            self.failed = report.nodeid

    def run(self, order: Sequence[str]) -> str:
        """Run tests in this process until one fails; returns that one."""
        for test, following in zip(order, [*order[1:], None], strict=True):
            item, after = self.items[test], self.items[following] if following else None
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed:
                break
        return self.failed


class Coverage:
    """Notes the time of every test, and the lines of the given files that it executes."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules  # file -> module
        self.found: dict[str, dict[str, Any]] = {}
        self._all: dict[CodeType, frozenset[int]] = {}
        self._seen: dict[CodeType, set[int]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Trace one test with its fixtures."""
        start = time.process_time()
        self.trace()
        try:
            return (yield)
        finally:
            seconds = round(time.process_time() - start, 3)
            self.found[item.nodeid] = {"seconds": seconds, "lines": self.lines()}

    def trace(self) -> Set[CodeType]:
        """Trace from now on, until `sys.settrace(None)`; the codes that run are in the result."""
        self._seen = {}
        sys.settrace(self._call)
        return self._seen.keys()

    def lines(self) -> Lines:
        """End the trace: the lines of each module that were executed."""
        sys.settrace(None)
        found: dict[str, set[int]] = {}
        for code, seen in self._seen.items():
            found.setdefault(self.modules[code.co_filename], set()).update(seen)
        return {module: sorted(lines) for module, lines in found.items()}

    def _call(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        del event, arg
        code = frame.f_code
        if code.co_filename not in self.modules:
            return None
        seen = self._seen.setdefault(code, set())
        seen.add(code.co_firstlineno)
        if code not in self._all:
            self._all[code] = frozenset(x for *_, x in code.co_lines() if x is not None)
        return None if seen >= self._all[code] else self._line

    def _line(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
        del event, arg
        self._seen[frame.f_code].add(frame.f_lineno)
        return self._line


class InThisProcess:
    """Compiles where the fault is: no worker is asked, and nothing comes from the cache."""

    def pytest_collection_finish(self) -> None:
        """After the settings of the checkout, and once the module with the fault is found."""
        from support.in_process import compile_here  # it imports ted

        compile_here(pytest.MonkeyPatch())


def run_tests(files: Sequence[str], *plugins: object, stop: bool) -> int:
    """The exit status of pytest on the files, without output and without traces on the disk."""
    os.chdir(ROOT)
    flags = [
        "-q", "-s", "--tb=no", "--no-header", "--no-summary", "--hypothesis-seed=0",
        "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist",
        "-W", "ignore::pytest.PytestAssertRewriteWarning", *(f"--deselect={t}" for t in APART),
    ]  # fmt: skip
    return int(
        pytest.main(
            [*flags, *(["-x"] if stop else []), *files], [ir_tests, InThisProcess(), *plugins]
        )
    )
