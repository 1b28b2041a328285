"""Lines with points, and histograms."""

from collections.abc import Sequence

from benchmark.results.report.svg import (
    WIDE,
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
    marks = _curves(limits, values, series, titles)
    return svg(WIDE, label, [axes(WIDE, limits, label), *marks, legend(series)])


def _curves(
    limits: Limits,
    values: Sequence[Sequence[float | None]],
    series: Sequence[Series],
    titles: Sequence[str],
) -> list[str]:
    """Return the lines and points of `values`, shape (series, n), each in the middle of its n-th part of the plot."""
    step = WIDE.plot_width / max(1, len(titles))
    parts = []
    for row, (name, colour) in zip(values, series, strict=True):
        pieces: list[list[str]] = [[]]
        for index, value in enumerate(row):
            if value is None:
                pieces.append([])
                continue
            x, y = WIDE.left + (index + 0.5) * step, WIDE.y(value, limits)
            pieces[-1].append(f"{x:.1f},{y:.1f}")
            parts.append(dot(x, y, 2.4, colour, f"{name}, {titles[index]}: {value:.5g}"))
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
