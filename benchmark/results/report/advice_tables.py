"""The tables of an `Advice`: the filters, with the advice in words below them, and the sizes."""

from benchmark.results.protocol import size_text
from benchmark.results.report.advice import CLEAR, OPEN, Advice, AdvisedFilter, AdvisedSize
from benchmark.results.report.frame import Measure
from benchmark.results.report.table import Table, plain

AT_MEASURED = (
    "P(best), ranks (95%), gain and expected regret are at the measured budget, with the noise of seeds and of"
    " evaluation images. No law is fitted: whether the order holds at the larger budget, these runs cannot show."
)


def advice_tables(advice: Advice) -> list[Table]:
    """Return the filters, with the advice in words as notes, and the sizes."""
    measure = advice.measure
    title = f"Advice for {advice.question} by {measure.title}"
    several = len({of.budget for of in advice.filters}) > 1
    header = ["filter", *["budget"] * several, "best size", measure.label, "rank", "P(best)", "same size"]
    rows = [
        plain(
            of.best.filter, *[size_text(of.budget)] * several,
            " at ".join(map(size_text, (of.best.size, of.best.budget))), _value(measure, of.best),
            " to ".join(map(str, sorted({*of.ranks}))), _p(of),
            _carried(of.best.size, of.budget), _carried(of.equal_epochs_size, of.budget),
        )
        for of in advice.filters
    ]  # fmt: skip
    of_sizes = ["filter", "size", "budget", "epochs", measure.label, "P(best)"]
    sizes = [
        plain(
            of.filter, *map(size_text, (of.size, of.budget)), f"{of.epochs:.3g}", _value(measure, of), _p(of)
        )
        for of in advice.sizes
    ]
    notes = [*_sentences(advice), *advice.notes, AT_MEASURED]
    return [Table(title, [*header, "equal epochs"], rows, notes), Table(f"{title}: sizes", of_sizes, sizes)]


def _p(of: AdvisedSize | AdvisedFilter) -> str:
    return f"{of.p_best:.0%}"


def _carried(size: int, budget: int) -> str:
    epochs = budget / size
    return f"{size_text(size)}, {epochs:.3g} epoch{'s' * (epochs != 1)}"


def _value(measure: Measure, of: AdvisedSize) -> str:
    ends = f" ({' to '.join(map(measure.text, of.interval))})" if of.interval else ""
    return measure.text(of.value) + ends


def _sentences(advice: Advice) -> list[str]:
    choice, unfiltered, text = advice.choice, advice.unfiltered, advice.measure.text
    named, without = (f"{of.filter} at size {size_text(of.size)}" for of in (choice, unfiltered))
    certain = f"P(best) {_p(choice)}, expected regret {text(advice.regret)} {advice.measure.label}"
    lines = [f"Choice: {named}, {certain}, from {advice.runs} runs."]
    if choice.p_best < OPEN:
        lines = [
            f"These runs cannot tell which filter and size is best. Least expected regret: {named} ({certain})."
        ]
    elif choice.p_best < CLEAR:
        lines = [f"These runs are not sure. Probable choice: {named}, {certain}, from {advice.runs} runs."]
    if choice == unfiltered:
        lines.append(f"Without a filter: the same; no filter is expected to be above {named}.")
    else:
        amount, low, high = map(text, advice.gain)
        lines.append(
            f"Without a filter: {text(unfiltered.value)} ({without}); the choice is {amount} better (95%: {low} to"
            f" {high})."
        )
    if advice.next_runs:
        lines.append("The runs that would tell most for their cost:")
    elif choice.p_best < CLEAR:
        lines.append(
            "No further run of these would tell more; try other filters or sizes, or a larger budget."
        )
    for run in advice.next_runs:
        lines.append(f"{run.minutes:.2g} minutes, regret -{run.reduction:.2g}: {run.command}")
    return lines
