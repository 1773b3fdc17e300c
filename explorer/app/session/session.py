"""One reader's session, without a user interface: trace, step, selection, display, measured times.

Hosts (a dashboard, a notebook) change it through its methods; every listener receives the names of what changed, out
of `EVENTS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from explorer.app.session.close_up import add_code
from explorer.app.session.findings import Findings, with_runs
from explorer.app.session.opening import Opened
from explorer.app.session.selection import boxes_of, boxes_with, layers_in, parts_of
from explorer.app.session.view_state import CloserLook, DisplayOptions, ViewState, check_look
from explorer.errors import unknown_name
from explorer.timings import Run
from explorer.views import (
    PatternTrial,
    Picture,
    TraceIndex,
    add_what_ifs,
    cost_strip,
    counterparts,
    details,
    fold_sections,
    full_width,
    heat_at,
    main_lane,
    offer_what_ifs,
    picture,
    roofs_at,
    slide_at,
    step_details,
    steps,
)
from explorer_widgets.schema import DetailsView, SectionView, StepView, ValuesView

Listener = Callable[[frozenset[str]], None]
KEPT_PICTURES = 24
EVENTS = frozenset(
    {"trace", "step", "selection", "look", "times", "checks", "trial", "values", "other", "closer", "answer"}
    | {"observed"}
)
"""The names that listeners receive."""


class Session:
    """One reader of one trace. Do not share it between threads."""

    def __init__(self, opened: Opened, state: ViewState) -> None:
        self.opened = opened
        self.state = self._possible(opened, state)
        self.findings = self._recorded()
        self.trial: PatternTrial | None = None
        self.values: ValuesView | None = None
        """The values of the circuit for some inputs, once the reader has asked for them."""
        self._answers = 0
        self.observed: tuple[str, ...] = ()
        """What the reader observes in the picture, an entry per variable, empty if it is unknown."""
        self.layers: tuple[int, ...] = ()
        """The layers that the reader clicked in selected plates."""
        self._listeners: list[Listener] = []
        self._pictures: dict[tuple[object, ...], Picture] = {}
        self._drop_unknown_boxes()

    # ------------------------------------------------------------------ state

    @property
    def index(self) -> TraceIndex:
        """The trace with the index that its views share."""
        return self.opened.index

    @property
    def step(self) -> int:
        """The index of the displayed step."""
        return self.state.step

    @property
    def look(self) -> DisplayOptions:
        """The display options of the step."""
        return self.state.look

    @property
    def selection(self) -> tuple[str, ...]:
        """The ids of the selected boxes; the last one is inspected."""
        return self.state.selection

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Notify a listener of changes; returns the function that unsubscribes it, also after `close`."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def close(self) -> None:
        """Drop the trace, which may be large, when the host ends: the host's own objects may keep their session."""
        self._listeners.clear()
        self._pictures.clear()
        del self.opened

    # ------------------------------------------------------------------ actions

    def open(self, opened: Opened, state: ViewState) -> None:
        """Switch to a different trace. The measurements of the old one are dropped."""
        self._pictures.clear()
        self.opened, self.state, self.layers = opened, self._possible(opened, state), ()
        self.findings, self.trial, self.values, self.observed = self._recorded(), None, None, ()
        self._drop_unknown_boxes()
        self._tell(*EVENTS)

    def show(self, state: ViewState) -> None:
        """Show step, selection and display of another view state of this trace."""
        closer = ["closer"] if state.closer != self.state.closer else []
        self.state, self.trial = self._possible(self.opened, state), None
        self._drop_unknown_boxes()
        self._tell("step", "selection", "look", "trial", *closer)

    def go(self, step: "int | str") -> None:
        """Go to a step; the selection follows the lineage. Raises: UnknownNameError.

        The trial of a pattern ends, since it was matched on the layers of the previous step.
        """
        at = self.index.step(step).index
        if at == self.step:
            return
        nodes = self._counterparts(self.selected_nodes, at)
        kept = self.selection_at(at)
        layers = self._layers_at(at, kept, nodes)
        ended = {"trial"} if self.trial is not None else set[str]()
        self.trial = None
        changed = {"step", "selection"} if (kept, layers) != (self.selection, self.layers) else {"step"}
        closer = replace(self.state.closer, hull="", match=0)  # a match is one of its step
        if closer != self.state.closer:
            changed.add("closer")
        self.state, self.layers = replace(self.state, step=at, selection=kept, closer=closer), layers
        self._tell(*changed, *ended)

    def select(self, boxes: Sequence[str], layers: Sequence[int] = ()) -> None:
        """Select boxes by id, and layers within them; boxes and layers that are not in the picture are ignored."""
        known = self.boxes
        chosen = tuple(dict.fromkeys(box for box in boxes if box in known))
        picked = layers_in(self.picture(), chosen, layers)
        if (chosen, picked) != (self.selection, self.layers):
            self.state, self.layers = replace(self.state, selection=chosen), picked
            self._tell("selection")

    def select_nodes(self, nodes: Sequence[int]) -> None:
        """Select the boxes that represent some nodes, and in plates only these layers."""
        self.reveal(nodes)
        boxes = self.boxes
        found = boxes_with(nodes, boxes)
        self.select(found, parts_of(boxes, found, nodes))

    def reveal(self, nodes: Sequence[int]) -> None:
        """Show plates as they were before the step, if it has removed some of these nodes."""
        shown = {node for held in self.boxes.values() for node in held}
        is_after = self.look.mode == "diff" and self.picture().view["group_by"] == "plates"
        if is_after and not shown.issuperset(nodes):
            self.change_look(mode="before")

    def change_look(self, closer: CloserLook | None = None, **changes: Any) -> None:
        """Change the display of the step; the names are fields of `DisplayOptions`.

        A slide has its own step and mode. `closer` is what is looked at then, so that both are shown at once.

        Raises: UnknownNameError for an unknown value; then nothing has changed.
        """
        nodes, last = self.selected_nodes, self.inspected_nodes
        look = replace(self.look, **changes)
        if look == self.look:
            self.look_closer(closer or self.state.closer)
            return
        check_look(look)
        patterns = tuple(rule.pattern for rule in self.opened.trace.rules)
        if look.near_misses not in (None, *patterns):
            raise unknown_name("pattern", look.near_misses, patterns)
        closer = closer or self.state.closer
        changed = {"look", "closer"} if closer != self.state.closer else {"look"}
        before, shown = self.step, replace(self.state, look=look, closer=closer)
        self.state = self._possible(self.opened, shown) if "slides" in changes else shown
        kept = boxes_with(nodes, self.boxes, last)
        changed |= {"selection"} if kept != self.selection else set()
        changed |= {"step"} if self.step != before else set()
        self.state = replace(self.state, selection=kept)
        self._tell(*changed)

    def look_closer(self, closer: CloserLook) -> None:
        """Show a match in the rule lens, or a part of the close-up."""
        if closer != self.state.closer:
            self.state = replace(self.state, closer=closer)
            self._tell("closer")

    def try_pattern(self, trial: PatternTrial | None) -> None:
        """Draw the matches and near misses of a pattern that is being edited; None ends the trial."""
        if trial != self.trial:
            self.trial = trial
            self._tell("trial")

    def show_values(self, values: ValuesView) -> None:
        """Show what the circuit computes for some inputs."""
        self._answers += 1
        self.values = {**values, "answer": self._answers}
        self._tell("values")

    def observe(self, entries: Sequence[object]) -> None:
        """Set what the reader observes in the picture, for other queries."""
        self.observed = tuple(map(str, entries))
        self._tell("observed")

    def compare_with(self, other: ViewState | None) -> None:
        """Set the view state of the trace to compare with; the host opens it."""
        self.state = replace(self.state, other=other)
        self._tell("other")

    def _recorded(self) -> Findings:
        """Return what was recorded of the trace on other machines."""
        return with_runs(self.index, Findings(), self.opened.recorded, recorded=True)

    def add_runs(self, runs: Sequence[Run], *, recorded: bool = False) -> None:
        """Add times measured on this machine, or those that were recorded on another one, as `with_runs` does."""
        found = with_runs(self.index, self.findings, runs, recorded=recorded)
        if not recorded:  # they may be comparable now
            found = with_runs(self.index, found, self.opened.recorded, recorded=True)
        if found != self.findings:
            self.add_findings(**{name: getattr(found, name) for name in ("times", "layer_times", "missing", "sources")})

    def add_findings(self, **changes: Any) -> None:
        """Add results of running the trace: the fields of `Findings`."""
        self.findings = replace(self.findings, **changes)
        times = ["times"] if set(changes) - {"checks"} else []
        if times:
            self._pictures.clear()
        self._tell(*(["checks"] if "checks" in changes else []), *times)

    # ------------------------------------------------------------------ views

    def picture(self) -> Picture:
        """The picture of the step."""
        return self._picture(self.step, self.trial)

    def picture_at(self, step: int) -> Picture:
        """The picture that another step would have."""
        return self._picture(step, self.trial if step == self.step else None)

    def selection_at(self, step: int) -> tuple[str, ...]:
        """The selection that another step would have: it follows the lineage."""
        if not self.selection or step == self.step:
            return self.selection
        nodes, last = (self._counterparts(held, step) for held in (self.selected_nodes, self.inspected_nodes))
        return boxes_with(nodes, boxes_of(self.picture_at(step)), last)

    def _counterparts(self, nodes: Sequence[int], step: int) -> Sequence[int]:
        """Return the nodes at another step that these became, or were made of."""
        return counterparts(self.index, self.step, nodes, self.index, step).ids if nodes else ()

    def _picture(self, step: int, trial: PatternTrial | None) -> Picture:
        key = (step, self.look, trial)
        if key not in self._pictures:
            if len(self._pictures) >= KEPT_PICTURES:
                del self._pictures[next(iter(self._pictures))]
            self._pictures[key] = self._draw(step, trial)
        return self._pictures[key]

    @property
    def layer_times(self) -> Mapping[int, float] | None:
        """Milliseconds by layer at the step, of layers that were measured at any step; None if none was."""
        return heat_at(self.index, self.step, self.findings.layer_times)

    @property
    def full_ms(self) -> float:
        """Milliseconds of the full width of the clock."""
        return full_width(self.index, self.findings.times, self.findings.layer_times)

    def _draw(self, step: int, trial: PatternTrial | None) -> Picture:
        found = picture(
            self.index,
            step,
            self.look.mode,
            self.look.colour_by,
            self.look.group_by,
            near_misses=self.look.near_misses,
            times=heat_at(self.index, step, self.findings.layer_times),
            layer_times=self.findings.layer_times,
            trial=trial,
            everything=self.look.everything,
            full_ms=self.full_ms,
        )
        if trial is None:
            offer_what_ifs(self.index, found.view)
        return found

    def answer_what_if(self, hull: str) -> None:
        """Add to the picture what the rule of a near miss would match if it had not been refused."""
        if self.trial is None:
            add_what_ifs(self.index, self.picture().view, self.look.near_misses, only=hull)
            self._tell("answer")

    @property
    def boxes(self) -> Mapping[str, tuple[int, ...]]:
        """The boxes of the picture, and the nodes that each represents."""
        return boxes_of(self.picture())

    @property
    def selected_nodes(self) -> tuple[int, ...]:
        """The selected nodes: of each selected box the layers that were clicked in it, or else all its nodes."""
        return tuple(node for nodes in self._selected().values() for node in self._clicked_among(nodes) or nodes)

    @property
    def selected_layers(self) -> tuple[int, ...]:
        """The layers that were clicked, also as slices of a folded layer, and the first one of each other selected box.

        The last one is of the box that was selected last: questions about one layer are about it.
        """
        selected = self._selected()
        clicked = layers_in(self.picture(), tuple(selected), self.layers)
        others = [box for box in selected if not layers_in(self.picture(), [box], clicked)]
        firsts = tuple(selected[box][0] for box in others)
        return (*clicked, *firsts) if others[-1:] == list(selected)[-1:] else (*firsts, *clicked)

    @property
    def inspected_nodes(self) -> tuple[int, ...]:
        """The nodes that the details describe: the layer that was clicked last in the last box, or else the box."""
        nodes = next(reversed(self._selected().values()), ())
        return self._clicked_among(nodes)[-1:] or nodes

    def _selected(self) -> dict[str, tuple[int, ...]]:
        """Return the nodes of each selected box of the picture."""
        boxes = self.boxes if self.selection else {}
        return {box: boxes[box] for box in self.selection if box in boxes}

    def _clicked_among(self, nodes: Sequence[int]) -> tuple[int, ...]:
        """Return the clicked layers among some nodes, in the order of the clicks."""
        held = set(nodes) if self.layers else set[int]()
        return tuple(layer for layer in self.layers if layer in held)

    def steps(self) -> list[StepView]:
        """The steps, for the stepper and the tree."""
        known = self.findings
        return steps(self.index, known.checks, known.times, known.layer_times, known.missing, known.sources)

    def details(self) -> DetailsView | None:
        """The details of the box that was selected last; None without a selection."""
        boxes = self.boxes if self.selection else {}
        if not self.selection or self.selection[-1] not in boxes:
            return None
        box, nodes = self.selection[-1], self.inspected_nodes
        before = self.look.mode == "before"
        lane = main_lane(self.findings.layer_times)
        roofs = roofs_at(self.index, self.step, self.findings.layer_times)
        times = self.layer_times
        found = details(
            self.index, self.step, nodes, times=times, roofs=roofs, lane=lane, before=before, plate=boxes[box]
        )
        if self.opened.trace.level.has_folds:
            found["sections"] += fold_sections(self.index, self.selected_layers)
        if len(nodes) < len(boxes[box]):
            found["layer"] = nodes[0]
        return {**add_code(self.index, self.step, boxes[box], found, before=before), "id": box}

    def step_details(self) -> DetailsView:
        """The details of the step, for the inspector while nothing is selected."""
        return step_details(self.index, self.step, self.costs())

    def costs(self) -> SectionView:
        """The statistics of the state that is shown, its measured times and the difference of its output."""
        found, before = self.findings, self.look.mode == "before"
        at = max(self.step - 1, 0) if before else self.step
        return cost_strip(self.index, at, found.times, found.checks.get(at), found.missing, changes=not before)

    # ------------------------------------------------------------------ helpers

    def _layers_at(self, step: int, boxes: Sequence[str], nodes: Sequence[int]) -> tuple[int, ...]:
        """Return the clicked layers at another step: those that are cells there, or else what they became."""
        if not self.layers:
            return ()
        shown = self.picture_at(step)
        became = parts_of(boxes_of(shown), boxes, nodes)
        return layers_in(shown, boxes, self.layers) or layers_in(shown, boxes, became)

    def _possible(self, opened: Opened, state: ViewState) -> ViewState:
        """Replace a step that the trace does not have; a link may name a step of a different trace, or only a slide."""
        last = len(opened.trace.steps) - 1
        known = [rule.pattern for rule in opened.trace.rules]
        look = state.look if state.look.near_misses in (None, *known) else replace(state.look, near_misses=None)
        if look.group_by == DisplayOptions().group_by:  # which a link does not name
            look = replace(look, group_by=opened.trace.level.grouping)
        step = min(state.step, last)
        if look.slides:
            name, step, mode = slide_at(opened.index, look.slides, step)
            group_by = "plates" if opened.trace.level.has_circuit else look.group_by
            look = replace(look, slides=name, mode=mode, group_by=group_by)
        return replace(state, step=step, options=opened.options, tensor=opened.tensor, look=look)

    def _drop_unknown_boxes(self) -> None:
        """Drop selected boxes that are not in the picture; a link or the previous trace may have selected them."""
        known = self.boxes if self.selection else {}
        self.state = replace(self.state, selection=tuple(box for box in self.selection if box in known))

    def _tell(self, *names: str) -> None:
        if not names:
            return
        for listener in tuple(self._listeners):
            listener(frozenset(names))
