"""Charts as a reader meets them: names, texts, tooltips."""

import re
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


def charts(html: str) -> dict[str, ET.Element]:
    """The charts of a page by their names."""
    return {chart.get("aria-label", ""): chart for chart in charts_in_order(html)}


def charts_in_order(html: str) -> list[ET.Element]:
    """The charts of a page, all of them well-formed XML."""
    return [ET.fromstring(chart) for chart in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def tooltips(chart: ET.Element) -> list[str]:
    """What each bar or point shows when pointed at, in the order of the chart; labels have tooltips too."""
    marks = [group for group in chart.iter(f"{SVG}g") if group.find(f"{SVG}rect") is not None]
    marks += list(chart.iter(f"{SVG}circle"))
    return [mark.findtext(f"{SVG}title") or "" for mark in marks]


def written(chart: ET.Element) -> list[str]:
    """All visible texts."""
    return [text.text or "" for text in chart.iter(f"{SVG}text")]
