"""Patterns by domain, and the words for colours and patterns; repeated words are more frequent."""

COLOUR_WORDS: dict[str, tuple[str, ...]] = {
    "red": ("red", "red", "red", "crimson"),
    "purple": ("purple", "purple", "violet"),
    "grey": ("grey", "gray"),
    "black": ("black", "black", "dark"),
    "yellow": ("yellow", "yellow", "yellow", "golden"),
}
IN_PATTERNS = ("plain", "striped", "dotted", "checked", "shiny")
NEAR_PATTERNS = ("wooden",)
OUT_PATTERNS = ("zigzag", "rainbow")
PATTERN_WORDS: dict[str, tuple[str, ...]] = {
    "plain": ("",),
    "striped": ("striped", "striped", "stripy"),
    "dotted": ("dotted", "spotted", "polka-dot"),
    "checked": ("checked", "checkered"),
    "shiny": ("shiny", "shiny", "glossy"),
    "wooden": ("wooden",),
    "zigzag": ("zigzag", "zigzag-patterned"),
    "rainbow": ("rainbow", "rainbow-coloured"),
}
