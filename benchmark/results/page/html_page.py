"""Pages of HTML without scripts that load nothing, light or dark as the reader's system is. All text is escaped."""

from collections.abc import Iterable, Sequence

from benchmark.core.visible import visible_html
from benchmark.results.report.table import Cell, Table

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title}</title>
<style>body{{font:15px/1.5 sans-serif;max-width:{width};margin:2em auto;padding:0 1em}}
svg{{width:100%;height:auto;display:block}}.scroll{{overflow-x:auto;margin:1em 0}}
table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}caption{{text-align:left;font-weight:bold}}
td,th{{padding:.15em .6em;border-bottom:1px solid #8884;text-align:right;vertical-align:top}}
td:first-child,th:first-child,td.words{{text-align:left}}
.note{{font-size:12px;margin:.3em 0;opacity:.8;overflow-wrap:anywhere}}
{style}</style>
</head><body><h1>{title}</h1>
{body}
</body></html>
"""


def page(title: str, body: Iterable[str], style: str = "", width: str = "64em") -> str:
    """Return a whole page; `body` is HTML already, `title` is not. `style` is CSS for this page alone."""
    return _PAGE.format(title=visible_html(title), body="\n".join(body), style=style, width=width)


def table_html(table: Table) -> str:
    """Return a table with its notes."""
    rows = ["".join(f"<td>{_cell(cell)}</td>" for cell in row) for row in table.rows]
    notes = "".join(f'<p class="note">{visible_html(note)}</p>' for note in table.notes)
    return rows_html(table.title, table.header, rows) + notes


def _cell(cell: Cell) -> str:
    text = visible_html(cell.text)
    return f"<b>{text}</b>" if cell.bold else text


def rows_html(title: str, header: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table whose rows are HTML already."""
    head = "".join(f"<th>{visible_html(name)}</th>" for name in header)
    lines = "\n".join(f"<tr>{row}</tr>" for row in rows)
    caption = f"<caption>{visible_html(title)}</caption>"
    return f'<div class="scroll"><table>{caption}<tr>{head}</tr>\n{lines}</table></div>'
