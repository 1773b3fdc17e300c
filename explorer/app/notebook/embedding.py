"""A picture of a notebook as data of a page: its options and where it starts, without a widget."""

from collections.abc import Collection
from dataclasses import replace

from explorer.app.notebook.fallback import fold_html
from explorer.app.session.session import Session
from explorer.errors import DataTypeError, ValueRangeError
from explorer.trace import MatchFound
from explorer.views import MODES, fold_level, match_details
from explorer_widgets.schema import DetailsView, EmbeddedView, GraphOptions, HullView, PictureStateView


def graph_options(height: int | None, film: bool) -> GraphOptions:
    """Return the options of a graph in a notebook.

    Raises: DataTypeError for a height that is neither None nor an int, ValueRangeError for one below 1.
    """
    options: GraphOptions = {"compact": True, "living": True}
    if height is not None:
        if not isinstance(height, int) or isinstance(height, bool):
            raise DataTypeError(f"expected a height in pixels, an int; got {height!r}")
        if height < 1:
            raise ValueRangeError(f"expected a height of at least 1 pixel; got {height}")
        options["height"] = height
    if not film:
        options["film"] = False
    return options


def focus_match(session: Session, step: "int | str", match: int) -> DetailsView:
    """Go to a match: select its boxes and focus its hull; return its description, for the inspector.

    Raises: UnknownNameError for an unknown step or match.
    """
    details = match_details(session.index, step, match)
    session.go(step)
    if session.picture().view["group_by"] == "plates":
        session.change_look(mode="before")  # the state with the layers of the match
    found = session.index.step(step).matches[match]
    session.select_nodes(session.index.nodes_of(found))
    hull = _hull_of(session, found)
    attempts = hull["lens"]["attempts"] if hull is not None and "lens" in hull else []
    number = next((i for i, attempt in enumerate(attempts) if attempt["cells"] == list(found.nodes)), 0)
    session.look_closer(replace(session.state.closer, hull="" if hull is None else hull["id"], match=number))
    about = session.details()
    sections = [*details["sections"], *(about["sections"] if about is not None else ())]
    return {"id": session.selection[-1], "title": details["title"], "sections": sections}


def _hull_of(session: Session, match: MatchFound) -> HullView | None:
    """The hull of a match's rule around exactly the boxes of its nodes, if there is one."""
    boxes = set(session.selection)
    for hull in session.picture().view["hulls"]:
        if set(hull["nodes"]) == boxes and hull.get("rule") == match.rule:
            return hull
    return None


def embedded_graph(session: Session, options: GraphOptions, details: str, recording: int = 0) -> EmbeddedView:
    """Return a graph with a stepper, in every mode, with its current colouring and grouping.

    `details` is JSON of the inspector's content; `recording` is the number of the recording of the pictures.
    """
    look, closer = session.look, session.state.closer
    start: PictureStateView = {
        "step": session.step,
        "mode": look.mode,
        "colour_by": look.colour_by,
        "group_by": look.group_by,
        "selection": list(session.selection),
        "hull": closer.hull,
    }
    if closer.match:
        start["match"] = closer.match
    if closer.beliefs:
        start["beliefs"] = True
    fixed: GraphOptions = {
        "modes": list(MODES),
        "colours": [look.colour_by],
        "groups": [look.group_by],
        "actions": False,
    }
    shown: GraphOptions = {**options, **fixed}
    return {"kind": "graph", "options": shown, "recording": recording, "start": start, "details": details}


def fold_tables(session: Session, drawn: Collection[int] | None = None) -> dict[str, str]:
    """Return the tables below a graph: the fold level of each step that folds one; the empty name is for the others.

    `drawn` restricts them to the steps that have pictures.
    """
    index, trace = session.index, session.opened.trace
    tables = {"": fold_html(None, trace)}
    for step in trace.steps:
        if step.folds and (drawn is None or step.index in drawn):
            tables[str(step.index)] = fold_html(fold_level(index, step.folds[0].level), trace)
    return tables
