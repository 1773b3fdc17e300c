"""`circuit-explorer show`, `html` and `svg`: a trace as text with answers, as a page, and a step as a picture."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from explorer.app.commands.console import check_output, notes, print_text, results, say_note
from explorer.app.commands.trace import OfLevel, Source, trace_of
from explorer.errors import FileFormatError
from explorer.files import replace_file
from explorer.trace import COMPILED

if TYPE_CHECKING:
    from explorer.trace import Rewritten, Step, Trace
    from explorer.views import TraceIndex
    from explorer_widgets.schema import ColourBy, Mode

HEADINGS = {"transcendentals": "exp and log"}
BAR_WIDTH = 20
"""Characters of the bar of the step with the most calls."""
OF_MEMORY = ("DeleteDeadAllocs", "PlanMemory")
"""Passes that change weights or memory, not the instructions that use them."""
MAX_PER_RULE = 10
"""Rewrites listed per rule and step; the rest is counted, and listed with --all."""


def show(
    source: Source,
    step: Annotated[
        str | None, typer.Option(metavar="N|PATH", help="one step: by number (-1 is the last) or by path")
    ] = None,
    steps: Annotated[bool, typer.Option("--steps", help="a table of all steps, even those without a change")] = False,
    graph: Annotated[
        bool, typer.Option("--graph", help="the graph or program as text, after --step or at the end")
    ] = False,
    why_not: Annotated[
        tuple[str, int] | None, typer.Option(metavar="PATTERN NODE", help="why a pattern was not applied at a node")
    ] = None,
    near_misses: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="attempts of a pattern that failed; 'all' for every pattern")
    ] = None,
    conflicts: Annotated[bool, typer.Option("--conflicts", help="matches that lost a conflict")] = False,
    folds: Annotated[bool, typer.Option("--folds", help="fold groups and missed folds")] = False,
    why_not_folded: Annotated[
        tuple[int, int] | None, typer.Option(metavar="NODE NODE", help="why two layers were not folded together")
    ] = None,
    why_not_fused: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="NODE NODE", help="why another compiler did not fuse two calls, in its words"),
    ] = None,
    why_not_shared: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="BUFFER BUFFER", help="whether two buffers of a program share memory, and if not, why"),
    ] = None,
    lineage: Annotated[
        int | None, typer.Option(metavar="NODE", help="the origin and the descendants of a node")
    ] = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="layers, folds, parameters, FLOPs, bytes: after --step or all steps")
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="statistics of each rule")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="with --step: every rewrite, not only the first ten of each rule")
    ] = False,
    level: OfLevel = COMPILED,
) -> None:
    """Print what each step did and what it bought, or the answers to the given questions."""
    trace = trace_of(source, level)
    at = _step(step)
    limit = None if everything else MAX_PER_RULE
    questions: list[tuple[bool, Callable[[], Iterable[object]]]] = [
        (steps, lambda: [trace.table()]),
        (
            at is not None and not (graph or stats or conflicts or why_not_shared),
            lambda: [_step_text(trace, at, limit)],
        ),
        (graph, lambda: [_graph_text(trace, -1 if at is None else at)]),
        (why_not is not None, lambda: [trace.why_not(*why_not, step=at)] if why_not else []),
        (near_misses is not None, lambda: _near_misses(trace, near_misses or "all", at)),
        (conflicts, lambda: trace.conflicts(at) or ["No conflicts: no two matches shared a node."]),
        (folds, lambda: _folds(trace)),
        (why_not_folded is not None, lambda: [trace.why_not_folded(*why_not_folded)] if why_not_folded else []),
        (why_not_fused is not None, lambda: [trace.why_not_fused(*why_not_fused)] if why_not_fused else []),
        (why_not_shared is not None, lambda: [trace.why_not_shared(*why_not_shared, at)] if why_not_shared else []),
        (lineage is not None, lambda: [trace.lineage(lineage)] if lineage is not None else []),
        (rules, lambda: [_rules_table(trace), *map(str, trace.rule_interactions())]),
        (stats, lambda: [_stats_table(trace, at)]),
    ]
    answers = [answer for wanted, answer in questions if wanted] or [lambda: _film_lines(trace)]
    console = results()
    for answer in answers:
        for part in answer():
            if isinstance(part, Table):
                console.print(part)
            else:
                print_text(str(part))


def _film_lines(trace: "Trace") -> Iterable[str]:
    """Return a line per step that changed something: its number, a bar, its sentence.

    The bar is the one of the page: calls, or the peak memory of a program.
    """
    from explorer.views import TraceIndex, film

    frames = film(TraceIndex(trace))
    sizes = [frame.get("memory", (f"{frame['calls']:,}", frame["calls"])) for frame in frames]
    most = max(count for _, count in sizes)
    width = max(len(text) for text, _ in sizes)
    for frame, (text, count) in zip(frames, sizes, strict=True):
        eighths = max(min(count, 1), round(8 * BAR_WIDTH * count / max(most, 1)))
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        yield f"{frame['step']:>4}  {text:>{width}} {bar:<{BAR_WIDTH}}  {frame['sentence']}"


def _step(given: str | None) -> int | str | None:
    """Parse a step: a number or a path."""
    if given is None:
        return None
    try:
        return int(given)
    except ValueError:
        return given


def _near_misses(trace: "Trace", pattern: str, at: int | str | None) -> Iterable[object]:
    found = trace.near_misses(None if pattern == "all" else pattern, at)
    return found or ["No near misses: every pattern that was tried matched or failed at its first entry."]


def _folds(trace: "Trace") -> Iterable[object]:
    groups = trace.fold_groups()
    return [*groups, *(f"missed fold: {missed}" for missed in trace.missed_folds())] or ["Nothing was folded."]


def _step_text(trace: "Trace", at: int | str | None, limit: int | None) -> str:
    """Summarize a step: rewrites (limited per rule), fold groups, lost matches, near misses."""
    from explorer.views import TraceIndex, sentence_of

    step = trace.step(at or 0)
    lines = [f"step {step.index}: {step.path} ({step.seconds * 1000:.1f} ms)", f"  {step.summary}"]
    if step.index and step.snapshot.memory is not None and step.applied:
        lines.append(f"  {sentence_of(TraceIndex(trace), step.index)}")
    by_rule: dict[str, list[str]] = {}
    for rewrite in step.rewrites:
        text = _rewrite_text(trace, step, rewrite)
        if text:
            by_rule.setdefault(rewrite.rule, []).append(f"  {text}")
    for rule, rewrites in by_rule.items():
        lines += _shorten(rewrites, limit, f"rewrites by {rule}")
    lines += [f"  {group}" for group in trace.fold_groups() if group.step == step.index]
    lines += [f"  {read}" for read in step.reads]
    lines += _shorten([f"  {conflict}" for conflict in trace.conflicts(step.index)], limit, "lost matches")
    lines += [f"  {line}" for misses in trace.near_misses(step=step.index) for line in str(misses).splitlines()]
    lines += [f"  ! {limit.message}" for limit in step.limits]
    return "\n".join(lines)


def _rewrite_text(trace: "Trace", step: "Step", rewrite: "Rewritten") -> str:
    """Say which nodes were replaced by which, or which instructions use other memory; empty if it is about neither."""
    where = f" in {rewrite.parameter_path}" if rewrite.parameter_path else ""
    if rewrite.removed or rewrite.added:
        return f"{rewrite.rule}{where}: {_ids(rewrite.removed)} -> {_ids(rewrite.added) or 'nothing'}"
    if rewrite.rule in OF_MEMORY:
        return ""
    nodes = trace.graph_at(step.index).nodes
    named = [f"#{node} {nodes[node].title}" for node in step.matches[rewrite.number].nodes if node in nodes]
    return f"{rewrite.rule}{where}{' at ' if named else ''}{', '.join(named)}"


def _graph_text(trace: "Trace", at: int | str) -> object:
    """The graph of a state, or the listing of a program."""
    memory = trace.step(at).snapshot.memory
    return trace.graph_at(at) if memory is None else "\n".join(text for _, text in memory.listing)


def _shorten(lines: list[str], limit: int | None, what: str) -> list[str]:
    """The first lines, the number of the others, and how to see them."""
    if limit is None or len(lines) <= limit:
        return lines
    return [*lines[:limit], f"  ... {len(lines) - limit:,} more {what}: show them with --all"]


def _ids(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _rules_table(trace: "Trace") -> Table:
    table = Table()
    for name in ("rule", "kind"):
        table.add_column(name, overflow="fold")
    for name in ("matched", "applied", "lost", "near misses", "removed", "added", "ms"):
        table.add_column(name, justify="right")
    table.add_column("written at", overflow="fold")
    for rule in trace.rule_stats():
        counts = (rule.matched, rule.applied, rule.lost, rule.near_misses, rule.nodes_removed, rule.nodes_added)
        table.add_row(
            rule.rule, rule.kind, *(f"{count:,}" for count in counts), f"{rule.seconds * 1000:.1f}", rule.source
        )
    return table


def _stats_table(trace: "Trace", at: int | str | None) -> Table:
    """One column per statistic, one row per step."""
    steps = trace.steps if at is None else (trace.step(at),)
    table = Table(title=f"After each step{', per example' if trace.level.has_batches else ''}")
    table.add_column("step", justify="right")
    table.add_column("path", overflow="fold")
    names = list(dict.fromkeys(name for step in steps for name in step.snapshot.stats))
    for name in names:
        table.add_column(HEADINGS.get(name, name.replace("_", " ")), justify="right", overflow="fold")
    for step in steps:
        stats = step.snapshot.stats
        table.add_row(str(step.index), step.path, *(f"{stats[name]:,}" if name in stats else "" for name in names))
    return table


# ---------------------------------------------------------------------- files


PICTURES = (".svg", ".png")
"""The formats of pictures, by the ending of the file's name."""
ENGINES = ("own", "dot")


PAGES = (".html", ".htm", "")
"""The endings of pages; /dev/stdout has none."""


def html(
    source: Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="write the page here")],
    level: OfLevel = COMPILED,
) -> None:
    """Write a trace as one self-contained HTML file that opens from disk and steps without Python."""
    from explorer.app.session.reproduce import note_on_size, page_recording
    from explorer.views import TraceIndex
    from explorer_widgets import page_html

    if out.suffix.lower() not in PAGES:
        raise FileFormatError(f"cannot write {out}: the name of a page ends in {' or '.join(filter(None, PAGES))}")
    check_output(out, source)
    if not out.suffix and out.is_file():
        raise FileFormatError(f"{out} exists, and is not named as a page: choose a name that ends in .html")
    trace = trace_of(source, level)
    if note := note_on_size(trace):
        say_note(note)
    with notes().status("Drawing every step"):
        page = page_html(page_recording(TraceIndex(trace), Path(source).name)).encode()
        replace_file(out, page)
    results().print(f"Wrote {out} ({len(page) / 1000:,.0f} kB); open it in a browser.", markup=False)


def svg(
    source: Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="write the picture here")],
    step: Annotated[str, typer.Option(metavar="N|PATH", help="the step: by number (-1 is the last) or by path")] = "-1",
    mode: Annotated[str, typer.Option(help="diff, before, after or side")] = "diff",
    colour_by: Annotated[str, typer.Option(help="change, kind, time, memory, order or fold")] = "change",
    engine: Annotated[str, typer.Option(help="own, or dot: the graph after the step, drawn by Graphviz")] = "own",
    level: OfLevel = COMPILED,
) -> None:
    """Write a step of a trace as a picture, SVG or PNG by the ending of the file's name."""
    from explorer.errors import check_name, unknown_name
    from explorer.views import COLOURS, MODES, TraceIndex

    if mode not in MODES:
        raise unknown_name("mode", mode, list(MODES))
    if colour_by not in COLOURS or colour_by == "value":  # only a page has values
        raise unknown_name("colouring", colour_by, [name for name in COLOURS if name != "value"])
    check_name("engine", engine, ENGINES)
    ending = out.suffix.lower()
    if ending not in PICTURES:
        raise FileFormatError(f"cannot write {out}: a picture is one of {', '.join(PICTURES)}, by the name of the file")
    check_output(out, source)
    trace = trace_of(source, level)
    index = trace.step(int(step) if step.lstrip("-").isdigit() else step).index
    if engine == "dot":
        drawn = _drawn_by_dot(trace, index, ending[1:])
    else:
        drawn = _drawn(TraceIndex(trace), index, mode, colour_by, ending)
    replace_file(out, drawn)
    results().print(f"Wrote {out}: step {index}, {trace.step(index).path}.", markup=False)


def _drawn(index: "TraceIndex", step: int, mode: "Mode", colour_by: "ColourBy", ending: str) -> bytes:
    from explorer.app.images import picture_png
    from explorer.views import picture, static_svg

    drawn = picture(index, step, mode, colour_by)
    return picture_png(drawn).data if ending == ".png" else static_svg(drawn).encode()


def _drawn_by_dot(trace: "Trace", step: int, file_format: str) -> bytes:
    """Draw the graph after a step by Graphviz. Raises: MissingPackageError if `dot` is not installed."""
    import graphviz  # pyright: ignore[reportMissingTypeStubs]

    from explorer.errors import MissingPackageError

    try:
        return trace.to_graphviz(step).pipe(file_format)
    except graphviz.ExecutableNotFound as error:
        raise MissingPackageError(
            "the engine 'dot' needs Graphviz, which is not installed; install it (apt install graphviz, "
            "brew install graphviz or conda install graphviz), or use --engine own"
        ) from error
