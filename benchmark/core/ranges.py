"""Types of arguments with a range, declared once: the command line and the constructors refuse other values.

The description of a type says what must hold; in an error it follows "must be".
"""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from benchmark.core.errors import UserError

PositiveInt = Annotated[int, Field(gt=0, description="a positive integer")]
Percentage = Annotated[int, Field(ge=0, le=100, description="an integer from 0 to 100")]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False, description="a positive number")]
NonNegativeFloat = Annotated[float, Field(ge=0, allow_inf_nan=False, description="a number of at least 0")]
Fraction = Annotated[float, Field(ge=0, le=1, description="a number from 0 to 1")]
FractionBelowOne = Annotated[float, Field(ge=0, lt=1, description="a number of at least 0 and below 1")]
# More would be a slip: each takes a core, and hundreds of megabytes.
Processes = Annotated[int, Field(gt=0, le=1_024, description="an integer from 1 to 1,024")]
ProcessesOrNone = Annotated[int, Field(ge=0, le=1_024, description="an integer from 0 to 1,024")]
Seed = Annotated[int, Field(ge=0, lt=1 << 32, description="an integer from 0 to 2^32 - 1")]
SimilarityName = Literal["edit", "bertscore"]  # of a caption and its reconstruction
Precision = Annotated[str, Field(pattern="^(auto|fp32|bf16)$", description="auto, fp32 or bf16")]
TrainingPrecision = Annotated[
    str, Field(pattern="^(auto|fp32|bf16|tf32)$", description="auto, fp32, bf16 or tf32")
]
Device = Annotated[
    str, Field(pattern=r"^(auto|cpu|cuda(:\d{1,3})?)$", description="auto, cpu, cuda or cuda:N")
]
# Part of the names of files.
Name = Annotated[
    str,
    Field(
        pattern=r"^[^./\\\p{Cc}][^/\\\p{Cc}]{0,59}$",
        description="a name of at most 60 characters without slashes, not beginning with a dot",
    ),
]

Made = TypeVar("Made", bound=Callable[..., Any])
TYPE_NAMES = {int: "an integer", float: "a number", str: "text", bool: "true or false", NoneType: "null"}


def checked(made: Made) -> Made:
    """Let a function, or the constructor of a class, raise `UserError` for arguments outside its declared ranges."""
    construct: Callable[..., Any] = made.__init__ if isinstance(made, type) else made  # type: ignore[misc]
    signature = inspect.signature(construct)

    @functools.wraps(construct)
    def construct_checked(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named).arguments
        for name, kind in _declared_ranges(construct).items():
            if name in given and not fits(given[name], kind):
                raise UserError(f"{made.__name__}: {name}={given[name]} must be {requirement(kind)}")
        return construct(*arguments, **named)

    if not isinstance(made, type):
        return construct_checked  # type: ignore[return-value]
    made.__init__ = construct_checked  # type: ignore[misc]
    return made


@functools.cache
def _declared_ranges(construct: Callable[..., None]) -> dict[str, Any]:
    """Return the types of the arguments that are more than a class: ranges, choices, and these or None."""
    hints = {name: plain_type(hint) for name, hint in get_type_hints(construct, include_extras=True).items()}
    return {n: kind for n, kind in hints.items() if "Any" not in str(kind) and not isinstance(kind, type)}


_adapter = functools.cache(TypeAdapter)


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value has a type, in its range; text is not a number, nor is a truth value."""
    try:
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def plain_type(hint: Any) -> Any:
    """Return the annotation of an argument as a type that YAML can write; Any for objects."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in TYPE_NAMES or origin is Literal:
        return hint
    if origin is Annotated:
        return hint if plain_type(arguments[0]) is not Any else Any
    if origin in (Union, UnionType):
        parts = [plain_type(part) for part in arguments]
        return Any if Any in parts else Union[*parts]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, plain_type(arguments[1])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Collection):
        return list[plain_type(arguments[0])]  # type: ignore[misc]
    return Any


def requirement(kind: Any) -> str:
    """Return the words for a type that follow "must be" in an error."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        field = next((a for a in arguments if isinstance(a, FieldInfo)), None)
        return str(field.description) if field and field.description else requirement(arguments[0])
    if origin is Literal:
        return " or ".join(map(str, arguments))
    if origin in (Union, UnionType):
        return ", or ".join(dict.fromkeys(requirement(part) for part in arguments))
    if origin is list:
        return "a list"
    if origin is dict:
        return "a group of settings"
    return TYPE_NAMES.get(kind, "another value")
