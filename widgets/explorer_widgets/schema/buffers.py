"""The buffers of a program over time: to the right the instructions as they run, upward bytes."""

from collections.abc import Mapping
from typing import TypedDict

from explorer_widgets.schema.words import NodeKind

PairReasonView = tuple[int, int, str]
"""Two buffers, and what an instruction says of both: why one is not written over the other."""
ListedView = tuple[int, int, str]
"""A line of a program: the instruction if it runs, or -1; the moment before or at which it is; its text."""


class BufferView(TypedDict):
    """A buffer as a bar: it is alive from `start` to `end`, and takes `bytes` from `bottom` on."""

    id: int
    start: int
    end: int
    bottom: int
    bytes: int
    kind: NodeKind
    """The kind of the instruction that writes it first."""
    label: str
    text: str
    """Description of the buffer: its size, and the moments between which it is alive."""
    users: list[int]
    """The instructions that read or write it, by the compiler's ids, in order."""


class LayerSpanView(TypedDict):
    """A layer of the circuit, or a module, while its instructions run: from `start` to `end`."""

    start: int
    end: int
    label: str
    """Its name: `Sum #12`."""
    kind: NodeKind
    text: str
    """Its origin, and its instructions."""
    runs: list[int]
    """Its instructions, by the compiler's ids."""


class ByteScaleView(TypedDict):
    """The axis of bytes."""

    height: int
    """The bytes that the drawing has room for, the same before and after a step."""
    ticks: list[tuple[int, str]]
    """Round numbers of bytes, with their names."""


class BuffersView(TypedDict):
    """All buffers of a state."""

    buffers: list[BufferView]
    moments: list[str]
    """The instruction that runs at each moment: `#12 exp`."""
    runs: list[int]
    """The instruction that runs at each moment, by the compiler's id."""
    scale: ByteScaleView
    live: list[int]
    """The bytes that are alive at each moment."""
    peak: int
    """The first moment at which the most bytes are alive."""
    planned: bool
    """Whether `bottom` is a place in one block of memory; otherwise each buffer has memory of its own."""
    text: str
    """The bytes needed, in a sentence."""
    peak_text: str
    """The name of the peak: `peak 66 KiB`."""
    noun: str
    """Noun for a bar: a buffer, or a value."""
    listing_text: str
    """Title of the text below: `The program as text`."""
    parts: list[tuple[int, str]]
    """The moment at which each named part of the program begins, and the name; often there is none."""
    layers: list[LayerSpanView]
    """The layers in the order in which they run; none if there are too many, or none is known."""
    undrawn_layers: str
    """Why layers are left out, in a sentence; empty if none is."""
    listing: list[ListedView]
    """The program as text."""
    reasons: list[PairReasonView]
    sharing_words: Mapping[str, str]
    """The words that say whether two buffers share memory, and why not, with names in braces for ids and bytes."""


class RecordedBuffersView(TypedDict):
    """The buffers of a picture in a recording, which stores each state once."""

    state: int
    """The position in `buffers` of the recording."""
    scale: ByteScaleView
