"""Pipelines of the levels below compiled: edited as a draft, written in links, run on an exported circuit.

An entry in a link is `SinkCode:until_fixed_point:infer`: the name of the pass and its non-default options in any order,
which are how it converges, its mode if there is only one, and `none` if dead code is not removed before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from explorer.app.session.view_state import TensorOptions
from explorer.bench import random_inputs
from explorer.compiler import TorchCompiler, compile_with_origins
from explorer.errors import ValueRangeError, check_name
from explorer.recording import lowered_level
from explorer.rewrite import CompilationMode, ConvergenceMode, DCERequiredMode, FunctionPassConfig, FunctionPassPipeline
from explorer.symbolic import Circuit
from explorer.trace import Listener, Trace


@dataclass(frozen=True, slots=True)
class DraftEntry:
    """An entry of a draft; a disabled entry stays in the list and is not run."""

    config: FunctionPassConfig
    on: bool = True

    @property
    def label(self) -> str:
        """Describe the entry in one line."""
        config = self.config
        parts = [config.pass_id]
        if config.convergence.value != "one_pass":
            parts.append("until nothing changes")
        if len(config.modes) == 1:
            parts.append(f"only to {next(iter(config.modes)).value}")
        return ", ".join(parts) + ("" if self.on else " (off)")


@dataclass(frozen=True, slots=True)
class PipelineDraft:
    """Entries in the order in which they run; every change returns a new draft."""

    entries: tuple[DraftEntry, ...] = ()

    @classmethod
    def of(cls, pipeline: FunctionPassPipeline) -> "PipelineDraft":
        """Make a draft of a pipeline with all entries enabled."""
        return cls(tuple(DraftEntry(config) for config in pipeline))

    @property
    def pipeline(self) -> FunctionPassPipeline:
        """The pipeline of the enabled entries."""
        return FunctionPassPipeline(tuple(entry.config for entry in self.entries if entry.on))

    @property
    def texts(self) -> tuple[str, ...]:
        """The enabled entries as strings for a link."""
        return tuple(entry_text(config) for config in self.pipeline)

    @property
    def labels(self) -> tuple[str, ...]:
        """One numbered line per entry."""
        return tuple(f"{i + 1}. {entry.label}" for i, entry in enumerate(self.entries))

    def move(self, at: int, by: int) -> "PipelineDraft":
        """Move an entry; an entry at the end stays there. Raises: ValueRangeError."""
        entry = self._entry(at)
        rest = [*self.entries[:at], *self.entries[at + 1 :]]
        rest.insert(max(0, min(len(rest), at + by)), entry)
        return PipelineDraft(tuple(rest))

    def change(self, at: int, **changes: Any) -> "PipelineDraft":
        """Change fields of an entry's configuration. Raises: ValueRangeError for invalid values."""
        entry = self._entry(at)
        return self._put(at, replace(entry, config=replace(entry.config, **changes)))

    def switch(self, at: int, on: bool) -> "PipelineDraft":
        """Enable or disable an entry. Raises: ValueRangeError."""
        return self._put(at, replace(self._entry(at), on=on))

    def insert(self, at: int, name: str, known: Sequence[str]) -> "PipelineDraft":
        """Append a pass with its defaults. Raises: UnknownNameError."""
        check_name("pass", name, known)
        new = DraftEntry(FunctionPassPipeline.of(name)[0])
        return PipelineDraft((*self.entries[:at], new, *self.entries[at:]))

    def remove(self, at: int) -> "PipelineDraft":
        """Remove an entry. Raises: ValueRangeError."""
        self._entry(at)
        return PipelineDraft((*self.entries[:at], *self.entries[at + 1 :]))

    def _entry(self, at: int) -> DraftEntry:
        if not 0 <= at < len(self.entries):
            raise ValueRangeError(f"the pipeline has {len(self.entries)} passes; there is none at position {at + 1}")
        return self.entries[at]

    def _put(self, at: int, entry: DraftEntry) -> "PipelineDraft":
        return PipelineDraft((*self.entries[:at], entry, *self.entries[at + 1 :]))


# ---------------------------------------------------------------------- entries in links


MARK = ":"
WORDS = ("until_fixed_point", "one_pass", "infer", "train", "none", "before_pass")


def entry_text(config: FunctionPassConfig) -> str:
    """Return an entry as a string."""
    default = FunctionPassPipeline.of(config.pass_id)[0]
    parts = [config.pass_id]
    if config.convergence is not default.convergence:
        parts.append(config.convergence.value)
    if len(config.modes) == 1:
        parts.append(next(iter(config.modes)).value)
    if config.dce is not default.dce:
        parts.append(config.dce.value)
    return MARK.join(parts)


def entry_of(text: str, known: Sequence[str]) -> FunctionPassConfig:
    """Parse an entry. Raises: UnknownNameError for an unknown pass or option."""
    name, *words = text.split(MARK)
    check_name("pass", name, known)
    config = FunctionPassPipeline.of(name)[0]
    convergence, modes, dce = config.convergence, config.modes, config.dce
    for word in words:
        check_name("option of a pass", word, WORDS)
        if word in ("infer", "train"):
            modes = {CompilationMode(word)}
        elif word in ("none", "before_pass"):
            dce = DCERequiredMode(word)
        else:
            convergence = ConvergenceMode(word)
    return FunctionPassConfig(name, convergence, modes, dce)


def pipeline_of(texts: Sequence[str], known: Sequence[str]) -> FunctionPassPipeline:
    """Parse the entries of a pipeline. Raises: UnknownNameError."""
    return FunctionPassPipeline(tuple(entry_of(text, known) for text in texts))


# ---------------------------------------------------------------------- the levels below the compiled circuit


def exported_trace(
    circuit: Circuit,
    compiler: TorchCompiler,
    options: TensorOptions,
    name: str,
    listeners: tuple[Listener, ...] = (),
    rows: int | None = None,
) -> Trace:
    """Compile a circuit, export it for a batch of some rows if its level asks for it, and record it at that level.

    Raises: the errors of compiling, exporting and the rules.
    """
    level, pipeline = lowered_level(options.level), pipeline_or_default(options)
    compiled, layers = compile_with_origins(circuit, compiler)
    x = random_inputs(compiled, level.rows if rows is None else rows)
    subject: Any = compiled
    if "operators" in level.options:
        from explorer.tensor import from_module

        subject = from_module(compiled, (x,), level=options.operators, training=options.compile_for == "train")
    offered = {"mode": options.compile_for, "one_by_one": options.one_by_one}
    more = {key: value for key, value in offered.items() if key in level.options}
    return replace(level.record(subject, (x,), pipeline, listeners=listeners, name=name, **more), layers=layers)


def pass_names(level: str) -> Sequence[str]:
    """The names of the passes of a level."""
    return lowered_level(level).passes.names


def pipeline_or_default(options: TensorOptions) -> FunctionPassPipeline:
    """Return the pipeline of the options, or the default one of their level. Raises: UnknownNameError for a pass."""
    if options.passes:
        return pipeline_of(options.passes, pass_names(options.level))
    return lowered_level(options.level).pipeline
