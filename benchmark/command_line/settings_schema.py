"""The types of all settings: a wrong value is refused by its name before anything runs."""

from omegaconf import DictConfig


def check_settings(cfg: DictConfig) -> None:
    """Check the types, ranges and names of all settings of one run.

    Raises:
        UserError: names each wrong setting as the user types it, and says what must hold.
    """
