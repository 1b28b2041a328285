"""``task=figure``: a figure of a paper, drawn again, as a page and, if it is a picture, as SVG."""

import base64
import copy
import inspect

import hydra

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.core.sanitize import visible_html
from benchmark.results.page.html_page import plain_page, table_html
from benchmark.run.config import FIGURE_PARTS, build, make_filters, shipped_names
from benchmark.run.job import Job
from benchmark.run.output import print_result
from pairsift.studies.icc.concreteness.evaluation import fit
from pairsift.studies.profile.page import STYLE

WRAPPED = (
    STYLE + "th{text-align:left;white-space:normal}"
    ".words{margin-right:1em;min-width:10em}"
    "tr>:first-child{max-width:none}"
    ".images{display:flex;flex-wrap:wrap;gap:4px;min-width:40em}"
)


def figure(job: Job) -> None:
    """Draw the figure; print the path of its SVG, if it is a picture, and of its page."""
    if "figure" not in job.cfg:
        raise UserError(f"task=figure needs figure=NAME, one of {', '.join(sorted(shipped_names('figure')))}")
    settings = copy.deepcopy(job.cfg.figure)
    filters = make_filters(settings, job.choices, "figure")
    heading, after, _ = settings.pop("heading"), settings.pop("after"), settings.pop("filters", None)
    taken = inspect.signature(hydra.utils.get_method(settings._target_)).parameters
    for scorer in filters.values():
        fit(scorer, lambda: job.pool, job.engine)
    settings._partial_ = True
    parts = {part: getattr(job, part) for part in FIGURE_PARTS.intersection(taken)}
    drawn = build(settings)(**parts, **({"filters": filters} if "filters" in taken else {}))
    path = job.results_dir / "figures" / f"{job.choices['figure']}.html"
    pool = f"pool {job.cfg.pool.name}, " * ("pool" in parts)
    facts = f"After {after}: {pool}models={job.choices['models']}, seed {job.seed}"
    body = [f'<p class="note">{visible_html(facts)}</p>']
    if isinstance(drawn, str):
        write_text(path.with_suffix(".svg"), drawn)
        print_result(str(path.with_suffix(".svg")))
        image = f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"
        body.append(f'<img class="plot" src="{image}" alt="{visible_html(heading)}">')
    else:
        body += map(table_html, drawn)
    write_text(path, plain_page(heading, body, WRAPPED))
    print_result(str(path))
