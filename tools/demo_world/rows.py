"""Rows of the shipped files: pairs and pictures with the positions of their random generators."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pairsift.demo.draws import DRAWS
from tools.demo_world.draws import generator
from tools.demo_world.mix import CONCRETE, MISMATCHED, NEAR_DUPLICATE, Mix
from tools.demo_world.noise import GRADES, draft_pair
from tools.demo_world.scenes import DrawnScene, state_of

MULTIPLIER = 47026247687942121848144207491837523525  # PCG64's multiplier
MAX_POSITION = 1 << 15  # no pair needs more random numbers
DRAWN_MISMATCHED = 0.0519  # fraction of mismatched pairs in the pool that is drawn, copies included
THING = pa.struct(
    [
        ("kind", pa.string()), ("colour", pa.string()), ("size", pa.string()), ("pattern", pa.string()),
        ("count", pa.int8()), ("action", pa.string()), ("facing", pa.int8()),
    ]
)  # fmt: skip
PICTURE = (
    ("things", pa.list_(THING)), ("relation", pa.string()), ("place", pa.string()), ("arranged_at", pa.int16()),
    ("drawn_at", pa.int16()),
)  # fmt: skip
PAIR = pa.schema(
    [
        ("least", pa.float32()), ("most", pa.float32()), ("matched_below", pa.float32()),
        ("mismatched_from", pa.float32()), ("index", pa.int32()), ("words", pa.string()),
        ("noise", pa.string()), ("text_kind", pa.string()), ("grade", pa.int8()), ("concreteness", pa.float32()),
        ("group", pa.int16()), ("varied_at", pa.int16()), *PICTURE,
    ]
)  # fmt: skip
Row = dict[str, Any]


def position(seed: Sequence[int], state: int) -> int:
    """Return the number of values that a PCG64 generator with this seed gives before it has this state."""
    initial = np.random.PCG64(seed).state["state"]
    current, increment = int(initial["state"]), int(initial["inc"])
    for count in range(MAX_POSITION):
        if current == state:
            return count
        current = (current * MULTIPLIER + increment) & ((1 << 128) - 1)
    raise AssertionError(f"seed {seed} does not lead to the state {state}")


def picture_row(scene: DrawnScene | None, seed: Sequence[int], drawn_from: int) -> Row:
    """Return the columns of a picture; `drawn_from` is the state of its generator when drawing begins."""
    drawn_at = position(seed, drawn_from)
    if scene is None:
        return {"things": [], "relation": "", "place": "", "arranged_at": drawn_at, "drawn_at": drawn_at}
    fields = [field.name for field in THING]
    return {
        "things": [{name: getattr(thing, name) for name in fields} for thing in scene.sketch],
        "relation": scene.relation,
        "place": scene.place,
        "arranged_at": position(seed, scene.arranged_from),
        "drawn_at": drawn_at,
    }


def pair_rows(index: int, mix: Mix, seed: int = 0) -> list[Row]:
    """Return the pair at `index` of the `pool` draw; if it is mismatched, also with the scene that it describes.

    A pool with `mismatched` at `mismatched_from` or above has the first row, any other pool the second.
    """
    family, rng = (seed, DRAWS["pool"]), generator("pool", index, seed)
    draft = draft_pair(rng, mix, family)
    source: tuple[int, ...] = (*family, index)
    drawn_from, varied_at = state_of(rng), None
    if draft.group:
        varied_at, source = position(source, drawn_from), draft.group
        original = np.random.default_rng(source)
        draft_pair(original, mix.without(NEAR_DUPLICATE))
        drawn_from = state_of(original)
    row = {
        "least": mix.consistency,
        "most": mix.consistency,
        "mismatched_from": 0.0,
        "matched_below": 1.0,
        "index": index,
        "words": f"{draft.caption}\n{draft.text}",
        "noise": draft.kind,
        "text_kind": draft.embedded,
        "grade": draft.grade,
        "concreteness": draft.concreteness,
        "group": draft.group[2] if draft.group else None,
        "varied_at": varied_at,
        **picture_row(draft.scene, source, drawn_from),
    }
    if draft.described is None:
        return [row]
    # A near-duplicate becomes mismatched with its original, as both have one source.
    limit = DRAWN_MISMATCHED * (1 - np.random.default_rng((*source, 2)).random())
    kind = CONCRETE if draft.kind == MISMATCHED else draft.kind
    picture = picture_row(draft.described, source, drawn_from)
    matched = {**row, "noise": kind, "grade": GRADES[CONCRETE], **picture, "matched_below": limit}
    return [{**row, "mismatched_from": limit}, matched]


def rows_of_worlds(draw: Callable[[float], list[Row]], consistencies: Sequence[float]) -> list[Row]:
    """Return the different rows that `draw` gives at ascending consistencies, each with its range of them."""
    rows: list[Row] = []
    last: list[Row] = []
    for consistency in consistencies:
        drawn = [{**row, "least": consistency, "most": consistency} for row in draw(consistency)]
        if drawn == [{**row, "least": consistency, "most": consistency} for row in last]:
            for row in last:
                row["most"] = consistency
        else:
            rows += (last := drawn)
    return rows
