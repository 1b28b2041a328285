"""Families of filters: each ``conf/filter/*.yaml`` names one as ``family``, and the report orders rows by them."""

UPPER_BOUND = "upper_bound"  # reads the planted noise labels, so it does not compete
FAMILIES = (
    "baseline",  # no information about the pair
    "datacomp",  # DataComp's rules: language, size, ImageNet's nouns and images
    "clip",  # similarities and embeddings of CLIP models
    "text",  # syntax and information of the caption
    "text_in_images",  # text that OCR reads in the image
    "concreteness",  # how visual a caption is
    "external",  # scores and selections computed elsewhere
    "composite",  # several filters combined
    UPPER_BOUND,
)


def family_position(family: str) -> int:
    """Return the position of a family's rows; an unknown family, or none, comes after the known ones.

    Upper bounds stay last.
    """
    if family == UPPER_BOUND:
        return len(FAMILIES)
    return FAMILIES.index(family) if family in FAMILIES else len(FAMILIES) - 1
