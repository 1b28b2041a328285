"""Types of numbers with a range, of devices and of names, for the arguments of classes that a configuration builds.

The command line reads these annotations from the source and refuses other values by the setting's name, before
anything is imported. The description says what must hold; it stands behind "must be" in the error.
"""

from typing import Annotated

from pydantic import Field

DEVICES = r"^(auto|cpu|cuda(:\d{1,3})?)$"

PositiveInt = Annotated[int, Field(gt=0, description="a positive integer")]
Percentage = Annotated[int, Field(ge=0, le=100, description="an integer from 0 to 100")]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False, description="a positive number")]
NonNegativeFloat = Annotated[float, Field(ge=0, allow_inf_nan=False, description="a number of at least 0")]
Share = Annotated[float, Field(ge=0, le=1, description="a number from 0 to 1")]
ShareBelowOne = Annotated[float, Field(ge=0, lt=1, description="a number of at least 0 and below 1")]
# More would be a slip: each takes a core, and hundreds of megabytes.
Processes = Annotated[int, Field(gt=0, le=1_024, description="an integer from 1 to 1,024")]
ProcessesOrNone = Annotated[int, Field(ge=0, le=1_024, description="an integer from 0 to 1,024")]
Seed = Annotated[int, Field(ge=0, lt=1 << 32, description="an integer from 0 to 2^32 - 1")]
Precision = Annotated[str, Field(pattern="^(auto|fp32|bf16)$", description="auto, fp32 or bf16")]
Device = Annotated[str, Field(pattern=DEVICES, description="auto, cpu, cuda or cuda:N")]
# Part of the names of files.
Name = Annotated[
    str,
    Field(
        pattern=r"^[^./\\\p{Cc}][^/\\\p{Cc}]{0,59}$",
        description="a name of at most 60 characters without slashes, not beginning with a dot",
    ),
]
