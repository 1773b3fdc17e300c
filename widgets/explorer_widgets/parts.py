"""Cut a recording into parts, so that a page unpacks only what it shows.

A part has the pictures, coordinates, details and buffers of consecutive steps. The head has everything else. A long
value of pictures and details, such as the boxes of a step that changed nothing, is stored once in a part.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from explorer_widgets.encode import to_json
from explorer_widgets.schema import RecordingHeadView, RecordingPartView, RecordingView

PART_CHARACTERS = 500_000
"""Steps share a part up to this length of its JSON; a larger step has a part of its own."""
MIN_SHARED = 40
"""Minimum length of the JSON of a value that is stored once."""


def cut(recording: RecordingView) -> tuple[RecordingHeadView, list[RecordingPartView]]:
    """Return the head of a recording and its parts."""
    parts: list[RecordingPartView] = []
    part_of: dict[str, int] = {}
    texts = _Texts()
    known: dict[str, int] = {}
    length = 0
    for step, content in _by_step(recording).items():
        lengths = {text: len(text) for text in texts.of_step(content)}
        added = sum(lengths[text] for text in lengths if text not in known)
        shares = 2 * added < sum(lengths.values())
        if not parts or (length + added > PART_CHARACTERS and not shares):
            parts.append({"pictures": {}, "coordinates": {}, "details": {}, "buffers": {}, "shared": []})
            known.clear()
            added, length = sum(lengths.values()), 0
        _add(content, parts[-1], texts, known)
        length += added
        part_of[step] = len(parts) - 1
    head: RecordingHeadView = {
        "version": recording["version"],
        "title": recording["title"],
        "steps": recording["steps"],
        "looks": list(recording["pictures"]),
        "part_of": part_of,
    }
    if "values" in recording:
        head["values"] = recording["values"]
    if "living" in recording:
        head["living"] = recording["living"]
    return head, parts


Content = Mapping[str, dict[str, Any]]
"""The content of a step under the keys of `RecordingView`."""


class _Texts:
    """The JSON of the values of a recording, made once for each object."""

    def __init__(self) -> None:
        self._made: dict[int, str] = {}

    def of(self, value: object) -> str:
        """The JSON of a value."""
        if id(value) not in self._made:
            self._made[id(value)] = to_json(value)
        return self._made[id(value)]

    def of_step(self, content: Content) -> Iterator[str]:
        """The JSON of all values of a step."""
        for owner in (*content["pictures"].values(), *content["details"].values(), content["coordinates"]):
            yield from map(self.of, owner.values())


def _by_step(recording: RecordingView) -> dict[str, Content]:
    """Return the content of each step that has a picture, in the order of the steps."""
    found: dict[str, Content] = {}
    buffers = recording.get("buffers", [])
    for key, picture in recording["pictures"].items():
        part = found.setdefault(_step_of(key), {"pictures": {}, "coordinates": {}, "details": {}, "buffers": {}})
        part["pictures"][key] = picture
        part["coordinates"][key] = recording["coordinates"][key]
        for shown in (picture, *([picture["other"]] if "other" in picture else [])):
            if "recorded_buffers" in shown:
                state = shown["recorded_buffers"]["state"]
                part["buffers"][str(state)] = buffers[state]
    for name, details in recording["details"].items():
        if _step_of(name) in found:
            found[_step_of(name)]["details"][name] = details
    return {step: found[step] for step in sorted(found, key=int)}


def _add(content: Content, part: RecordingPartView, texts: _Texts, known: dict[str, int]) -> None:
    """Add a step to a part; `known` are the positions of the shared values of the part by their JSON."""

    def place_of(value: object) -> int:
        text = texts.of(value)
        if text not in known:
            known[text] = len(part["shared"])
            part["shared"].append(value)
        return known[text]

    for kind in ("pictures", "details"):
        for key, owner in content[kind].items():
            places = {name: place_of(value) for name, value in owner.items() if len(texts.of(value)) >= MIN_SHARED}
            kept = {name: value for name, value in owner.items() if name not in places}
            part[kind][key] = {**kept, "shared": places} if places else kept
    part["coordinates"].update({key: place_of(text) for key, text in content["coordinates"].items()})
    part["buffers"].update(content["buffers"])


def _step_of(key: str) -> str:
    return key.split("/", 1)[0]
