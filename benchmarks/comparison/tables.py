"""A run as text, as the section of a document, and as a picture."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import figures
from .figures import BOUNDS, FEWEST, Entry

SHOWN = ("torch", "inductor", "jax", "numpy")
BEGIN = "<!-- peers: written by benchmarks/peers.py -->"
END = "<!-- peers: end -->"


def seconds(value: float) -> str:
    """Three digits, in ms or us."""
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} us"


def line(row: Mapping[str, Any]) -> str:
    """A row as it comes."""
    head = f"{row['label']:44} {row['threads']}"
    if "error" in row:
        return f"{head}  ERROR {row['error']}"
    times = figures.times_of(row)
    cells = [f"{who} {_told(row, who, times)}" for who in row["peers"] if who in ("ted", *SHOWN)]
    one = figures.entry(row)
    ratio = f"ted / {one.best} {one.ratio:.2f} [{one.low:.2f}]" if one else ""
    return f"{head}  {'  '.join(cells)}  {ratio}"


def _told(row: Mapping[str, Any], who: str, times: Mapping[str, Sequence[float]]) -> str:
    told = row["peers"].get(who, {})
    if told.get("wrong"):
        return "WRONG"
    if told.get("error"):
        return "error"
    return seconds(statistics.median(times[who])) if who in times else ""


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a table."""
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def whole(rows: figures.Rows, threads: int) -> Iterator[str]:
    """Every row: seconds of each, the best peer, the ratio with its lower quartile."""
    peers = [p for p in SHOWN if any(p in row.get("peers", {}) for row in rows)]
    lines = []
    for row in (row for row in rows if row["threads"] == threads and "error" not in row):
        times, one = figures.times_of(row), figures.entry(row)
        ratio = (one.best, f"{one.ratio:.2f} ({one.low:.2f})") if one else ("", "")
        lines.append([row["label"], *(_told(row, p, times) for p in ("ted", *peers)), *ratio])
    yield from markdown(["workload", "ted", *peers, "best peer", "ted / best"], lines)


def missed(found: Sequence[Entry], peaks: Mapping[str, Any], kind: str) -> Iterator[str]:
    """The entries of a kind that are beyond its bound, with their shares of what is possible."""
    all_of_kind = [e for e in found if e.kind == kind]
    some = figures.misses(found, kind)
    judged = sum(len(e.ratios) >= FEWEST for e in all_of_kind)
    few = len(all_of_kind) - judged
    rest = f"; {few} of fewer than {FEWEST} rounds are not judged" if few else ""
    yield f"{len(some)} of {judged} {kind} entries above {BOUNDS[kind]}{rest}"
    if not some:
        return
    yield ""
    header = ["workload", "lower quartile", "lost", "best peer", "ted's share", "its share", "of"]
    yield from markdown(
        header,
        (
            (
                e.label, f"{e.low:.2f}", seconds(e.lost), e.best,
                f"{figures.share(e, 'ted', peaks):.2f}", f"{figures.share(e, e.best, peaks):.2f}",
                "peak" if e.row["bound"] == "compute" and e.row["flops"] else "a copy",
            )
            for e in some
        ),
    )  # fmt: skip


def summary(run: Mapping[str, Any]) -> Iterator[str]:
    """All that a run says but the rows themselves."""
    rows = run["rows"]
    for threads in sorted({row["threads"] for row in rows}):
        found = figures.entries(rows, threads)
        yield f"Threads: {threads}. ted over the best peer, geometric means:"
        yield ""
        means = [(f, f"{m:.2f}", n) for f, (m, n) in figures.means(found).items() if n]
        yield from markdown(["family", "ted / best", "entries"], means)
        for kind in BOUNDS:
            yield ""
            yield from missed(found, run["peaks"], kind)
        yield ""
        yield from _small(found)
    yield from _gains(rows)
    yield from _faults(rows)


def _small(found: Sequence[Entry]) -> Iterator[str]:
    some = figures.small(found)
    yield f"Work of 20 us and less: {len(some)} entries"
    if some:
        mean = figures.geometric_mean([e.ratio for e in some])
        most = ", ".join(f"{e.label} {e.ratio:.2f}" for e in some[:5])
        yield f"ted / best {mean:.2f} in the mean; the most lost: {most}"


def _gains(rows: figures.Rows) -> Iterator[str]:
    some = figures.gains(rows)
    if some:
        yield ""
        yield "What a second thread gains, and what it gains a plain loop at that time:"
        yield ""
        header = ["workload", "ted", "plain loop"]
        yield from markdown(header, ((g.label, f"{g.ours:.2f}", f"{g.plain:.2f}") for g in some))


def _faults(rows: figures.Rows) -> Iterator[str]:
    some = list(figures.faults(rows))
    if some:
        yield ""
        yield "Not timed:"
        yield ""
        yield from (f"- {without_folders(text)}" for text in some)


def without_folders(text: str) -> str:
    """The text with files by their names alone: folders are those of one machine."""
    return re.sub(r"(?:/[\w.@+-]+)+/(?=[\w.@+-])", "", text)


def section(run: Mapping[str, Any]) -> str:
    """The section of docs/performance.md that a run is."""
    about = run["environment"]
    how = "`python benchmarks/peers.py --write-docs` writes this section from a run"
    lines = [BEGIN, "", "# Beside its peers", "", f"{how}: {about}.", "", *summary(run), ""]
    for threads in sorted({row["threads"] for row in run["rows"]}):
        lines += [f"All rows, threads: {threads}", "", *whole(run["rows"], threads), ""]
    return "\n".join([*lines, END])


def written(text: str, new: str) -> str:
    """The document with the section, in place of the one between the marks or at the end."""
    if BEGIN not in text:
        return f"{text.rstrip()}\n\n{new}\n"
    before, _, rest = text.partition(BEGIN)
    return before + new + rest.partition(END)[2]


def picture(run: Mapping[str, Any], path: Path) -> None:
    """Ratios as bars on a logarithmic axis, sorted, a colour for each family."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    found = sorted(figures.entries(run["rows"], 1), key=lambda e: e.ratio)
    colours = dict(zip(figures.FAMILIES, ("tab:blue", "tab:orange", "tab:green"), strict=True))
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.16 * len(found)))
    axes.barh(
        [e.label for e in found], [e.ratio - 1 for e in found], left=1.0, height=0.8,
        color=[colours[e.row["family"]] for e in found],
    )  # fmt: skip
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.tick_params(axis="y", labelsize=6)
    axes.set_ymargin(0.002)
    axes.set_xlabel("time of ted over that of the best peer, one thread")
    for family, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=6, label=family)
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
