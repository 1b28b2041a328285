"""Rewrite the reference results once: names of modules that moved, the pools' new hashes, and with these their ids.

The captions of a pool were hashed by SipHash and are by BLAKE2b; `benchmark.demo` and `benchmark.studies` are in
`pairsift`. Run ids depend on `icc.decoding` even if it is not set. They no longer depend on `models`: each part
has its own settings.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from pydantic import TypeAdapter

from benchmark.cli.jobs import compose_jobs, job_of
from benchmark.core.paths import cache_dir
from benchmark.core.records import write_record
from benchmark.core.requirements import provide
from benchmark.pool.content import pool_content
from benchmark.pool.pool import Pool
from benchmark.pool.subset import index_tars
from benchmark.results.result import Result
from benchmark.run.config import CONF, register_resolvers
from benchmark.run.identity import make_run_id
from benchmark.run.job import Job

MODULES = {
    "benchmark/demo/": "pairsift/demo/",
    "benchmark.demo.": "pairsift.demo.",
    "benchmark.studies.augmentation.": "pairsift.studies.ds_clip.",
    "benchmark.studies.icc_build.": "pairsift.studies.icc.building.",
    "pairsift.demo.rated_captions.": "pairsift.studies.icc.demo_captions.",
}
DECODING: dict[str, dict[str, Any]] = {
    "filters.icc.modes.sba": {"first_token": None, "together": None},
    "filters.icc.modes.vba": {"returned": None},
}
DEMO_SETS = ("coco", "nocaps", "flickr30k")


def main() -> None:
    """Rewrite all records of a folder, and rename the folders of their runs."""
    register_resolvers()
    contents: dict[str, str] = {}
    for path in sorted(Path(sys.argv[1]).glob("*.json")):
        text = path.read_text()
        for old, new in MODULES.items():
            text = text.replace(old, new)
        data: dict[str, Any] = json.loads(text)
        config, old_id = data["config"], data["run_id"]
        for name in DEMO_SETS:
            if (node := config["evalset"].get(name)) and "annotations" in node:
                kept = {key: node[key] for key in ("name", "captioning", "retrieval")}
                target = "pairsift.demo.pool.demo_evaluation_set"
                config["evalset"][name] = {"_target_": target, "demo": config["pool"]["demo"]} | kept
        for node in (config["filter"], data["selection"]["config"]):
            add_decoding(node)
        facts = data["protocol"]["facts"]
        facts["pool"] = contents.setdefault(facts["pool"], "") or content(config, contents, facts["pool"])
        data["run_id"] = run_id(data)
        for key in ("kind", "schema_version", "checksum"):
            del data[key]
        record = TypeAdapter(Result).validate_json(json.dumps(data), strict=True)
        path.unlink()
        write_record(path.parent, record)
        if (folder := path.with_suffix("")).is_dir():
            folder.rename(path.parent / record.run_id)
        print(old_id, record.run_id, record.protocol.fingerprint)  # noqa: T201


def add_decoding(node: Any) -> None:
    """Add the settings of decoding to ICC's pipelines; ids were made without them as long as they were not set."""
    if isinstance(node, dict):
        if made := DECODING.get(str(node.get("_target_"))):
            node.setdefault("decoding", made)
        for child in node.values():
            add_decoding(child)


def content(config: dict[str, Any], contents: dict[str, str], old: str) -> str:
    """Return the content of the demo's pool with these settings, by the hash of today."""
    demo = config["pool"]["demo"]
    cut = json.dumps(demo["cut"])
    overrides = [f"pool.demo.consistency={demo['consistency']}", f"pool.demo.cut={cut}"]
    job = job_of(compose_jobs([["filter=random", *overrides]])[0].composed)
    pool: Pool = provide(lambda: job.pool)
    index_tars(pool, job.engine)
    contents[old] = str(pool_content(pool))
    return contents[old]


def run_id(data: dict[str, Any]) -> str:
    """Return the id of a run by its recorded configuration, whose paths are portable."""
    text = json.dumps(data["config"]).replace('"~/.cache/', f'"{cache_dir().parent}/')
    text = re.sub(r"(?<![\w/.])pairsift/demo/", f"{CONF.parent}/pairsift/demo/", text)
    choices = {"filter": data["filter"], "selector": data["selection"]["selector"]}
    return make_run_id(Job(OmegaConf.create(json.loads(text)), choices), None)


if __name__ == "__main__":
    main()
