"""Computes the topic labels of a pool's captions and writes them to a folder, which appears only once complete."""

import json
import logging
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_folder, cache_folder, write_text
from benchmark.core.progress import progress
from benchmark.core.temporaries import whole_files
from benchmark.core.uids import UID_DTYPE, UidArray, decode_uids, encode_uid_column
from benchmark.engine.base import Engine
from benchmark.pool.exclusion import refuse_exclusions
from benchmark.pool.pool import Pool
from benchmark.results.provenance import library_versions
from benchmark.scoring.score_pool import fit_filter
from benchmark.scoring.shard_reader import ShardReader
from pairsift.studies.ava.topic_backbone import TopicLabels
from pairsift.studies.ava.topics import (
    CaptionNgrams,
    CleanedCaptions,
    Documents,
    TopicModel,
    Vocabulary,
    choose_vocabulary,
    image_hashes,
    make_documents,
)

log = logging.getLogger(__name__)
NO_NGRAM = "no_ngram"  # drop reason: none of the n-grams of the image's captions is in the vocabulary
UNINFORMATIVE = "uninformative"  # drop reason: the image lacks an informative caption


@dataclass(frozen=True)
class LabelConfig:
    """The settings of the labels (Ghosal et al. 2019, section 4.3).

    Raises `UserError` if a setting is out of range.
    """

    parser: str  # name of an installed spaCy pipeline for English, or folder of one
    minimum_informativeness: float  # lowest score of a caption that is read, as of filter=informativeness
    ngrams: int
    max_share: float  # n-grams in at least this fraction of the captions are left out
    topics: int  # K, the number of topics
    passes: int
    batch_size: int
    seed: int

    def __post_init__(self) -> None:
        if self.topics < 2:
            raise UserError(f"weak_labels.topics={self.topics} must be an integer of at least 2")
        if not 0 < self.max_share <= 1:
            raise UserError(f"weak_labels.max_share={self.max_share} must be a number above 0 and at most 1")


def label_pool(pool: Pool, config: LabelConfig, engine: Engine) -> Path:
    """Label the captions of `pool`, or reuse the labels of an earlier run; return their folder.

    The folder holds ``labels/<shard>.parquet`` with columns ``uid`` and ``topics`` (K probabilities), ``topics.json``
    and ``manifest.json``. Raises `UserError` if no n-gram is left for the vocabulary.
    """
    refuse_exclusions(pool)
    reader = CaptionNgrams(config.parser)
    shards = pool.shards(reader.sources)
    (features,) = reader.features
    inputs = asdict(config) | {"parser": features.key(), "shards": [[s.name, s.fingerprint] for s in shards]}
    key = hash_json(inputs, 16)
    folder = cache_folder("weak_labels", pool.key, key)
    with locked(folder):
        if intact(folder):
            log.info("weak labels: reusing the labels of pool %s in %s", pool.name, folder)
        else:
            _make_labels(pool, reader, config, engine, folder)
    return folder


def _make_labels(
    pool: Pool, reader: CaptionNgrams, config: LabelConfig, engine: Engine, folder: Path
) -> None:
    started = time.monotonic()
    fit_filter(pool, reader, engine)
    captions = CleanedCaptions(pool, reader, config.minimum_informativeness)
    vocabulary = choose_vocabulary(captions.ngrams(), config.ngrams, config.max_share)
    _check_vocabulary(vocabulary, pool, config)
    model = TopicModel(vocabulary.ngrams, config.topics, config.batch_size, config.seed)
    documents = make_documents(captions, model)
    with progress("topics", config.passes * documents.counts.shape[0], "images") as advance:
        model.fit(documents.counts, config.passes, lambda images: advance(images, ""))
    with atomic_folder(folder) as temporary:
        facts = {
            "captions": vocabulary.captions,
            "images": len(documents.rows),
            "ngrams": len(vocabulary.ngrams),
            "distinct_ngrams": vocabulary.distinct,
            "too_common": vocabulary.too_common,
            **_write_labels(pool, reader, documents, model, temporary),
            "seconds": round(time.monotonic() - started, 1),
        }
        manifest = {"pool": pool.name, "config": asdict(config), **facts, "versions": library_versions()}
        write_text(temporary / "manifest.json", json.dumps(manifest, indent=2) + "\n")


def _check_vocabulary(vocabulary: Vocabulary, pool: Pool, config: LabelConfig) -> None:
    if not vocabulary.captions:
        raise UserError(
            f"pool {pool.name} has no caption with an informativeness of at least {config.minimum_informativeness};"
            " lower weak_labels.minimum_informativeness, or choose another pool"
        )
    if not vocabulary.ngrams:
        raise UserError(
            f"no n-gram occurs in fewer than {config.max_share:.0%} of the {vocabulary.captions:,} captions of pool"
            f" {pool.name} ({vocabulary.distinct:,} occur in more); raise weak_labels.max_share or take a larger pool"
        )


def _write_labels(
    pool: Pool, reader: CaptionNgrams, documents: Documents, model: TopicModel, folder: Path
) -> dict[str, Any]:
    """Write the labels of all shards and ``topics.json``; return the counts of labelled and dropped captions.

    All captions of an image get the topics of its document, also uninformative captions.
    """
    topics = model.label(documents.counts)
    shard_reader, drops = ShardReader(pool, "cpu"), Counter[str]()
    captions_per_topic = np.zeros(model.topics, np.int64)
    (folder / "labels").mkdir()
    for shard in pool.shards(reader.sources):
        uids = [np.empty(0, UID_DTYPE)]
        rows = [np.empty(0, np.int64)]
        for batch in shard_reader.batches(shard, reader, drops):
            document = documents.images.find(image_hashes(batch))
            row = np.where(document < 0, -1, documents.rows[document])
            drops[UNINFORMATIVE] += int((document < 0).sum())
            drops[NO_NGRAM] += int(((document >= 0) & (row < 0)).sum())
            uids.append(batch.uids[row >= 0])
            rows.append(row[row >= 0])
        of_shard = topics[np.concatenate(rows)]
        captions_per_topic += np.bincount(of_shard.argmax(1), minlength=model.topics)
        write_part(folder / "labels" / f"{shard.name}.parquet", np.concatenate(uids), of_shard)
    summary = [
        {"topic": number, "captions": int(captions), "ngrams": ngrams}
        for number, (captions, ngrams) in enumerate(zip(captions_per_topic, model.top_ngrams(), strict=True))
    ]
    write_text(folder / "topics.json", json.dumps(summary, indent=2) + "\n")
    counted = {reason: count for reason, count in sorted(drops.items()) if count}
    return {"labelled": int(captions_per_topic.sum()), "drops": counted}


def write_part(path: Path, uids: UidArray, topics: npt.NDArray[np.float32]) -> None:
    """Write the uids and topics (n, K) of n captions to a parquet file with columns ``uid`` and ``topics``."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(topics.ravel()), topics.shape[1])
    pq.write_table(pa.table({"uid": pa.array(decode_uids(uids), pa.string()), "topics": lists}), path)


def read_labels(folder: Path, wanted: UidArray) -> TopicLabels:
    """Read the labels of the uids `wanted`; uids without a label are skipped."""
    uids, topics = [np.empty(0, UID_DTYPE)], []
    for path in whole_files(folder / "labels", "*.parquet"):
        part = pq.read_table(path)
        part_uids = encode_uid_column(part["uid"])
        rows = np.flatnonzero(np.isin(part_uids, wanted))
        lists = part["topics"].combine_chunks()
        width = lists.type.list_size
        uids.append(part_uids[rows])
        topics.append(lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)[rows])
    distinct, first = np.unique(np.concatenate(uids), return_index=True)
    return TopicLabels(distinct, np.concatenate(topics)[first])
