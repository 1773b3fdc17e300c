"""Loads what a command names: a circuit of the gallery, a file with a circuit or trace, or a function of the user.

The `format` field of a file tells circuits from traces; FILE.py:FUNCTION names a function; an SDD or NNF file is known
by its ending, and so are a checkpoint (`.pt`: a circuit with the values that were learned), a model of ONNX and an
exported program of PyTorch.
A file of another program is refused with what it seems to be.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from explorer.app.program_files import is_program, open_program
from explorer.app.user_functions import ExampleModule, call_function, files_beside, is_function
from explorer.errors import DataTypeError, FileFormatError, UnknownNameError, did_you_mean
from explorer.files import GZIP_MAGIC, json_of_bytes, read_bytes
from explorer.symbolic import CIRCUIT_FORMAT, Circuit, circuit_from_json
from explorer.templates import gallery
from explorer.templates.logic import FOREIGN_LOGIC, LOGIC_SUFFIXES, build_circuit, read_logic
from explorer.trace import COMPILED, TRACE_FORMAT, Trace, trace_from_json

CHECKPOINT = ".pt"
"""Suffix of the name of a checkpoint."""
JSON_ENDINGS = (".json", ".json.gz")
WHITE_SPACE = b"\xef\xbb\xbf \t\r\n"
"""Bytes that may be before the brace of a JSON object: a mark of UTF-8, and white space."""

READABLE = (
    "this program reads its own circuits and traces (.json, .json.gz) and checkpoints (.pt), SDD and NNF files "
    "(.sdd, .nnf), and if named on the command line also what FILE.py:FUNCTION returns, and programs (.onnx, .pt2)"
)
RECORD_MODULE = "record the module itself in Python: explorer.record(module, inputs)"
NUM_BYTES = 4096
"""Bytes of a file that are looked at."""


def load_gallery(name: str) -> Circuit:
    """Return the circuit of this name, which begins with its trained weights if it ships with some."""
    return gallery.load_trained(name) if gallery.is_trained(name) else gallery.load_named(name)


def load_circuit(name_or_file: str) -> Circuit:
    """Return the gallery circuit of this name, or else the circuit in this file or returned by this function.

    Raises: UnknownNameError if it is none of these; FileFormatError for a file without a circuit; DataTypeError for a
    function that returns a module, a compiled circuit or a trace; the errors of `call_function`.
    """
    return only_circuit(load_source(name_or_file), name_or_file)


def only_circuit(found: Circuit | Trace | ExampleModule, name_or_file: str) -> Circuit:
    """Return what was found if it is a circuit. Raises: DataTypeError for what a function returned; FileFormatError."""
    if isinstance(found, Circuit):
        return found
    if not is_function(name_or_file):
        raise FileFormatError(f"{name_or_file} holds a trace; expected a circuit")
    what = "a trace"
    if isinstance(found, ExampleModule):
        what = "a compiled one" if found.is_circuit else f"the module {type(found.module).__name__} with its inputs"
    raise DataTypeError(f"{name_or_file} must return a symbolic circuit here; found {what}")


def load_circuit_or_trace(name_or_file: str, level: str = COMPILED) -> Circuit | Trace:
    """Return the circuit or trace of a name; a module or compiled circuit of a function is recorded at a level.

    Raises: as `load_source`, and as recording does.
    """
    found = load_source(name_or_file)
    return found.record(level) if isinstance(found, ExampleModule) else found


def load_source(name_or_file: str) -> Circuit | Trace | ExampleModule:
    """Return the gallery circuit of this name, or else what is in this file or returned by this function.

    Raises: UnknownNameError if it is none of these; FileFormatError for a file that holds neither; the errors of
    `call_function`.
    """
    if name_or_file in gallery.names():
        return load_gallery(name_or_file)
    if Path(name_or_file).is_file() and is_checkpoint(name_or_file):
        return trained_circuit(name_or_file)
    if is_program(name_or_file):
        return open_program(name_or_file)
    if Path(name_or_file).is_file() and Path(name_or_file).suffix == ".py":
        raise UnknownNameError(
            f"{name_or_file} is Python code; name a function in it that returns a circuit, or a module and a tuple of "
            f"its inputs: {quote(name_or_file)}:FUNCTION"
        )
    if Path(name_or_file).is_file():
        if is_logic_file(name_or_file):
            return build_circuit(read_logic(name_or_file), assume_deterministic=True)  # to look at, whatever it is
        return circuit_or_trace(read_bytes(name_or_file), name_or_file)
    if is_function(name_or_file):
        return call_function(name_or_file)
    file, colon, _ = name_or_file.rpartition(":")
    if not name_or_file or (colon and file.endswith(".py")):
        what = f"{name_or_file!r} names no function of {file}" if file else "the name is empty"
        raise UnknownNameError(f"{what}; name a circuit of the gallery, a file, or FILE.py:FUNCTION")
    path, known = Path(name_or_file), gallery.names()
    if path.is_dir():
        raise UnknownNameError(f"{name_or_file} is a folder; name a file in it, or list its files with serve --folder")
    near = did_you_mean(path.name, {**{one: one for one in known}, **files_beside(path)})
    raise UnknownNameError(
        f"no circuit {name_or_file!r}: it is not a file, nor FILE.py:FUNCTION, and the gallery has "
        f"{', '.join(known)}{near and f'; {near}'}"
    )


def is_logic_file(name: str) -> bool:
    """Whether the name of a file has a suffix of logic circuits."""
    return name.lower().endswith(LOGIC_SUFFIXES)


def is_checkpoint(file: "str | Path") -> bool:
    """Whether a file is a checkpoint, by its name."""
    return Path(file).suffix == CHECKPOINT


def trained_circuit(file: "str | Path") -> Circuit:
    """Return the circuit of a checkpoint with the best values. Raises: FileFormatError, and if its circuit is gone."""
    from explorer.app.training.checkpoint import Checkpoint

    return Checkpoint.load(file).trained_circuit()


def circuit_or_trace(
    raw: bytes, where: str, max_bytes: int | None = None, max_values: int | None = None
) -> Circuit | Trace:
    """Return the circuit or trace in the bytes of a file, of at most so many bytes and values after unpacking.

    Raises: FileFormatError, which says of a foreign file what it seems to be.
    """
    try:
        data = json_of_bytes(raw, "circuit or trace", where, max_bytes, max_values)
    except FileFormatError as error:
        is_json = where.endswith(JSON_ENDINGS) or raw.lstrip(WHITE_SPACE).startswith(b"{")
        if raw.startswith(GZIP_MAGIC) or (is_json and not _is_foreign(where, raw)):
            raise
        raise FileFormatError(_describe_foreign(where, raw)) from error
    found = data.get("format")
    if found == TRACE_FORMAT:
        return trace_from_json(data, where)
    if found == CIRCUIT_FORMAT:
        return circuit_from_json(data, where)
    if _is_foreign(where, raw):
        raise FileFormatError(_describe_foreign(where, raw))
    raise FileFormatError(f"{where}: expected format {CIRCUIT_FORMAT!r} or {TRACE_FORMAT!r}, found {found!r}")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: how its name ends, what its first bytes are, and what to do with a file of this name."""

    what: str
    endings: tuple[str, ...]
    starts: re.Pattern[bytes] | None
    advice: Callable[[str], str]


KINDS = (
    Kind(
        "a checkpoint of this program",
        (),
        re.compile(rb"PK.*circuit-explorer checkpoint", re.DOTALL),
        lambda name: f"it is opened by a name that ends in {CHECKPOINT}: mv {quote(name)} {quote(name)}{CHECKPOINT}",
    ),
    Kind(
        "an ONNX model",
        (".onnx",),
        None,
        lambda name: f"see how it is optimized: circuit-explorer serve {quote(name)}",
    ),
    Kind(
        "an exported program of PyTorch",
        (".pt2",),
        None,
        lambda name: f"record it, which runs code in the file: circuit-explorer serve {quote(name)}",
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
        lambda name: f"a circuit is trained on it, and shown, with: circuit-explorer serve {quote(name)}",
    ),
    Kind(
        "a pipeline",
        (".yaml", ".yml"),
        None,
        lambda name: f"it is used with: trace CIRCUIT --pipeline {quote(name)}",
    ),
)


def _is_foreign(name: str, raw: bytes) -> bool:
    """Whether a file with this name and these bytes is of one of the known kinds."""
    return _kind_of(name, raw[:NUM_BYTES]) is not None


def _kind_of(name: str, head: bytes) -> Kind | None:
    ending = Path(name).suffix.lower()
    return next((k for k in KINDS if ending in k.endings or (k.starts is not None and k.starts.match(head))), None)


def _describe_foreign(name: str, raw: bytes) -> str:
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
