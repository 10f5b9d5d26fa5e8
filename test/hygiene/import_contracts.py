"""Check the import contracts of pyproject.toml: a script, since it must not see the installed ted.

An editable installation answers `import ted` with a finder of its own, which knows no tree that the
linter could walk. So that finder goes, and the linked tree comes first.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from importlinter.cli import lint_imports
from package_tree import ROOT, link_package


def main() -> int:
    """Run the linter on a temporary tree; returns its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
        sys.path.insert(0, str(link_package(Path(folder))))
        return lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)


if __name__ == "__main__":
    sys.exit(main())
