"""What a command needs, checked before anything expensive runs."""

from omegaconf import DictConfig


def check_before_run(cfg: DictConfig) -> None:
    """Raise `UserError` unless everything is there that the command needs; nothing is scored, drawn or fetched."""
