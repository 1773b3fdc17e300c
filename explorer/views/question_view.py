"""A question as plain data: the pictures that ask and answer it, and the feedback on each answer."""

from explorer.views.index import TraceIndex
from explorer.views.picture import picture
from explorer.views.predicting import CLICKED, Question, check, hint, layers_left, noun_of, together, why_apart
from explorer_widgets.schema import (
    VERSION,
    ClicksView,
    ColourBy,
    GroupBy,
    Mode,
    NumberView,
    PictureStateView,
    PictureView,
    QuestionView,
)


def question_view(index: TraceIndex, question: Question) -> QuestionView:
    """Return the question with its answers, so that they can be checked without Python."""
    reveal: GroupBy = "fold" if question.kind == "fold-with" else question.group_by
    asking = _picture(index, question.after_step, "plain", "kind", question.group_by)
    shown = _picture(index, question.step, "diff", "change", reveal)
    view: QuestionView = {
        "version": VERSION,
        "text": question.text,
        "hint": hint(index, question),
        "asking": _picture_state(asking, question.nodes),
        "revealing": _picture_state(shown, _nodes_of_answer(index, question)),
    }
    if question.kind in CLICKED:
        view["clicks"] = _clicks(index, question, asking)
    elif question.kind == "layers-left":
        view["number"] = _number(index, question)
    else:
        verdicts = {choice: check(index, question, choice) for choice in question.choices}
        view["choices"] = {choice: {"right": one.right, "text": one.text} for choice, one in verdicts.items()}
    return view


def _picture(index: TraceIndex, step: int, mode: Mode, colour_by: ColourBy, group_by: GroupBy) -> PictureView:
    return picture(index, step, mode, colour_by, group_by).view


def _picture_state(shown: PictureView, nodes: tuple[int, ...]) -> PictureStateView:
    """Return a picture with the boxes of some nodes selected."""
    wanted = set(nodes)
    return {
        "step": shown["step"],
        "mode": shown["mode"],
        "colour_by": shown["colour_by"],
        "group_by": shown["group_by"],
        "selection": [box["id"] for box in shown["nodes"] if not wanted.isdisjoint(box["ids"])],
    }


def _nodes_of_answer(index: TraceIndex, question: Question) -> tuple[int, ...]:
    """Return the nodes to show with the answer, including the folded layer."""
    if question.kind == "layers-left":
        return ()
    if question.kind not in CLICKED:
        return check(index, question, question.choices[0]).nodes
    members = check(index, question, ()).nodes
    step = index.step(question.step)
    made = [group.node for group in step.folds if group.members == members]
    return (*members, *made, *(new for one in step.applied if {*one.removed} == {*members} for new in one.added))


def _number(index: TraceIndex, question: Question) -> NumberView:
    answer = layers_left(index, question)
    right, wrong = (check(index, question, number).text for number in (answer, answer + 1))
    return {"noun": f"{noun_of(index)}s".capitalize(), "answer": answer, "right": right, "wrong": wrong}


def _clicks(index: TraceIndex, question: Question, asking: PictureView) -> ClicksView:
    (node,) = question.nodes
    known = together(index, question)
    boxes = {box["id"]: box["ids"][0] for box in asking["nodes"]}
    others = [other for other in boxes.values() if other != node and other not in known.wanted]
    return {
        "noun": noun_of(index).capitalize(),
        "boxes": boxes,
        "about": node,
        "wanted": list(known.wanted),
        "right": known.right,
        "why": known.why,
        "apart": {str(other): why_apart(index, question, other) for other in others},
    }
