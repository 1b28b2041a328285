"""The harness: pools, scores, selection, subsets, engines, results, report, and the demo."""

import os
import sys
from pathlib import Path

# Read when onnxruntime is imported, which is in whichever process finds text: it would leave an identifier of this
# machine in the cache folder, and send events to its makers.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# While Python looks for `python -m benchmark`: else folders of the user would hide packages of the same name.
if sys.argv[:1] == ["-m"] and sys.path[0] == str(Path.cwd()):
    sys.path.append(sys.path.pop(0))
