"""The JSON schema of trace files: a description of what the reader accepts."""

import json
import random
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

import explorer
from explorer.templates import gallery
from explorer.trace import LEVELS
from explorer.trace.file_types import check_types, trace_schema
from explorer.trace.trace_files import trace_to_json
from tests.fuzzing import seeded
from tests.trace.test_wrong_files import SUBJECTS, spoil, text_of


@cache
def schema() -> Any:
    """A validator for which 1.0 is not an integer, as for the reader."""
    integers = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return extend(Draft202012Validator, type_checker=integers)(trace_schema())


def is_read(data: Any) -> bool:
    try:
        check_types(data, LEVELS[data["options"].get("level", "compiled")])
    except ValueError:
        return False
    return True


def test_the_schema_is_valid_and_has_no_unknown_reference():
    Draft202012Validator.check_schema(trace_schema())
    text = json.dumps(trace_schema())
    named = {part.partition('"')[0] for part in text.split('"$ref": "#/$defs/')[1:]}
    assert named == set(trace_schema()["$defs"])


@pytest.mark.parametrize("name", [*SUBJECTS, "operators"])
def test_trace_files_of_every_level_fit_the_schema(name: str):
    if name == "operators":
        text = json.dumps(trace_to_json(explorer.record(gallery.load_named("squared"))))
    else:
        text = text_of(name)
    assert [error.message for error in schema().iter_errors(json.loads(text))] == []


@pytest.mark.parametrize("change", [{"format": "circuit"}, {"version": 1}, {"options": {"level": "silicon"}}])
def test_another_format_version_or_level_does_not_fit_the_schema(change: dict[str, Any]):
    assert not schema().is_valid(json.loads(text_of("conflict")) | change)


@seeded(25)
@pytest.mark.parametrize("name", SUBJECTS)
def test_the_schema_refuses_what_the_reader_refuses(name: str, seed: int):
    data = json.loads(text_of(name))
    head = {key: json.dumps(data[key]) for key in ("format", "version", "options")}
    spoil(data, random.Random(seed))
    if all(key in data and json.dumps(data[key]) == text for key, text in head.items()):
        assert schema().is_valid(data) == is_read(data)
