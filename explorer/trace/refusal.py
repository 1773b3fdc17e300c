"""Why a pattern did not match: at which entry, at which node, and the reason.

The matcher makes these; where a rule's guard leaves a match alone, the driver makes one of the kind `DECLINED`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

SWITCHED_OFF = "switched off"
"""What a refusal of the kind `DECLINED` has found where the rule was not asked, because somebody switched it off."""


class RefusalKind(Enum):
    """The reasons a matcher can give; `DECLINED` is that of a rule's guard.

    `OTHER_VALUE`: a variable of the pattern would stand for two nodes. `REVERTED`: the replacement was made and
    taken back, because the graph would not have been legal.
    """

    WRONG_TYPE = "wrong type"
    NO_INPUT = "no input"
    SEVERAL_INPUTS = "several inputs"
    SEVERAL_USERS = "several users"
    INTERIOR_OUTPUT = "output inside"
    NOT_AN_OUTPUT = "not an output"
    CONFIG_DIFFERS = "config differs"
    SUB_PATTERN_FAILED = "sub-pattern failed"
    DECLINED = "declined"
    OTHER_VALUE = "other value"
    REVERTED = "reverted"


ASKED = (
    RefusalKind.WRONG_TYPE,
    RefusalKind.NOT_AN_OUTPUT,
    RefusalKind.SEVERAL_INPUTS,
    RefusalKind.SEVERAL_USERS,
    RefusalKind.INTERIOR_OUTPUT,
    RefusalKind.CONFIG_DIFFERS,
    RefusalKind.SUB_PATTERN_FAILED,
    RefusalKind.NO_INPUT,
    RefusalKind.OTHER_VALUE,
    RefusalKind.DECLINED,
    RefusalKind.REVERTED,
)
"""In which order the matcher, and then the driver, asks at an entry."""


@dataclass(frozen=True, slots=True)
class Refusal:
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
        """How far the attempt came: the entry, and the question at it."""
        return self.entry, ASKED.index(self.kind)

    @property
    def reason(self) -> str:
        """The reason in words.

        >>> Refusal("SumCollapse", 7, 1, 5, RefusalKind.SEVERAL_USERS, found=3).reason
        'node 5 is read by 3 nodes; only the first entry may be read by more than one'
        """
        match self.kind:
            case RefusalKind.WRONG_TYPE:
                a = "a " if str(self.wanted)[:1].isupper() else ""  # types of layers; operators have small letters
                return f"node {self.node} is {a}{self.found}, not {a}{self.wanted}"
            case RefusalKind.NO_INPUT:
                return f"node {self.node} reads nothing, and entry {self.entry + 1} is still to be found"
            case RefusalKind.SEVERAL_INPUTS:
                return f"node {self.node} reads {self.found} nodes; only the last entry may read more than one"
            case RefusalKind.SEVERAL_USERS:
                return (
                    f"node {self.node} is read by {self.found} nodes; only the first entry may be read by more than one"
                )
            case RefusalKind.INTERIOR_OUTPUT:
                return f"node {self.node} is an output and would be lost inside of the match"
            case RefusalKind.NOT_AN_OUTPUT:
                return f"node {self.node} is not an output, which the pattern asks for"
            case RefusalKind.CONFIG_DIFFERS:
                return f"node {self.node} has {self.what} {self.found}, wanted {self.wanted}"
            case RefusalKind.SUB_PATTERN_FAILED:
                inner = f" ({self.inner[0].reason})" if self.inner else f" ({self.found})" if self.found else ""
                return f"the parameter {self.what!r} of node {self.node} does not match {self.wanted}{inner}"
            case RefusalKind.OTHER_VALUE:
                return f"{self.what!r} stands for node {self.wanted}, and node {self.found} stands in its place here"
            case RefusalKind.REVERTED:
                return f"it matched, and was taken back: {self.found}"
            case RefusalKind.DECLINED if self.found == SWITCHED_OFF:
                return "it matched, and was switched off"
            case RefusalKind.DECLINED:
                return f"the rule declined: {self.found}"

    def to_json(self) -> dict[str, Any]:
        """As data of JSON types."""
        data: dict[str, Any] = {
            "pattern": self.pattern,
            "root": self.root,
            "entry": self.entry,
            "node": self.node,
            "kind": self.kind.value,
        }
        for name in ("found", "wanted"):
            value = getattr(self, name)
            if value is not None:
                data[name] = value if isinstance(value, int | float | str | bool) else str(value)
        if self.what:
            data["what"] = self.what
        if self.inner:
            data["inner"] = [refusal.to_json() for refusal in self.inner]
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Refusal":
        """The refusal of such data."""
        return Refusal(
            data["pattern"],
            data["root"],
            data["entry"],
            data["node"],
            RefusalKind(data["kind"]),
            data.get("found"),
            data.get("wanted"),
            data.get("what", ""),
            tuple(Refusal.from_json(inner) for inner in data.get("inner", ())),
        )


@dataclass(frozen=True, slots=True)
class Check:
    """One question the matcher asked and how it was answered, for showing a match or a refusal step by step."""

    entry: int
    node: int
    question: str
    passed: bool

    def __str__(self) -> str:
        return f"entry {self.entry + 1}, node {self.node}: {self.question} {'yes' if self.passed else 'no'}"
