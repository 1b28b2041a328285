"""``python -m tools.demo_world shipped | pool FOLDER | captions FILE``: draw the world that the demo ships, or others."""

import argparse
from pathlib import Path

from benchmark.core.paths import cache_dir
from benchmark.demo.build import build_pool
from benchmark.demo.settings import DemoConfig
from benchmark.demo.worlds import WORLDS
from tools.demo_world.mix import MIX, pool_mix
from tools.demo_world.rows import PAIR, pair_row


def main() -> None:
    """Draw the files that the demo ships, a pool of another world, or the captions that its ICC is built from."""
    parser = argparse.ArgumentParser(prog="python -m tools.demo_world", description=main.__doc__)
    parser.add_argument("--workers", type=int, default=2, help="number of processes")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("shipped", help="write benchmark/demo/worlds")
    commands.add_parser("card", help="write the hashes in benchmark/demo/worlds/card.json")
    pool = commands.add_parser("pool", help="write a pool without a cut for pool=img2dataset pool.url=FOLDER")
    pool.add_argument("folder", type=Path)
    pool.add_argument("--pairs", type=int, default=80_000)
    pool.add_argument("--consistency", type=float, default=0.5)
    pool.add_argument("--seed", type=int, default=0)
    pool.add_argument("--mix", type=Path, default=MIX, help="a YAML file with the shares of noise and text")
    captions = commands.add_parser("captions", help="write the captions of experiment=icc_demo")
    captions.add_argument("file", type=Path, nargs="?", default=cache_dir() / "icc" / "demo_captions.parquet")
    arguments = parser.parse_args()
    ...
