"""The stages that `make perf` measures at several sizes, on pools that other modules write."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.corpus_statistics import assign, components, fit, rows, write_features, write_wide_features
from bench.divided_scores import sum_of_ranks, write_divided
from bench.listed_pools import draw_from_clusters, rank_sum, score, write_metadata, write_scored
from bench.ngram_counts import fit as parse_and_count
from bench.ngram_counts import score as score_ngrams
from bench.ngram_counts import write_captions
from bench.selections import select_share, write_scores
from bench.tar_pools import copy, first_batch, index, write_tars
from bench.written_results import report, write_results

Write = Callable[[str, int], None]


@dataclass(frozen=True)
class Stage:
    """Work that is measured at four sizes.

    Args:
        work: name of the work.
        write: writes the pool of so many pairs to a new folder.
        run: does the work; gets the folder and `arguments`.
        smallest: pairs of the smallest pool.
        bytes_per_pair: limit of the memory per pair that is in no file.
    """

    work: str
    write: Write
    run: Callable[..., object]
    smallest: int
    bytes_per_pair: int
    arguments: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Four numbers of pairs, each four times the one before."""
        return tuple(self.smallest * 4**power for power in range(4))


STAGES = (
    # The 8 bytes of a uid's hash are sorted, to find uids that occur twice; chosen uids take 16, for a moment twice.
    Stage("score by a column", write_metadata, score, 100_000, 40, ("column",)),
    Stage("score by language", write_metadata, score, 25_000, 40, ("english",)),
    Stage("rank_sum of two cached scores", write_scored, rank_sum, 100_000, 40),
    Stage("rank_sum of scores in differently divided files", write_divided, sum_of_ranks, 200_000, 40),
    Stage("select 30% by cached scores", write_scores, select_share, 2_000_000, 40),
    Stage("draw four epochs of 10% over 1,000 clusters", write_scored, draw_from_clusters, 100_000, 40),
    # The embeddings of a pair take 256 bytes, or 2,048.
    Stage("read embeddings by uid, 64 dimensions", write_features, rows, 20_000, 100),
    Stage("fit vas, 512 dimensions", write_wide_features, fit, 20_000, 100, ("vas",)),
    Stage("fit negcliploss, 64 dimensions", write_features, fit, 10_000, 100, ("negcliploss",)),
    Stage("fit near_duplicates, 512 dimensions", write_wide_features, fit, 20_000, 100, ("near_duplicates",)),
    Stage("fit normsim, 64 dimensions", write_features, fit, 20_000, 100, ("normsim",)),
    Stage("fit clusters, 512 dimensions", write_wide_features, fit, 20_000, 100, ("clusters",)),
    Stage("assign images to 400 clusters, 64 dimensions", write_features, assign, 20_000, 100),
    # From the second size on, its chunks of 65,536 rows are full.
    Stage("PCA and k-means of all images, 64 dimensions", write_features, components, 40_000, 100),
    Stage("fit informativeness, parsing captions", write_captions, parse_and_count, 2_500, 100),
    Stage("score by informativeness, fitted", write_captions, score_ngrams, 2_500, 100),
    # One tar is indexed at a time. A tenth of the captions are Python strings for a moment.
    Stage("index tars", write_tars, index, 10_000, 150),
    Stage("reshard 10%, index there", write_tars, copy, 10_000, 150),
    Stage("first batch of 10%, index there", write_tars, first_batch, 10_000, 150),
    # A result has 0.4 MB of values of single images, and as much of figures and pictures.
    Stage("report (of results, not pairs)", write_results, report, 16, 1 << 20),
)
