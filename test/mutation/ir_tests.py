"""IR tests as items of pytest: RUN lines are run in this process, so that a mutant is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.run_lines import commands_in, run_line


class IrFile(pytest.File):
    """A `.mlir` file, whose RUN lines are its tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each RUN line."""
        for number, command in enumerate(commands_in(self.path.read_text())):
            yield RunLine.from_parent(self, name=str(number), command=command)


class RunLine(pytest.Item):
    """One RUN line."""

    def __init__(self, *, command: str, **rest: object) -> None:
        super().__init__(**rest)
        self.command = command

    def runtest(self) -> None:
        """Run the stages one after the other; the last one decides."""
        assert run_line(self.command, self.path) == 0, self.command

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test is."""
        return self.path, 0, f"{self.path.name}: {self.command}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Files of IR are test files too."""
    if file_path.suffix != ".mlir":
        return None
    return IrFile.from_parent(parent, path=file_path)
