"""Cut a recording into parts, so that a page unpacks only what it shows.

A part has the pictures, coordinates, details and buffers of consecutive steps. The head has everything else.
"""

from explorer_widgets.encode import to_json
from explorer_widgets.schema import RecordingHeadView, RecordingPartView, RecordingView

PART_CHARACTERS = 500_000
"""Steps share a part up to this length of its JSON; a larger step has a part of its own."""


def cut(recording: RecordingView) -> tuple[RecordingHeadView, list[RecordingPartView]]:
    """Return the head of a recording and its parts."""
    parts: list[RecordingPartView] = []
    part_of: dict[str, int] = {}
    length = 0
    for step, content in _by_step(recording).items():
        added = len(to_json(content))
        if not parts or length + added > PART_CHARACTERS:
            parts.append(_empty())
            length = 0
        _add(content, parts[-1])
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


def _by_step(recording: RecordingView) -> dict[str, RecordingPartView]:
    """Return a part for each step that has a picture, in the order of the steps."""
    found: dict[str, RecordingPartView] = {}
    buffers = recording.get("buffers", [])
    for key, picture in recording["pictures"].items():
        part = found.setdefault(_step_of(key), _empty())
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


def _add(content: RecordingPartView, part: RecordingPartView) -> None:
    part["pictures"].update(content["pictures"])
    part["coordinates"].update(content["coordinates"])
    part["details"].update(content["details"])
    part["buffers"].update(content["buffers"])


def _step_of(key: str) -> str:
    return key.split("/", 1)[0]


def _empty() -> RecordingPartView:
    return {"pictures": {}, "coordinates": {}, "details": {}, "buffers": {}}
