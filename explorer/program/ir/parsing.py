"""The parser of the text of a program."""

import ast
import copyreg
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import torch
from torch._ops import OpOverload

from explorer.errors import CircuitError, FileFormatError
from explorer.program.ir.instructions import (
    Alloc,
    Begin,
    Call,
    Copy,
    Dealloc,
    Instruction,
    Number,
    Part,
    Role,
    Stack,
    View,
    Way,
    Weight,
)
from explorer.program.ir.program import Program
from explorer.program.ir.types import CPU, BufferType, contiguous_strides
from explorer.tensor.ir.ops import SLOT, Op
from explorer.tensor.ir.schemas import bind_arguments, freeze
from explorer.tensor.ir.types import LETTERS

DTYPES = {letters: dtype for dtype, letters in LETTERS.items()}
ROLES = "|".join(role.value for role in Role)
TYPE = r"(?P<type>\w+\[[\d,]*\](?:\{[\d,]*\})?(?: @[\w:]+)?)"
WEIGHT = re.compile(rf"%(?P<id>\d+) = (?P<role>{ROLES}) (?P<name>.*) : {TYPE}(?P<trainable>, trainable)?")
ALLOC = re.compile(rf"%(?P<id>\d+) = alloc {TYPE}(?: at (?P<offset>\d+))?")
VIEW = re.compile(rf"%(?P<id>\d+) = view %(?P<source>\d+) : {TYPE} \+ (?P<offset>\d+) bytes(?:, (?P<label>.+))?")
DEALLOC = re.compile(r"#(?P<id>\d+) dealloc %(?P<buffer>\d+)")
COPY = re.compile(r"#(?P<id>\d+) copy %(?P<source>\d+) -> %(?P<dest>\d+)")
BEGIN = re.compile(r"#(?P<id>\d+) begin (?P<part>\w+)")
STACK = re.compile(r"#(?P<id>\d+) stack \{ (?P<calls>.*) \}")
CALL = re.compile(
    r"#(?P<id>\d+) (?P<target>[\w.]+)\((?P<arguments>.*)\) -> (?P<outputs>(?:%\d+|none)(?:, (?:%\d+|none))*)?"
    r"(?: \((?P<way>\w+)\))?"
)
KIND = re.compile(r"(\w+)\[([\d,]*)\](?:\{([\d,]*)\})?(?: @([\w:]+))?")
TOKEN = re.compile(r"%(?P<value>\d+)|(?P<text>'(?:[^'\\]|\\.)*')|(?P<word>[^\s,\[\]=]+)|(?P<mark>[\[\],=])")


def parse_program(text: str) -> Program:
    """Parse the text that `Program.text` writes. Raises: FileFormatError with the line that cannot be read."""
    weights: list[Weight] = []
    instructions: list[Instruction] = []
    offsets: dict[int, int] = {}
    name = ""
    for number, line in enumerate(text.strip().splitlines(), 1):
        line = line.strip()
        try:
            if line.startswith("program"):
                name = line.removeprefix("program").strip()
            elif (found := WEIGHT.fullmatch(line)) is not None:
                kind = _type(found["type"])
                weights.append(
                    Weight(int(found["id"]), found["name"], Role(found["role"]), kind, found["trainable"] is not None)
                )
            elif line:
                one = _instruction(line, offsets)
                instructions.append(one)
        except (KeyError, ValueError, SyntaxError, AttributeError, StopIteration, CircuitError) as error:
            raise FileFormatError(f"line {number} is not a line of a program: {line!r} ({error})") from error
    return Program(tuple(weights), tuple(instructions), offsets, name)


def _reduce(program: Program) -> tuple[Callable[[str], Program], tuple[str]]:
    """Pickle a program as text, because operators of PyTorch cannot be pickled."""
    return parse_program, (program.text(),)


copyreg.pickle(Program, _reduce)


def _instruction(line: str, offsets: dict[int, int]) -> Instruction:
    if (found := ALLOC.fullmatch(line)) is not None:
        if found["offset"] is not None:
            offsets[int(found["id"])] = int(found["offset"])
        return Alloc(int(found["id"]), _type(found["type"]))
    if (found := VIEW.fullmatch(line)) is not None:
        kind, label = _type(found["type"]), found["label"] or ""
        return View(int(found["id"]), int(found["source"]), kind, int(found["offset"]), label)
    if (found := DEALLOC.fullmatch(line)) is not None:
        return Dealloc(int(found["id"]), int(found["buffer"]))
    if (found := COPY.fullmatch(line)) is not None:
        return Copy(int(found["id"]), int(found["source"]), int(found["dest"]))
    if (found := BEGIN.fullmatch(line)) is not None:
        return Begin(int(found["id"]), Part(found["part"]))
    if (found := STACK.fullmatch(line)) is not None:
        return Stack(int(found["id"]), tuple(_call(part) for part in found["calls"].split(" ; ")))
    return _call(line)


def _call(line: str) -> Call:
    found = CALL.fullmatch(line)
    if found is None:
        raise ValueError("expected alloc, view, copy, dealloc, stack, begin, or OPERATOR(ARGUMENTS) -> VALUES")
    target = _target(found["target"])
    inputs: list[int | Number] = []
    values = _Arguments(found["arguments"]).read()
    filled = {name: _with_slots(value, inputs) for name, value in values.items()}
    arguments = tuple((name, freeze(value)) for name, value in bind_arguments(target, (), filled).items())
    outputs = [None if part == "none" else int(part[1:]) for part in (found["outputs"] or "").split(", ") if part]
    way = Way(found["way"] or Way.OUT.value)
    return Call(int(found["id"]), Op(target, arguments), tuple(inputs), tuple(outputs), way)


def _target(name: str) -> OpOverload:
    found: Any = reduce(getattr, name.split("."), torch.ops)
    if not isinstance(found, OpOverload):
        raise ValueError(f"{name} is not an overload of an operator; write {name}.default")
    return found


def _type(text: str) -> BufferType:
    found = KIND.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is not a type")
    letters, sizes, strides, device = found.groups()
    dtype = DTYPES.get(letters) or getattr(torch, letters)
    shape = tuple(int(size) for size in sizes.split(",") if size)
    lie = contiguous_strides(shape) if strides is None else tuple(int(part) for part in strides.split(",") if part)
    return BufferType(dtype, shape, lie, CPU if device is None else torch.device(device))


class _Value(int):
    """A value that an argument names."""


class _Arguments:
    """Reads `name=value, name=[value, value]`."""

    def __init__(self, text: str) -> None:
        self._tokens = list(TOKEN.finditer(text))
        self._position = 0

    def read(self) -> dict[str, Any]:
        """Return all arguments by name."""
        found: dict[str, Any] = {}
        while self._position < len(self._tokens):
            name = self._next()["word"]
            self._expect("=")
            found[name] = self._value()
            if self._position < len(self._tokens):
                self._expect(",")
        return found

    def _next(self) -> re.Match[str]:
        if self._position == len(self._tokens):
            raise ValueError("an argument is missing")
        self._position += 1
        return self._tokens[self._position - 1]

    def _expect(self, mark: str) -> None:
        if self._next()["mark"] != mark:
            raise ValueError(f"expected {mark!r}")

    def _value(self) -> Any:
        token = self._next()
        if token["value"] is not None:
            return _Value(token["value"])
        if token["text"] is not None:
            return ast.literal_eval(token["text"])
        if token["mark"] == "[":
            return self._list()
        return _word(token["word"])

    def _list(self) -> list[Any]:
        found: list[Any] = []
        while self._tokens[self._position]["mark"] != "]":
            found.append(self._value())
            if self._tokens[self._position]["mark"] == ",":
                self._position += 1
        self._position += 1
        return found


def _word(word: str) -> Any:
    """Parse a number, True, False, None, `torch.float32`, `cpu`, or a Python number with its dtype."""
    number, colon, dtype = word.rpartition(":")
    if colon and hasattr(torch, dtype):
        return Number(_literal(number), getattr(torch, dtype))
    if word.startswith("torch."):
        return reduce(getattr, word.split(".")[1:], torch)
    try:
        return _literal(word)
    except ValueError:
        return torch.device(word)


def _literal(text: str) -> Any:
    return float(text) if text in ("inf", "-inf", "nan") else ast.literal_eval(text)


def _with_slots(value: Any, inputs: list[int | Number]) -> Any:
    """Replace values and numbers with dtype by slots, and append them to `inputs`."""
    if isinstance(value, _Value):
        inputs.append(int(value))
        return SLOT
    if isinstance(value, Number):
        inputs.append(value)
        return SLOT
    if isinstance(value, list):
        return tuple(_with_slots(item, inputs) for item in value)
    return value
