"""The rule lens: a match, a near miss or a conflict."""

from typing import NotRequired, TypedDict

from explorer_widgets.schema.words import NodeKind


class PartView(TypedDict):
    """A box in the small picture of a rule."""

    title: str
    kind: NodeKind


class EntryView(PartView):
    """A box that a rule looks for, with the questions that the matcher asks of it."""

    questions: list[str]
    place: str
    """Its number in the order of the picture: `1` is nearest to the inputs."""


class RuleView(TypedDict):
    """The small picture of a rule: what it looks for, what it makes, and its purpose in a sentence."""

    name: str
    meaning: str
    finds: list[EntryView]
    """The root first, which is nearest to the outputs."""
    makes: list[PartView]
    """Inputs first; empty if the trace does not tell."""


class RivalView(TypedDict):
    """The other side of a conflict."""

    rule: str
    cells: list[int]


class AttemptView(TypedDict):
    """A match or a near miss as the rule lens shows it: which layers the entries of the rule bind."""

    cells: list[int]
    """The layer of each entry, root first; of a near miss up to the one that refused."""
    verdict: NotRequired[str]
    """Default: the lens's."""
    question: NotRequired[int]
    """The first question with the answer no, counted over all entries; missing if none is, or it is not known."""
    lines: NotRequired[list[int]]
    """The edges that made a layer refuse: source, user, source, user, ..."""
    rival: NotRequired[RivalView]


class WhatIfView(TypedDict):
    """The answer to "What if this check had passed?" beside a near miss: a question is answered otherwise."""

    text: str
    """Empty if the host answers on request: `what-if:` and the id of the hull."""
    matches: list[list[int]]
    """The layers of each match that there would be in addition; if there are too many, the first ones."""


class LensView(TypedDict):
    """The attempts of a rule for which a hull stands."""

    rule: str
    count: int
    """Their number; larger than `attempts` if there are too many to show them one by one."""
    attempts: list[AttemptView]
    noun: str
    """`Match` or `Near miss`: before the number of an attempt."""
    first: int
    """The number of the first attempt among all matches of the picture, or among all near misses."""
    total: int
    """Number of matches, or near misses, in the picture."""
    at_least: NotRequired[bool]
    """Whether there were more of them, which the recorder did not keep."""
    stop: str
    """The number of the hull among them, and its name: `stop 2 of 4: SumCollapse: 2 matches`."""
    verdict: NotRequired[str]
    """The verdict of all attempts, if they have the same."""
    sign: NotRequired[str]
    """A few words for the layer that refused: `feeds 2 or more layers`."""
    can_ask: NotRequired[bool]
    """Whether a live trace can answer what the rule would match if they were not refused."""
    what_if: NotRequired[WhatIfView]
    """Only of near misses, where the host adds it: what the rule would match if they were not refused here."""
    saved: NotRequired[int]
    """Number of layers that each match saves."""
    made: NotRequired[list[PartView]]
    """Replacement of the root of each match."""
    fill: NotRequired[str]
    """The role of its colour; without it, it has the colour of the plate of the root."""
