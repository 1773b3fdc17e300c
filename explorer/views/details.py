"""Details in the inspector: of a box, and of a match."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from explorer.errors import UnknownNameError
from explorer.trace import Lineage, NodeRecord, Origin, ParameterRecord, RuleDescription, Step, type_title
from explorer.views.boxes import box_id, names_of, number_bytes, parameter_count
from explorer.views.buffers import memory_section
from explorer.views.closeup import closeup
from explorer.views.index import TraceIndex, match_roles
from explorer.views.lanes import where_text
from explorer.views.layer_timings import layer_section
from explorer.views.score.origins import names_at
from explorer.views.score.words import call_rows, seam_rows
from explorer.views.states import State
from explorer.views.timing_words import roof_share_text
from explorer.views.why_not_section import match_row, why_not_section
from explorer.views.words import bytes_text, list_text, plural, time_text
from explorer_widgets.schema import DetailsView, SectionView
from explorer_widgets.theme import KINDS

OPERANDS = {"reads": "in", "writes": "out"}
"""The names of the operands of an instruction in its config, and in the details."""


def details(
    index: TraceIndex,
    step: "int | str",
    ids: Sequence[int],
    *,
    times: Mapping[int, float] | None = None,
    roofs: Mapping[int, float] | None = None,
    lane: str | None = None,
    before: bool = False,
    plate: Sequence[int] | None = None,
) -> DetailsView:
    """Return the details of the nodes of a box at a step: after it, or before it for removed nodes.

    Give the `plate` if these are only some of its layers: then the close-up is of the plate.
    With `before`, as the picture before the step has them; nodes that the step makes are described after it.
    The first of several nodes represents all of them. `times` maps node ids to measured milliseconds,
    of a `lane` if it is known, and `roofs` the least milliseconds that are possible on the machine.
    Raises: UnknownNameError for an unknown node.
    """
    at = index.step(step).index
    states = (index.state(at), index.before(at))
    state = next((s for s in (reversed(states) if before else states) if all(_exists(s, node) for node in ids)), None)
    if state is None or not ids:
        raise UnknownNameError(f"step {at} has no node {list_text(list(ids))}, neither before nor after it")
    node = ids[0]
    record = index.record(int(state.node[node]))
    many = f" and {plural(len(ids) - 1, 'node')} like it" if len(ids) > 1 else ""
    lineage = index.trace.lineage(node)
    shown = at if state is states[0] else max(at - 1, 0)
    is_score = index.trace.level.grouping == "score"
    sections = [
        *_rule_cards(index, at, ids),
        *_node_sections(index, shown, state, ids, record),
        layer_section(index, shown, record),
        memory_section(index, shown, node),
        _section("Seams", seam_rows(index, shown, node) if is_score else []),
        *(_parameter_section(name, parameter) for name, parameter in record.parameters.items()),
        _match_section(index, at, ids),
        why_not_section(index, at, ids),
        *([_lineage_section(index, lineage, len(ids))] if _has_lineage(index) else []),
        _code_section(index, at, ids, lineage),
        _numbers_section(index, record, ids, times or {}, roofs or {}, lane),
    ]
    found: DetailsView = {
        "id": f"{at}/{box_id(np.array(ids, np.int32))}",
        "title": f"{names_at(index, shown).get(node, record.title) if is_score else record.title} #{node}{many}",
        "sections": [section for section in sections if section["rows"] or section["lines"]],
    }
    closer = closeup(index, at, plate or ids, before=before, node=node)
    return found if closer is None else {**found, "closeup": closer}


def match_details(index: TraceIndex, step: "int | str", number: int) -> DetailsView:
    """Return the details of a match: nodes, whether it was applied, its result and rule. Raises: UnknownNameError."""
    entry = index.step(step)
    if not 0 <= number < len(entry.matches):
        raise UnknownNameError(f"step {entry.index} has no match {number}; it has {len(entry.matches)}")
    match = entry.matches[number]
    rewrite = next((r for r in entry.applied if r.number == number), None)
    conflicts = [c for c in entry.lost if number in (c.loser, c.winner)]
    rows = [["rule", match.rule], ["root", str(match.root)], ["nodes", list_text(match.nodes)]]
    if match.parameter_path:
        rows.append(["inside the parameter", match.parameter_path])
    rows.append(["applied", "yes" if rewrite is not None else "no"])
    if rewrite is not None:
        rows.append(["result", list_text(rewrite.added or rewrite.became)])
        rows.append(["time", time_text(rewrite.seconds * 1000)])
    lines = [
        f"{'lost to' if c.loser == number else 'won against'} "
        f"{entry.matches[c.winner if c.loser == number else c.loser].rule} at "
        f"{list(entry.matches[c.winner if c.loser == number else c.loser].nodes)}: both claim node {c.node} "
        f"({c.strategy}: {c.reason})"
        for c in conflicts
    ]
    sections: list[SectionView] = [_rule_card(index, entry, match.rule), _section("Match", rows)]
    sections.append(_section("Conflicts", [], lines))
    sections.append(_section("Code", _rule_rows(index.rules[match.rule])))
    return {
        "id": f"{entry.index}/match/{number}",
        "title": f"{match.rule}, match {number + 1} of {len(entry.matches)}",
        "sections": [section for section in sections if section["rows"] or section["lines"]],
    }


# ---------------------------------------------------------------------- sections


def _has_lineage(index: TraceIndex) -> bool:
    """Return whether the origin of the nodes of the first step is known: a symbolic circuit, or an exported module."""
    return index.trace.subject is not None or index.trace.circuit_json is not None or not index.trace.level.has_circuit


def _exists(state: State, node: int) -> bool:
    return 0 <= node < len(state.present) and bool(state.present[node])


def _section(heading: str, rows: list[list[str]], lines: Sequence[str] = ()) -> SectionView:
    return {"heading": heading, "rows": rows, "lines": list(lines)}


def _node_sections(
    index: TraceIndex, step: int, state: State, ids: Sequence[int], record: NodeRecord
) -> list[SectionView]:
    """Describe a node; a call of a compiler that is watched in words, with its code, and its fields behind these."""
    fields = _node_section(state, ids, record, [name for name in names_of(index, ids) if name])
    said = call_rows(index, step, ids[0]) if index.trace.level.grouping == "score" else []
    if not said:
        return [fields]
    rows = [row for row in fields["rows"] if row[0] != "code"]
    code = _section("Generated code", [], str(record.about.get("code", "")).splitlines())
    return [{"name": "node", **_section("Call", said)}, code, _section("More", rows)]


def _node_section(state: State, ids: Sequence[int], record: NodeRecord, names: Sequence[str]) -> SectionView:
    node = ids[0]
    reads = state.edges[state.edges[:, 1] == node, 0].tolist()
    users = state.edges[state.edges[:, 0] == node, 1].tolist()
    rows = [
        ["id", str(node)],
        ["type", _type_text(record)],
        ["kind", KINDS[record.kind].words],
        ["level", str(state.level[node])],
    ]
    if names:
        rows.insert(1, ["name" if len(ids) == 1 else "names", list_text(names)])
    if len(ids) > 1:
        rows.append(["nodes in this box", list_text(ids)])
    if record.num_folds > 1:
        rows.append(["slices", f"F = {record.num_folds}"])
    if "num_output_units" in record.config:
        letters = "(F, B, variables)" if record.scope is not None else "(F, H, B, I)"
        rows += [["in " + letters, _shape(record.shapes[0])], ["out (F, B, O)", _shape(record.shapes[1])]]
    known = {name: value for name, value in record.config.items() if name not in ("results", "bytes")}
    rows += [[words, *map(str, known.pop(name))] for name, words in OPERANDS.items() if name in known]
    rows += [[name, str(value)] for name, value in known.items()]
    if "results" in record.config:
        rows += [["results", list_text(record.config["results"])], ["written", bytes_text(record.config["bytes"])]]
    rows += [[name, str(value).strip("[]").replace("'", "")] for name, value in record.about.items()]
    if record.scope:
        rows.append(["scope", list_text([list_text(scope) for scope in record.scope])])
    rows += [[name, inner.describe()] for name, inner in record.nested.items()]
    if reads:
        rows.append(["reads", list_text(reads)])
    rows.append(["read by", list_text(list(dict.fromkeys(users))) if users else "nothing"])
    if node in state.outputs:
        rows.append(["output", "yes"])
    return {"name": "node", **_section("Node", rows)}


def _type_text(record: NodeRecord) -> str:
    """Return the type of an operator, or the title of a layer with its class: `Sum (TorchSumLayer)`."""
    return record.type if "results" in record.config else f"{record.title} ({record.type})"


def _shape(shape: Iterable[Any]) -> str:
    return f"({', '.join(map(str, shape))})"


def _parameter_section(name: str, parameter: ParameterRecord) -> SectionView:
    """Describe the parameter graph, one line per node."""
    lines: list[str] = []
    for i, node in enumerate(parameter.nodes):
        folds = f"[x{node.num_folds}]" if node.num_folds > 1 else ""
        shape = node.config.get("shape")
        facts = [_shape(shape)] if isinstance(shape, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType]
        facts += [f"leaf {list_text(node.leaves, 4)}"] if node.leaves else []
        reads = f" of {', '.join(f'%{source}' for source in node.inputs)}" if node.inputs else ""
        lines.append(f"%{i} = {node.title}{folds} {', '.join(facts)}{reads}".rstrip())
    rows = [
        ["shape", _shape(parameter.shape)],
        ["output", list_text([f"%{n}, slice {i}" for n, i in parameter.outputs], 4)],
    ]
    return _section(f"Parameter {name}", rows, lines)


def _match_section(index: TraceIndex, step: int, ids: Sequence[int]) -> SectionView:
    """List the step's matches with the first node; for further nodes, only their number."""
    if not match_roles(index, step)[list(ids)].any():
        return _section("Match", [])
    entry = index.step(step)
    here = set(ids)
    rows = [match_row(index, entry, match) for match in entry.matches if ids[0] in index.nodes_of(match)]
    others = sum(not here.isdisjoint(index.nodes_of(match)) for match in entry.matches)
    lines = [f"{plural(others, 'match', 'matches')} in this box."] if len(ids) > 1 else []
    return _section("Match", rows, lines)


def _lineage_section(index: TraceIndex, lineage: Lineage, count: int) -> SectionView:
    names = index.symbolic_names
    symbolic = [f"{node} ({names[node]})" if names.get(node) else str(node) for node in lineage.symbolic]
    rows = [
        [index.trace.level.origins, list_text(symbolic)],
        *([f"made by {one.operator} of", one.sources_text] for one in lineage.made_of),
        ["exists", f"from step {lineage.first_step} to step {lineage.last_step}"],
        ["at the end", lineage.end],
    ]
    lines = [f"created in {_origin(origin)}" for origin in lineage.made_by]
    lines += [f"changed in {_origin(origin)}" for origin in lineage.parameter_changes]
    lines += [f"replaced in {_origin(origin)}" for origin in lineage.became]
    heading = f"Lineage of #{lineage.node}" if count > 1 else "Lineage"
    return {"name": "lineage", **_section(heading, rows, lines)}


def _origin(origin: Origin) -> str:
    change = f"{list_text(origin.before, 8)} → {list_text(origin.after, 8)}"
    return f"step {origin.step} ({origin.path.words}): {origin.how}: {change}"


def _rule_cards(index: TraceIndex, step: int, ids: Sequence[int]) -> list[SectionView]:
    """Introduce the rules that match the first node, or created it, at the step."""
    entry = index.step(step)
    matched = [match.rule for match in entry.matches if ids[0] in index.nodes_of(match)]
    created = [rewrite.rule for rewrite in entry.applied if ids[0] in rewrite.added and not rewrite.parameter_path]
    return [_rule_card(index, entry, rule) for rule in dict.fromkeys((*created, *matched))]


def _rule_card(index: TraceIndex, step: Step, name: str) -> SectionView:
    """Introduce a rule: its purpose in a sentence, what it looks for and makes, what it did in the step."""
    rule = index.rules[name]
    done = [rewrite for rewrite in step.applied if rewrite.rule == name]
    matched = sum(match.rule == name for match in step.matches)
    rows = [["meaning", rule.doc]] if rule.doc else []
    looked_for = " over ".join(type_title(entry) for entry in rule.entries)
    makes = ""
    for rewrite in done[:1]:
        if not rewrite.parameter_path:
            state = index.state(step.index)
            made = [node for node in rewrite.added or rewrite.became if _exists(state, node)]
            makes = " → " + ", ".join(index.record(int(state.node[node])).title for node in made)
    rows.append(["looks for → makes" if makes else "looks for", looked_for + makes])
    rows.append(["in this step", f"{len(done):,} of {plural(matched, 'match', 'matches')} applied"])
    saved = sum(len(rewrite.removed) - len(rewrite.added) for rewrite in done if not rewrite.parameter_path)
    if saved > 0:
        rows.append(["saved", plural(saved, index.noun)])
    return _section(f"Rule {name}", rows)


def _code_section(index: TraceIndex, step: int, ids: Sequence[int], lineage: Lineage) -> SectionView:
    """List the rules that created the first node or match it now, with their source locations."""
    matched = [match.rule for match in index.step(step).matches if ids[0] in index.nodes_of(match)]
    names = [origin.how for origin in lineage.made_by if origin.how in index.rules] + matched
    return _section("Code", [row for name in dict.fromkeys(names) for row in _rule_rows(index.rules[name])])


def _rule_rows(rule: RuleDescription) -> list[list[str]]:
    rows = [["rule", rule.name], ["meaning", rule.doc], ["exactness", rule.exactness], ["written in", rule.source]]
    return [row for row in rows if row[1]]


def _numbers_section(
    index: TraceIndex,
    record: NodeRecord,
    ids: Sequence[int],
    times: Mapping[int, float],
    roofs: Mapping[int, float],
    lane: str | None,
) -> SectionView:
    rows: list[list[str]] = []
    units = record.config.get("num_output_units")
    each = " (each node)" if len(ids) > 1 else ""
    if isinstance(units, int):
        rows.append([f"written per example{each}", bytes_text(units * record.num_folds * number_bytes(index))])
    if "results" not in record.config:
        rows.append([f"parameter entries{each}", f"{parameter_count(record):,}"])
    if index.folded_at[ids[0]] < len(index.trace.steps) and ids[0] in index.reads:
        read = index.reads[ids[0]]
        rows += [["read", read.kind], ["copied per example", bytes_text(read.copied_bytes)]]
    known = [times[node] for node in ids if node in times]
    if known:
        where = f" {where_text(lane)}" if lane else ""
        rows.append(["measured", f"{time_text(sum(known))}{where} ({len(known)} of {plural(len(ids), 'node')})"])
    if known and len(known) == len(ids) and all(node in roofs for node in ids):
        rows.append(["share of the roof", roof_share_text(sum(roofs[node] for node in ids), sum(known))])
    return {"name": "timing", **_section("Numbers", rows)}
