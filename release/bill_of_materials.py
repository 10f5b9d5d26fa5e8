"""Write what ted is made of as CycloneDX JSON: itself, and the packages that pyproject.toml names.

    python release/bill_of_materials.py OUT

A package that is pinned has its version, another one the versions that may be; a part of an extra
is optional. The build puts the file into wheels, as `sboms/ted.cdx.json` beside their metadata.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

ROOT = Path(__file__).resolve().parents[1]
# What users may install; the other extras are for who works on ted.
EXTRAS = ("cuda", "torch", "jax", "onnx", "files")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?$")


def version() -> str:
    """The version of ted, from the one file that says it."""
    text = (ROOT / "python/ted/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    assert found is not None, "python/ted/__init__.py says the version"
    return found[1]


def reference(name: str, wanted: str) -> str:
    """The address of a package of PyPI: its purl."""
    normal = re.sub(r"[-_.]+", "-", name).lower()
    return f"pkg:pypi/{normal}@{wanted}" if wanted else f"pkg:pypi/{normal}"


def component(requirement: str, extra: str) -> dict[str, Any]:
    """What stands in the bill for a requirement such as `numpy>=1.26,<3; python_version > '3'`."""
    found = _REQUIREMENT.match(requirement)
    assert found is not None, f"a requirement names a package, got {requirement}"
    name, versions, marker = found.groups()
    pin = versions[2:] if versions.startswith("==") else ""
    row: dict[str, Any] = {"type": "library", "name": name}
    row |= {"version": pin} if pin else {}
    row["purl"] = row["bom-ref"] = reference(name, pin)
    row["scope"] = "optional" if extra else "required"
    said = {"versions": "" if pin else versions, "marker": marker or "", "extra": extra}
    properties = [{"name": f"ted:{key}", "value": value} for key, value in said.items() if value]
    return row | ({"properties": properties} if properties else {})


def components(project: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Those of all requirements, each package of a version once."""
    wanted = [(one, "") for one in project["dependencies"]]
    wanted += [(one, extra) for extra in EXTRAS for one in project["optional-dependencies"][extra]]
    seen = set()
    for requirement, extra in wanted:
        row = component(requirement, extra)
        if row["bom-ref"] not in seen:
            seen.add(row["bom-ref"])
            yield row


def bill() -> dict[str, Any]:
    """The document; the same for the same pins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = list(components(project))
    whole = {
        "type": "library",
        "bom-ref": reference("ted", version()),
        "name": "ted",
        "version": version(),
        "purl": reference("ted", version()),
        "licenses": [{"expression": project["license"]}],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([whole, parts]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {"component": whole},
        "components": parts,
        "dependencies": [
            {"ref": whole["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=2) + "\n", encoding="utf-8")
