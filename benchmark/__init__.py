"""The harness: pools, scores, selection, subsets, engines, results, report, and the demo."""

import os

# Read when onnxruntime is imported, which is in whichever process finds text: it would leave an identifier of this
# machine in the cache folder, and send events to its makers.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
