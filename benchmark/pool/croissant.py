"""The Croissant file of a resharded subset, see https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html."""

from collections.abc import Mapping
from typing import Any

FILE = "croissant.json"
# The prefixes and terms that the specification asks for.
_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset"
    " jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source"
    " subField transform"
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
} | {term: f"cr:{term}" for term in _TERMS.split()}


def croissant(name: str, tars: Mapping[str, str]) -> dict[str, Any]:
    """Return a data set's description: records of key, image, uid and caption, in `tars`, the SHA-256 of each path.

    Its publisher adds url, creator and date, which the specification asks for, and the pool's licence.
    """
    archives = [
        {"contentUrl": path, "encodingFormat": "application/x-tar", "sha256": sha256}
        | _node("FileObject", path)
        for path, sha256 in tars.items()
    ]
    members = [
        {
            "containedIn": [{"@id": path} for path in tars],
            "encodingFormat": encoding,
            "includes": f"*.{extension}",
        }
        | _node("FileSet", extension)
        for extension, encoding in {"jpg": "image/jpeg", "json": "application/json"}.items()
    ]
    # The members of a pair have the same name, but for the extension.
    key = {"references": _source("json", "fileProperty", "filename", regex=r"(\d+)\.json")}
    fields = [
        _field("key", _source("jpg", "fileProperty", "filename", regex=r"(\d+)\.jpg")) | key,
        _field("image", _source("jpg", "fileProperty", "content"), "sc:ImageObject"),
        *(_field(name, _source("json", "jsonPath", f"$.{name}")) for name in ("uid", "caption")),
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": "Image-caption pairs in tars of the webdataset format, chosen with pairsift",
        "license": "terms of the pool",
        "distribution": archives + members,
        "recordSet": [_node("RecordSet", "pairs") | {"key": {"@id": "pairs/key"}, "field": fields}],
    }


def _node(kind: str, name: str) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": name, "name": name}


def _source(files: str, extract: str, what: str, **transform: str) -> dict[str, Any]:
    source = {"fileSet": {"@id": files}, "extract": {extract: what}}
    return source | {"transform": transform} if transform else source


def _field(name: str, source: Mapping[str, Any], data_type: str = "sc:Text") -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"pairs/{name}",
        "name": name,
        "dataType": data_type,
        "source": source,
    }
