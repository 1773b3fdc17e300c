"""A question with its verdicts."""

from typing import NotRequired, TypedDict

from explorer_widgets.schema.picture import PictureStateView


class VerdictView(TypedDict):
    """The feedback on an answer."""

    right: bool
    text: str


class NumberView(TypedDict):
    """A numeric answer: its noun, the right number, and the feedback on right and wrong ones."""

    noun: str
    answer: int
    right: str
    wrong: str


class ClicksView(TypedDict):
    """An answer clicked in the picture: the right nodes, and the feedback.

    The feedback on a wrong answer names the nodes that do not belong, why the first of them does not (`apart`), the
    missing nodes, and `why`.
    """

    noun: str
    boxes: dict[str, int]
    """The node of each box of the picture."""
    about: int
    """The node in question; it is not part of an answer."""
    wanted: list[int]
    right: str
    why: str
    apart: dict[str, str]
    """Keyed by node, as a decimal string."""


class QuestionView(TypedDict):
    """A question about a step, with the feedback on all answers. It has one of `choices`, `number`, `clicks`."""

    version: int
    text: str
    hint: str
    """Shown after a wrong first answer, in place of the feedback, which would reveal the right one."""
    asking: PictureStateView
    """The picture shown with the question; it does not reveal the answer."""
    revealing: PictureStateView
    """The picture that reveals the answer."""
    choices: NotRequired[dict[str, VerdictView]]
    number: NotRequired[NumberView]
    clicks: NotRequired[ClicksView]
