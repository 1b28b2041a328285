"""Bars: ranked with whiskers, and stacked in rows or columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.results.report.svg import (
    CHARACTER,
    WIDE,
    Frame,
    Limits,
    Series,
    axes,
    box,
    legend,
    line,
    rule,
    shortened,
    svg,
    text,
    ticks,
    vertical_rule,
    with_tooltip,
)

ROW = 18.0  # height of a bar and the space below it


@dataclass(frozen=True)
class Bar:
    """One filter.

    Args:
        label: its name.
        value: its mean.
        number: the mean as text, with the spread if there is one.
        colour: of the bar.
        spread: half of its 95% interval; None without one.
        is_upper_bound: draw an outline, since it does not compete.
    """

    label: str
    value: float
    number: str
    colour: str
    spread: float | None = None
    is_upper_bound: bool = False


def ranked_bars(bars: Sequence[Bar], longest: float, reference: float | None, label: str) -> str:
    """Return horizontal bars, the largest first, from 0 to `longest`, with a dashed line at `reference`."""
    ranked = sorted(bars, key=lambda bar: -bar.value)
    characters = max(len(bar.number) for bar in bars)
    frame, limits = _rows_frame([bar.label for bar in bars], characters), (0.0, longest or 1.0)
    parts = [vertical_rule(frame, frame.x(value, limits), f"{value:g}") for value in ticks(*limits)]
    if reference is not None:
        x = frame.x(reference, limits)
        parts.append(rule(x, frame.top - 2, x, frame.floor, strong=True))
    for index, bar in enumerate(ranked):
        top = frame.top + index * ROW
        parts.append(_row_label(frame, bar.label, top + ROW / 2))
        parts.append(with_tooltip(f"{bar.label}: {bar.number}", _bar(frame, limits, bar, top)))
    return svg(frame, label, parts)


def _bar(frame: Frame, limits: Limits, bar: Bar, top: float) -> list[str]:
    end, middle = frame.x(bar.value, limits), top + ROW / 2
    width = max(0.0, end - frame.left)
    parts = [box(frame.left, top + 2, width, ROW - 4, bar.colour, outlined=bar.is_upper_bound)]
    if bar.spread is not None:
        low, high = (frame.x(bar.value + sign * bar.spread, limits) for sign in (-1, 1))
        ends = [f"{max(low, frame.left):.1f},{middle:.1f}", f"{high:.1f},{middle:.1f}"]
        parts.append(line(ends, "currentColor"))
        end = max(end, high)
    return [*parts, text(end + 5, middle + 4, bar.number, "start", halo=True)]


def _rows_frame(labels: Sequence[str], characters: int) -> Frame:
    """Return a frame as high as its rows, with room for the labels, and for numbers of so many characters."""
    left = 12 + CHARACTER * max(len(shortened(label)) for label in labels)
    return Frame(400, 26 + ROW * len(labels), left=left, right=12 + CHARACTER * characters, top=4, bottom=22)


def _row_label(frame: Frame, label: str, middle: float) -> str:
    return with_tooltip(label, [text(frame.left - 6, middle + 4, shortened(label), "end")])


def stacked_columns(
    shares: Sequence[Sequence[float]], series: Sequence[Series], titles: Sequence[str], label: str
) -> str:
    """Return vertical bars of shares that sum to 1, shape (bars, series), the first series at the bottom.

    Args:
        shares: of each bar, one share per series.
        series: names and colours.
        titles: names of the bars, shown as tooltips.
        label: of the x axis.
    """
    width = WIDE.plot_width / len(shares)
    parts = [axes(WIDE, (0.0, 1.0), label, percent=True)]
    for index, (row, title) in enumerate(zip(shares, titles, strict=True)):
        start, boxes = 0.0, []
        for value, (_, colour) in zip(row, series, strict=True):
            top = WIDE.y(start + value, (0.0, 1.0))
            height = WIDE.y(start, (0.0, 1.0)) - top
            boxes.append(box(WIDE.left + index * width, top, 0.92 * width, height, colour))
            start += value
        parts.append(with_tooltip(title, boxes))
    return svg(WIDE, label, [*parts, legend(series)])
