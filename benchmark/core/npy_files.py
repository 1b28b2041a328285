"""Arrays in ``.npy`` files that others wrote."""

from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

# What numpy raises for a header that is cut, nested without end, or says what no array can be.
_ODD_HEADER = (ValueError, TypeError, EOFError, OverflowError, SyntaxError, MemoryError, TokenError)


def map_npy(path: Path) -> npt.NDArray[Any]:
    """Map the array in a file. Raises ValueError unless it is a ``.npy`` file, and as long as its header says.

    Python objects, which would run code, are never read, nor are archives. `np.load` would take all the memory that a
    header asks for.
    """
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except _ODD_HEADER:
        raise ValueError(f"{path} does not hold a numpy array") from None
