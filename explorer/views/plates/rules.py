"""Rules as small pictures: what a rule looks for, what it makes, and the questions that the matcher asks."""

from collections.abc import Mapping, Sequence

from explorer.trace import RefusalKind, RuleDescription, type_title
from explorer.views.index import TraceIndex, cached
from explorer.views.words import ordinal
from explorer_widgets.schema import EntryView, HullView, NodeKind, PartView, RuleView

ACCEPTED = RefusalKind.DECLINED.ask().text
"""The last question of a rule that may decline a match."""


def rule_views(index: TraceIndex, hulls: Sequence[HullView]) -> dict[str, RuleView]:
    """Return the rules of the lenses of some hulls, by name."""
    names = [lens["rule"] for hull in hulls if (lens := hull.get("lens"))]
    rivals = [
        attempt["rival"]["rule"]
        for hull in hulls
        if (lens := hull.get("lens"))
        for attempt in lens["attempts"]
        if "rival" in attempt
    ]
    return {name: _rule(index, name) for name in dict.fromkeys([*names, *rivals]) if name in index.rules}


@cached
def _rule(index: TraceIndex, name: str) -> RuleView:
    """Return the small picture of a rule: what it looks for, what it makes, and the questions at each entry."""
    rule = index.rules[name]
    finds: list[EntryView] = [
        {
            "title": type_title(entry),
            "kind": _kinds(index).get(entry, "operator"),
            "questions": questions,
            "place": ordinal(number),
        }
        for number, (entry, questions) in enumerate(zip(rule.entries, _questions(rule), strict=True), start=1)
    ]
    return {"name": name, "meaning": rule.doc, "finds": finds, "makes": _makes(index, name)}


def _questions(rule: RuleDescription) -> list[list[str]]:
    """Return the questions at each entry; without recorded questions, only the type."""
    asked = rule.questions or tuple((RefusalKind.WRONG_TYPE.ask(entry),) for entry in rule.entries)
    found = [[question.text for question in questions] for questions in asked]
    if rule.guarded:
        found[-1].append(ACCEPTED)
    return found


@cached
def _kinds(index: TraceIndex) -> Mapping[str, NodeKind]:
    """Return the kind of each type of layer in the trace."""
    records = map(index.record, range(len(index.table.nodes)))
    return {record.type: record.kind for record in records}


@cached
def _makes(index: TraceIndex, name: str) -> list[PartView]:
    """Return what a rule makes, as its first rewrite in the trace shows it; empty if it has none, or of parameters."""
    for step in index.trace.steps:
        for rewrite in step.applied:
            if rewrite.rule == name and not rewrite.parameter_path:
                return parts_of(index, step.index, rewrite.added)
    return []


def parts_of(index: TraceIndex, step: int, nodes: Sequence[int]) -> list[PartView]:
    """Return the titles and kinds of layers after a step."""
    state = index.state(step)
    records = [index.record(int(state.node[node])) for node in nodes if state.present[node]]
    return [{"title": record.title, "kind": record.kind} for record in records]
