"""A pipeline that is being edited, without a user interface: its entries in order, each enabled or disabled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from explorer.app.session.pass_entries import entry_text
from explorer.errors import ValueRangeError, check_name
from explorer.rewrite import FunctionPassConfig, FunctionPassPipeline


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
