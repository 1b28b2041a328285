"""Compositions of Hydra that are remembered: tests make a thousand, of some hundred choices of configs."""

import copy
import os
import pickle
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hydra._internal import config_loader_impl, defaults_list
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, ListConfig, OmegaConf, grammar_parser


class Defaults(list[Any]):
    """The defaults list of a composition."""

    tree: Any
    choices: Mapping[str, str]
    stored: Any  # configs of the store, whose ids are in the key
    version: int  # of all files and stored configs


def remember_compositions(patch: pytest.MonkeyPatch) -> None:
    """Parse each YAML file once, and merge the configs of each choice once, as long as no file and no part changes.

    Nor does Hydra make a map of all choices for each of these files, which costs a third of a composition: a default
    that named another choice by `${}` would need it, and would fail without.
    """
    Plugins.instance()  # its search makes the classes of the sources again
    nothing, remembered, versions = OmegaConf.create(), dict[Hashable, Defaults](), dict[Hashable, int]()
    make = config_loader_impl.create_defaults_list

    def create_defaults_list(repo: Any, config_name: Any, overrides_list: Any, **options: Any) -> Any:
        overrides = defaults_list.Overrides(repo, overrides_list)
        groups = (overrides.override_choices, overrides.append_group_defaults, overrides.deletions)
        stored = [*_stored(ConfigStore.instance().repo)]
        version = versions.setdefault((_files(repo), *map(id, stored)), len(versions))
        key = (version, config_name, repr(groups), repr(options))
        if (known := remembered.get(key)) is None:
            created = make(repo, config_name, overrides_list, **options)
            known = remembered[key] = Defaults(created.defaults)
            known.tree, known.choices = created.defaults_tree, created.overrides.known_choices
            known.stored, known.version = stored, version
        overrides.known_choices = dict(known.choices)
        return defaults_list.DefaultsList(known, known.tree, overrides.config_overrides, overrides)

    patch.setattr(config_loader_impl, "create_defaults_list", create_defaults_list)
    patch.setattr(ConfigRepository, "__deepcopy__", lambda self, _: copy.copy(self), raising=False)
    patch.setattr("hydra._internal.defaults_list._create_interpolation_map", lambda *_: nothing)
    _parse_once(patch)
    _parse_grammars_once(patch)
    _merge_once(patch, config_loader_impl.ConfigLoaderImpl)
    for kind in (DictConfig, ListConfig):
        _copy_fast(patch, kind)


def _merge_once(patch: pytest.MonkeyPatch, loader: Any) -> None:
    """Merge each node at the top level, such as `filter`, once for the configs that have it."""
    merge, load = loader._compose_config_from_defaults_list, loader._load_single_config
    merged, nodes = dict[Hashable, bytes](), dict[Hashable, tuple[str, ...]]()

    def compose_config(self: Any, defaults: Defaults, repo: Any) -> Any:
        having = defaultdict[str, dict[str, Any]](dict)  # defaults by a node of their configs
        for default in defaults:
            known = f"{defaults.version} {default!r} {default.primary}"
            if known not in nodes:
                nodes[known] = tuple(load(self, default, repo).config)
            for node in nodes[known]:
                having[node][known] = default
        cfg = OmegaConf.create()
        for node, of_node in having.items():
            key = (node, *of_node)
            if key not in merged:
                parts = [copy.copy(default) for default in of_node.values()]
                for part in parts:
                    part.only = node
                merged[key] = pickle.dumps(merge(self, parts, repo))
            cfg.__dict__["_content"] |= pickle.loads(merged[key]).__dict__["_content"]
        cfg._re_parent()
        return cfg

    def load_config(self: Any, default: Any, repo: Any) -> Any:
        whole = load(self, default, repo)
        only = OmegaConf.create(flags={**whole.config._metadata.flags, "no_deepcopy_set_nodes": True})
        only[default.only] = whole.config._get_node(default.only)
        return ConfigResult(whole.provider, whole.path, only, whole.header)

    patch.setattr(loader, "_compose_config_from_defaults_list", compose_config)
    patch.setattr(loader, "_load_single_config", load_config)


def _parse_once(patch: pytest.MonkeyPatch) -> None:
    """Parse a config of a folder again only if its file has changed; a package's never does."""
    load, package = ConfigRepository.load_config, SourcesRegistry.instance().types["pkg"]
    parsed, ask = dict[Hashable, bytes](), package.is_config

    def load_config(self: ConfigRepository, config_path: str) -> Any:
        source = self._find_object_source(config_path, ObjectType.CONFIG)
        if source is None or source.scheme() not in ("file", "pkg"):
            return load(self, config_path)
        key: Hashable = (source.provider, source.path, config_path)
        if source.scheme() == "file":
            status = Path(source.path, source._normalize_file_name(config_path)).stat()
            key = (key, status.st_mtime_ns, status.st_size)
        if key not in parsed:
            parsed[key] = pickle.dumps(load(self, config_path))  # a third of the time of a deep copy
        return pickle.loads(parsed[key])

    known = cache(lambda path, config_path: ask(package("", f"pkg://{path}"), config_path))
    patch.setattr(package, "is_config", lambda self, config_path: known(self.path, config_path))
    patch.setattr(ConfigRepository, "load_config", load_config)


def _parse_grammars_once(patch: pytest.MonkeyPatch) -> None:
    """Parse each interpolation and each override of a command once: a twentieth of the time of all tests."""
    for module in ("omegaconf.base", "omegaconf._utils"):
        patch.setattr(f"{module}.parse", cache(grammar_parser.parse))
    parse, parsed = OverridesParser.parse_rule, dict[tuple[str, str], Any]()

    def parse_rule(self: OverridesParser, text: str, rule: str) -> Any:
        if (text, rule) not in parsed:
            parsed[text, rule] = parse(self, text, rule)
        return copy.deepcopy(parsed[text, rule])

    patch.setattr(OverridesParser, "parse_rule", parse_rule)


def _copy_fast(patch: pytest.MonkeyPatch, kind: type[Any]) -> None:
    """Copy configs by pickling, in two fifths of the time; a composition and each part that is built make copies."""
    deepcopy = kind.__deepcopy__

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        parent, self.__dict__["_parent"] = self.__dict__["_parent"], None
        try:
            made = pickle.loads(pickle.dumps(self))
        except (pickle.PicklingError, AttributeError, TypeError):  # an object of the user's
            made = deepcopy(self, memo)
        finally:
            self.__dict__["_parent"] = parent
        made.__dict__["_parent"] = parent
        return made

    patch.setattr(kind, "__deepcopy__", copied)


def _files(repo: Any) -> Hashable:
    """Return the folders that configs come from, with the time and the size of each file."""
    found: list[Any] = []
    for source in repo.get_sources():
        found.append((source.provider, source.path))
        folders = [source.path] if source.scheme() == "file" else []
        for folder in folders:
            for entry in os.scandir(folder):
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    status = entry.stat()
                    found.append((entry.path, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _stored(configs: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the configs of Hydra's store."""
    for config in configs.values():
        yield from _stored(config) if isinstance(config, dict) else [config]
