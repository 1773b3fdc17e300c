"""Files of other programs that a user may name in place of a circuit: what they seem to be, and what helps."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from explorer.templates.logic import FOREIGN_LOGIC

READABLE = (
    "this program reads its own circuits and traces (.json, .json.gz) and checkpoints (.pt), SDD and NNF files "
    "(.sdd, .nnf), and what FILE.py:FUNCTION returns"
)
RECORD_MODULE = "record the module itself in Python: explorer.record(module, inputs)"
NUM_BYTES = 4096
"""Bytes of a file that are looked at."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: how its name ends, what its first bytes are, and what to do with a file of this name."""

    what: str
    endings: tuple[str, ...]
    starts: re.Pattern[bytes] | None
    advice: Callable[[str], str]


KINDS = (
    Kind(
        "an ONNX model",
        (".onnx",),
        None,
        lambda name: f"watch it being optimized in Python: explorer.watch_onnx({name!r})",
    ),
    Kind(
        "an exported program of PyTorch",
        (".pt2",),
        None,
        lambda name: f"record it in Python: explorer.record(torch.export.load({name!r}))",
    ),
    Kind(
        "a file with weights of PyTorch, without their structure",
        (".pth", ".ckpt", ".safetensors"),
        None,
        lambda name: RECORD_MODULE,
    ),
    Kind(
        "a circuit of SPFlow as text",
        (".spn",),
        re.compile(rb"[\s(]*([\d.eE+-]+\*\()*[\s(]*[A-Z]\w+\(V\d+\|"),
        lambda name: "build it in Python with explorer.symbolic, and save it",
    ),
    Kind(
        "a picture",
        (".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".webp", ".bmp", ".tif", ".tiff"),
        re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8|%PDF|\s*(<\?xml[^>]*>\s*)?<svg"),
        lambda name: "a circuit is trained on the images of a folder with: train --data FOLDER",
    ),
    Kind(
        "a notebook",
        (".ipynb",),
        None,
        lambda name: "write its function that returns a circuit to a file, and name that: FILE.py:FUNCTION",
    ),
    Kind(
        "a page",
        (".html", ".htm"),
        re.compile(rb"\s*<(!doctype )?html", re.IGNORECASE),
        lambda name: "open it in a browser",
    ),
    Kind(
        "a table",
        (".csv", ".tsv", ".npy", ".parquet"),
        re.compile(rb"\x93NUMPY|PAR1"),
        lambda name: f"a circuit is trained on it with: train --data {quote(name)}",
    ),
    Kind(
        "a pipeline",
        (".yaml", ".yml"),
        None,
        lambda name: f"it is used with: trace CIRCUIT --pipeline {quote(name)}",
    ),
)


def is_foreign(name: str, raw: bytes) -> bool:
    """Whether a file with this name and these bytes is of one of the known kinds."""
    return _kind_of(name, raw[:NUM_BYTES]) is not None


def _kind_of(name: str, head: bytes) -> Kind | None:
    ending = Path(name).suffix.lower()
    return next((k for k in KINDS if ending in k.endings or (k.starts is not None and k.starts.match(head))), None)


def describe_foreign(name: str, raw: bytes) -> str:
    """Say what a file with this name and these bytes seems to be, what helps, and what can be read instead."""
    head = raw[:NUM_BYTES]
    logic = FOREIGN_LOGIC.get(_first_field(head.decode(errors="replace")))
    if logic is not None:
        return f"{name} seems to be {logic}; {READABLE}"
    kind = _kind_of(name, head)
    if kind is not None:
        return f"{name} seems to be {kind.what}; {kind.advice(name)}; {READABLE}"
    if not raw.strip():
        return f"{name} is an empty file; {READABLE}"
    return f"{name} is a {'text' if _is_text(head) else 'binary'} file of an unknown format; {READABLE}"


def _first_field(text: str) -> str:
    """The first word that is not in a comment of a file of logic; empty if there is none."""
    lines = (line.split() for line in text.splitlines())
    return next((fields[0] for fields in lines if fields and fields[0] != "c"), "")


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        return error.start > NUM_BYTES - 4 and b"\0" not in head  # the last character is cut
    return "\0" not in text
