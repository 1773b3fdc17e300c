"""Details of a step, for the inspector while nothing is selected: its conflicts and its missed folds."""

from collections.abc import Sequence

from explorer.trace import ConflictRecord
from explorer.views.fold_level import missed_folds
from explorer.views.index import TraceIndex
from explorer.views.words import list_text, plural
from explorer_widgets.schema import DetailsView, SectionView

MAX_CONFLICTS = 200


def step_details(index: TraceIndex, step: int, *sections: SectionView) -> DetailsView:
    """Return what is known of a step in addition to the given sections."""
    found = [*sections, _conflicts(index, step), _missed_folds(index, step)]
    shown = [section for section in found if section["rows"] or section["lines"]]
    return {"id": "", "title": "", "sections": shown}


def _conflicts(index: TraceIndex, step: int) -> SectionView:
    """List the matches of the step that lost a node to another one; without any, name the steps that have some."""
    everywhere = index.trace.conflicts()
    here = [conflict for conflict in everywhere if conflict.step == step]
    rows = [_conflict_row(conflict) for conflict in here[:MAX_CONFLICTS]]
    lines: list[str] = []
    if len(here) > MAX_CONFLICTS:
        lines.append(f"The first {MAX_CONFLICTS} of {plural(len(here), 'conflict')}.")
    elif everywhere and not here:
        steps = list_text(list(dict.fromkeys(conflict.step for conflict in everywhere)))
        lines.append(f"None in this step. Matches lost conflicts in steps {steps}.")
    return {"heading": "Conflicts", "rows": rows, "lines": lines}


def _conflict_row(conflict: ConflictRecord) -> list[str]:
    winner, loser = conflict.winner, conflict.loser
    words = f"{loser.rule} at {_nodes(loser.nodes)} lost #{conflict.node} to {winner.rule} at {_nodes(winner.nodes)}"
    return [words, f"{conflict.strategy}: {conflict.reason}"]


def _nodes(nodes: Sequence[int]) -> str:
    return ", ".join(f"#{node}" for node in nodes)


def _missed_folds(index: TraceIndex, step: int) -> SectionView:
    """List the missed folds of the layers that the step folded."""
    nodes = [group.node for group in index.step(step).folds]
    rows = [
        [f"#{one} and #{other}, {plural(int(layers), 'layer')}", reason]
        for one, other, layers, reason in (missed_folds(index, nodes)["rows"] if nodes else ())
    ]
    return {"heading": "Missed folds", "rows": rows, "lines": []}
