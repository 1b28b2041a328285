"""Lines with points, and histograms."""

from collections.abc import Sequence

from benchmark.report.svg import (
    WIDE,
    Frame,
    Limits,
    Series,
    axes,
    dot,
    legend,
    line,
    padded_limits,
    svg,
    text,
    ticks,
)


def lines(
    values: Sequence[Sequence[float | None]], series: Sequence[Series], titles: Sequence[str], label: str
) -> str:
    """Return one line per series of `values`, shape (series, n); it is broken where a value is None.

    Args:
        values: of each series, n numbers.
        series: names and colours.
        titles: names of the n positions, shown as tooltips.
        label: of the x axis.
    """
    limits = padded_limits([value for row in values for value in row if value is not None])
    marks = _curves(WIDE, limits, values, series, titles)
    return svg(WIDE, label, [axes(WIDE, limits, label), *marks, legend(series)])


def counts_by_position(
    frame: Frame, counts: Sequence[Sequence[float]], series: Sequence[Series], label: str
) -> str:
    """Return one line of counts per series, shape (series, positions); the first position is 1."""
    longest = max(len(row) for row in counts)
    limits = (0.0, 1.05 * max(1.0, *(max(row, default=0.0) for row in counts)))
    titles = [f"position {index + 1}" for index in range(longest)]
    parts = [axes(frame, limits, label), *_curves(frame, limits, counts, series, titles)]
    for position in (1, *range(5, longest + 1, 5)):
        x = frame.left + (position - 0.5) * frame.plot_width / longest
        parts.append(text(x, frame.floor + 16, str(position), "middle"))
    return svg(frame, label, parts)


def _curves(
    frame: Frame,
    limits: Limits,
    values: Sequence[Sequence[float | None]],
    series: Sequence[Series],
    titles: Sequence[str],
) -> list[str]:
    """Return the lines and points of `values`, shape (series, n), each in the middle of its n-th part of the plot."""
    step = frame.plot_width / max(1, len(titles))
    radius = min(2.4, frame.width / 250)
    parts = []
    for row, (name, colour) in zip(values, series, strict=True):
        pieces: list[list[str]] = [[]]
        for index, value in enumerate(row):
            if value is None:
                pieces.append([])
                continue
            x, y = frame.left + (index + 0.5) * step, frame.y(value, limits)
            pieces[-1].append(f"{x:.1f},{y:.1f}")
            parts.append(dot(x, y, radius, colour, f"{name}, {titles[index]}: {value:.5g}"))
        parts += [line(points, colour) for points in pieces if len(points) > 1]
    return parts


def histograms(
    edges: Sequence[float], counts: Sequence[Sequence[int]], series: Sequence[Series], label: str
) -> str:
    """Return outlines of histograms over the same bins: `edges` of shape (b + 1,), `counts` (series, b)."""
    limits = (0.0, float(max(1, max(max(row) for row in counts))))
    width = WIDE.plot_width / (len(edges) - 1)
    parts = [axes(WIDE, limits, label)]
    for row, (_, colour) in zip(counts, series, strict=True):
        points = []
        for index, count in enumerate(row):
            y, x = WIDE.y(count, limits), WIDE.left + index * width
            points += [f"{x:.1f},{y:.1f}", f"{x + width:.1f},{y:.1f}"]
        parts.append(line(points, colour))
    ends = (edges[0], edges[-1])
    parts += [text(WIDE.x(value, ends), WIDE.floor + 16, f"{value:g}", "middle") for value in ticks(*ends)]
    return svg(WIDE, label, [*parts, legend(series)])
