"""The filter of docs/own_filter.md, as a user has it: a file in his working folder, and an installed package."""

import re
import sys
from pathlib import Path

from benchmark.run.config import CONF

PAGE = (CONF.parent / "docs" / "own_filter.md").read_text()


def write_own_filters(folder: Path) -> Path:
    """Write ``my_filters.py``, to be imported anew."""
    (code,) = re.findall(r"^`my_filters\.py`\n\n```python\n(.*?)^```$", PAGE, re.M | re.S)
    path = folder / "my_filters.py"
    path.write_text(code)
    sys.modules.pop("my_filters", None)
    return path


def install_own_filters(
    folder: Path, package: str = "package", target: str = "my_filters:NearLength"
) -> None:
    """Write what an installer writes for a package with the page's entry point, or one that names another class."""
    (table,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.M | re.S)
    table = table.replace('project.entry-points."pairsift.filters"', "pairsift.filters").replace('"', "")
    information = folder / f"{package}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (information / "entry_points.txt").write_text(table.replace("my_filters:NearLength", target))
