from tests.downstream.conftest import checkpoints, eight_pairs

__all__ = ["checkpoints", "eight_pairs"]
