"""A step of every build: copies plotly's script (MIT) from its wheel to the files of the report's page."""

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CopyPlotly(BuildHookInterface[Any]):
    """Copies the script into the package, where git ignores it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Copy the file before the wheel or an editable installation is built."""
        plotly = find_spec("plotly")
        assert plotly is not None, "pyproject.toml lists plotly among the requirements of a build"
        assert plotly.origin is not None
        script = Path(plotly.origin).parent / "package_data" / "plotly.min.js"
        shutil.copyfile(script, Path(self.root) / "benchmark/results/page/static" / script.name)
