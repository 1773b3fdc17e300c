"""A parser of HLO text, as XLA dumps it: computations, their instructions, and the source lines of these.

It never fails: `HloModule.missing` says what a truncated or invalid text lacks. Its time grows with the length.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PureWindowsPath
from typing import NamedTuple

INSTRUCTION = re.compile(r"(ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([a-z][\w\-]*)\(")
COMPUTATION = re.compile(r"(ENTRY )?%?([\w.\-]+)[ (].*\{$")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}()\[\],]')
"""Strings, brackets and commas; a string that does not end reaches the end of the text."""
PLAIN_LIST = re.compile(r'[^()\[\]{}"]*(?=\))')
"""A list of operands without brackets and strings, as nearly all are."""
PLAIN_ATTRIBUTE = re.compile(r', ([\w\-]+)=(\{(?:[^{}\[\]()"]|"(?:[^"\\]|\\.)*+")*+\}|[^,{}\[\]()"]++)(?=, |$)')
"""An attribute whose value has no brackets inside of brackets."""
END = re.compile(r"\n[ \t]*\}")
"""The end of a computation."""
COMMENT = re.compile(r"/\*[^*]*\*/")
ARRAY = re.compile(r"\b([a-z]([a-z0-9]*))\[((?:<=)?\d{1,18}(?:,(?:<=)?\d{1,18})*)?\](\{[^{}]*\})?")
SETTING = re.compile(r'\b(\w+)=(?:"((?:[^"\\]|\\.)*+)"|(\w+))')
TABLE_ROW = re.compile(r"(\d{1,18}) (.*)")
NAME = re.compile(r"[\w.\-]+")
CALLS = ("calls", "to_apply", "body", "condition", "branch_computations", "true_computation", "false_computation")
"""The attributes that name computations."""
MAX_BITS = 2**64
"""Maximum size of a value; a larger one has an invalid shape."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction; `results` are its types without layouts, `frame` is the number of its location in a table."""

    name: str
    opcode: str
    results: tuple[str, ...]
    layouts: tuple[str, ...]
    num_bytes: int
    operands: tuple[str, ...]
    attributes: Mapping[str, str]
    called: tuple[str, ...]
    op_name: str
    source: str
    frame: int
    is_root: bool
    text: str


class Computation(NamedTuple):
    """Instructions by name, each behind those that it reads; the number of lines and operands that were left out."""

    instructions: dict[str, Instruction]
    unread: int = 0
    dropped: int = 0


@dataclass(slots=True)
class KnownText:
    """Instructions by their line, and computations by their text, for the next states of the same module."""

    lines: dict[str, Instruction | None] = field(default_factory=dict[str, Instruction | None])
    computations: dict[str, Computation] = field(default_factory=dict[str, Computation])


@dataclass(slots=True)
class HloModule:
    """Computations as instructions by name, each behind those that it reads; without `entry` if the text has none."""

    entry: str = ""
    computations: dict[str, dict[str, Instruction]] = field(default_factory=dict[str, dict[str, Instruction]])
    locations: dict[int, str] = field(default_factory=dict[int, str])
    """The source line of each stack frame: `model.py:12`."""
    missing: list[str] = field(default_factory=list[str])


def parse_hlo(text: str, known: KnownText | None = None) -> HloModule:
    """Parse a module; `known` keeps what is parsed, for the next states of the same module."""
    known = known or KnownText()
    module, tables = HloModule(), dict[str, dict[int, str]]()
    table, position, unread, dropped, unfinished = "", 0, 0, 0, ""
    while position < len(text):
        end = text.find("\n", position)
        line = text[position : end if end >= 0 else len(text)].strip()
        position = end + 1 if end >= 0 else len(text)
        if line.endswith("{") and (header := COMPUTATION.match(line)) is not None:
            found = END.search(text, position - 1)
            unfinished = "" if found else header[2]
            inside = text[position : found.start() + 1 if found else len(text)]
            position = found.end() if found else len(text)
            if inside not in known.computations:
                known.computations[inside] = _computation(inside, known.lines)
            one = known.computations[inside]
            module.computations.setdefault(header[2], one.instructions)
            module.entry = header[2] if header[1] else module.entry
            unread, dropped = unread + one.unread, dropped + one.dropped
        elif (row := TABLE_ROW.match(line)) is not None:
            tables.setdefault(table, {})[int(row[1])] = row[2]
        else:
            table = line or table
    told = {
        f"the text ends inside of the computation {unfinished}": bool(unfinished),
        f"{unread} lines are not instructions of HLO": unread,
        f"{dropped} operands are not defined before they are read": dropped,
        "there is no entry computation": not module.computations.get(module.entry),
    }
    module.missing = [what for what, is_so in told.items() if is_so]
    files = {key: name.strip('"') for key, name in tables.get("FileNames", {}).items()}
    rows = {key: _settings(row) for key, row in tables.get("FileLocations", {}).items()}
    for frame, text in tables.get("StackFrames", {}).items():
        row = rows.get(_number(_settings(text).get("file_location_id", "")), {})
        module.locations[frame] = _location(files.get(_number(row.get("file_name_id", "")), ""), row.get("line", ""))
    return module


def bytes_of(shape: str) -> int:
    """The size of a value in bytes, of a tuple that of its parts: 10 for `(s32[], bf16[3]{0})`; 0 if invalid."""
    total = 0
    for kind, rest, sizes, _ in ARRAY.findall(shape):
        digits = re.search(r"\d{1,3}", rest)  # f32, s4, f8e4m3fn; a token has none, and no bytes
        bits = 8 if kind == "pred" else int(digits[0]) if digits else 0
        for size in filter(None, sizes.split(",")):
            bits = min(bits * int(size.removeprefix("<=")), MAX_BITS)
        total += -(-bits // 8)
    return total if 8 * total < MAX_BITS else 0


def split_list(text: str, start: int) -> tuple[list[str], int]:
    """Split a list at its commas, up to the bracket that closes it; returns the items, and the position behind it."""
    items, depth, begin = list[str](), 0, start
    for token in TOKEN.finditer(text, start):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth < 0 or (depth == 0 and token[0] == ","):
            items.append(text[begin : token.start()].strip())
            begin = token.end()
        if depth < 0:
            return [item for item in items if item], begin
    return [item for item in (*items, text[begin:].strip()) if item], len(text)


def _computation(text: str, known: dict[str, Instruction | None]) -> Computation:
    """Parse what is between the braces of a computation, without operands that are not defined before they are read."""
    instructions, unread, dropped = dict[str, Instruction](), 0, 0
    for line in filter(None, map(str.strip, text.splitlines())):
        if line not in known:
            known[line] = _instruction(line)
        if (one := known[line]) is None:
            unread += 1
        elif one.name not in instructions:
            if not all(map(instructions.__contains__, one.operands)):
                defined = tuple(filter(instructions.__contains__, one.operands))
                dropped += len(one.operands) - len(defined)
                one = replace(one, operands=defined)
            instructions[one.name] = one
    return Computation(instructions, unread, dropped)


def _instruction(line: str) -> Instruction | None:
    found = INSTRUCTION.match(COMMENT.sub("", line) if "/*" in line else line)
    if found is None:
        return None
    text = found.string
    if (plain := PLAIN_LIST.match(text, found.end())) is not None:
        operands, end = list(filter(None, map(str.strip, plain[0].split(",")))), plain.end() + 1
    else:
        operands, end = split_list(text, found.end())
    attributes = dict[str, str]()
    while (attribute := PLAIN_ATTRIBUTE.match(text, end)) is not None:
        attributes[attribute[1]], end = attribute[2], attribute.end()
    if end < len(text):
        parts = (part.partition("=") for part in split_list(text, end)[0])
        attributes |= {name: value for name, equal, value in parts if equal}
    results, layouts, num_bytes = _types(found[3])
    op_name, source, frame = _metadata(attributes.pop("metadata", ""))
    if found[4] in ("constant", "parameter"):
        attributes["value"], operands = ", ".join(operands), []
    return Instruction(
        found[2],
        found[4],
        results,
        layouts,
        num_bytes,
        tuple(one.rpartition(" ")[2].removeprefix("%") for one in operands),
        attributes,
        tuple(dict.fromkeys(name for key in attributes if key in CALLS for name in NAME.findall(attributes[key]))),
        op_name,
        source,
        frame,
        found[1] is not None,
        text.partition(", metadata={")[0],
    )


@lru_cache(1024)
def _types(shape: str) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """The types of a value without layouts, their layouts, and its bytes."""
    arrays = ARRAY.findall(shape)
    types = tuple(f"{kind}[{sizes}]" for kind, _, sizes, _ in arrays) or (shape,)
    return types, tuple(layout for *_, layout in arrays), bytes_of(shape)


@lru_cache(1024)
def _metadata(text: str) -> tuple[str, str, int]:
    """The name of the operator of the program, its source line, and the number of its location in a table."""
    metadata = _settings(text)
    source = _location(metadata.get("source_file", ""), metadata.get("source_line", ""))
    return metadata.get("op_name", ""), source, _number(metadata.get("stack_frame_id", ""))


def _settings(text: str) -> dict[str, str]:
    return {name: quoted or word for name, quoted, word in SETTING.findall(text)}


def _location(file: str, line: str) -> str:
    return f"{PureWindowsPath(file).name}:{line}" if file and line.isdecimal() else ""


def _number(text: str) -> int:
    """A number of a table, of which 0 has no row."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
