"""The arguments of a class or function, read from its source: to import it could take seconds, for torch."""

import ast
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import GenericAlias, NoneType
from typing import Any, Literal, Union

from benchmark.core import ranges

PLAIN = {"int": int, "float": float, "str": str, "bool": bool, "None": NoneType}
LISTS = frozenset({"list", "Sequence", "Iterable", "Collection", "tuple"})
MAPPINGS = frozenset({"dict", "Mapping"})
WITHOUT_ARGUMENTS = frozenset({"object", "ABC", "Protocol"})  # base classes whose constructor takes none

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Signature:
    """The arguments that a constructor or function takes by name.

    Args:
        types: type of each argument; Any where it is no number, text, truth value, or list or mapping of these.
        required: the arguments without a default.
        is_open: whether any other argument is taken (``**kwargs``).
    """

    types: Mapping[str, Any]
    required: frozenset[str] = frozenset()
    is_open: bool = False


@lru_cache
def read_signature(target: str) -> Signature | None:
    """Return the signature of ``package.module.Name``; None where the source does not show it."""
    module, _, name = target.rpartition(".")
    found = _definition(module, name)
    return _signature(*found) if found else None


def _signature(module: str, node: ast.stmt) -> Signature | None:
    if isinstance(node, Function):
        return _of_function(module, node)
    if not isinstance(node, ast.ClassDef):
        return None
    if any(
        ast.unparse(decorator).startswith(("dataclass", "dataclasses.")) for decorator in node.decorator_list
    ):
        return _of_dataclass(module, node)
    for statement in node.body:
        if isinstance(statement, Function) and statement.name == "__init__":
            return _of_function(module, statement, skip=1)
    return _inherited(module, node)


def _inherited(module: str, node: ast.ClassDef) -> Signature | None:
    """Return the signature of the first base class that has arguments; None if a base class cannot be read."""
    signature: Signature | None = Signature({})
    for base in node.bases:
        if isinstance(base, ast.Subscript) or ast.unparse(base) in WITHOUT_ARGUMENTS:
            continue
        found = _definition(module, ast.unparse(base))
        signature = _signature(*found) if found else None
        if signature is None or signature.types or signature.is_open:
            break
    return signature


def _of_function(module: str, node: Function, skip: int = 0) -> Signature:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = {a.arg for a in positional[len(positional) - len(arguments.defaults) :]}
    optional |= {
        a.arg for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default
    }
    taken = [*positional[skip:], *arguments.kwonlyargs]
    types = {a.arg: _type(module, a.annotation) for a in taken}
    return Signature(types, frozenset(types) - optional, arguments.kwarg is not None)


def _of_dataclass(module: str, node: ast.ClassDef) -> Signature | None:
    base = _inherited(module, node)
    if base is None:
        return None
    types, required = dict(base.types), set(base.required)
    for field in node.body:
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if ast.unparse(field.annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        types[field.target.id] = _type(module, field.annotation)
        if field.value is None:
            required.add(field.target.id)
    return Signature(types, frozenset(required))


def _type(module: str, node: ast.expr | None) -> Any:
    """Return the type of an annotation; Any for objects and for what cannot be read."""
    kind: Any = Any
    match node:
        case ast.Constant(value=None):
            kind = NoneType
        case ast.Constant(value=str(text)):
            kind = _type(module, ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            either = (_type(module, left), _type(module, right))
            kind = Any if Any in either else Union.__getitem__(either)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            kind = Literal.__getitem__(ast.literal_eval(inner))
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in LISTS:
            item = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
            kind = GenericAlias(list, (_type(module, item),))
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=[_, item])) if name in MAPPINGS:
            kind = GenericAlias(dict, (str, _type(module, item)))
        case ast.Name(id=name):
            kind = PLAIN.get(name) or _named_type(module, name)
    return kind


def _named_type(module: str, name: str) -> Any:
    found = _definition(module, name)
    match found:
        case (ranges.__name__, ast.Assign()):
            return getattr(ranges, name)
        case (where, ast.Assign(value=value)):
            return _type(where, value)
    return Any


def _definition(module: str, name: str) -> tuple[str, ast.stmt] | None:
    """Return the module that defines `name`, and the definition, following imports; None if it is not found."""
    for statement in _statements(module):
        match statement:
            case ast.ClassDef(name=defined) | ast.FunctionDef(name=defined) if defined == name:
                return module, statement
            case ast.Assign(targets=[ast.Name(id=defined)]) if defined == name:
                return module, statement
            case ast.ImportFrom(module=str(other), names=names, level=0):
                for alias in names:
                    if (alias.asname or alias.name) == name:
                        return _definition(other, alias.name)
    return None


@lru_cache
def _statements(module: str) -> tuple[ast.stmt, ...]:
    """Return the statements of a module's file, those under ``if TYPE_CHECKING`` included; none without a file."""
    path = _source_file(module)
    return tuple(_flat(ast.parse(path.read_text()).body)) if path else ()


def _flat(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in statements:
        yield from _flat(statement.body) if isinstance(statement, ast.If) else [statement]


def _source_file(module: str) -> Path | None:
    """Return the file of a module without importing its packages."""
    root, *inner = module.split(".")
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not inner:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        path = Path(folder, *inner)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None
