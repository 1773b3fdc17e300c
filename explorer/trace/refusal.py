"""The failure of a pattern to match: the entry, the node, and the reason.

The matcher makes these; if a rule's guard declines a match, the driver makes one of the kind `DECLINED`.
A new kind is one member of `RefusalKind`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Self

SWITCHED_OFF = "switched off"
"""The finding of a refusal of kind `DECLINED` if the user switched the rule off."""


def type_words(name: object) -> str:
    """The class of a layer or of a parameter node in words; operators keep their names.

    >>> type_words("TorchSumLayer"), type_words("TorchSoftmaxParameter"), type_words("bmm")
    ('Sum layer', 'Softmax parameter', 'bmm')
    """
    words = str(name)
    for ending in ("Layer", "Parameter"):
        title = words.removeprefix("Torch").removesuffix(ending)
        if words.endswith(ending) and title:
            return f"{title} {ending.lower()}"
    return words


def type_with_article(name: object) -> str:
    """The class of a layer or of a parameter node in words, with its article; operators have none.

    >>> type_with_article("TorchSumLayer"), type_with_article("TorchEmbeddingLayer"), type_with_article("bmm")
    ('a Sum layer', 'an Embedding layer', 'bmm')
    """
    words = type_words(name)
    if not words[:1].isupper():
        return words
    return f"{'an' if words[0] in 'AEIO' else 'a'} {words}"  # U as in unary


class RefusalKind(Enum):
    """The reasons that an attempt fails, in the order in which the matcher, and then the driver, asks at an entry.

    Each kind has its name in trace files, its reason, a summary that is true of all refusals of this entry, kind and
    field, and the question to which the answer was no. Reason and summary are formatted with the fields of the
    refusal, `next_entry` and `detail` (the refusal of a sub-pattern), the question with `wanted` and `what`; types have
    their article, and nodes are `node 5` or `#5`.
    """

    WRONG_TYPE = (
        "wrong type",
        "{node} is {found}, not {wanted}",
        "that layer has a different type",
        "is it {wanted}?",
    )
    NOT_AN_OUTPUT = (
        "not an output",
        "{node} is not an output, which the pattern asks for",
        "that layer is not an output",
        "is it an output?",
    )
    SEVERAL_INPUTS = (
        "several inputs",
        "{node} reads {found} nodes; only the last entry may read more than one",
        "that layer has 2 or more inputs",
        "does it read at most one node?",
    )
    SEVERAL_USERS = (
        "several users",
        "{node} is read by {found} nodes; only the first entry may be read by more than one",
        "that layer feeds 2 or more layers",
        "is it read by at most one node?",
    )
    INTERIOR_OUTPUT = (
        "output inside",
        "{node} is an output and would be lost inside the match",
        "that layer is an output",
        "is it not an output?",
    )
    CONFIG_DIFFERS = (
        "config differs",
        "{node} has {what} {found}, wanted {wanted}",
        "its {what} differs",
        "is {what} {wanted}?",
    )
    SUB_PATTERN_FAILED = (
        "sub-pattern failed",
        "the parameter {what!r} of {node} does not match {wanted}{detail}",
        "its parameter {what} does not match",
        "does its {what} match {wanted}?",
    )
    NO_INPUT = (
        "no input",
        "{node} reads nothing, and entry {next_entry} is still to be found",
        "that layer has no input",
        "does it read a node?",
    )
    OTHER_VALUE = (
        "other value",
        "the variable {what!r} of the pattern is {wanted}, but {found} is read here",
        "that layer's input differs from the pattern's",
        "is {what} the same node?",
    )
    DECLINED = (
        "declined",
        "the rule declined: {found}",
        "the rule declined",
        "does the rule accept it?",
    )
    REVERTED = (
        "reverted",
        "it matched, and was reverted: {found}",
        "the replacement was reverted",
        "is the replacement kept?",
    )

    def __new__(cls, name_in_files: str, reason: str, summary: str, question: str) -> Self:
        kind = object.__new__(cls)
        kind._value_ = name_in_files
        return kind

    def __init__(self, name_in_files: str, reason: str, summary: str, question: str) -> None:
        self.rank = len(type(self).__members__)
        self.reason = reason
        self.summary = summary
        self.question = question

    def ask(self, wanted: object = "", what: str = "") -> "Question":
        """The question to which a refusal of this kind is the answer no.

        >>> RefusalKind.CONFIG_DIFFERS.ask(1, "arity").text
        'is arity 1?'
        """
        words = type_with_article(wanted) if self is RefusalKind.WRONG_TYPE else wanted
        return Question(self.value, what, self.question.format(wanted=words, what=what))


class Question(NamedTuple):
    """A question that the matcher asks of a node, with the kind of refusal and the field if the answer is no."""

    kind: str
    what: str
    text: str


class Refusal(NamedTuple):
    """One attempt that failed: `pattern` tried at `root` stopped at entry number `entry`, at `node`.

    `what` names the field or parameter in question, `found` and `wanted` its values. `inner` are the refusals of a
    sub-pattern.
    """

    pattern: str
    root: int
    entry: int
    node: int
    kind: RefusalKind
    found: object = None
    wanted: object = None
    what: str = ""
    inner: "tuple[Refusal, ...]" = ()

    @property
    def progress(self) -> tuple[int, int]:
        """The progress of the attempt: the entry, and the question at it."""
        return self.entry, self.kind.rank

    @property
    def reason(self) -> str:
        """The reason in words.

        >>> Refusal("SumCollapse", 7, 1, 5, RefusalKind.SEVERAL_USERS, found=3).reason
        'node 5 is read by 3 nodes; only the first entry may be read by more than one'
        """
        return self.describe()

    def describe(self, prefix: str = "node ") -> str:
        """The reason in words; `prefix` is what a node's number follows.

        >>> Refusal("SumCollapse", 7, 1, 5, RefusalKind.INTERIOR_OUTPUT).describe("#")
        '#5 is an output and would be lost inside the match'
        """
        return "it matched, and was switched off" if self.is_switched_off else self._format(self.kind.reason, prefix)

    @property
    def cause(self) -> str:
        """The reason for a text that names the kind already: without "the rule declined" or "it was reverted".

        >>> Refusal("Careful", 7, 0, 7, RefusalKind.DECLINED, found="the axes differ").cause
        'the axes differ'
        """
        return str(self.found) if self.kind in (RefusalKind.DECLINED, RefusalKind.REVERTED) else self.reason

    @property
    def summary(self) -> str:
        """The reason without naming a node: true of all refusals of this entry, kind and field."""
        return "it is switched off" if self.is_switched_off else self._format(self.kind.summary, "node ")

    @property
    def is_switched_off(self) -> bool:
        """Whether the rule was not asked because the user switched the match off."""
        return self.kind is RefusalKind.DECLINED and self.found == SWITCHED_OFF

    def _format(self, template: str, prefix: str) -> str:
        detail = self.inner[0].reason if self.inner else self.found
        found, wanted = (self._words(value, prefix) for value in (self.found, self.wanted))
        return template.format(
            node=f"{prefix}{self.node}",
            found=found,
            wanted=wanted,
            what=self.what,
            next_entry=self.entry + 1,
            detail=f" ({detail})" if detail else "",
        )

    def _words(self, value: object, prefix: str) -> object:
        if self.kind is RefusalKind.WRONG_TYPE:
            return type_with_article(value)
        return f"{prefix}{value}" if self.kind is RefusalKind.OTHER_VALUE else value

    def to_json(self) -> dict[str, Any]:
        """As data of JSON types; fields with their default are omitted."""
        data = {
            name: value
            for name, value in self._asdict().items()
            if name not in self._field_defaults or value != self._field_defaults[name]
        }
        data["kind"] = self.kind.value
        for name in ("found", "wanted"):
            if name in data and not isinstance(data[name], int | float | str):
                data[name] = str(data[name])
        if self.inner:
            data["inner"] = [refusal.to_json() for refusal in self.inner]
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Refusal":
        """The refusal of such data; unknown fields are ignored."""
        known: dict[str, Any] = {name: data[name] for name in Refusal._fields if name in data}
        known["kind"] = RefusalKind(known["kind"])
        known["inner"] = tuple(map(Refusal.from_json, known.get("inner", ())))
        return Refusal(**known)


@dataclass(frozen=True, slots=True)
class Check:
    """One question the matcher asked and how it was answered, for showing a match or a refusal step by step."""

    entry: int
    node: int
    question: str
    passed: bool

    def __str__(self) -> str:
        return f"entry {self.entry + 1}, node {self.node}: {self.question} {'yes' if self.passed else 'no'}"
