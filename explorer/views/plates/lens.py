"""The rule lens: how a rule binds layers, question by question, in the matches and near misses of a step.

Questions and reasons come from the matcher; the trace has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer.trace import (
    MatchFound,
    MatchLost,
    MatchRefused,
    Refusal,
    RefusalKind,
    RuleDescription,
    is_waivable,
    type_title,
)
from explorer.views.hulls import Stop, near_miss_nodes, stops_of, trivial_misses
from explorer.views.index import TraceIndex, cached, owner
from explorer.views.plates.pins import add_answers, offer_answers
from explorer.views.plates.plate_words import WHOLE
from explorer.views.sentences import titles_of
from explorer.views.words import plural
from explorer_widgets.schema import (
    AttemptView,
    EntryView,
    HullView,
    LensView,
    NodeKind,
    PartView,
    PictureView,
    RuleView,
    WhatIfView,
)

ACCEPTED = RefusalKind.DECLINED.ask().text
"""The last question of a rule that may decline a match."""

WHAT_IF = "what-if:"
"""Begins the request of an answer; the id of the hull follows."""
MAX_MARKED = 500
"""Maximum number of matches of an answer that are marked."""

MAX_ATTEMPTS = 2_000
"""Maximum number of matches of a hull that are shown one by one; more are counted."""
MAX_NEAR_MISSES = 25
"""Maximum number of near misses of a hull that are shown one by one."""
MAX_LINES = 20
"""Maximum number of lines that are drawn thick at a layer that refused."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of a stop among all stops with matches, or with near misses."""

    noun: str
    first: int
    total: int
    at_least: bool
    stop: str


def lens_hulls(index: TraceIndex, step: int, pattern: str | None) -> tuple[list[HullView], list[HullView]]:
    """Return the hulls of the state before a step with their lenses, and the hulls of near misses of other patterns."""
    drawn, others = stops_of(index, step, pattern)
    trivial = trivial_misses(index, step, pattern)
    places = _places([*drawn, *others], trivial, is_cut=bool(index.step(step).refusals_over))
    with_lens = [
        [_with_lens(index, step, stop, places[stop.view["id"]]) for stop in stops] for stops in (drawn, others)
    ]
    return with_lens[0], with_lens[1]


def _with_lens(index: TraceIndex, step: int, stop: Stop, place: _Place) -> HullView:
    return {**stop.view, "lens": _lens(index, step, stop, place)}


def _places(stops: Sequence[Stop], trivial: int, *, is_cut: bool) -> dict[str, _Place]:
    """Return the place of each stop by the id of its hull; `is_cut`: there were more near misses than were kept.

    `trivial` attempts ended at the first type.
    """
    found: dict[str, _Place] = {}
    misses = [stop for stop in stops if stop.view["kind"] == "near-miss"]
    matches = [stop for stop in stops if stop.view["kind"] != "near-miss"]
    for noun, alike, shown in (("Match", matches, MAX_ATTEMPTS), ("Near miss", misses, MAX_NEAR_MISSES)):
        total, first = sum(len(stop.attempts) for stop in alike), 1
        for number, stop in enumerate(alike, start=1):
            count = len(stop.attempts)
            cut = f" (the first {shown:,} one by one)" if count > shown else ""
            words = f"stop {number:,} of {len(alike):,}: {stop.view['label']}{cut}"
            if trivial and alike is misses:
                words += f". Not shown: {plural(trivial, 'attempt')} at layers of another type"
            found[stop.view["id"]] = _Place(noun, first, total, is_cut and alike is misses, words)
            first += count
    return found


def _lens(index: TraceIndex, step: int, stop: Stop, place: _Place) -> LensView:
    first = stop.attempts[0]
    if isinstance(first, MatchRefused):
        attempts = [
            _near_miss(index, step, miss) for miss in stop.attempts[:MAX_NEAR_MISSES] if isinstance(miss, MatchRefused)
        ]
        return {
            "rule": first.refusal.pattern,
            "count": len(stop.attempts),
            "attempts": attempts,
            "noun": place.noun,
            "first": place.first,
            "total": place.total,
            "at_least": place.at_least,
            "stop": place.stop,
            "sign": _sign(first.refusal),
            "can_ask": is_waivable(first),
        }
    lost = index.step(step).lost
    conflicts = {one.winner: one for one in reversed(lost)} | {one.loser: one for one in lost}
    matches = [match for match in stop.attempts[:MAX_ATTEMPTS] if isinstance(match, MatchFound)]
    lens: LensView = {
        "rule": first.rule,
        "count": len(stop.attempts),
        "verdict": _outcome(index, step, first),
        "attempts": [_match(index, step, match, conflicts.get(match.number)) for match in matches],
        "noun": place.noun,
        "first": place.first,
        "total": place.total,
        "stop": place.stop,
    }
    rewrite = next((one for one in index.step(step).applied if one.number == first.number), None)
    if rewrite is not None and not rewrite.parameter_path:
        lens["saved"] = len(rewrite.removed) - len(rewrite.added)
        lens["made"] = parts_of(index, step, rewrite.added)[-1:]
    return lens


def _sign(refusal: Refusal) -> str:
    """Return a few words for the layer that refused: `feeds 2 or more layers`."""
    return refusal.summary.removeprefix("that layer ")


def _match(index: TraceIndex, step: int, match: MatchFound, conflict: MatchLost | None) -> AttemptView:
    """Return a match; `conflict` is the one that it lost, or the first one that it won."""
    view: AttemptView = {"cells": _cells(match)}
    if conflict is not None:
        matches, won = index.step(step).matches, match.number == conflict.winner
        rival = matches[conflict.loser if won else conflict.winner]
        outcome = f"It {'wins' if won else 'loses'} #{conflict.node} {'against' if won else 'to'} {rival.rule}."
        view["verdict"] = f"{outcome} {conflict.reason[:1].upper()}{conflict.reason[1:]}."
        view["rival"] = {"rule": rival.rule, "cells": _cells(rival)}
    return view


def _cells(match: MatchFound) -> list[int]:
    """Return the layer at each entry, root first; inside a parameter, its layer for all of them."""
    return [owner(match.parameter_path)] * len(match.nodes) if match.parameter_path else list(match.nodes)


def _outcome(index: TraceIndex, step: int, match: MatchFound) -> str:
    entry = index.step(step)
    rewrite = next((one for one in entry.applied if one.number == match.number), None)
    if rewrite is None:
        return "It matches, but was not applied."
    if rewrite.parameter_path:
        return "It matches: a parameter of the layer is rewritten."
    old, new = titles_of(index, entry, rewrite)
    if not old:
        return "It matches, and is rewritten."
    return f"It matches: {old} {'is rewritten' if new == old else f'becomes {new}' if new else 'is removed'}."


def _near_miss(index: TraceIndex, step: int, miss: MatchRefused) -> AttemptView:
    refusal = miss.refusal
    graph = index.step(max(step - 1, 0)).snapshot.graph
    cells = list(near_miss_nodes(index, step, miss))
    if miss.parameter_path:
        cells *= refusal.entry + 1
    rule = index.rules_of_patterns[refusal.pattern]
    if refusal.kind in WHOLE and not miss.parameter_path:
        while len(cells) < len(rule.entries) and graph.inputs[cells[-1]]:
            cells.append(graph.inputs[cells[-1]][0])
    where = f" in {miss.parameter_path}" if miss.parameter_path else ""
    reason = refusal.reason if where else refusal.describe("#")
    view: AttemptView = {
        "cells": cells,
        "verdict": f"It stops at {len(rule.entries) - refusal.entry}{where}: {reason}.",
    }
    question = _position(rule, refusal)
    if question is not None:
        view["question"] = question
    if refusal.kind in WHOLE:
        view["verdict"] = f"The pattern matches{where}, but {reason}."
    lines = [] if miss.parameter_path else _offending(graph.inputs, graph.users, refusal, cells)
    if lines:
        view["lines"] = [node for line in lines[:MAX_LINES] for node in line]
    return view


def _position(rule: RuleDescription, refusal: Refusal) -> int | None:
    """Return the number of the question with the answer no among all questions of a rule, if it is known."""
    before = [question for questions in rule.questions for question in questions]
    if refusal.kind in WHOLE:
        return len(before) if rule.guarded and before else None
    start = sum(map(len, rule.questions[: refusal.entry]))
    here = rule.questions[refusal.entry] if rule.questions else ()
    for i, question in enumerate(here):
        if (question.kind, question.what) == (refusal.kind.value, refusal.what):
            return start + i
    return refusal.entry if not before and refusal.kind is RefusalKind.WRONG_TYPE else None


def _offending(
    inputs: Mapping[int, Sequence[int]], users: Mapping[int, Sequence[int]], refusal: Refusal, cells: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the edges (source, user) that made a layer refuse."""
    node = refusal.node
    match refusal.kind:
        case RefusalKind.SEVERAL_USERS:
            return [(node, user) for user in users[node]]
        case RefusalKind.SEVERAL_INPUTS:
            return [(source, node) for source in inputs[node]]
        case RefusalKind.WRONG_TYPE if len(cells) > 1:
            return [(node, cells[-2])]
        case _:
            return []


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
            "place": str(len(rule.entries) - number),
        }
        for number, (entry, questions) in enumerate(zip(rule.entries, _questions(rule), strict=True))
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


def add_what_ifs(index: TraceIndex, view: PictureView, near_misses: str | None = None, only: str | None = None) -> None:
    """Add to the near misses of a picture what their rules would match if they were not refused.

    `near_misses` is the pattern with drawn near misses, `only` the id of a single hull. Pictures without a rule
    lens do not change.
    """
    add_answers(index, view, only)
    lenses = _lenses(view)
    wanted = lenses if only is None else {name: lens for name, lens in lenses.items() if name == only}
    if not wanted:
        return
    for stop in (stop for stops in stops_of(index, view["step"], near_misses) for stop in stops):
        first, lens = stop.attempts[0], wanted.get(stop.view["id"])
        if isinstance(first, MatchRefused) and lens is not None and index.trace.has_what_if(first):
            lens["what_if"] = _what_if(index, view["step"], first)


def offer_what_ifs(index: TraceIndex, view: PictureView) -> None:
    """Let a reader ask what the rules of the near misses of a picture would match, where there is an answer."""
    offer_answers(index, view)
    for lens in _lenses(view).values() if index.trace.can_search else ():
        if lens.get("can_ask"):
            lens["what_if"] = {"text": "", "matches": []}


def _lenses(view: PictureView) -> dict[str, LensView]:
    """The lenses of the near misses, by the id of the hull."""
    hulls = (*view["hulls"], *view.get("misses", ()))
    return {hull["id"]: hull["lens"] for hull in hulls if hull["kind"] == "near-miss" and "lens" in hull}


def _what_if(index: TraceIndex, step: int, miss: MatchRefused) -> WhatIfView:
    answer = index.trace.what_if(miss, step)
    marked = answer.matches[:MAX_MARKED]
    cut = f" The first {MAX_MARKED} are marked." if len(answer.matches) > MAX_MARKED else ""
    return {"text": answer.reason + cut, "matches": [[*nodes] for nodes in marked]}
