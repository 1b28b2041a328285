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
    """Return a data set's description: the tars in ``shards``, and the images and JSON in them.

    Its publisher adds url, creator and date, which the specification asks for, and the pool's licence.
    """
    tars = _file_set("tars", includes="shards/*.tar", encodingFormat="application/x-tar")
    members = [
        _file_set(of, containedIn={"@id": "tars"}, includes=f"*.{of}", encodingFormat=encoding)
        for of, encoding in {"jpg": "image/jpeg", "json": "application/json"}.items()
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": "Image-caption pairs in tars of the webdataset format, chosen with pairsift",
        "license": "terms of the pool",
        "distribution": [tars, *members],
    }


def _file_set(name: str, **properties: Any) -> dict[str, Any]:
    return {"@type": "cr:FileSet", "@id": name, "name": name, **properties}
