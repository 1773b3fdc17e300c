"""Everything that can be drawn, printed, written and asked of a trace, for files that were tampered with."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from explorer.app.commands.show import _film_lines, _graph_text, _rules_table, _stats_table, _step_text
from explorer.app.session.reproduce import page_recording
from explorer.errors import CircuitError
from explorer.trace import Trace
from explorer.views import (
    TraceIndex,
    compare_table,
    film,
    first_difference_of_traces,
    fold_level,
    fold_levels,
    picture,
    questions,
    stat_bars,
    static_svg,
    steps,
    story,
    thumbnail,
)
from explorer_widgets import page_html
from explorer_widgets.schema import ColourBy, Mode

PICTURES: tuple[tuple[Mode, ColourBy], ...] = (("side", "kind"), ("diff", "memory"), ("after", "fold"))
MAX_NODES = 6
"""Nodes to ask for their lineage and so on."""


def show_everything(trace: Trace, folder: Path) -> None:
    """Draw, print, write and ask; a `CircuitError` is a legal answer to a question."""
    index = TraceIndex(trace)
    page_html(page_recording(index, "wrong")).encode()
    for step in range(len(trace.steps)):
        for mode, colour in PICTURES:
            static_svg(picture(index, step, mode, colour)).encode()
        _ask(_step_text, trace, step, None)
        _ask(_graph_text, trace, step)
        _ask(questions, index, step)
        _ask(thumbnail, index, step)
        _ask(trace.to_graphviz, step)
    for level in fold_levels(index):
        fold_level(index, level)
    film(index)
    list(_film_lines(trace))
    steps(index)
    _ask(story, index)
    _ask(compare_table, index, index)
    _ask(first_difference_of_traces, index, index)
    _ask(stat_bars, index, trace.level.count_stat)
    _rules_table(trace)
    _stats_table(trace, None)
    str((trace, trace.near_misses(), trace.conflicts(), trace.rule_stats(), trace.rule_interactions())).encode()
    _ask(trace.missed_folds)
    _ask(trace.fold_groups)
    nodes = list(trace.graph_at(-1).nodes)[:MAX_NODES]
    for node in nodes:
        _ask(trace.lineage, node)
        _ask(trace.layers_of, node)
        _ask(trace.parts_of_layer, node)
        for other in nodes:
            _ask(trace.why_not_folded, node, other)
            _ask(trace.why_not_shared, node, other)
        for rule in trace.rules:
            _ask(trace.why_not, rule.pattern, node)
    trace.save(folder / "again.trace.json.gz")
    assert str(Trace.load(folder / "again.trace.json.gz")) == str(trace)


def _ask(question: Callable[..., object], *arguments: object) -> None:
    with suppress(CircuitError):
        str(question(*arguments)).encode()
