"""The Croissant file of a resharded subset, see https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html."""

from typing import Any

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


def croissant(name: str) -> dict[str, Any]:
    """Return a data set's description: records of key, image, uid and caption, in ``shards/*.tar``.

    Its publisher adds url, creator and date, which the specification asks for, and the pool's licence.
    """
    tars = _node("FileSet", "tars", includes="shards/*.tar", encodingFormat="application/x-tar")
    members = [
        _node("FileSet", of, containedIn={"@id": "tars"}, includes=f"*.{of}", encodingFormat=encoding)
        for of, encoding in {"jpg": "image/jpeg", "json": "application/json"}.items()
    ]
    # The members of a pair have the same name, but for the extension.
    keys = [
        _source(of, fileProperty="filename") | {"transform": {"regex": rf"(\d+)\.{of}"}}
        for of in ("jpg", "json")
    ]
    fields = [
        _field("key", keys[0], references=keys[1]),
        _field("image", _source("jpg", fileProperty="content"), dataType="sc:ImageObject"),
        *(_field(name, _source("json", jsonPath=f"$.{name}")) for name in ("uid", "caption")),
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": "Image-caption pairs in tars of the webdataset format, chosen with pairsift",
        "license": "terms of the pool",
        "distribution": [tars, *members],
        "recordSet": [_node("RecordSet", "pairs", key={"@id": "pairs/key"}, field=fields)],
    }


def _node(kind: str, name: str, **properties: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": name, "name": name, **properties}


def _source(files: str, **extract: str) -> dict[str, Any]:
    return {"fileSet": {"@id": files}, "extract": extract}


def _field(name: str, source: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return _node("Field", f"pairs/{name}", source=source, **{"dataType": "sc:Text"} | properties)
