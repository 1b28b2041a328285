"""``python -m tools.demo_world``: draw the worlds that the demo ships, or other worlds."""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.paths import atomic_write, cache_folder
from pairsift.demo.build import build_pool
from pairsift.demo.settings import DemoConfig
from pairsift.demo.sprites import FILE
from pairsift.demo.worlds import PAIRS, WORLDS
from tools.demo_world.mix import CONSISTENCY, MIX, Mix, pool_mix
from tools.demo_world.rows import PAIR, Row, pair_rows
from tools.demo_world.shipped import is_card_current, write_card, write_worlds
from tools.demo_world.sprites import write_sprites

PART = 2_000  # pairs that a process draws at a time
CAPTIONS = 100_000  # of the demo's ICC; fewer remain without duplicates


def main() -> None:
    """Draw the files that the demo ships, a pool of another world, or the captions that its ICC is built from."""
    parser = argparse.ArgumentParser(prog="python -m tools.demo_world", description=main.__doc__)
    parser.add_argument("--workers", type=int, default=2, help="number of processes")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("shipped", help="write pairsift/demo/worlds")
    commands.add_parser("sprites", help="write pairsift/demo/sprites.json")
    commands.add_parser("card", help="write the hashes in pairsift/demo/worlds/card.json")
    commands.add_parser("check", help="exit code 1 if a tool or a shipped file has changed since the card")
    pool = commands.add_parser("pool", help="write a pool without a cut for pool=img2dataset pool.url=FOLDER")
    pool.add_argument("folder", type=Path)
    pool.add_argument("--pairs", type=int, default=PAIRS)
    pool.add_argument("--consistency", type=float, default=CONSISTENCY)
    pool.add_argument("--seed", type=int, default=0)
    pool.add_argument("--mix", type=Path, default=MIX, help="a YAML file like tools/demo_world/mix.yaml")
    captions = commands.add_parser("captions", help="write the captions of experiment=icc_demo")
    captions.add_argument("file", type=Path, nargs="?", default=cache_folder("icc") / "demo_captions.parquet")
    arguments = parser.parse_args()
    match arguments.command:
        case "shipped":
            write_worlds(WORLDS, arguments.workers)
        case "sprites":
            write_sprites(FILE)
        case "card":
            write_card(WORLDS)
        case "check":
            sys.exit(0 if is_card_current(WORLDS) else 1)
        case "pool":
            mix = pool_mix(arguments.consistency, arguments.mix)
            write_pool(arguments.folder, mix, arguments.pairs, arguments.seed, arguments.workers)
        case "captions":
            write_captions(arguments.file, arguments.workers)


def write_pool(folder: Path, mix: Mix, pairs: int, seed: int, workers: int) -> None:
    """Write a pool of `mix` in img2dataset's layout; `folder` must not exist."""
    draw: partial[list[Row]] = partial(pair_rows, mix=mix, seed=seed)
    with ProcessPoolExecutor(workers) as processes:
        rows = [drawn[0] for drawn in processes.map(draw, range(pairs), chunksize=PART)]
    config = DemoConfig(pairs, 10_000, 128, 88, seed, mix.consistency, 0.05, None, {})
    build_pool(folder, config, pa.Table.from_pylist(rows, PAIR), workers)


def write_captions(path: Path, workers: int) -> None:
    """Write the captions of ``experiment=icc_demo`` as a Parquet file with the column `caption`."""
    from tools.scale_models.data import conceptual_captions  # imports torch

    captions = conceptual_captions("scorer", CAPTIONS, 0, workers=workers)
    with atomic_write(path) as temporary:
        pq.write_table(pa.table({"caption": captions}), temporary, compression="zstd")


if __name__ == "__main__":
    main()
