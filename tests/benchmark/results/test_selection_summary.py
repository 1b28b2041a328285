import json
from pathlib import Path

import numpy as np

from benchmark.results.run_folder import RunFiles
from benchmark.results.selection_statistics import summarise
from benchmark.results.selection_summary import write_selection_summary
from benchmark.scoring.score_table import ScoreTable
from tests.pools import hashed_uids

UIDS = np.sort(hashed_uids(30_000))


def test_a_summary_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert RunFiles(tmp_path).summary() is None
    scores = np.linspace(0, 1, len(UIDS))
    kept = ScoreTable(UIDS[29_000:], scores[29_000:])
    summary = summarise(ScoreTable(UIDS, scores), kept, None)
    write_selection_summary(tmp_path, summary)
    assert RunFiles(tmp_path).summary() == summary
    # Records of version 0.2 hold hashes of the kept uids too.
    path = tmp_path / "selection.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sketch": [1, 2]}))
    assert RunFiles(tmp_path).summary() == summary
